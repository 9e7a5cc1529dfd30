"""How well a motion shows the parameters: condition numbers, log det, predicted errors.

Rows are divided by the noise of their joint and columns multiplied by the fixed magnitudes of the
parameters; see ``ident.base.magnitudes``. What earlier runs have shown already may be added, as an
information matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from ident.arrays import Array, Mask, frozen, locked
from ident.base.basemap import BaseMap
from ident.base.magnitudes import magnitudes
from ident.base.minimal import reduce_stack
from ident.errors import Finding, UsageError
from ident.excitation.fourier import FourierSeries
from ident.leastsquares.condition import condition_number
from ident.leastsquares.factor import triangular
from ident.model.robot import Robot
from ident.regressor.columns import Motion, Stack, stack
from ident.regressor.friction import DEFAULT, Coulomb, Offset, Viscous, friction_terms, known_terms
from ident.regressor.rigid import Regressor
from ident.regressor.selection import Selection

Goal = Literal["condition", "log_det", "a_optimality"]
Scaling = Literal["prior", "si"]
Level = Literal["good", "acceptable", "poor"]
GOOD, ACCEPTABLE = 30.0, 50.0
POINTS = 40  # per period of the highest harmonic; twice as many move the condition number by 1 %
_SMOOTHING = 0.02  # rad/s or m/s: Coulomb friction turns round within this, so that gradients exist
_NOISE = 0.01  # of the torque limit: what drives that measure current reach
# Relative to the largest, an eigenvalue of the information below this is rounding.
_LOST = 1e-14


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Condition numbers of the base regressor.

    Attributes
    ----------
    scaled : float
        Rows by noise, columns by magnitude, earlier runs included: what designs minimise.
    raw : float
        SI, rows and columns as they are.
    raw_inertial : float
        The same of the inertial columns alone, as most publications give it.
    """

    scaled: float
    raw: float
    raw_inertial: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Quality:
    """What a motion would tell of the base parameters.

    Attributes
    ----------
    log_det : float
        Logarithm of the determinant of the information matrix of the scaled parameters.
    names : tuple of str
        Names of the base parameters.
    standard_errors : (b,)
        Predicted for white torque noise of the stated size, all samples used, no bias.
    magnitudes : (b,)
        What the condition number and log det are relative to.
    noise : (n,) N·m or N
        Standard deviation of the torque of each joint that all of this is for.
    """

    condition: Condition
    log_det: float
    names: tuple[str, ...]
    standard_errors: Array
    magnitudes: Array
    noise: Array

    def __post_init__(self) -> None:
        """Lock the arrays."""
        object.__setattr__(self, "noise", frozen(self.noise, (None,), where="noise"))
        for name in ("standard_errors", "magnitudes"):
            array = frozen(getattr(self, name), (len(self.names),), where=name, finite=False)
            object.__setattr__(self, name, array)

    @property
    def level(self) -> Level:
        """``good`` below 30, ``acceptable`` below 50, else ``poor``."""
        scaled = self.condition.scaled
        return "good" if scaled < GOOD else "acceptable" if scaled < ACCEPTABLE else "poor"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A warning where the condition number is poor."""
        if self.level != "poor":
            return ()
        weakest = self.names[int(np.argmax(self.standard_errors / self.magnitudes))]
        return (
            Finding(
                name="poor_condition",
                severity="warning",
                where="trajectory",
                found=f"condition number {self.condition.scaled:.3g}, weakest at {weakest}",
                expected=f"below {ACCEPTABLE:g}",
                remedy="allow more starts, faster motion or more harmonics",
            ),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Information:
    """What an earlier run has shown of base parameters.

    Attributes
    ----------
    names : tuple of str
        Base parameters, by name.
    matrix : (k, k)
        Inverse covariance of them, SI.
    """

    names: tuple[str, ...]
    matrix: Array

    def __post_init__(self) -> None:
        """Check and lock the matrix."""
        where, shape = "information of an earlier run", (len(self.names),) * 2
        matrix = frozen(self.matrix, shape, where=where, error=UsageError)
        object.__setattr__(self, "matrix", matrix)

    def on(self, base: BaseMap) -> Array:
        """The matrix (b, b) on the parameters of ``base`` of the same name.

        What else the run knew takes its part of it first: the Schur complement.

        Raises
        ------
        UsageError
            No name in common.
        """
        shared = [name for name in self.names if name in base.names]
        if not shared:
            raise UsageError(
                "information of an earlier run",
                f"on {', '.join(self.names[:3])}, …",
                expected=f"on some of {', '.join(base.names[:3])}, …",
                remedy="give runs of the same robot",
            )
        of, at = (np.array([names.index(s) for s in shared]) for names in (self.names, base.names))
        rest = np.setdiff1d(np.arange(len(self.names)), of)
        cross, others = self.matrix[np.ix_(of, rest)], self.matrix[np.ix_(rest, rest)]
        J = np.zeros((base.rank, base.rank))
        taken = cross @ np.linalg.pinv(others, hermitian=True) @ cross.T
        J[np.ix_(at, at)] = self.matrix[np.ix_(of, of)] - taken
        return J


@dataclass(frozen=True, eq=False, kw_only=True)
class Criterion:
    """Judges motions of one robot by the columns that will be identified.

    Attributes
    ----------
    stack, base : Stack, BaseMap
        All columns, Coulomb friction smoothed, and the minimal set of them.
    wanted : (b,)
        Which of the base parameters are judged.
    noise : (n,) N·m or N
        Standard deviation of the torque of each joint.
    goal, scaling
        What is minimised: of the scaled columns, or of those in SI with equal rows.
    earlier : (b, b)
        Information on the base parameters (SI) that earlier runs have given.
    """

    stack: Stack
    base: BaseMap
    wanted: Mask
    noise: Array
    goal: Goal
    scaling: Scaling
    earlier: Array

    @classmethod
    def of(
        cls,
        regressor: Regressor,
        noise: Array | None = None,
        *,
        goal: Goal = "condition",
        scaling: Scaling = "prior",
        friction: Sequence[str] = DEFAULT,
        armature: bool = True,
        earlier: Sequence[Information] = (),
    ) -> Criterion:
        """Of the inertial columns of a robot, its springs, and of friction and armature as asked.

        Parameters
        ----------
        noise : (n,), optional
            By default one percent of the torque limit.
        earlier : sequence of Information
            What runs that are there already have shown.
        """
        robot = regressor.robot
        smooth = (Viscous(robot), Coulomb(robot, _SMOOTHING), Offset(robot))
        exact = reduce_stack(stack(regressor, friction=friction_terms(robot)))
        columns = stack(regressor, friction=smooth)
        sigma = frozen(
            default_noise(robot) if noise is None else noise,
            (robot.n,),
            where="noise",
            error=UsageError,
        )
        if not (sigma > 0.0).all():
            raise UsageError("noise", f"{sigma.min():g}", expected="above zero for every joint")
        for name, given, known in (("goal", goal, Goal), ("scaling", scaling, Scaling)):
            if given not in get_args(known):
                raise UsageError(name, f"'{given}'", expected=", ".join(get_args(known)))
        left_out = {term.kind for term in smooth} - set(known_terms(friction))
        left_out |= set() if armature else {"armature"}
        return cls(
            stack=columns,
            base=exact,
            wanted=locked(~columns.which(*left_out)[exact.kept]),
            noise=sigma,
            goal=goal,
            scaling=scaling,
            earlier=locked(sum((run.on(exact) for run in earlier), np.zeros((exact.rank,) * 2))),
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters that are judged."""
        return tuple(name for name, w in zip(self.base.names, self.wanted, strict=True) if w)

    @cached_property
    def magnitudes(self) -> Array:
        """Value of each judged parameter that moves the torque by as much as its noise."""
        return locked(magnitudes(self.stack, self.base, self.noise)[self.wanted])

    @cached_property
    def inertial(self) -> Mask:
        """Which of the judged columns are inertial."""
        return locked(self.stack.inertial[self.base.kept][self.wanted])

    @cached_property
    def selection(self) -> Selection:
        """All base columns, where they are no structural zero."""
        return Selection(self.stack, self.base.kept)

    def rows(self, motion: Motion) -> Array:
        """Regressor (N·n, judged) in SI, row ``k·n + j``."""
        Y = self.selection.evaluate(motion)[:, self.wanted]
        return np.ascontiguousarray(Y.transpose(2, 0, 1)).reshape(-1, Y.shape[1])

    @cached_property
    def row_weights(self) -> Array:
        """What the rows of each joint (n,) are multiplied by."""
        return locked(1.0 / self.noise if self.scaling == "prior" else np.ones_like(self.noise))

    @cached_property
    def column_weights(self) -> Array:
        """What the judged columns are multiplied by."""
        return locked(self.magnitudes if self.scaling == "prior" else np.ones(len(self.magnitudes)))

    @cached_property
    def known(self) -> Array:
        """Information of earlier runs on the judged parameters, weighted as the columns are."""
        J = self.earlier[np.ix_(self.wanted, self.wanted)]
        return locked(J * np.outer(self.column_weights, self.column_weights))

    def of_information(self, G: Array, sharpness: float) -> tuple[float, float, Array]:
        """Goal of a weighted information matrix (judged, judged): itself, smooth, and its slopes.

        Each is a logarithm: half that of the condition number of G, of its determinant's inverse,
        of the trace of its inverse. The smooth condition number takes p-norms, p = ``sharpness``,
        for the largest eigenvalue and for the inverse of the smallest one: where several come
        together, as they do at the optimum, it still has a gradient.
        """
        values, V = np.linalg.eigh(G)
        values = np.maximum(values, _LOST * values[-1])
        if self.goal == "condition":
            upper, lower = (values / values[-1]) ** sharpness, (values[0] / values) ** sharpness
            exact = 0.5 * float(np.log(values[-1] / values[0]))
            smooth = exact + 0.5 * float(np.log(upper.sum()) + np.log(lower.sum())) / sharpness
            weights = 0.5 * (upper / upper.sum() - lower / lower.sum()) / values
        elif self.goal == "log_det":
            exact = smooth = -0.5 * float(np.log(values).sum())
            weights = -0.5 / values
        else:
            exact = smooth = 0.5 * float(np.log((1.0 / values).sum()))
            weights = -0.5 / values**2 / (1.0 / values).sum()
        return exact, smooth, (V * weights) @ V.T

    def quality(self, series: FourierSeries, samples: int) -> Quality:
        """All figures of a series of which ``samples`` are recorded."""
        raw = self.rows(one_period(series))
        points, m = len(raw) // len(self.noise), self.magnitudes
        R = triangular(raw / np.tile(self.noise, points)[:, None] * m) * np.sqrt(samples / points)
        J = self.earlier[np.ix_(self.wanted, self.wanted)] * np.outer(m, m)
        if J.any():
            R = triangular(np.vstack([R, _root(J)]))
        plain = triangular(raw)
        condition = Condition(
            scaled=condition_number(R),
            raw=condition_number(plain),
            raw_inertial=condition_number(plain[:, self.inertial]),
        )
        diagonal = np.abs(np.diag(R))
        seen = np.isfinite(condition.scaled)
        return Quality(
            condition=condition,
            log_det=float(2.0 * np.log(diagonal).sum()) if seen else -np.inf,
            names=self.names,
            magnitudes=m,
            noise=self.noise,
            standard_errors=m * np.linalg.norm(np.linalg.inv(R), axis=1)
            if seen
            else np.full(len(m), np.inf),
        )


def default_noise(robot: Robot) -> Array:
    """One percent of the torque limits (n,); one where there is none."""
    finite = np.isfinite(robot.effort) & (robot.effort > 0.0)
    return np.where(finite, _NOISE * np.where(finite, robot.effort, 0.0), 1.0)


def one_period(series: FourierSeries) -> Motion:
    """Motion over one period, evenly sampled."""
    return series.states(series.times(POINTS))


def _root(J: Array) -> Array:
    """``R`` with ``Rᵀ R = J``, for J that is positive semidefinite but for rounding."""
    values, V = np.linalg.eigh(J)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * V.T)
