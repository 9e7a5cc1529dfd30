"""How well a motion shows the parameters: condition numbers, log det, predicted errors.

Rows are divided by the noise of their joint and columns multiplied by the fixed magnitudes of the
parameters; see ``ident.base.magnitudes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

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
from ident.regressor.friction import Coulomb, Offset, Viscous, friction_terms
from ident.regressor.rigid import Regressor

Level = Literal["good", "acceptable", "poor"]
GOOD, ACCEPTABLE = 30.0, 50.0
_POINTS = 40  # per period of the highest harmonic; twice as many move the condition number by 1 %
_SMOOTHING = 0.02  # rad/s or m/s: Coulomb friction turns round within this, so that gradients exist
_NOISE = 0.01  # of the torque limit: what drives that measure current reach


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Condition numbers of the base regressor.

    Attributes
    ----------
    scaled : float
        Rows by noise, columns by magnitude: what designs minimise.
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
    """

    condition: Condition
    log_det: float
    names: tuple[str, ...]
    standard_errors: Array
    magnitudes: Array

    def __post_init__(self) -> None:
        """Lock the arrays."""
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


@dataclass(frozen=True, eq=False)
class Criterion:
    """Judges motions of one robot by every column that will be identified.

    Attributes
    ----------
    stack, base : Stack, BaseMap
        All columns, Coulomb friction smoothed, and the minimal set of them.
    noise : (n,) N·m or N
        Standard deviation of the torque of each joint.
    """

    stack: Stack
    base: BaseMap
    noise: Array

    @classmethod
    def of(cls, regressor: Regressor, noise: Array | None = None) -> Criterion:
        """Inertial, armature, viscous, Coulomb and offset columns of a robot.

        ``noise`` is by default one percent of the torque limit.
        """
        robot = regressor.robot
        smooth = (Viscous(robot), Coulomb(robot, _SMOOTHING), Offset(robot))
        exact = stack(regressor, friction=friction_terms(robot))
        sigma = frozen(
            default_noise(robot) if noise is None else noise,
            (robot.n,),
            where="noise",
            error=UsageError,
        )
        if not (sigma > 0.0).all():
            raise UsageError("noise", f"{sigma.min():g}", expected="above zero for every joint")
        return cls(stack(regressor, friction=smooth), reduce_stack(exact), sigma)

    @cached_property
    def magnitudes(self) -> Array:
        """Value (b,) of each base parameter that moves the torque by as much as its noise."""
        return magnitudes(self.stack, self.base, self.noise)

    @cached_property
    def inertial(self) -> Mask:
        """Mask (b,) of the inertial base columns."""
        return locked(self.stack.inertial[self.base.kept])

    def rows(self, motion: Motion) -> Array:
        """Base regressor (N·n, b) in SI, row ``k·n + j``."""
        Y = self.stack.evaluate(motion)[:, self.base.kept]
        return np.ascontiguousarray(Y.transpose(2, 0, 1)).reshape(-1, self.base.rank)

    def scaled_condition(self, series: FourierSeries) -> float:
        """Condition number that designs minimise."""
        return condition_number(self._scaled(self.rows(_period(series))))

    def quality(self, series: FourierSeries, samples: int) -> Quality:
        """All figures of a series of which ``samples`` are recorded."""
        raw = self.rows(_period(series))
        R = triangular(self._scaled(raw)) * np.sqrt(samples * len(self.noise) / len(raw))
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
            names=self.base.names,
            magnitudes=self.magnitudes,
            standard_errors=self.magnitudes * np.linalg.norm(np.linalg.inv(R), axis=1)
            if seen
            else np.full(self.base.rank, np.inf),
        )

    def _scaled(self, raw: Array) -> Array:
        samples = len(raw) // len(self.noise)
        return raw / np.tile(self.noise, samples)[:, None] * self.magnitudes


def default_noise(robot: Robot) -> Array:
    """One percent of the torque limits (n,); one where there is none."""
    finite = np.isfinite(robot.effort) & (robot.effort > 0.0)
    return np.where(finite, _NOISE * np.where(finite, robot.effort, 0.0), 1.0)


def _period(series: FourierSeries) -> Motion:
    """Motion over one period, evenly sampled."""
    points = _POINTS * series.harmonics
    return series.states(np.arange(points) * (series.period_s / points))
