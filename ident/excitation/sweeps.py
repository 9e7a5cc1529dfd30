"""Sweeps of one joint at constant velocity, for friction by speed and direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from ident.arrays import Array, frozen
from ident.errors import InfeasibleError, UsageError
from ident.excitation.course import BLEND, VELOCITY, Course, Cruise, Mover, certify
from ident.excitation.envelope import Envelope
from ident.excitation.limits import Limits
from ident.model.robot import Robot

_SHORTEST_BLEND_S = 0.1


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """How one joint sweeps.

    Attributes
    ----------
    shares : tuple of float
        Speeds, as shares of the fastest that limits and range allow.
    shortest_s, longest_s : float
        What a plateau lasts at least and at most. Over half a second at 1 kHz white noise of the
        torque averages out to a twentieth; beyond 4 s a slow sweep costs time and shows no more.
    rest_s : float
        Rest between two sweeps.
    share : float
        Share of the acceleration and jerk limits that blends and moves may use.
    """

    shares: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.7)
    shortest_s: float = 0.5
    longest_s: float = 4.0
    rest_s: float = 0.5
    share: float = 0.5

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not self.shares or not all(0.0 < share <= 1.0 for share in (*self.shares, self.share)):
            raise UsageError("sweep shares", f"{self.shares}", expected="above 0, at most 1")
        if not 0.0 < self.shortest_s <= self.longest_s < np.inf or not self.rest_s >= 0.0:
            found = f"{self.shortest_s:g} s to {self.longest_s:g} s"
            raise UsageError("sweep plateaus", found, expected="above zero, shortest first")


_SHRINK, _SHRINKS = 0.85, 20
_STEP = 0.01  # rad or m, of the range that is looked along
_SMALLEST = 0.1  # rad or m: a joint that can move less shows no friction worth fitting


def friction_sweep(
    robot: Robot,
    joint: int,
    envelope: Envelope,
    options: SweepOptions | None = None,
    *,
    pose: ArrayLike | None = None,
) -> Course:
    """Sweeps of one joint at constant velocity, there and back at each speed, slowest first.

    The other joints stand at ``pose``, by default home: where an arm is at ease, and where it
    stands anyway. Gravity may vary along a sweep: half the difference of the torques there and
    back at the same angle is friction alone, half their sum is gravity and offset. The sweep spans
    what position, collision and torque limits leave, and less for the slow speeds.

    Raises
    ------
    InfeasibleError
        The joint can hardly move from the pose.
    """
    options = options or SweepOptions()
    pose = robot.home if pose is None else frozen(pose, (robot.n,), where="pose", error=UsageError)
    lower, upper = _free_range(envelope, pose, joint)
    for k in range(_SHRINKS):
        low, high = pose[joint] + _SHRINK**k * (np.array([lower, upper]) - pose[joint])
        if high - low < _SMALLEST:
            break
        course = _sweeps(robot, joint, envelope.limits, options, pose, (low, high))
        if not certify(course, envelope).findings:
            return course
    raise InfeasibleError(
        f"friction sweep of joint '{robot.joints[joint]}'",
        f"from {lower:.3g} to {upper:.3g} {envelope.limits.unit('position', joint)} about home",
        expected=f"{_SMALLEST:g} or more, within torque and distance",
        remedy="choose another home, or move what stands around",
    )


def _free_range(envelope: Envelope, pose: Array, joint: int) -> tuple[float, float]:
    """How far one joint may go to either side of a pose before anything comes too near."""
    lower, upper = envelope.limits.position[joint].tolist()
    if envelope.clearance is None or not envelope.clearance.names:
        return lower, upper
    steps = np.linspace(lower, upper, max(2, int(np.ceil((upper - lower) / _STEP))))
    q = np.tile(pose, (len(steps), 1))
    q[:, joint] = steps
    near = envelope.clearance(q) < envelope.distance[:, None]
    hit = steps[near.any(axis=0)]
    below, above = hit[hit <= pose[joint]], hit[hit > pose[joint]]
    low = float(below.max()) + _STEP if len(below) else lower
    return low, float(above.min()) - _STEP if len(above) else upper


def _sweeps(
    robot: Robot,
    joint: int,
    limits: Limits,
    options: SweepOptions,
    pose: Array,
    span: tuple[float, float],
) -> Course:
    """The course of all speeds within a span."""
    mover, room = Mover(robot, limits, options.share), span[1] - span[0]
    unit = limits.unit("velocity", joint)
    mover.go("to the sweeps", pose)
    for speed in options.shares * np.array([_fastest(limits, joint, options, room)]):
        blend = _blend_s(speed, limits, joint, options.share)
        plateau = min(room / speed - blend, options.longest_s)
        half = 0.5 * speed * (plateau + blend)
        # As near to the pose as the span allows.
        centre = float(np.clip(pose[joint], span[0] + half, span[1] - half))
        ends = np.tile(pose, (2, 1))
        ends[:, joint] = centre - half, centre + half
        mover.go(f"to {speed:.3g} {unit}", ends[0])
        mover.rest(f"to {speed:.3g} {unit}", options.rest_s)
        for sign, (start, end) in (("+", ends), ("−", ends[::-1])):
            phase = f"{sign}{speed:.3g} {unit}"
            mover.add(phase, Cruise(start=start, end=end, blend_s=blend, plateau_s=plateau))
            mover.rest(phase, options.rest_s)
    mover.go("home", pose)
    mover.go("home", robot.home)
    return mover.course


def _fastest(limits: Limits, joint: int, options: SweepOptions, room: float) -> float:
    """The largest constant velocity that limits allow, and a range for the shortest plateau."""
    allowed = limits.velocity[joint]
    allowed = float(allowed) if np.isfinite(allowed) else VELOCITY

    def left(speed: float) -> float:
        blend = _blend_s(speed, limits, joint, options.share)
        return room - speed * (blend + options.shortest_s)

    return allowed if left(allowed) >= 0.0 else float(brentq(left, 0.0, allowed))


def _blend_s(speed: float, limits: Limits, joint: int, share: float) -> float:
    """Shortest blend to a speed that keeps the share of acceleration and jerk."""
    acceleration, jerk = (share * kind[joint] for kind in (limits.acceleration, limits.jerk))
    slow = BLEND[0] * speed / acceleration, np.sqrt(BLEND[1] * speed / jerk)
    return float(max(_SHORTEST_BLEND_S, *slow))
