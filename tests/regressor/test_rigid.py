import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.errors import ModelError
from ident.model.dh import DHRow, robot_of_table
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.regressor.numpy_ import BLOCK
from ident.regressor.rigid import derive
from tests.random_robots import random_motion
from tests.tolerances import ROUNDOFF

UR5 = derive(load_robot("ur5"))


def single(kind: Any, **facts: Any) -> Robot:
    row = DHRow(link="l", joint="j", type=kind, a=0.0, alpha=0.0, d=0.0, theta=0.0, **facts)
    return robot_of_table("one", "modified", [row])


def test_an_angle_is_the_same_after_a_turn() -> None:
    robot = single("continuous", mass=1.0, com=(0.5, 0.0, 0.0)).with_gravity([0.0, -9.81, 0.0])
    regressor = derive(robot)
    assert regressor([0.3], [0.0], [0.0]).shape == (1, 10)
    tau = [regressor.inverse_dynamics([q], [0.5], [1.0])[0, 0] for q in (10.0, 10.0 + 2 * np.pi)]
    assert tau[0] == pytest.approx(tau[1], abs=ROUNDOFF)
    assert tau[0] == pytest.approx(0.25 + 0.5 * 9.81 * np.cos(10.0), abs=ROUNDOFF)


@pytest.mark.parametrize(
    ("gravity", "effort"), [((0, 0, -9.81), 35.43), ((0, -9.81, 0), 6.0), ((0, 0, 9.81), -23.43)]
)
def test_a_slide_carries_its_mass(gravity: tuple[float, float, float], effort: float) -> None:
    regressor = derive(single("prismatic", mass=3.0, com=(0.1, 0.2, 0.3)).with_gravity(gravity))
    for q in (0.0, 10.0):  # metres: nothing to unwrap
        tau = regressor.inverse_dynamics([q], [1.0], [2.0])
        assert_allclose(tau, [[effort]], rtol=0, atol=1e-12)


def test_rows_are_samples_then_joints() -> None:
    q, dq, ddq = random_motion(UR5.robot, 7, np.random.default_rng(0))
    stacked, by_joint = UR5(q, dq, ddq), UR5.by_joint(q, dq, ddq)
    assert stacked.shape == (42, 60)
    assert by_joint.shape == (6, 60, 7)
    for k, j in ((0, 0), (3, 2), (6, 5)):
        assert_array_equal(stacked[k * 6 + j], by_joint[j, :, k])
        assert_allclose(stacked[k * 6 + j], UR5(q[k], dq[k], ddq[k])[j], rtol=0, atol=1e-12)


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_blocks_leave_no_seam(count: int) -> None:
    states = random_motion(UR5.robot, count, np.random.default_rng(count))
    Y = UR5.by_joint(*states)
    assert Y.shape == (6, 60, count)
    for k in {0, count // 2, BLOCK - 1, BLOCK, count - 1}:
        if 0 <= k < count:
            alone = UR5(*(x[k] for x in states))
            assert_allclose(Y[:, :, k], alone, rtol=0, atol=1e-12)


def test_layout_and_kind_of_the_input_do_not_matter() -> None:
    states = random_motion(UR5.robot, 50, np.random.default_rng(1))
    wanted = UR5(*states)
    assert_array_equal(UR5(*(np.asfortranarray(x) for x in states)), wanted)
    assert_array_equal(UR5(*(np.repeat(x, 2, axis=0)[::2] for x in states)), wanted)
    assert_array_equal(UR5(*(x.tolist() for x in states)), wanted)
    single_precision = [x.astype(np.float32) for x in states]
    assert_array_equal(
        UR5(*single_precision), UR5(*(x.astype(np.float64) for x in single_precision))
    )
    assert UR5(np.zeros(6, dtype=int), np.zeros(6), np.zeros(6)).dtype == np.float64


@pytest.mark.parametrize(
    ("q", "dq", "ddq", "where"),
    [
        (np.zeros((4, 5)), np.zeros((4, 5)), np.zeros((4, 5)), "q: shape 4×5"),
        (np.zeros((4, 6)), np.zeros((3, 6)), np.zeros((4, 6)), "dq: shape 3×6"),
        (np.zeros((4, 6)), np.zeros((4, 6)), np.zeros((4, 7)), "ddq: shape 4×7"),
        (np.zeros((2, 4, 6)), np.zeros((2, 4, 6)), np.zeros((2, 4, 6)), "q: shape 2×4×6"),
        (0.0, 0.0, 0.0, "q: shape a number"),
        (np.full(6, np.nan), np.zeros(6), np.zeros(6), "q: not finite"),
        (np.zeros(6), np.full(6, np.inf), np.zeros(6), "dq: not finite"),
        (np.zeros(6), np.zeros(6), ["a"] * 6, "ddq: not numbers"),
    ],
)
def test_states_that_do_not_fit_are_refused(q: Any, dq: Any, ddq: Any, where: str) -> None:
    with pytest.raises(ModelError, match=where):
        UR5(q, dq, ddq)


def test_a_used_regressor_survives_the_trip_between_processes() -> None:
    states = random_motion(UR5.robot, 3, np.random.default_rng(2))
    wanted = UR5(*states)
    other = random_motion(UR5.robot, 3, np.random.default_rng(3))
    arrived = pickle.loads(pickle.dumps(UR5))
    assert_array_equal(arrived(*states), wanted)
    assert_array_equal(arrived(*other), UR5(*other))


def test_threads_do_not_write_over_each_other() -> None:
    motions = [
        random_motion(UR5.robot, 4 * BLOCK, np.random.default_rng(seed)) for seed in range(4)
    ]
    wanted = [UR5(*motion) for motion in motions]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for found, expected in zip(pool.map(lambda m: UR5(*m), motions), wanted, strict=True):
                assert_array_equal(found, expected)


def test_what_is_derived_once_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENT_CACHE", str(tmp_path))
    robot = load_robot("planar2r")
    program = derive(robot).program
    monkeypatch.setattr("ident.regressor.rigid.derive_program", lambda _: pytest.fail("derived"))
    again = derive(robot.with_pi(2 * robot.pi)).program
    assert_array_equal(again.code, program.code)
    assert_array_equal(again.constants, program.constants)
    with pytest.raises(pytest.fail.Exception, match="derived"):
        derive(robot.with_gravity([0.0, 0.0, -1.62]))


@pytest.mark.parametrize("value", [1e200, -1e80])
def test_a_motion_that_would_overflow_is_named(value: float) -> None:
    states = list(random_motion(UR5.robot, 5, np.random.default_rng(0)))
    states[1] = states[1].copy()
    states[1][3, 2] = value
    with pytest.raises(ModelError, match=r"dq: .* at sample 3, joint 3 .*within ±1e\+70"):
        UR5.by_joint(*states)


def test_a_complex_motion_is_refused() -> None:
    states = random_motion(UR5.robot, 5, np.random.default_rng(0))
    with pytest.raises(ModelError, match="imaginary part"):
        UR5(states[0] + 1j, *states[1:])
