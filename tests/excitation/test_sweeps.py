from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ident.errors import InfeasibleError, UsageError
from ident.excitation.approach import Quintic, play_of
from ident.excitation.collision import Clearance
from ident.excitation.course import Course, Cruise, Part, certify
from ident.excitation.envelope import Envelope, Load
from ident.excitation.limits import KINEMATIC, Limits
from ident.excitation.poses import PoseOptions, choose_poses, gravity_condition, visit
from ident.excitation.surroundings import Surroundings, floor
from ident.excitation.sweeps import SweepOptions, friction_sweep
from ident.model.registry import load_robot
from ident.regressor.rigid import derive
from tests.tolerances import FINITE_DIFFERENCE

PLANAR = load_robot("planar2r")
UR5 = load_robot("ur5")
CONTINUOUS = 1e-9
FEW = PoseOptions(poses=4, candidates=200)


def envelope_of(robot, surroundings=None, margin=0.95, **limits) -> Envelope:
    allowed = replace(Limits.of(robot, margin=margin), **limits)
    clearance = Clearance.of(robot, surroundings)
    return Envelope.around(robot.home, allowed, Load(derive(robot)), clearance, 0.02)


ENVELOPES = {"planar2r": envelope_of(PLANAR), "ur5": envelope_of(UR5)}


def courses(robot) -> list[Course]:
    envelope = ENVELOPES[robot.name]
    poses = choose_poses(robot, envelope, np.random.default_rng(0), FEW)
    sweeps = [friction_sweep(robot, j, envelope) for j in (0, robot.n - 1)]
    return [*sweeps, visit(robot, envelope, poses, FEW)]


@pytest.fixture(scope="module", params=[PLANAR, UR5], ids=lambda robot: robot.name)
def robot(request):
    return request.param


@pytest.fixture(scope="module")
def planned(robot) -> list[Course]:
    return courses(robot)


def derivatives(course: Course, t: np.ndarray) -> list[np.ndarray]:
    motion = course.states(t)
    return [motion.q, motion.dq, motion.ddq]


def test_a_course_is_continuous_where_moves_meet_and_at_rest_at_its_ends(planned) -> None:
    for course in planned:
        for before, after in pairwise(course.parts):
            end, begin = before.move.states(before.move.duration_s), after.move.states(0.0)
            for name in ("q", "dq", "ddq"):
                gap = np.abs(getattr(end, name) - getattr(begin, name)).max()
                assert gap <= CONTINUOUS, (before.phase, name)
        q, dq, ddq = derivatives(course, np.array([0.0, course.duration_s]))
        assert max(np.abs(dq).max(), np.abs(ddq).max()) <= CONTINUOUS
        np.testing.assert_allclose(q[0], q[1], rtol=0, atol=CONTINUOUS)


def test_a_course_starts_and_ends_at_home(robot, planned) -> None:
    for course in planned:
        ends = course.states([-1.0, 0.0, course.duration_s, course.duration_s + 1.0]).q
        np.testing.assert_allclose(ends, np.tile(robot.home, (4, 1)), rtol=0, atol=CONTINUOUS)


def test_velocity_and_acceleration_are_derivatives_within_moves(planned) -> None:
    h = 1e-5
    for course in planned:
        t = np.linspace(0.02, course.duration_s - 0.02, 501)
        seams = np.abs(t[:, None] - course.bounds).min(axis=1) < 2 * h
        ahead, behind, here = (derivatives(course, t[~seams] + s) for s in (h, -h, 0.0))
        for order in (0, 1):
            slope = (ahead[order] - behind[order]) / (2 * h)
            np.testing.assert_allclose(slope, here[order + 1], rtol=0, atol=10 * FINITE_DIFFERENCE)


