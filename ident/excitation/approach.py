"""The whole of what an arm plays: from home to the trajectory, the trajectory, and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, Indices, frozen, locked
from ident.errors import UsageError
from ident.excitation.fourier import Trajectory
from ident.model.robot import Robot
from ident.regressor.columns import States

Phase = Literal["approach", "excitation", "return"]
PHASES: tuple[Phase, ...] = get_args(Phase)

# Largest velocity, acceleration and jerk of a quintic move over a distance of one in a time of one.
PEAKS = (15.0 / 8.0, 10.0 / np.sqrt(3.0), 60.0)
# Moves last a multiple of it, s: a whole number of ticks at 100, 125, 250, 500 and 1000 Hz, so that
# the set-points of every period are the same.
_GRID = 0.2
# Taken where a robot has no velocity limit, rad/s or m/s.
_VELOCITY = 1.0
# Below it, in rad, m and their derivatives, two positions are the same and an arm is at rest; the
# rounding of a series is a thousand times less.
_SAME = 1e-9
# A tick this little before a phase begins is its first, s.
_ROUNDING_S = 1e-9


@dataclass(frozen=True, kw_only=True)
class ApproachOptions:
    """How the arm goes from home to the trajectory and back.

    Attributes
    ----------
    share : float
        Share of the velocity, acceleration and jerk limits that the moves may use.
    minimum_s : float
        Shortest move.
    dwell_s : float
        Rest between the moves and the trajectory, in which an arm that lags catches up.
    """

    share: float = 0.25
    minimum_s: float = 2.0
    dwell_s: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0.0 < self.share <= 1.0:
            raise UsageError("approach share", f"{self.share:g}", expected="above 0, at most 1")
        for name in ("minimum_s", "dwell_s"):
            if not 0.0 <= getattr(self, name) < np.inf:
                found = f"{getattr(self, name):g}"
                raise UsageError(f"approach {name}", found, expected="seconds, not below zero")


@dataclass(frozen=True, eq=False, kw_only=True)
class Quintic:
    """A straight move in joint space, at rest with zero acceleration at both ends.

    ``q(t) = start + (10 s³ − 15 s⁴ + 6 s⁵)(end − start)``, ``s = t/duration``. Before and after it
    the arm stands at the ends.

    Attributes
    ----------
    start, end : (n,) rad or m
    duration_s : float
        Zero only where the ends are the same.
    """

    start: Array
    end: Array
    duration_s: float

    def __post_init__(self) -> None:
        """Check and lock the ends."""
        start = frozen(self.start, (None,), where="start of a move", error=UsageError)
        end = frozen(self.end, start.shape, where="end of a move", error=UsageError)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        if not 0.0 <= self.duration_s < np.inf or (self.duration_s == 0.0 and not self.still):
            raise UsageError(
                "duration of a move", f"{self.duration_s:g} s", expected="finite, above zero"
            )

    @classmethod
    def within(
        cls,
        start: ArrayLike,
        end: ArrayLike,
        *,
        velocity: ArrayLike,
        acceleration: ArrayLike,
        jerk: ArrayLike,
        minimum_s: float = 0.0,
    ) -> Quintic:
        """The shortest move that keeps limits (n,), but not shorter than ``minimum_s``.

        A move between the same ends takes no time.
        """
        distance = np.abs(np.asarray(end, dtype=np.float64) - np.asarray(start, dtype=np.float64))
        if (distance <= _SAME).all():
            return cls(start=np.asarray(start), end=np.asarray(end), duration_s=0.0)
        limits = np.array([velocity, acceleration, jerk])[:, distance > 0.0]
        peaks = np.outer(PEAKS, distance[distance > 0.0])
        if not (limits > 0.0).all():
            raise UsageError("limits of a move", f"{limits.min():g}", expected="above zero")
        needed = (peaks / limits).max(axis=1) ** (1.0 / np.arange(1, 4))
        duration_s = max(float(needed.max()), minimum_s)
        return cls(start=np.asarray(start), end=np.asarray(end), duration_s=duration_s)

    @property
    def still(self) -> bool:
        """Whether both ends are the same."""
        return bool((np.abs(self.end - self.start) <= _SAME).all())

    @property
    def back(self) -> Quintic:
        """The move from end to start, over the same path in the same time."""
        return Quintic(start=self.end, end=self.start, duration_s=self.duration_s)

    def states(self, t: ArrayLike) -> States:
        """Motion (N, n) at times (N,) s since the start."""
        t = np.atleast_1d(np.asarray(t, dtype=np.float64))
        if self.duration_s == 0.0:
            still = np.zeros((len(t), len(self.start)))
            return States(q=np.where(t[:, None] < 0.0, self.start, self.end), dq=still, ddq=still)
        s = np.clip(t / self.duration_s, 0.0, 1.0)[:, None]
        path, r = self.end - self.start, 1.0 - s
        return States(
            q=np.where(s < 1.0, self.start + s**3 * (10.0 + s * (6.0 * s - 15.0)) * path, self.end),
            dq=30.0 * (s * r) ** 2 * path / self.duration_s + 0.0,  # never −0, for those who read
            ddq=60.0 * s * r * (r - s) * path / self.duration_s**2 + 0.0,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Play:
    """A trajectory with its approach from home and its return, as one motion.

    Position, velocity and acceleration are continuous throughout; the return is the approach
    backwards. Where home is the start of the trajectory there is nothing before or after it.

    Attributes
    ----------
    approach : Quintic
        From home to the start of the trajectory.
    dwell_s : float
        Rest after the approach and before the return.
    turns : tuple of bool
        Per joint, whether its coordinate is an angle.
    """

    trajectory: Trajectory
    approach: Quintic
    dwell_s: float
    turns: tuple[bool, ...]

    def __post_init__(self) -> None:
        """Check that the parts meet at rest."""
        ends = self.trajectory.states([0.0, self.trajectory.period_s])
        where = f"trajectory {self.trajectory.id}"
        if max(np.abs(ends.dq).max(), np.abs(ends.ddq).max()) > _SAME:
            raise UsageError(
                where,
                "it moves at the ends of a period",
                expected="a series from rest to rest",
                remedy="design it anew",
            )
        if ends.q.shape[1] != len(self.approach.end):
            found = f"{ends.q.shape[1]} joints, the approach has {len(self.approach.end)}"
            raise UsageError(where, found, expected="the same joints")
        if np.abs(ends.q - self.approach.end).max() > _SAME:
            raise UsageError(where, "the approach does not end at its start")

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, in order."""
        return self.trajectory.joints

    @property
    def robot(self) -> str:
        """Name of the robot."""
        return self.trajectory.robot

    @property
    def home(self) -> Array:
        """Where it starts and ends (n,)."""
        return self.approach.start

    @property
    def moves(self) -> bool:
        """Whether there is any approach."""
        return self.approach.duration_s > 0.0

    @property
    def rate_hz(self) -> float:
        """Rate of the set-points unless another is asked for."""
        return self.trajectory.rate_hz

    @property
    def duration_s(self) -> float:
        """Length of the whole in s."""
        return self.phase_bounds["return"][1]

    @cached_property
    def phase_bounds(self) -> dict[Phase, tuple[float, float]]:
        """Begin and end of each phase in s; rest belongs to the approach and to the return."""
        begin = self.approach.duration_s + (self.dwell_s if self.moves else 0.0)
        end = begin + self.trajectory.duration_s
        return {"approach": (0.0, begin), "excitation": (begin, end), "return": (end, end + begin)}

    def states(self, t: ArrayLike) -> States:
        """Motion (N, n) at times (N,) s since the start; at rest at home before and after."""
        t = np.atleast_1d(np.asarray(t, dtype=np.float64))
        begin, end = self.phase_bounds["excitation"]
        parts = (
            self.approach.states(t),
            self.trajectory.states(np.clip(t - begin, 0.0, end - begin)),
            self.approach.back.states(t - (self.duration_s - self.approach.duration_s)),
        )
        phase = self.phase(t)[:, None]
        return States(
            q=np.choose(phase, [part.q for part in parts]),
            dq=np.choose(phase, [part.dq for part in parts]),
            ddq=np.choose(phase, [part.ddq for part in parts]),
        )

    def phase(self, t: ArrayLike) -> Indices:
        """Index (N,) into ``PHASES`` at times (N,) s."""
        bounds = self.phase_bounds["excitation"] if self.moves else (-np.inf, np.inf)
        return np.searchsorted(bounds, np.atleast_1d(t) + _ROUNDING_S, side="right")

    def sample(self, rate_hz: float | None = None) -> tuple[Array, States, list[Phase]]:
        """Times (N,) s, the motion (N, n) and the phase then, from home until home is reached.

        The first time after the end, at most, is the last.
        """
        rate = self.rate_hz if rate_hz is None else rate_hz
        if not (np.isfinite(rate) and rate > 0.0):
            raise UsageError("rate", f"{rate:g} Hz", expected="finite, above zero")
        # A duration of a whole number of ticks is rounded to either side of it.
        t = locked(np.arange(np.ceil(self.duration_s * rate - 1e-6) + 1) / rate)
        return t, self.states(t), [PHASES[k] for k in self.phase(t)]


