import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ident.errors import UsageError
from ident.excitation.approach import PHASES, ApproachOptions, Play, Quintic, play_of
from ident.excitation.fourier import FourierSeries, RestToRest, Trajectory
from ident.model.registry import load_robot
from tests.tolerances import FINITE_DIFFERENCE, ROUNDOFF

ROOT = Path(__file__).resolve().parents[2]
UR5 = load_robot("ur5")
AWAY = UR5.home + np.array([0.6, -0.2, 0.1, 0.0, -0.4, 1.0])
AT_REST = 1e-9


def some_trajectory(start: np.ndarray = AWAY, periods: int = 2) -> Trajectory:
    rest = RestToRest(UR5.joints, 2 * np.pi * 0.1, 5, start)
    free = 0.1 * np.random.default_rng(5).normal(size=(6, rest.free))
    return Trajectory(series=rest.series(free), periods=periods, rate_hz=1000.0, robot="ur5")


def some_play(**options: float) -> Play:
    return play_of(some_trajectory(), UR5, ApproachOptions(**options))


def move(distance: float, **limits: float) -> Quintic:
    given = {"velocity": np.inf, "acceleration": np.inf, "jerk": np.inf, **limits}
    arrays = {name: np.array([value]) for name, value in given.items()}
    return Quintic.within([0.5], [0.5 + distance], **arrays)


@pytest.mark.parametrize(
    ("order", "kind"), [(1, "velocity"), (2, "acceleration"), (3, "jerk")], ids=lambda x: str(x)
)
@pytest.mark.parametrize("distance", [-2.3, 0.04])
def test_the_shortest_move_reaches_its_limit_and_no_more(
    order: int, kind: str, distance: float
) -> None:
    quintic = move(distance, **{kind: 0.7})
    t = np.linspace(0.0, quintic.duration_s, 100_001)
    motion = quintic.states(t)
    values = {1: motion.dq, 2: motion.ddq, 3: np.gradient(motion.ddq[:, 0], t)[:, None]}[order]
    # A one-sided difference at the ends sees the jerk half a step inside.
    rtol = 1e-4 if order == 3 else 1e-8
    np.testing.assert_allclose(np.abs(values).max(), 0.7, rtol=rtol)


def test_velocity_and_acceleration_are_derivatives() -> None:
    quintic, h = move(1.7, velocity=0.3), 1e-5
    t = np.linspace(0.1, quintic.duration_s - 0.1, 31)
    ahead, behind, here = (quintic.states(t + s) for s in (h, -h, 0.0))
    for a, b, expected in ((ahead.q, behind.q, here.dq), (ahead.dq, behind.dq, here.ddq)):
        np.testing.assert_allclose((a - b) / (2 * h), expected, rtol=0, atol=FINITE_DIFFERENCE)


def test_the_arm_stands_before_and_after_a_move() -> None:
    quintic = move(1.7, velocity=0.3)
    motion = quintic.states([-1.0, 0.0, quintic.duration_s, 1e3])
    np.testing.assert_array_equal(motion.q[:, 0], [0.5, 0.5, 2.2, 2.2])
    assert not motion.dq.any()
    assert not motion.ddq.any()


def test_the_way_back_is_the_same_path() -> None:
    quintic = move(1.7, velocity=0.3)
    t = np.linspace(0.0, quintic.duration_s, 101)
    there, back = quintic.states(t), quintic.back.states(t[::-1])
    np.testing.assert_allclose(back.q, there.q, rtol=0, atol=ROUNDOFF)
    np.testing.assert_allclose(back.dq, -there.dq, rtol=0, atol=ROUNDOFF)


def test_a_joint_that_does_not_move_needs_no_limit() -> None:
    two = {"velocity": [0.0, 1.0], "acceleration": [0.0, 1.0], "jerk": [0.0, 1.0]}
    assert Quintic.within([0.0, 0.0], [0.0, 1.0], **two).duration_s > 1.0
    with pytest.raises(UsageError, match=r"limits of a move: 0 \(expected above zero\)"):
        Quintic.within([0.0, 0.0], [1.0, 0.0], **two)


def test_a_play_leaves_home_and_comes_back_at_rest() -> None:
    play = some_play()
    motion = play.states([0.0, play.duration_s, play.duration_s + 5.0])
    np.testing.assert_allclose(motion.q, np.tile(UR5.home, (3, 1)), rtol=0, atol=ROUNDOFF)
    assert np.abs(motion.dq).max() <= AT_REST
    assert np.abs(motion.ddq).max() <= AT_REST


