"""Static poses that show gravity best, each reached from both sides.

Held torque is gravity plus whatever stiction carries, of either sign. Reached from below and from
above, the mean of the two torques is gravity and offset, half their difference the stiction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, locked
from ident.base.minimal import reduce
from ident.errors import InfeasibleError, UsageError
from ident.excitation.course import Course, Mover, Part, certify, straight
from ident.excitation.criteria import default_noise
from ident.excitation.envelope import Envelope
from ident.leastsquares.condition import condition_number
from ident.model.robot import Robot
from ident.regressor.columns import States
from ident.regressor.rigid import derive

# A direction this much weaker than the strongest is not seen at rest at all.
_UNSEEN = 1e-8
# Information that is there before the first pose, relative to all candidates': it only breaks ties.
_BEFORE = 1e-6
# Candidates are drawn from the whole range, and from it shrunk about home by up to this.
_NEAREST = 0.2


@dataclass(frozen=True, kw_only=True)
class PoseOptions:
    """How many poses, and how they are visited.

    Attributes
    ----------
    poses, candidates : int
        How many are wanted, and out of how many random ones.
    nudge : float
        Distance in rad (a third of it in m) from which a pose is approached on either side: more
        than gears and belts wind up.
    dwell_s : float
        Rest at a pose after each approach; the last second of it is still.
    share : float
        Share of the acceleration and jerk limits that moves may use.
    """

    poses: int = 12
    candidates: int = 1000
    nudge: float = 0.06
    dwell_s: float = 1.5
    share: float = 0.25

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 1 <= self.poses <= self.candidates:
            found = f"{self.poses} of {self.candidates} candidates"
            raise UsageError("poses", found, expected=f"from 1 to {self.candidates}")
        for name in ("nudge", "dwell_s", "share"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise UsageError(f"pose {name}", f"{getattr(self, name):g}", expected="above zero")


def choose_poses(
    robot: Robot,
    envelope: Envelope,
    rng: np.random.Generator,
    options: PoseOptions | None = None,
) -> Array:
    """Poses (K, n), K at most ``options.poses``, whose gravity columns are conditioned best.

    Of random candidates within the envelope the one that adds most to the log determinant of the
    information is taken, again and again; one that cannot be reached from home and left to home in
    a straight line is passed over for the next best. Offsets of the joints count as columns.

    Raises
    ------
    InfeasibleError
        No candidate keeps the envelope and can be reached.
    """
    options = options or PoseOptions()
    candidates = _allowed(robot, envelope, rng, options)
    if len(candidates):
        Z = _visible(gravity_rows(robot, candidates))
        G = _BEFORE * np.eye(Z.shape[2]) * np.sum(Z**2) / Z.shape[2]
    chosen: list[int] = []
    left = np.ones(len(candidates), dtype=bool)
    while left.any() and len(chosen) < options.poses:
        gain = np.linalg.slogdet(np.eye(robot.n) + Z @ np.linalg.inv(G) @ Z.transpose(0, 2, 1))[1]
        k = int(np.argmax(np.where(left, gain, -np.inf)))
        left[k] = False
        if _reachable(robot, envelope, candidates[k], options):
            chosen.append(k)
            G = G + Z[k].T @ Z[k]
    if not chosen:
        raise InfeasibleError(
            f"static poses of '{robot.name}'",
            f"none of {options.candidates} random poses",
            expected="some that keep torque and distance, reached from home in a straight line",
            remedy="choose another home, a smaller --distance or fewer surroundings",
        )
    return locked(candidates[chosen])


def visit(
    robot: Robot, envelope: Envelope, poses: Array, options: PoseOptions | None = None
) -> Course:
    """Course from home through poses (K, n) and back, the nearest next.

    Each is reached from below at all joints, then from above, with a rest after each. Where the
    straight way to every pose that is left breaks the envelope, it goes by home.
    """
    options = options or PoseOptions()
    mover, here = Mover(robot, envelope.limits, options.share), robot.home
    left = list(poses)
    for number in range(1, len(poses) + 1):
        there = _next(robot, envelope, here, left, options)
        if there is None:
            here = robot.home
            mover.go(f"to pose {number}", here)
            there = _soonest(envelope, here, left, options)[0]
        here = left.pop(there)
        _stand(mover, number, here, _nudge(robot, options), options.dwell_s)
    mover.go("home", robot.home)
    return mover.course


def _stand(mover: Mover, number: int, pose: Array, nudge: Array, dwell_s: float) -> None:
    """Reach a pose from below and rest, then from above and rest."""
    for way, off, side in (("to", -nudge, "below"), ("around", nudge, "above")):
        mover.go(f"{way} pose {number}", pose + off)
        mover.go(f"{way} pose {number}", pose)
        mover.rest(f"pose {number} from {side}", dwell_s)


def gravity_rows(robot: Robot, q: Array) -> Array:
    """Torque at rest (K, n, columns) per base parameter and per offset, in units of its noise."""
    still = np.zeros_like(q)
    Y = derive(robot).by_joint(q, still, still)[:, reduce(robot).kept]
    noise = default_noise(robot)
    offset = np.broadcast_to(np.eye(robot.n), (len(q), robot.n, robot.n))
    return np.concatenate([Y.transpose(2, 0, 1), offset], axis=2) / noise[:, None]


def gravity_condition(robot: Robot, q: Array) -> float:
    """Condition number of what poses (K, n) show at rest, columns by their size over all."""
    Z = _visible(gravity_rows(robot, q))
    return condition_number(Z.reshape(-1, Z.shape[2]))


def _visible(rows: Array) -> Array:
    """Rows (K, n, r) on the directions that any pose shows, columns of equal size."""
    W = rows.reshape(-1, rows.shape[2])
    size = np.linalg.norm(W, axis=0)
    W = W[:, size > 0.0] / size[size > 0.0]
    _, s, Vt = np.linalg.svd(W, full_matrices=False)
    Z = W @ Vt[s > _UNSEEN * s[0]].T
    return np.asarray(Z.reshape(*rows.shape[:2], -1))


def _allowed(
    robot: Robot, envelope: Envelope, rng: np.random.Generator, options: PoseOptions
) -> Array:
    """Random poses (K, n), near home and far, that keep the envelope on either side."""
    nudge, position = _nudge(robot, options), envelope.limits.position
    lower, upper = position[:, 0] + nudge, position[:, 1] - nudge
    if not ((lower < robot.home) & (robot.home < upper)).all():
        return np.zeros((0, robot.n))
    anywhere = rng.uniform(lower, upper, size=(options.candidates, robot.n))
    q = robot.home + rng.uniform(_NEAREST, 1.0, size=(len(anywhere), 1)) * (anywhere - robot.home)
    if envelope.clearance is not None and envelope.clearance.names:
        for off in (0.0, nudge, -nudge):
            q = q[(envelope.clearance(q + off) >= envelope.distance[:, None]).all(axis=0)]
    return np.asarray(q[(_holding(envelope, q) <= envelope.limits.torque).all(axis=1)])


def _holding(envelope: Envelope, q: Array) -> Array:
    """Torque (K, n) to hold each pose and break away from it."""
    still = np.zeros_like(q)
    held = envelope.load.torque(States(q=q, dq=still, ddq=still))
    return np.asarray(np.abs(held) + envelope.load.coulomb)


def _reachable(robot: Robot, envelope: Envelope, pose: Array, options: PoseOptions) -> bool:
    entry = pose - _nudge(robot, options)
    return all(
        _keeps(robot, envelope, start, end, options)
        for start, end in ((robot.home, entry), (pose, robot.home))
    )


def _keeps(
    robot: Robot, envelope: Envelope, start: Array, end: Array, options: PoseOptions
) -> bool:
    """Whether a straight move keeps torque and distance."""
    move = straight(start, end, envelope.limits, options.share)
    if move.duration_s == 0.0:
        return True
    course = Course(
        robot=robot.name,
        joints=robot.joints,
        turns=robot.turns,
        parts=(Part(phase="move", move=move),),
    )
    return not certify(course, envelope).findings


def _next(
    robot: Robot, envelope: Envelope, here: Array, left: list[Array], options: PoseOptions
) -> int | None:
    """Index of the pose that is reached soonest in a straight line; None where none can be."""
    nudge = _nudge(robot, options)
    order = _soonest(envelope, here, left, options)
    free = (k for k in order if _keeps(robot, envelope, here, left[k] - nudge, options))
    return next(free, None)


def _soonest(envelope: Envelope, here: Array, left: list[Array], options: PoseOptions) -> list[int]:
    """Indices of poses, the one first that a straight move reaches first."""
    times = [straight(here, pose, envelope.limits, options.share).duration_s for pose in left]
    return sorted(range(len(left)), key=times.__getitem__)


def _nudge(robot: Robot, options: PoseOptions) -> Array:
    """Distance (n,) from which a pose is approached."""
    return options.nudge * np.where(robot.turns, 1.0, 1.0 / 3.0)
