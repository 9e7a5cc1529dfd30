"""Courses: moves one after the other, for motions that are no Fourier series.

Every move is a straight line in joint space from rest to rest, so that what it reaches is known in
closed form; torque and distances are looked at on a dense grid.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, digest, frozen, locked
from ident.errors import UsageError
from ident.excitation.approach import PEAKS, Quintic
from ident.excitation.envelope import Certificate, Envelope
from ident.excitation.limits import Limits
from ident.model.robot import Robot
from ident.regressor.columns import States

# Below it, in rad or m, two positions are the same.
_SAME = 1e-9
_ROUNDING_S = 1e-9
# Taken where a robot has no velocity limit, rad/s or m/s.
VELOCITY = 1.0
# Grid on which torque and distance are looked at: at 3 rad/s an arm of a metre moves 6 mm between.
_DENSE_HZ, _CHUNK = 500.0, 4000
# The same of a blend to a velocity of one: acceleration and jerk.
BLEND = (1.5, 6.0)
_SLOW, _SHORTEST_MOVE_S = 0.25, 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Cruise:
    """A straight move at constant velocity V between two blends, at rest at both ends.

    In a blend of length T the velocity is ``V (3 s² − 2 s³)``, ``s = t/T``: acceleration is
    continuous and at most ``1.5 V/T``, jerk at most ``6 V/T²``.

    Attributes
    ----------
    start, end : (n,) rad or m
    blend_s, plateau_s : float
        Length of each blend, and of what lies between.
    """

    start: Array
    end: Array
    blend_s: float
    plateau_s: float

    def __post_init__(self) -> None:
        """Check and lock the ends."""
        start = frozen(self.start, (None,), where="start of a sweep", error=UsageError)
        end = frozen(self.end, start.shape, where="end of a sweep", error=UsageError)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        for name in ("blend_s", "plateau_s"):
            if not 0.0 < getattr(self, name) < np.inf:
                found = f"{getattr(self, name):g} s"
                raise UsageError(f"sweep {name}", found, expected="finite, above zero")

    @property
    def duration_s(self) -> float:
        """Length in s."""
        return self.plateau_s + 2.0 * self.blend_s

    @property
    def velocity(self) -> Array:
        """Velocity (n,) on the plateau."""
        return np.asarray((self.end - self.start) / (self.plateau_s + self.blend_s))

    @property
    def peaks(self) -> Array:
        """Largest velocity, acceleration and jerk (3, n)."""
        shape = (1.0, BLEND[0] / self.blend_s, BLEND[1] / self.blend_s**2)
        return np.outer(shape, np.abs(self.velocity))

    def states(self, t: ArrayLike) -> States:
        """Motion (N, n) at times (N,) s since the start; at rest at the ends before and after."""
        t, T = np.atleast_1d(np.asarray(t, dtype=np.float64))[:, None], self.blend_s
        s, r = (np.clip(x / T, 0.0, 1.0) for x in (t, self.duration_s - t))
        w = np.minimum(s, r)
        way = T * (s**3 * (1.0 - 0.5 * s) + 0.5 - r**3 * (1.0 - 0.5 * r))
        way += np.clip(t - T, 0.0, self.plateau_s)
        return States(
            q=np.where(r > 0.0, self.start + way * self.velocity, self.end),
            dq=w**2 * (3.0 - 2.0 * w) * self.velocity + 0.0,  # never −0, for those who read
            ddq=np.where(s < 1.0, 6.0, -6.0) * w * (1.0 - w) / T * self.velocity + 0.0,
        )


Move = Quintic | Cruise


def peaks(move: Move) -> Array:
    """Largest velocity, acceleration and jerk (3, n) of a move."""
    if isinstance(move, Cruise):
        return move.peaks
    if move.still:
        return np.zeros((3, len(move.start)))
    shape = [peak / move.duration_s**k for k, peak in enumerate(PEAKS, start=1)]
    return np.outer(shape, np.abs(move.end - move.start))


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """A move, and the name of the phase that it belongs to."""

    phase: str
    move: Move


@dataclass(frozen=True, eq=False, kw_only=True)
class Course:
    """Moves one after the other, from rest to rest.

    It offers what sampled playback reads of a ``Play``, and of the trajectory in it.

    Attributes
    ----------
    parts : tuple of Part
        Parts of one phase follow each other.
    rate_hz : float
        Rate of the set-points.
    """

    robot: str
    joints: tuple[str, ...]
    turns: tuple[bool, ...]
    parts: tuple[Part, ...]
    rate_hz: float = 1000.0

    def __post_init__(self) -> None:
        """Check that the moves meet."""
        if not self.parts:
            raise UsageError("course", "no move", expected="at least one")
        for before, after in zip(self.parts, self.parts[1:], strict=False):
            if np.abs(before.move.end - after.move.start).max() > _SAME:
                raise UsageError(f"course: phase '{after.phase}'", "starts elsewhere than it is")
        if len(self.parts[0].move.start) != len(self.joints):
            found = f"moves of {len(self.parts[0].move.start)} joints"
            raise UsageError("course", found, expected=str(len(self.joints)))

    @cached_property
    def bounds(self) -> Array:
        """Begin of each part, and the end (parts + 1,) s."""
        return locked(np.cumsum([0.0, *(part.move.duration_s for part in self.parts)]))

    @property
    def duration_s(self) -> float:
        """Length in s."""
        return float(self.bounds[-1])

    @cached_property
    def phase_bounds(self) -> dict[str, tuple[float, float]]:
        """Begin and end of each phase in s."""
        bounds: dict[str, tuple[float, float]] = {}
        for part, begin, end in zip(self.parts, self.bounds, self.bounds[1:], strict=False):
            bounds[part.phase] = (bounds.get(part.phase, (float(begin), 0.0))[0], float(end))
        return bounds

    @property
    def home(self) -> Array:
        """Where it starts (n,)."""
        return self.parts[0].move.start

    @property
    def trajectory(self) -> Course:
        """Itself: nothing comes before or after it."""
        return self

    @property
    def periods(self) -> int:
        """It is played once."""
        return 1

    @property
    def period_s(self) -> float:
        """Length in s."""
        return self.duration_s

    @property
    def highest_harmonic_hz(self) -> float:
        """Frequency above which the motion has little: one over its shortest blend or move."""
        moving = (part.move for part in self.parts if (part.move.end != part.move.start).any())
        times = [m.blend_s if isinstance(m, Cruise) else m.duration_s for m in moving]
        return 1.0 / min(times, default=1.0)

    @cached_property
    def id(self) -> str:
        """Sixteen hexadecimal digits that name the content."""
        return digest([json.dumps(self.to_dict(named=False))])[:16]

    def states(self, t: ArrayLike) -> States:
        """Motion (N, n) at times (N,) s since the start; at rest before and after."""
        t = np.atleast_1d(np.asarray(t, dtype=np.float64))
        index = self._index(t)
        q, dq, ddq = np.empty((3, len(t), len(self.joints)))
        for k in np.unique(index):
            here = index == k
            motion = self.parts[k].move.states(t[here] - self.bounds[k])
            q[here], dq[here], ddq[here] = motion.q, motion.dq, motion.ddq
        return States(q=q, dq=dq, ddq=ddq)

    def sample(self, rate_hz: float | None = None) -> tuple[Array, States, list[str]]:
        """Times (N,) s, the motion (N, n) and the phase then.

        The first time after the end, at most, is the last.
        """
        rate = self.rate_hz if rate_hz is None else rate_hz
        if not (np.isfinite(rate) and rate > 0.0):
            raise UsageError("rate", f"{rate:g} Hz", expected="finite, above zero")
        t = locked(np.arange(np.ceil(self.duration_s * rate - 1e-6) + 1) / rate)
        return t, self.states(t), [self.parts[k].phase for k in self._index(t)]

    def reach(self, middle: Array) -> Array:
        """Largest ``|q − middle|``, velocity, acceleration and jerk (4, n), in continuous time."""
        moves = [part.move for part in self.parts]
        off = np.max([np.abs(q - middle) for m in moves for q in (m.start, m.end)], axis=0)
        return np.vstack([off, np.max([peaks(m) for m in moves], axis=0)])

    def dense(self) -> Iterator[States]:
        """The motion at 500 Hz, some thousand samples at a time; rests are looked at once."""
        times = [np.array([0.0])]
        for part, begin, end in zip(self.parts, self.bounds, self.bounds[1:], strict=False):
            still = not (part.move.end != part.move.start).any()
            count = 1 if still else int(np.ceil((end - begin) * _DENSE_HZ))
            times.append(np.linspace(begin, end, count + 1)[1:])
        t = np.concatenate(times)
        for start in range(0, len(t), _CHUNK):
            yield self.states(t[start : start + _CHUNK])

    def to_dict(self, *, named: bool = True) -> dict[str, Any]:
        """Facts for JSON; numbers survive the trip exactly."""
        return {
            **({"id": self.id} if named else {}),
            "robot": self.robot,
            "joints": list(self.joints),
            "turns": list(self.turns),
            "rate_hz": self.rate_hz,
            "home": self.home.tolist(),
            "parts": [_part_facts(part) for part in self.parts],
        }

    @classmethod
    def from_dict(cls, facts: Any, *, where: str = "course") -> Course:
        """Course of the facts of ``to_dict``.

        Raises
        ------
        UsageError
            No such facts, or an id that belongs to another content.
        """
        try:
            course = cls(
                robot=str(facts["robot"]),
                joints=tuple(facts["joints"]),
                turns=tuple(facts["turns"]),
                rate_hz=float(facts["rate_hz"]),
                parts=tuple(_parts(facts["home"], facts["parts"])),
            )
        except (KeyError, TypeError, ValueError) as e:
            raise UsageError(where, f"not a course: {e!r}") from e
        if facts.get("id") != course.id:
            raise UsageError(where, "its id belongs to another content", expected=course.id)
        return course

    def _index(self, t: Array) -> np.ndarray[Any, np.dtype[np.intp]]:
        index = np.searchsorted(self.bounds, t + _ROUNDING_S, side="right") - 1
        return np.clip(index, 0, len(self.parts) - 1)


def _part_facts(part: Part) -> dict[str, Any]:
    move, facts = part.move, {"phase": part.phase, "end": part.move.end.tolist()}
    if isinstance(move, Cruise):
        return {**facts, "blend_s": float(move.blend_s), "plateau_s": float(move.plateau_s)}
    return {**facts, "duration_s": float(move.duration_s)}


def _parts(home: Any, several: Any) -> Iterator[Part]:
    here = home
    for facts in several:
        times = {name: float(facts[name]) for name in facts if name.endswith("_s")}
        kind = Quintic if "duration_s" in times else Cruise
        yield Part(phase=str(facts["phase"]), move=kind(start=here, end=facts["end"], **times))
        here = facts["end"]


def certify(course: Course, envelope: Envelope) -> Certificate:
    """What a course reaches: in closed form, torque and distances on the dense grid."""
    position, velocity, acceleration, jerk = course.reach(envelope.limits.middle)
    motions = list(course.dense())
    return Certificate(
        limits=envelope.limits,
        position=position,
        velocity=velocity,
        acceleration=acceleration,
        jerk=jerk,
        torque=np.max([envelope.load(m) for m in motions], axis=0),
        pairs=envelope.clearance.names if envelope.clearance else (),
        clear=np.min([envelope.clear(m.q) for m in motions], axis=0),
        distance=envelope.distance,
    )


class Mover:
    """Puts a course together from home on."""

    def __init__(self, robot: Robot, limits: Limits, share: float) -> None:
        """Stand at home; moves use ``share`` of the limits."""
        self._robot, self._limits, self._share = robot, limits, share
        self._parts: list[Part] = []
        self._here = robot.home

    @property
    def course(self) -> Course:
        """What has been put together."""
        r = self._robot
        return Course(robot=r.name, joints=r.joints, turns=r.turns, parts=tuple(self._parts))

    def add(self, phase: str, move: Move) -> None:
        """A move, unless it takes no time."""
        if move.duration_s > 0.0:
            self._parts.append(Part(phase=phase, move=move))
            self._here = move.end

    def rest(self, phase: str, seconds: float) -> None:
        """Stand still."""
        self.add(phase, Quintic(start=self._here, end=self._here, duration_s=seconds))

    def go(self, phase: str, end: Array) -> None:
        """Straight to somewhere."""
        self.add(phase, straight(self._here, end, self._limits, self._share))


def straight(start: Array, end: Array, limits: Limits, share: float) -> Quintic:
    """Move at a quarter of the velocity and a share of the other limits, in a second or more."""
    velocity = np.where(np.isfinite(limits.velocity), limits.velocity, VELOCITY)
    return Quintic.within(
        start,
        end,
        velocity=_SLOW * velocity,
        acceleration=share * limits.acceleration,
        jerk=share * limits.jerk,
        minimum_s=_SHORTEST_MOVE_S,
    )