def test_limits_are_kept_and_the_closed_form_is_what_is_reached(robot, planned) -> None:
    limits = ENVELOPES[robot.name].limits
    for course in planned:
        reach = course.reach(limits.middle)
        t = np.linspace(0.0, course.duration_s, 40_000)
        q, dq, ddq = derivatives(course, t)
        jerk = np.gradient(ddq, t, axis=0)
        sampled = [np.abs(x).max(axis=0) for x in (q - limits.middle, dq, ddq, jerk)]
        for kind, bound, seen in zip(KINEMATIC, reach, sampled, strict=True):
            assert (bound <= limits.largest(kind) * (1 + 1e-12)).all(), kind
            assert (seen <= bound * (1 + 1e-6) + 1e-9).all(), kind
            assert (seen >= 0.9 * bound - 1e-9).all(), kind
        assert not certify(course, ENVELOPES[robot.name]).findings


def test_plateaus_have_their_speed_in_both_directions(robot) -> None:
    j, options = robot.n - 1, SweepOptions()
    course = friction_sweep(robot, j, ENVELOPES[robot.name])
    cruises = [part.move for part in course.parts if isinstance(part.move, Cruise)]
    speeds = [move.velocity[j] for move in cruises]
    assert len(speeds) == 2 * len(options.shares)
    np.testing.assert_allclose(speeds[::2], -np.array(speeds[1::2]), rtol=1e-12)
    shares = np.array(speeds[::2]) / speeds[-2] * options.shares[-1]
    np.testing.assert_allclose(shares, options.shares, rtol=1e-9)
    for part, begin in zip(course.parts, course.bounds, strict=False):
        if isinstance(part.move, Cruise):
            move = part.move
            assert options.shortest_s <= move.plateau_s <= options.longest_s
            t = begin + move.blend_s + np.linspace(0.0, move.plateau_s, 50)
            motion = course.states(t)
            np.testing.assert_allclose(motion.dq[:, j], move.velocity[j], rtol=1e-9)
            assert np.abs(motion.ddq).max() <= CONTINUOUS * 10
            still = np.delete(motion.q - robot.home, j, axis=1)
            assert not still.any()


def test_there_and_back_pass_the_same_angles() -> None:
    cruises = [
        part.move
        for part in friction_sweep(PLANAR, 0, ENVELOPES["planar2r"]).parts
        if isinstance(part.move, Cruise)
    ]
    for there, back in zip(cruises[::2], cruises[1::2], strict=True):
        np.testing.assert_array_equal(there.start, back.end)
        np.testing.assert_array_equal(there.end, back.start)


def test_the_range_shrinks_where_something_stands_in_the_way() -> None:
    blocked = envelope_of(UR5, Surroundings(walls=(floor(0.2),)))
    free, short = (friction_sweep(UR5, 1, e) for e in (ENVELOPES["ur5"], blocked))
    assert short.reach(UR5.home)[0, 1] < free.reach(UR5.home)[0, 1]
    assert not certify(short, blocked).findings


def test_the_range_shrinks_where_torque_asks_for_it() -> None:
    # Joint 1 of the outstretched arm needs 13.8 N·m at rest and more to speed up.
    free = ENVELOPES["planar2r"]
    weak = envelope_of(PLANAR, torque=np.array([15.5, 50.0]))
    course = friction_sweep(PLANAR, 0, weak)
    assert (
        course.reach(PLANAR.home)[0, 0] < friction_sweep(PLANAR, 0, free).reach(PLANAR.home)[0, 0]
    )
    assert not certify(course, weak).findings


def test_a_joint_that_cannot_move_is_named() -> None:
    with pytest.raises(InfeasibleError, match="friction sweep of joint 'joint1'"):
        friction_sweep(PLANAR, 0, envelope_of(PLANAR, torque=np.array([13.9, 50.0])))


