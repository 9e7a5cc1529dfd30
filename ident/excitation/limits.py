"""Limits of a robot, and the proof that a trajectory keeps them between its samples too.

A trigonometric polynomial p of degree K, sampled at M > 2K equispaced points of its period, obeys
``max |p| ≤ max |p(t_i)| / cos(πK/M)``. Velocity, acceleration, jerk and the position less the
middle of its range are such polynomials, so that a few hundred samples certify them in continuous
time. Torque is none; it is looked at on the same grid, which has 200 points per period of the
highest harmonic.

References
----------
    Ehlich, Zeller (1964), "Schwankung von Polynomen zwischen Gitterpunkten", for the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import Finding, InfeasibleError, UsageError
from ident.excitation.fourier import FourierSeries
from ident.model.robot import Robot
from ident.regressor.columns import Motion, Stack, States, stack
from ident.regressor.friction import Viscous
from ident.regressor.rigid import Regressor

Kind = Literal["position", "velocity", "acceleration", "jerk", "torque"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
    "jerk": ("rad/s³", "m/s³"),
    "torque": ("N·m", "N"),
}
# Points per period of the highest harmonic: the bound is then 1.0001 times the largest sample.
_POINTS = 200
# Dynamics repeat after a turn, so that going further shows nothing new and winds up the cables.
_TURN, _SLIDE = np.pi, 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Limits:
    """What each joint may reach; infinite where there is no limit (SI).

    Attributes
    ----------
    position : (n, 2) rad or m
        Finite: a trajectory needs a workspace.
    velocity, acceleration, jerk, torque : (n,)
        Largest magnitudes.
    """

    joints: tuple[str, ...]
    turns: tuple[bool, ...]
    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    torque: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        n = len(self.joints)
        position = frozen(self.position, (n, 2), where="position limits", error=UsageError)
        object.__setattr__(self, "position", position)
        for kind in KINDS[1:]:
            where = f"{kind} limits"
            array = frozen(getattr(self, kind), (n,), where=where, finite=False, error=UsageError)
            if np.isnan(array).any():
                raise UsageError(where, "not a number", expected="numbers, or infinity for none")
            object.__setattr__(self, kind, array)

    @classmethod
    def of(cls, robot: Robot, *, margin: float = 1.0, around: ArrayLike | None = None) -> Limits:
        """Limits of a robot, times ``margin``.

        The position range is that of the joints within half a turn (a metre for a sliding joint)
        to either side of ``around`` (n,), by default home; ``margin`` shrinks it about its middle.
        """
        if not 0.0 < margin <= 1.0:
            raise UsageError("margin", f"{margin:g}", expected="above 0, at most 1")
        centre = robot.home if around is None else np.asarray(around, dtype=np.float64)
        reach = np.where(robot.turns, _TURN, _SLIDE)
        lower = np.maximum(robot.position[:, 0], centre - reach)
        upper = np.minimum(robot.position[:, 1], centre + reach)
        cut = 0.5 * (1.0 - margin) * (upper - lower)
        return cls(
            joints=robot.joints,
            turns=robot.turns,
            position=np.column_stack([lower + cut, upper - cut]),
            velocity=margin * robot.velocity,
            acceleration=margin * robot.acceleration,
            jerk=margin * robot.jerk,
            torque=margin * robot.effort,
        )

    @property
    def middle(self) -> Array:
        """Middle of the position ranges (n,)."""
        return np.asarray(self.position.mean(axis=1))

    @property
    def half_range(self) -> Array:
        """Half of the position ranges (n,)."""
        return np.asarray(0.5 * (self.position[:, 1] - self.position[:, 0]))

    def largest(self, kind: Kind) -> Array:
        """Largest magnitude (n,) allowed; for a position, of what it is off the middle."""
        return self.half_range if kind == "position" else np.asarray(getattr(self, kind))

    def unit(self, kind: Kind, joint: int) -> str:
        """Unit of a limit."""
        return _UNITS[kind][not self.turns[joint]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Certificate:
    """Bounds on what a trajectory reaches, beside the limits.

    Attributes
    ----------
    position : (n,)
        Bound on the distance from the middle of the range, in continuous time.
    velocity, acceleration, jerk : (n,)
        Bounds on the magnitudes, in continuous time.
    torque : (n,)
        Largest magnitude on the grid.
    """

    limits: Limits
    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    torque: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        for kind in KINDS:
            array = frozen(getattr(self, kind), (len(self.limits.joints),), where=kind)
            object.__setattr__(self, kind, array)

    def used(self, kind: Kind) -> Array:
        """Fraction (n,) of the limit that is used; 1 is the limit itself, 0 is none."""
        reached, allowed = np.asarray(getattr(self, kind)), self.limits.largest(kind)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(reached > 0.0, reached / allowed, 0.0))

    @cached_property
    def margins(self) -> dict[str, float | None]:
        """For each kind the smallest fraction left of any joint; None where nothing is limited."""
        return {
            kind: float(1.0 - self.used(kind).max())
            if np.isfinite(self.limits.largest(kind)).any()
            else None
            for kind in KINDS
        }

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """One for each limit and joint that is broken."""
        return tuple(self._broken())

    def require(self) -> None:
        """Raise InfeasibleError for the first broken limit."""
        for finding in self.findings:
            finding.raise_as(InfeasibleError)

    def _broken(self) -> Iterator[Finding]:
        for kind in KINDS:
            used, allowed = self.used(kind), self.limits.largest(kind)
            for j in np.flatnonzero(used > 1.0 + 1e-9):  # rounding of a trajectory scaled to fit
                unit = self.limits.unit(kind, int(j))
                what = " from the middle of the range" if kind == "position" else ""
                yield Finding(
                    name="limit_broken",
                    severity="error",
                    where=f"{kind} of joint '{self.limits.joints[j]}'",
                    found=f"up to {getattr(self, kind)[j]:.6g} {unit}{what}",
                    expected=f"at most {allowed[j]:.6g} {unit}",
                    remedy="lower the amplitude, or choose another trajectory",
                )


class Load:
    """Torque that the drives must give, by the description's inertias and friction.

    Coulomb friction counts against the drive in either direction: it holds at rest and turns round
    within a sample.
    """

    def __init__(self, regressor: Regressor) -> None:
        """Of the robot behind ``regressor``."""
        self.robot = regressor.robot
        self._stack: Stack = stack(regressor, friction=(Viscous(self.robot),))
        drives = self.robot.drives
        self._coulomb = np.abs(drives.coupling.T) @ np.abs(drives.coulomb)

    def __call__(self, motion: Motion) -> Array:
        """Largest magnitude (n,) over the samples."""
        tau = np.tensordot(self._stack.evaluate(motion), self._stack.guess, axes=(1, 0))
        return np.asarray(np.abs(tau).max(axis=1) + self._coulomb)


def certify(series: FourierSeries, limits: Limits, load: Load) -> Certificate:
    """Bounds on position, velocity, acceleration and jerk in continuous time, and on torque."""
    t, slack = grid(series)
    motion = series.states(t)
    off, jerk = motion.q - limits.middle, series.derivative(t, 3)
    position, velocity, acceleration, jerk = (
        np.abs(x).max(axis=0) / slack for x in (off, motion.dq, motion.ddq, jerk)
    )
    return Certificate(
        limits=limits,
        position=position,
        velocity=velocity,
        acceleration=acceleration,
        jerk=jerk,
        torque=load(motion),
    )


def grid(series: FourierSeries) -> tuple[Array, float]:
    """Times (M,) s of a period, and cos(πK/M), the least share of a maximum that they show."""
    points = _POINTS * series.harmonics
    t = np.arange(points, dtype=np.float64) * (series.period_s / points)
    return np.asarray(t), float(np.cos(np.pi * series.harmonics / points))


def largest_scale(series: FourierSeries, start: Array, limits: Limits) -> Array:
    """How much the deviation from ``start`` may grow by each kinematic limit, (4, n).

    Rows are position, velocity, acceleration and jerk; infinite where a joint stands still.
    """
    t, slack = grid(series)
    motion = series.states(t)
    away, centre = motion.q - start, start - limits.middle
    room = limits.half_range * slack
    with np.errstate(divide="ignore", invalid="ignore"):
        # The nearer end of the range, sample by sample.
        ends = (room - np.sign(away) * centre) / np.abs(away)
        rows = [np.where(away == 0.0, np.inf, ends).min(axis=0)]
        rates = (motion.dq, motion.ddq, series.derivative(t, 3))
        for kind, x in zip(KINDS[1:4], rates, strict=True):
            peak = np.abs(x).max(axis=0)
            rows.append(np.where(peak > 0.0, limits.largest(kind) * slack / peak, np.inf))
    return np.array(rows)


def require_start(start: Array, limits: Limits, load: Load) -> None:
    """Check that the robot may rest at ``start`` and move from there.

    Raises
    ------
    InfeasibleError
        Outside the position range, too heavy to hold, or a limit that allows no motion.
    """
    holding = load(_resting(start))
    for j, joint in enumerate(limits.joints):
        lower, upper = limits.position[j]
        unit = limits.unit("position", j)
        if not lower < start[j] < upper:
            raise InfeasibleError(
                f"position of joint '{joint}'",
                f"starts at {start[j]:.6g} {unit}",
                expected=f"between {lower:.6g} and {upper:.6g} {unit}",
                remedy="choose another start position or a smaller margin",
            )
        for kind in KINDS[1:4]:
            if not limits.largest(kind)[j] > 0.0:
                raise InfeasibleError(
                    f"{kind} of joint '{joint}'",
                    f"limit {limits.largest(kind)[j]:.6g}",
                    expected="above zero",
                    remedy="the joint cannot move within it",
                )
        if not holding[j] < limits.torque[j]:
            unit = limits.unit("torque", j)
            raise InfeasibleError(
                f"torque of joint '{joint}'",
                f"{holding[j]:.6g} {unit} to hold and break away",
                expected=f"below {limits.torque[j]:.6g} {unit}",
                remedy="choose a start position where less weight hangs on the joint",
            )


def _resting(q: Array) -> Motion:
    still = np.zeros((1, len(q)))
    return States(q=np.atleast_2d(q), dq=still, ddq=still)
