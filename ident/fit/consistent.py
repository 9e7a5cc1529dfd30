"""The physically consistent fit: weighted least squares whose bodies can exist.

Every link's pseudo-inertia must be positive definite, friction and armature nonnegative. The data
enter as their triangular factor, in units of sigma, so the size of the problem does not depend on
the length of the log. Each link is measured in its own mass and radius of gyration: a wrist of
1e-6 kg·m² then weighs as much in the solver's tolerances as a shoulder of 1 kg·m².

References
----------
    Wensing, Kim, Slotine (2018), "Linear matrix inequalities for physically consistent inertial
    parameter identification".
    Traversaro, Brossette, Escande, Nori (2016), "Identification of fully physical consistent
    inertial parameters using optimization on manifolds".
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array, frozen
from ident.base.basemap import BaseMap
from ident.errors import InfeasibleError
from ident.fit.options import FitOptions
from ident.fit.prior import Prior
from ident.model import inertia
from ident.regressor.columns import Stack

if TYPE_CHECKING:
    import cvxpy as cp

# Real torque reaches a tenth of this; noise-free data, weighed more, would leave the solver no
# digits for the constraints.
_LARGEST_WEIGHT = 1e6
_ON_BOUND = 1e-6  # of the parameter's own size; interior-point solutions stop this far away


@dataclass(frozen=True, eq=False, kw_only=True)
class PhysicalFit:
    """A physically consistent estimate and how the solver came by it.

    Attributes
    ----------
    theta : (p,)
        All parameters.
    min_eigenvalue : float
        Smallest eigenvalue of all links' pseudo-inertias (SI), recomputed from ``theta``.
    active : tuple of str
        Parameters that ended on their bound zero.
    """

    theta: Array
    solver: str
    status: str
    seconds: float
    min_eigenvalue: float
    active: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check and lock the array."""
        object.__setattr__(self, "theta", frozen(self.theta, (None,), where="theta"))

    @property
    def consistent(self) -> bool:
        """Whether every link can exist."""
        return self.min_eigenvalue > 0.0


def fit_physical(
    factor: Array, base: BaseMap, columns: Stack, prior: Prior, options: FitOptions
) -> PhysicalFit:
    """Estimate all parameters under physical consistency.

    Minimises ``‖R P theta − z‖² + ‖(theta − prior) / (size·std)‖²``, with (R, z) the factor.

    Parameters
    ----------
    factor : (b + 1, b + 1)
        Triangular factor of ``[Y[:, kept] | tau]`` in units of sigma.

    Raises
    ------
    InfeasibleError
        No solver reaches an optimal point.
    """
    # cvxpy takes most of a second to import; only this fit needs it.
    import cvxpy as cp

    b = base.rank
    x = cp.Variable(len(prior.theta))
    data = factor[:b, :b] @ base.grouping * prior.size
    weight = min(1.0, _LARGEST_WEIGHT / max(float(np.linalg.norm(data, 2)), 1e-300))
    misfit = cp.sum_squares(weight * (data @ x - factor[:b, b]))
    pull = cp.sum_squares(cp.multiply(1.0 / prior.std, x - prior.theta / prior.size))
    links = np.flatnonzero(columns.inertial).reshape(-1, 10)
    bounded = np.array([c.nonnegative for c in columns.columns]) & ~columns.inertial
    constraints = [_pseudo_inertia(x[link]) >> options.margin * np.eye(4) for link in links]
    if bounded.any():
        constraints.append(x[np.flatnonzero(bounded)] >= 0.0)
    problem = cp.Problem(cp.Minimize(misfit + pull), constraints)
    start = time.perf_counter()
    solver = _solve(problem)
    scaled = np.asarray(x.value)
    on_bound = bounded & (scaled < _ON_BOUND)
    theta = np.where(on_bound, 0.0, scaled * prior.size)
    return PhysicalFit(
        theta=theta,
        solver=solver,
        status=str(problem.status),
        seconds=time.perf_counter() - start,
        min_eigenvalue=min(inertia.smallest_eigenvalue(theta[link]) for link in links),
        active=tuple(c.name for c, on in zip(columns.columns, on_bound, strict=True) if on),
    )


def _pseudo_inertia(x: cp.Expression) -> cp.Expression:
    """4×4 pseudo-inertia as a linear map of the ten parameters: symmetric by construction."""
    import cvxpy as cp

    basis = np.array([inertia.pseudo_inertia(unit).ravel() for unit in np.eye(10)])
    return cp.reshape(basis.T @ x, (4, 4), order="C")


def _solve(problem: cp.Problem) -> str:
    """Solve to an optimal point: Clarabel, then SCS; the name of the one that did."""
    import cvxpy as cp

    found = []
    for solver, settings in ((cp.CLARABEL, {}), (cp.SCS, {"eps": 1e-9, "max_iters": 200_000})):
        try:
            with warnings.catch_warnings():
                # cvxpy warns of inaccurate solutions; the status below decides.
                warnings.simplefilter("ignore", UserWarning)
                problem.solve(solver=solver, **settings)
        except cp.SolverError as e:
            found.append(f"{solver}: {e}")
            continue
        if problem.status == cp.OPTIMAL:
            return str(solver)
        found.append(f"{solver}: {problem.status}")
    raise InfeasibleError(
        "physical fit",
        "no solver reached an optimal point (" + "; ".join(found) + ")",
        remedy="fit with --method wls to see what the data say, and check the log's findings",
    )