def test_poses_are_reached_from_both_sides_and_held(robot, planned) -> None:
    course = planned[-1]
    stands = {phase: s for phase, s in course.phase_bounds.items() if phase.startswith("pose")}
    assert len(stands) == 2 * FEW.poses
    for number in range(1, FEW.poses + 1):
        (b0, b1), (a0, a1) = (stands[f"pose {number} from {side}"] for side in ("below", "above"))
        assert min(b1 - b0, a1 - a0) >= 1.5 - CONTINUOUS
        below, above = course.states(b0 - 0.1), course.states(a0 - 0.1)
        assert (below.dq > 0).all()
        assert (above.dq < 0).all()
        at = course.states([b0, b1, a0, a1])
        np.testing.assert_allclose(at.q, np.tile(at.q[0], (4, 1)), rtol=0, atol=CONTINUOUS)


def test_chosen_poses_beat_random_ones() -> None:
    envelope = ENVELOPES["ur5"]
    position = envelope.limits.position
    options = PoseOptions(poses=8)
    own = gravity_condition(UR5, choose_poses(UR5, envelope, np.random.default_rng(1), options))
    rng = np.random.default_rng(2)
    others = [rng.uniform(*(0.4 * position.T + 0.6 * UR5.home), size=(8, 6)) for _ in range(20)]
    assert own < np.median([gravity_condition(UR5, q) for q in others])


def test_no_pose_is_visited_through_the_floor() -> None:
    low = envelope_of(UR5, Surroundings(walls=(floor(-0.05),)))
    poses = choose_poses(UR5, low, np.random.default_rng(3), FEW)
    assert not certify(visit(UR5, low, poses, FEW), low).findings


def test_an_arm_that_cannot_hold_any_pose_is_refused() -> None:
    weak = envelope_of(PLANAR, torque=np.array([0.1, 0.1]))
    with pytest.raises(InfeasibleError, match="static poses of 'planar2r'"):
        choose_poses(PLANAR, weak, np.random.default_rng(0))


def test_a_course_survives_json_exactly(planned) -> None:
    for course in planned:
        again = Course.from_dict(course.to_dict())
        assert again.id == course.id
        t = np.linspace(0.0, course.duration_s, 999)
        np.testing.assert_array_equal(again.states(t).q, course.states(t).q)
    facts = planned[0].to_dict()
    with pytest.raises(UsageError, match="belongs to another content"):
        Course.from_dict({**facts, "rate_hz": 999.0})
    with pytest.raises(UsageError, match="not a course"):
        Course.from_dict({"parts": []})


def test_a_course_plays_as_a_trajectory_does(robot, planned) -> None:
    for course in planned:
        play = play_of(course, robot)
        assert play.duration_s == pytest.approx(course.duration_s)
        t, motion, phases = course.sample(100.0)
        assert len(t) == len(phases) == len(motion.q)
        assert t[-1] >= course.duration_s > t[-2]
        assert list(dict.fromkeys(phases)) == list(course.phase_bounds)


def test_moves_that_do_not_meet_are_refused() -> None:
    away = Quintic(start=[0.1, 0.0], end=[0.2, 0.0], duration_s=1.0)
    start = Quintic(start=[0.0, 0.0], end=[0.3, 0.0], duration_s=1.0)
    parts = (Part(phase="a", move=start), Part(phase="b", move=away))
    with pytest.raises(UsageError, match="phase 'b'"):
        Course(robot="", joints=PLANAR.joints, turns=PLANAR.turns, parts=parts)
    with pytest.raises(UsageError, match="no move"):
        Course(robot="", joints=PLANAR.joints, turns=PLANAR.turns, parts=())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (lambda: SweepOptions(shares=(0.0,)), "sweep shares"),
        (lambda: SweepOptions(shortest_s=5.0), "sweep plateaus"),
        (lambda: PoseOptions(poses=0), "poses"),
        (lambda: PoseOptions(dwell_s=0.0), "pose dwell_s"),
        (lambda: Cruise(start=[0.0], end=[1.0], blend_s=0.0, plateau_s=1.0), "sweep blend_s"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options()