def play_of(
    trajectory: Trajectory,
    robot: Robot,
    options: ApproachOptions | None = None,
    *,
    home: ArrayLike | None = None,
) -> Play:
    """A trajectory with an approach and a return that keep a share of the robot's limits.

    Torques and collisions along the moves are not looked at here.

    Parameters
    ----------
    home : (n,) rad or m, optional
        Where it starts and ends; by default the robot's home.

    Raises
    ------
    UsageError
        The trajectory is of other joints, or does not start at rest.
    """
    options = options or ApproachOptions()
    if trajectory.joints != robot.joints:
        raise UsageError(
            f"trajectory {trajectory.id}",
            f"joints {', '.join(trajectory.joints)}",
            expected=f"those of '{robot.name}': {', '.join(robot.joints)}",
        )
    start = trajectory.states(0.0).q[0]
    approach = Quintic.within(
        robot.home if home is None else home,
        start,
        velocity=options.share * np.where(np.isfinite(robot.velocity), robot.velocity, _VELOCITY),
        acceleration=options.share * robot.acceleration,
        jerk=options.share * robot.jerk,
        minimum_s=options.minimum_s,
    )
    ticks = np.ceil(approach.duration_s / _GRID - 1e-9)
    whole = Quintic(start=approach.start, end=approach.end, duration_s=float(ticks * _GRID))
    return Play(trajectory=trajectory, approach=whole, dwell_s=options.dwell_s, turns=robot.turns)
