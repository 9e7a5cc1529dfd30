"""Design a trajectory: the best of many random feasible ones."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.errors import Finding, InfeasibleError, UsageError
from ident.excitation.criteria import Criterion, Quality
from ident.excitation.fourier import RestToRest, Trajectory
from ident.excitation.limits import (
    KINDS,
    Certificate,
    Limits,
    Load,
    certify,
    grid,
    largest_scale,
    require_start,
)
from ident.model.robot import Robot
from ident.regressor.rigid import derive

# Above this the motion is too small to show the weakest parameter at all.
_USELESS = 1e8
_SHRINK, _SHRINKS = 0.9, 60
_UNSEEN = Finding(
    name="collision_unchecked",
    severity="info",
    where="trajectory",
    found="collision with itself and with what stands around is not checked",
    remedy="play it in the robot's simulator or at low speed first",
)


@dataclass(frozen=True, kw_only=True)
class DesignOptions:
    """What may be chosen.

    Attributes
    ----------
    margin : float
        Share of each limit that may be used.
    start : tuple of float, or None
        Position at the ends of every period; home by default.
    noise : tuple of float, or None
        Standard deviation of the torque of each joint; one percent of its limit by default.
    """

    harmonics: int = 5
    base_frequency_hz: float = 0.1
    periods: int = 2
    rate_hz: float = 1000.0
    starts: int = 200
    seed: int = 0
    margin: float = 0.95
    start: tuple[float, ...] | None = None
    noise: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """A trajectory with what is promised of it."""

    trajectory: Trajectory
    certificate: Certificate
    quality: Quality
    options: DesignOptions
    seconds: float

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is suspect."""
        return (*self.certificate.findings, *self.quality.findings, _UNSEEN)

    def summary(self) -> dict[str, Any]:
        """Figures of the machine summary: condition, log_det, margins and seconds."""
        return {
            "condition": asdict(self.quality.condition),
            "log_det": self.quality.log_det,
            "margins": {**self.certificate.margins, "collision": None},
            "seconds": self.seconds,
        }

    def to_dict(self) -> Mapping[str, Any]:
        """Facts for JSON: the trajectory, and its certificate beside it."""
        facts = self.summary()
        del facts["seconds"]  # the same design is the same file
        errors = zip(self.quality.names, self.quality.standard_errors.tolist(), strict=True)
        certificate = {
            **facts,
            "level": self.quality.level,
            "standard_errors": dict(errors),
            "options": asdict(self.options),
        }
        return {**self.trajectory.to_dict(), "certificate": certificate}


def design(
    robot: Robot, options: DesignOptions | None = None, *, limits: Limits | None = None
) -> Design:
    """Best of ``options.starts`` random feasible trajectories by scaled condition number.

    Limits are the robot's, by ``options.margin``, unless they are given.

    Raises
    ------
    InfeasibleError
        No motion keeps the limits, or none that shows every parameter; it names the limit.
    """
    options = options or DesignOptions()
    if options.starts < 1:
        raise UsageError("starts", str(options.starts), expected="at least one")
    if options.seed < 0:
        raise UsageError("seed", str(options.seed), expected="zero or more")
    began = time.perf_counter()
    regressor = derive(robot)
    start = np.asarray(robot.home if options.start is None else options.start, dtype=np.float64)
    rest = RestToRest(
        robot.joints, 2.0 * np.pi * options.base_frequency_hz, options.harmonics, start
    )
    limits = limits or Limits.of(robot, margin=options.margin, around=start)
    load = Load(regressor)
    require_start(start, limits, load)
    noise = None if options.noise is None else np.asarray(options.noise)
    criterion = Criterion.of(regressor, noise)
    free = _best(rest, limits, load, criterion, options)
    trajectory = Trajectory(
        series=rest.series(free),
        periods=options.periods,
        rate_hz=options.rate_hz,
        robot=robot.name,
    )
    certificate = certify(trajectory.series, limits, load)
    certificate.require()
    samples = round(trajectory.duration_s * trajectory.rate_hz)
    return Design(
        trajectory=trajectory,
        certificate=certificate,
        quality=criterion.quality(trajectory.series, samples),
        options=options,
        seconds=time.perf_counter() - began,
    )


def _best(
    rest: RestToRest, limits: Limits, load: Load, criterion: Criterion, options: DesignOptions
) -> Array:
    """Free coefficients of the best start."""
    rng = np.random.default_rng(options.seed)
    best, lowest = None, np.inf
    for _ in range(options.starts):
        free = _within_torque(_random_start(rest, limits, rng), rest, limits, load)
        condition = np.inf if free is None else criterion.scaled_condition(rest.series(free))
        if condition < lowest:
            best, lowest = free, condition
    if best is None or lowest > _USELESS:
        raise _tightest(rest, limits, lowest)
    return best


def _random_start(rest: RestToRest, limits: Limits, rng: np.random.Generator) -> Array:
    """Random free coefficients, each joint scaled to 60-100 % of what kinematic limits allow.

    Every harmonic of every joint draws its own size first, so that some starts are slow and wide
    and others fast.
    """
    shape = (2, len(rest.joints), rest.harmonics)
    a, b = rng.normal(size=shape) * rng.uniform(size=shape)
    free = rest.nearest(a, b)
    room = largest_scale(rest.series(free), rest.start, limits).min(axis=0)
    share = rng.uniform(0.6, 1.0, size=len(rest.joints))
    return np.asarray(free * (room * share)[:, None])


def _within_torque(free: Array, rest: RestToRest, limits: Limits, load: Load) -> Array | None:
    """The same motion, smaller until the torque limits hold; None where it vanishes first."""
    for _ in range(_SHRINKS):
        series = rest.series(free)
        if (load(series.states(grid(series)[0])) <= limits.torque).all():
            return free
        free = _SHRINK * free
    return None


def _tightest(rest: RestToRest, limits: Limits, condition: float) -> InfeasibleError:
    """Name the limit that leaves the least room, relative to motion of unit size."""
    probe = rest.series(np.ones((len(rest.joints), rest.free)))
    room = largest_scale(probe, rest.start, limits)
    k, j = np.unravel_index(int(np.argmin(room)), room.shape)
    kind, joint = KINDS[int(k)], limits.joints[int(j)]
    return InfeasibleError(
        f"{kind} of joint '{joint}'",
        f"the motion left by its limit has condition number {condition:.3g}",
        expected=f"below {_USELESS:g}",
        remedy="widen this limit, or lower the base frequency",
    )