def test_a_play_is_continuous_at_its_joints() -> None:
    play, h = some_play(), 1e-7
    seams = [play.approach.duration_s, *play.phase_bounds["excitation"]]
    seams.append(play.duration_s - play.approach.duration_s)
    before, after = (play.states(np.array(seams) + s) for s in (-h, h))
    for a, b in ((before.q, after.q), (before.dq, after.dq), (before.ddq, after.ddq)):
        # What the steepest of them, acceleration, gains in twice h at some 100 rad/s³.
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-5)
    motion = play.states(seams)
    np.testing.assert_allclose(motion.q, np.tile(AWAY, (4, 1)), rtol=0, atol=ROUNDOFF)
    assert max(np.abs(motion.dq).max(), np.abs(motion.ddq).max()) <= AT_REST


def test_the_middle_of_a_play_is_the_trajectory() -> None:
    play = some_play()
    begin, end = play.phase_bounds["excitation"]
    t = np.linspace(0.0, end - begin, 1001)
    np.testing.assert_allclose(
        play.states(begin + t).ddq, play.trajectory.states(t).ddq, rtol=0, atol=1e3 * ROUNDOFF
    )


def test_phases_follow_each_other_and_hold_the_rest() -> None:
    play = some_play(dwell_s=0.5)
    begin = play.approach.duration_s + 0.5
    assert list(play.phase_bounds) == list(PHASES)
    assert play.phase_bounds["approach"] == (0.0, begin)
    assert play.phase_bounds["return"] == (begin + 20.0, play.duration_s)
    assert play.duration_s == pytest.approx(20.0 + 2 * begin)
    t, _, phases = play.sample(100.0)
    ticks = round(100 * begin)
    assert [phases.count(phase) for phase in PHASES] == [ticks, 2000, ticks + 1]
    assert t[-1] == pytest.approx(play.duration_s)


def test_the_moves_are_slow() -> None:
    play = some_play(share=0.1, minimum_s=0.0)
    motion = play.approach.states(np.linspace(0.0, play.approach.duration_s, 1001))
    assert (np.abs(motion.dq) <= 0.1 * UR5.velocity + 1e-9).all()
    assert (np.abs(motion.ddq) <= 0.1 * UR5.acceleration + 1e-9).all()
    assert some_play(minimum_s=9.0).approach.duration_s == pytest.approx(9.0)


@pytest.mark.parametrize("rate", [100.0, 125.0, 250.0, 500.0, 1000.0])
def test_periods_are_sampled_alike(rate: float) -> None:
    play = some_play()
    assert (play.phase_bounds["excitation"][0] * rate) % 1.0 == pytest.approx(0.0, abs=1e-6)


def test_home_at_the_start_leaves_the_trajectory_alone() -> None:
    trajectory = some_trajectory(UR5.home)
    play = play_of(trajectory, UR5)
    assert not play.moves
    assert play.duration_s == trajectory.duration_s
    t, motion, phases = play.sample()
    np.testing.assert_array_equal(motion.q, trajectory.states(t).q)
    assert set(phases) == {"excitation"}


def test_another_home_is_taken() -> None:
    home = UR5.home - 0.2
    np.testing.assert_array_equal(play_of(some_trajectory(), UR5, home=home).states(0.0).q[0], home)


def test_a_robot_without_limits_moves_slowly() -> None:
    free = replace(UR5.links[0].joint, velocity=np.inf)
    links = (replace(UR5.links[0], joint=free), *UR5.links[1:])
    robot = replace(UR5, links=links, acceleration=np.full(6, np.inf), jerk=np.full(6, np.inf))
    play = play_of(some_trajectory(UR5.home + np.array([4.0, 0, 0, 0, 0, 0])), robot)
    assert np.abs(play.states(np.linspace(0, play.approach.duration_s, 999)).dq).max() <= 0.25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 0.0}, "approach share: 0"),
        ({"share": 1.5}, "approach share: 1.5"),
        ({"minimum_s": -1.0}, "approach minimum_s: -1"),
        ({"dwell_s": np.inf}, "approach dwell_s: inf"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ApproachOptions(**options)


def test_a_trajectory_that_cannot_be_played_is_refused() -> None:
    with pytest.raises(UsageError, match="expected those of 'panda'"):
        play_of(some_trajectory(), load_robot("panda"))
    series = FourierSeries(
        joints=UR5.joints, omega=1.0, a=np.ones((6, 2)), b=np.zeros((6, 2)), q0=UR5.home
    )
    moving = Trajectory(series=series, periods=1, rate_hz=100.0)
    with pytest.raises(UsageError, match="it moves at the ends of a period"):
        play_of(moving, UR5)
    with pytest.raises(UsageError, match="rate: 0 Hz"):
        some_play().sample(0.0)


def test_the_sample_trajectories_play() -> None:
    for file in sorted((ROOT / "data" / "logs" / "ur5").glob("*.trajectory.json")):
        trajectory = Trajectory.from_dict(json.loads(file.read_text("utf-8")))
        assert play_of(trajectory, UR5).duration_s >= trajectory.duration_s
