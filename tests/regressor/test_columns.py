from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.errors import UsageError
from ident.model.dh import DHRow, robot_of_table
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.regressor.columns import Stack, States, stack
from ident.regressor.friction import Coulomb, friction_terms
from ident.regressor.rigid import derive
from tests.random_robots import random_motion
from tests.tolerances import ROUNDOFF


def pendulum(joints: int) -> Robot:
    """A point of 1 kg, 0.5 m from a horizontal axis, behind a second massless joint or none."""
    row = {"a": 0.0, "alpha": 0.0, "d": 0.0, "theta": 0.0}
    point = {"mass": 1.0, "com": (0.5, 0.0, 0.0)}
    rows = [
        DHRow(link=f"l{i}", joint=f"j{i}", **row, **(point if i == joints - 1 else {}))
        for i in range(joints)
    ]
    return robot_of_table("pendulum", "modified", rows).with_gravity([0.0, -9.81, 0.0])


@pytest.mark.parametrize("joints", [1, 2])
def test_armature_counts_once_also_when_another_joint_is_locked(joints: int) -> None:
    columns = stack(derive(pendulum(joints)))
    theta = columns.guess.copy()
    theta[columns.names.index("armature1")] = 0.1
    if joints == 2:
        theta[columns.names.index("armature2")] = 7.0  # locked: its rotor turns with the arm
    state = np.zeros((1, joints))
    states = States(q=state, dq=state, ddq=np.eye(1, joints) * 2.0)
    tau = np.einsum("jpk,p->kj", columns.evaluate(states), theta)
    assert tau[0, 0] == pytest.approx(5.605, abs=1e-12)


def ur5_columns() -> Stack:
    robot = load_robot("ur5")
    return stack(derive(robot), friction=friction_terms(robot))


def test_columns_stand_in_the_promised_order() -> None:
    columns = ur5_columns()
    assert columns.names[:11] == (
        *("m1", "mx1", "my1", "mz1", "Ixx1", "Ixy1", "Ixz1", "Iyy1", "Iyz1", "Izz1"),
        "m2",
    )
    kinds = [c.kind for c in columns.columns[60:]]
    assert kinds == [k for k in ("armature", "viscous", "coulomb", "offset") for _ in range(6)]
    assert [c.number for c in columns.columns[60:66]] == [1, 2, 3, 4, 5, 6]
    assert columns.inertial.sum() == 60
    assert columns.which("offset").sum() == 6


def test_each_column_is_what_it_says() -> None:
    columns = ur5_columns()
    q, dq, ddq = random_motion(columns.robot, 20, np.random.default_rng(0))
    Y = columns.evaluate(States(q=q, dq=dq, ddq=ddq))
    assert Y.shape == (6, 84, 20)
    assert_allclose(Y[:, :60], derive(columns.robot).by_joint(q, dq, ddq), rtol=0, atol=0)
    for i, value in enumerate((ddq, dq, np.sign(dq), np.ones_like(dq))):
        block = Y[:, 60 + 6 * i : 66 + 6 * i]
        for j in range(6):
            assert_array_equal(block[j, j], value[:, j])
            assert not block[np.arange(6) != j, j].any()


def test_guesses_are_those_of_the_description() -> None:
    columns = ur5_columns()
    robot = columns.robot
    assert_array_equal(columns.guess[:60], robot.pi)
    assert_array_equal(columns.guess[columns.which("viscous")], robot.drives.viscous)
    assert not columns.guess[columns.which("offset")].any()


def test_a_coupled_drive_is_felt_by_every_joint_that_it_moves() -> None:
    robot = load_robot("planar2r")
    C = np.array([[1.0, 0.0], [0.5, 1.0]])
    coupled = replace(robot, drives=replace(robot.drives, coupling=C))
    columns = stack(derive(coupled), friction=friction_terms(coupled, ["viscous"]))
    q, dq, ddq = random_motion(coupled, 9, np.random.default_rng(1))
    Y = columns.evaluate(States(q=q, dq=dq, ddq=ddq))
    theta = np.array([0.3, 0.7])
    drive = (C.T * theta) @ C  # Cᵀ diag(theta) C
    assert_allclose(np.einsum("jpk,p->kj", Y[:, 20:22], theta), ddq @ drive, rtol=0, atol=ROUNDOFF)
    assert_allclose(np.einsum("jpk,p->kj", Y[:, 22:], theta), dq @ drive, rtol=0, atol=ROUNDOFF)
    assert {c.side for c in columns.columns[20:]} == {"motor"}


def test_smooth_coulomb_tends_to_the_sign() -> None:
    robot = load_robot("planar2r")
    dq = np.array([[0.5, -0.2], [0.0, 1.0]])
    states = States(q=0 * dq, dq=dq, ddq=0 * dq)
    rough, smooth = Coulomb(robot).value(states), Coulomb(robot, smoothing=1e-3).value(states)
    assert_array_equal(rough, [[1.0, -1.0], [0.0, 1.0]])
    assert_allclose(smooth, rough, rtol=0, atol=1e-12)


def test_units_of_a_sliding_joint() -> None:
    row = DHRow(link="l", joint="j", type="prismatic", a=0.0, alpha=0.0, d=0.0, theta=0.0, mass=1.0)
    robot = robot_of_table("slide", "modified", [row])
    columns = stack(derive(robot), friction=friction_terms(robot))
    assert [c.unit for c in columns.columns[10:]] == ["kg", "N·s/m", "N", "N"]


def test_an_unknown_friction_term_is_named() -> None:
    with pytest.raises(UsageError, match="'stiction'"):
        friction_terms(load_robot("planar2r"), ["viscous", "stiction"])
