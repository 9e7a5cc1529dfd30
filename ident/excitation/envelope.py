"""What a motion must keep, and the proof that a trajectory keeps it between its samples too.

A trigonometric polynomial p of degree K, sampled at M > 2K equispaced points of its period, obeys
``max |p| ≤ max |p(t_i)| / cos(πK/M)``. Velocity, acceleration, jerk and the position less the
middle of its range are such polynomials, so that a few hundred samples certify them in continuous
time. Torque and the distance to what must not be touched are none: they are looked at on a grid ten
times as dense as the one that designs use.

References
----------
    Ehlich, Zeller (1964), "Schwankung von Polynomen zwischen Gitterpunkten", for the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ident.arrays import Array, frozen, locked
from ident.base.basemap import BaseMap
from ident.errors import Finding, InfeasibleError, UsageError
from ident.excitation.collision import Clearance
from ident.excitation.fourier import FourierSeries
from ident.excitation.limits import KINDS, KINEMATIC, Kind, Limits
from ident.model import inertia
from ident.model.robot import Robot
from ident.regressor.columns import Motion, States, stack
from ident.regressor.friction import Viscous
from ident.regressor.rigid import Regressor

# Points per period of the highest harmonic: the bound is then 1.0001 times the largest sample.
_POINTS = 200
_DENSE = 2  # times as many for what has no bound


@dataclass(frozen=True, eq=False, kw_only=True)
class Payload:
    """What the robot carries: a body of which only mass and centre are known.

    Attributes
    ----------
    mass : float
        In kg.
    com : tuple of float
        Centre of mass in m, in the frame of the last link of the description (the flange).
    """

    mass: float
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def carried_by(self, robot: Robot) -> Robot:
        """The robot with the payload at its last link."""
        if not (np.isfinite(self.mass) and self.mass >= 0.0):
            raise UsageError("payload mass", f"{self.mass:g} kg", expected="finite, zero or more")
        com = frozen(self.com, (3,), where="payload centre of mass", error=UsageError)
        own = inertia.pi_from_com(self.mass, com, np.zeros((3, 3)))
        flange = robot.links[-1].parts[-1]
        pi = robot.pi.copy()
        pi[-len(own) :] += inertia.transformed(own, flange.R_ab, flange.p_a_ab)
        return robot.with_pi(pi)


class Load:
    """Torque that the drives must give, by the description's inertias and friction.

    Coulomb friction counts against the drive in either direction: it holds at rest and turns round
    within a sample.
    """

    def __init__(self, regressor: Regressor, payload: Payload | None = None) -> None:
        """Of the robot behind ``regressor``, with what it carries."""
        self.robot = robot = payload.carried_by(regressor.robot) if payload else regressor.robot
        loaded = Regressor(robot=robot, program=regressor.program)
        self._stack = stack(loaded, friction=(Viscous(robot),))
        self.coulomb = locked(np.abs(robot.drives.coupling.T) @ np.abs(robot.drives.coulomb))

    def __call__(self, motion: Motion) -> Array:
        """Largest magnitude (n,) over the samples."""
        return np.asarray(np.abs(self.torque(motion)).max(axis=0) + self.coulomb)

    def torque(self, motion: Motion) -> Array:
        """Torque (N, n) without Coulomb friction."""
        tau = np.tensordot(self._stack.evaluate(motion), self._stack.guess, axes=(1, 0))
        return np.ascontiguousarray(tau.T)

    def base_parameters(self, base: BaseMap) -> Array:
        """What it makes of base parameters (b,), Coulomb friction aside."""
        guess = dict(zip(self._stack.names, self._stack.guess.tolist(), strict=True))
        beta: Array = base.reduce([guess.get(name, 0.0) for name in base.columns])
        return beta


@dataclass(frozen=True, eq=False, kw_only=True)
class Envelope:
    """All that a motion must keep.

    Attributes
    ----------
    clearance : Clearance or None
        The pairs of bodies that must not touch.
    distance : (pairs,)
        What must be left between them, in m.
    """

    limits: Limits
    load: Load
    clearance: Clearance | None = None
    distance: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Check and lock the distances."""
        pairs = len(self.clearance.names) if self.clearance else 0
        distance = frozen(self.distance, (pairs,), where="distance", error=UsageError)
        object.__setattr__(self, "distance", distance)

    @classmethod
    def around(
        cls, home: Array, limits: Limits, load: Load, clearance: Clearance, distance: float
    ) -> Envelope:
        """Of a robot that stands at ``home`` (n,), where all is well.

        Pairs keep ``distance`` m; those that stand nearer at home may come half as near as there.
        """
        if not (np.isfinite(distance) and distance >= 0.0):
            raise UsageError("distance", f"{distance:g} m", expected="finite, zero or more")
        needed = clearance.required(distance, home)
        return cls(limits=limits, load=load, clearance=clearance, distance=needed)

    def certify(self, series: FourierSeries, *others: Motion) -> Certificate:
        """Bounds on a series in continuous time; torque and distance of other motions besides."""
        dense = series.states(series.times(_DENSE * _POINTS))
        position, velocity, acceleration, jerk = bounds(series, self.limits.middle)
        return Certificate(
            limits=self.limits,
            position=position,
            velocity=velocity,
            acceleration=acceleration,
            jerk=jerk,
            torque=np.max([self.load(m) for m in (dense, *others)], axis=0),
            pairs=self.clearance.names if self.clearance else (),
            clear=np.min([self.clear(m.q) for m in (dense, *others)], axis=0),
            distance=self.distance,
        )

    def clear(self, q: Array) -> Array:
        """Smallest distance (pairs,) m over positions (N, n)."""
        if self.clearance is None:
            return np.zeros(0)
        return np.asarray(self.clearance.measure(q).values.min(axis=1))


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
        Largest magnitude on the dense grid.
    pairs, clear : tuple of str, (pairs,) m
        Bodies that must not touch, and the smallest distance between them on the dense grid.
    distance : (pairs,)
        What must be left between them, in m.
    """

    limits: Limits
    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    torque: Array
    pairs: tuple[str, ...] = ()
    clear: Array = field(default_factory=lambda: np.zeros(0))
    distance: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        for kind in KINDS:
            array = frozen(getattr(self, kind), (len(self.limits.joints),), where=kind)
            object.__setattr__(self, kind, array)
        for name in ("clear", "distance"):
            array = frozen(getattr(self, name), (len(self.pairs),), where=name)
            object.__setattr__(self, name, array)

    def used(self, kind: Kind) -> Array:
        """Fraction (n,) of the limit that is used; 1 is the limit itself, 0 is none."""
        reached, allowed = np.asarray(getattr(self, kind)), self.limits.largest(kind)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(reached > 0.0, reached / allowed, 0.0))

    @cached_property
    def margins(self) -> dict[str, float | None]:
        """For each kind the smallest fraction left of any joint; None where nothing is limited.

        That of ``collision`` is the smallest distance in m.
        """
        left: dict[str, float | None] = {}
        for kind in KINDS:
            limited = np.isfinite(self.limits.largest(kind)).any()
            left[kind] = float(1.0 - self.used(kind).max()) if limited else None
        left["collision"] = float(self.clear.min()) if self.pairs else None
        return left

    def to_dict(self) -> dict[str, Any]:
        """Facts for JSON: what is reached, and what is allowed; None where there is no limit."""
        facts: dict[str, Any] = {"middle": self.limits.middle.tolist()}
        for kind in KINDS:
            allowed = self.limits.largest(kind).tolist()
            facts[kind] = {
                "reached": getattr(self, kind).tolist(),
                "allowed": [x if np.isfinite(x) else None for x in allowed],
            }
        both = zip(self.clear.tolist(), self.distance.tolist(), strict=True)
        distances = [{"reached": clear, "allowed": least} for clear, least in both]
        return {**facts, "distance": dict(zip(self.pairs, distances, strict=True))}

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """One for each limit and joint that is broken, and for each pair that comes too near."""
        return (*self._broken(), *self._touching())

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

    def _touching(self) -> Iterator[Finding]:
        for k in np.flatnonzero(self.clear < self.distance):
            yield Finding(
                name="collision",
                severity="error",
                where=self.pairs[k],
                found=f"as near as {1e3 * self.clear[k]:.0f} mm",
                expected=f"{1e3 * self.distance[k]:.0f} mm at least",
                remedy="choose another home or start, or move what stands around",
            )


def bounds(series: FourierSeries, middle: Array, points: int = _POINTS) -> Array:
    """Bounds (4, n) on ``|q − middle|``, velocity, acceleration and jerk in continuous time.

    ``points`` is the number of samples per period of the highest harmonic, above 2.
    """
    t = series.times(points)
    off = series.derivative(t, 0) - middle
    rates = (series.derivative(t, order) for order in range(1, len(KINEMATIC)))
    sampled = np.array([np.abs(x).max(axis=0) for x in (off, *rates)])
    return np.asarray(sampled / np.cos(np.pi / points))


def require_home(home: Array, envelope: Envelope) -> None:
    """Check that the robot may rest at ``home`` and move from there.

    Raises
    ------
    InfeasibleError
        Outside the position range, too heavy to hold, too near to something, or a limit that allows
        no motion.
    """
    limits = envelope.limits
    still = np.zeros((1, len(home)))
    holding = envelope.load(States(q=home[None], dq=still, ddq=still))
    for j, joint in enumerate(limits.joints):
        lower, upper = limits.position[j]
        unit = limits.unit("position", j)
        if not lower < home[j] < upper:
            raise InfeasibleError(
                f"position of joint '{joint}'",
                f"starts at {home[j]:.6g} {unit}",
                expected=f"between {lower:.6g} and {upper:.6g} {unit}",
                remedy="choose another start position or a smaller margin",
            )
        for kind in KINEMATIC[1:]:
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
    clear = envelope.clear(home[None])
    if envelope.clearance and len(clear) and clear.min() <= 0.0:
        nearest = int(clear.argmin())
        raise InfeasibleError(
            envelope.clearance.names[nearest],
            f"{-1e3 * clear[nearest]:.0f} mm inside each other at the start",
            expected="apart",
            remedy="choose another start position, or move what stands around",
        )
