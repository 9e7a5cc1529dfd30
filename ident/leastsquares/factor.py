"""Triangular factors: all that least squares ever needs of a block of rows.

The QR factor R of ``[Y | tau]`` holds the same normal equations as the rows themselves, without
squaring their condition number. Factors of two blocks merge into one by a QR of the two stacked.
They are kept per group of rows and per joint, so that reweighting joints, leaving groups out and
resampling groups are algebra on small matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, Indices, Mask, frozen, locked
from ident.errors import LogError

# Rows at a time: a panel that stays in the second-level cache is half as fast again.
_PANEL = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class Factors:
    """Factors of ``[Y_j | tau_j]`` for groups of rows g and joints j.

    Attributes
    ----------
    R : (g, n, p + 1, p + 1)
        Upper triangular; the last column belongs to the torque.
    rows : (g, n)
        Number of rows behind each factor.
    """

    R: Array
    rows: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        groups, n, size, _ = np.shape(self.R)
        object.__setattr__(self, "R", frozen(self.R, (groups, n, size, size), where="factors"))
        object.__setattr__(self, "rows", frozen(self.rows, (groups, n), where="factor rows"))

    @property
    def parameters(self) -> int:
        """Number of columns p of the regressor."""
        return int(self.R.shape[2]) - 1

    @property
    def joints(self) -> int:
        """Number of joints."""
        return int(self.R.shape[1])

    def select(self, groups: Mask | Indices) -> Factors:
        """Factors of some groups of rows; an index may repeat (bootstrap)."""
        return Factors(R=self.R[groups], rows=self.rows[groups])

    def merged(self) -> Factors:
        """One group: all rows together."""
        if not len(self.R):
            return Factors(R=np.zeros((1, *self.R.shape[1:])), rows=np.zeros((1, self.joints)))
        joint = [merge_tree(self.R[:, j]) for j in range(self.joints)]
        return Factors(R=np.array(joint)[None], rows=self.rows.sum(axis=0)[None])

    def weighted(self, weights: Array) -> Array:
        """Factor (p + 1, p + 1) of all rows, those of joint j multiplied by ``weights[j]``."""
        whole = self.merged().R[0]
        return merge_tree([w * R for w, R in zip(weights, whole, strict=True)])


def concatenate(several: Sequence[Factors]) -> Factors:
    """Groups of several sets of factors, side by side."""
    return Factors(
        R=np.concatenate([f.R for f in several]), rows=np.concatenate([f.rows for f in several])
    )


def triangular(rows: Array) -> Array:
    """Square upper-triangular factor of a matrix (N, p), padded with zeros if N < p."""
    R, size = np.empty((0, rows.shape[1])), rows.shape[1]
    for start in range(0, len(rows), _PANEL):
        R = np.asarray(np.linalg.qr(np.vstack([R, rows[start : start + _PANEL]]), mode="r"))
    padded = np.zeros((size, size))
    padded[: len(R)] = R
    return padded


def merge_tree(factors: Iterable[Array]) -> Array:
    """Factor of all rows behind several factors, merged pairwise."""
    level = list(factors)
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [triangular(np.vstack(pair)) if len(pair) == 2 else pair[0] for pair in pairs]
    return np.asarray(level[0])


class Reduction:
    """Collects rows, group by group, and keeps only their factors."""

    def __init__(self, joints: int, parameters: int) -> None:
        """Start empty."""
        self._size = parameters + 1
        self._joints = joints
        self._groups: dict[int, list[Array]] = {}
        self._rows: dict[int, Array] = {}

    def add(self, group: int, Y: Array, tau: Array, valid: Mask) -> None:
        """Take rows in.

        Parameters
        ----------
        group : int
            Rows of one group may come in several pieces.
        Y : (n, p, N)
        tau, valid : (n, N)
        """
        fresh = np.zeros((self._joints, self._size, self._size))
        held = self._groups.setdefault(group, list(fresh))
        rows = self._rows.setdefault(group, np.zeros(self._joints))
        if Y.shape[:2] != (self._joints, self._size - 1) or not (
            Y[:, 0].shape == tau.shape == valid.shape
        ):
            found = f"Y {Y.shape}, tau {tau.shape}, valid {valid.shape}"
            expected = f"Y ({self._joints}, {self._size - 1}, N), tau and valid alike"
            raise LogError("rows", found, expected=expected)
        for j in range(self._joints):
            keep = valid[j]
            if not keep.any():
                continue
            piece = np.vstack([Y[j][:, keep], tau[j][None, keep]]).T
            held[j] = triangular(np.vstack([held[j], piece]) if held[j].any() else piece)
            rows[j] += np.count_nonzero(keep)

    def finish(self) -> Factors:
        """Factors of the groups, in ascending order of their numbers."""
        order = sorted(self._groups)
        if not order:
            shape = (0, self._joints, self._size, self._size)
            return Factors(R=np.zeros(shape), rows=np.zeros((0, self._joints)))
        return Factors(
            R=np.array([self._groups[g] for g in order]),
            rows=np.array([self._rows[g] for g in order]),
        )


def reduce_rows(
    pieces: Iterable[tuple[int, Array, Array, Mask]], joints: int, parameters: int
) -> Factors:
    """Factors of a stream of (group, Y, tau, valid) pieces; see ``Reduction.add``."""
    reduction = Reduction(joints, parameters)
    for piece in pieces:
        reduction.add(*piece)
    return reduction.finish()


def residual_norms(factors: Factors, theta: Array) -> Array:
    """Norm of ``tau_j − Y_j theta`` for each joint (n,), over all groups."""
    split = np.append(theta, -1.0)
    return locked(np.sqrt(np.sum((factors.R @ split) ** 2, axis=(0, 2))))
