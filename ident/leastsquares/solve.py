"""Solve least squares from triangular factors: ordinary and weighted by joint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ident.arrays import Array, frozen, locked
from ident.errors import UnidentifiableError
from ident.leastsquares.factor import Factors, residual_norms

# Singular values of the column-scaled factor below this, relative to the largest, are no data: the
# factor carries about 13 digits, and torque is never good to more than 6.
_NO_DATA = 1e-9
# A column this small next to the largest holds what filters leave of a joint that stood still. SI
# columns of one robot span five decades.
_STANDSTILL = 1e-12
# Noise-free data leave rounding: a residual below this, relative to the torque, is taken for this.
_ROUNDING = 1e-13
_REWEIGHTINGS = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """A least-squares estimate with its covariance.

    Attributes
    ----------
    theta : (p,)
        Estimate; directions that the data do not show keep the prior.
    sigma : (n,)
        Standard deviation of the residual of each joint, N·m.
    factor : (p + 1, p + 1)
        Triangular factor of all rows, in units of sigma.
    unseen : (p, k)
        Orthonormal basis, in scaled columns, of what the data do not show.
    scale : (p,)
        Norm of each column of the factor, one where it is nothing but rounding.
    """

    theta: Array
    sigma: Array
    factor: Array
    unseen: Array
    scale: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        p = len(self.theta)
        shapes = {
            "theta": (p,),
            "sigma": (None,),
            "factor": (p + 1, p + 1),
            "unseen": (p, None),
            "scale": (p,),
        }
        for name, shape in shapes.items():
            object.__setattr__(self, name, frozen(getattr(self, name), shape, where=name))

    @cached_property
    def covariance(self) -> Array:
        """Covariance (p, p) of ``theta`` for white residuals; infinite for unseen parameters."""
        half = _Split.of(self.factor).half
        covariance = half @ half.T
        lost = np.linalg.norm(self.unseen, axis=1) > _NO_DATA
        covariance[lost, :] = covariance[:, lost] = 0.0
        covariance[lost, lost] = np.inf
        return locked(covariance)

    @property
    def rank(self) -> int:
        """Number of directions that the data show."""
        return len(self.theta) - int(self.unseen.shape[1])


def solve_ols(factors: Factors, prior: Array) -> Solution:
    """Ordinary least squares: all joints weigh the same.

    Raises
    ------
    UnidentifiableError
        Fewer rows than parameters.
    """
    whole = _enough(factors)
    factor = whole.weighted(np.ones(whole.joints))
    split = _Split.of(factor)
    theta = split.solve(factor, prior)
    dof = whole.rows.sum() - split.half.shape[1]
    pooled = np.linalg.norm(residual_norms(whole, theta)) / np.sqrt(dof)
    return _solution(whole, np.full(whole.joints, max(pooled, _smallest(whole))), prior)


def solve_wls(factors: Factors, prior: Array) -> Solution:
    """Least squares with each joint weighed by its own residual, iterated to rest.

    Residual variances use the degrees of freedom that each joint really lends: rows less the trace
    of its share of the hat matrix.

    Raises
    ------
    UnidentifiableError
        Fewer rows than parameters.
    """
    whole = _enough(factors)
    sigma = np.ones(whole.joints)
    for _ in range(_REWEIGHTINGS):
        factor = whole.weighted(1.0 / sigma)
        split = _Split.of(factor)
        theta = split.solve(factor, prior)
        dof = np.maximum(whole.rows[0] - _leverage(whole, split, sigma), 1.0)
        fresh = np.maximum(residual_norms(whole, theta) / np.sqrt(dof), _smallest(whole))
        settled = np.abs(fresh / sigma - 1.0).max() < 1e-6
        sigma = fresh
        if settled:
            break
    return _solution(whole, sigma, prior)


def _enough(factors: Factors) -> Factors:
    """All rows together, if there are enough of them."""
    whole = factors.merged()
    if whole.rows.sum() <= whole.parameters:
        raise UnidentifiableError(
            "fit",
            f"{int(whole.rows.sum())} usable rows for {whole.parameters} parameters",
            expected="many more rows than parameters",
            remedy="use a longer log, or check what the filter and masks left",
        )
    return whole


def _smallest(whole: Factors) -> float:
    """Smallest standard deviation (N·m) that the arithmetic can tell from zero."""
    torque = np.linalg.norm(whole.R[0, :, :, -1]) / np.sqrt(whole.rows.sum())
    return _ROUNDING * float(torque or 1.0)


@dataclass(frozen=True, eq=False)
class _Split:
    """Singular value decomposition of a column-scaled factor, cut where the data end."""

    scale: Array
    seen: Array
    unseen: Array
    half: Array
    rotated: Array

    @classmethod
    def of(cls, factor: Array) -> _Split:
        p = len(factor) - 1
        norms = np.linalg.norm(factor[:p, :p], axis=0)
        moved = norms > _STANDSTILL * norms.max(initial=0.0)
        scale = np.where(moved, norms, 1.0)
        U, s, Vt = np.linalg.svd(np.where(moved, factor[:p, :p] / scale, 0.0))
        seen = s > _NO_DATA * s[0]
        # half · halfᵀ is the covariance of the estimate.
        half = Vt[seen].T / s[seen] / scale[:, None]
        half[~moved] = 0.0  # without rounding: such a parameter keeps its prior exactly
        return cls(scale, seen, Vt[~seen].T, half, U.T[seen])

    def solve(self, factor: Array, prior: Array) -> Array:
        p = len(prior)
        return prior + self.half @ (self.rotated @ (factor[:p, p] - factor[:p, :p] @ prior))


def _solution(whole: Factors, sigma: Array, prior: Array) -> Solution:
    factor = whole.weighted(1.0 / sigma)
    split = _Split.of(factor)
    theta = split.solve(factor, prior)
    return Solution(theta=theta, sigma=sigma, factor=factor, unseen=split.unseen, scale=split.scale)


def _leverage(whole: Factors, split: _Split, sigma: Array) -> Array:
    """Parameters that each joint's rows determine: the trace of its part of the hat matrix."""
    p = whole.parameters
    return np.array(
        [np.sum((whole.R[0, j, :, :p] / sigma[j] @ split.half) ** 2) for j in range(whole.joints)]
    )
