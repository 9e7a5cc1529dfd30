from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.base.sampled import reduce, reduce_stack
from ident.model.mjcf import parse_mjcf
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.model.springs import GasSpring, LinearSpring, Spring
from ident.regressor.columns import States, stack
from ident.regressor.friction import friction_terms
from ident.regressor.rigid import derive
from ident.regressor.springs import with_values

UR5 = load_robot("ur5")
GAS = GasSpring(
    joint=UR5.joints[1], anchor=0.8, crank=0.2, angle=0.1, area=1e-3, volume=1e-3, charge=1e4
)


def sprung(robot: Robot, *springs: Spring) -> Robot:
    return replace(robot, drives=replace(robot.drives, springs=springs))


def test_a_robot_s_springs_are_its_last_columns() -> None:
    springs = (LinearSpring(joint=UR5.joints[4], stiffness=2.0), GAS)
    robot = sprung(UR5, *springs, LinearSpring(joint=UR5.joints[2], rest=0.3))
    columns = stack(derive(robot), friction=friction_terms(robot))
    assert columns.names[-3:] == ("counterbalance2", "spring3", "spring5")
    assert columns.names[-4] == "offset6"
    last = columns.columns[-3:]
    assert [c.unit for c in last] == ["1", "N·m/rad", "N·m/rad"]
    assert [c.of for c in last] == [UR5.joints[1], UR5.joints[2], UR5.joints[4]]
    assert all(c.nonnegative and c.side == "joint" for c in last)
    assert_array_equal([c.guess for c in last], [1.0, np.nan, 2.0])
    q = np.random.default_rng(0).uniform(-2, 2, size=(4, 6))
    Y = columns.evaluate(States(q=q, dq=q, ddq=q))[:, -3:]
    expected = np.zeros((6, 3, 4))
    expected[1, 0], expected[2, 1], expected[4, 2] = (
        GAS.unit_torque(q[:, 1]),
        q[:, 2] - 0.3,
        q[:, 4],
    )
    assert_array_equal(Y, expected)
    assert not {"spring3", "counterbalance2"} & set(reduce(robot).columns)
    assert stack(derive(robot), springs=False).names == stack(derive(UR5)).names


def test_coupled_drives_do_not_share_a_spring() -> None:
    C = np.eye(6)
    C[5, 4] = 1.0
    robot = sprung(UR5, LinearSpring(joint=UR5.joints[5]))
    robot = replace(robot, drives=replace(robot.drives, coupling=C))
    q = np.ones((1, 6))
    Y = stack(derive(robot)).evaluate(States(q=q, dq=q, ddq=q))[:, -1, 0]
    assert_array_equal(Y, [0, 0, 0, 0, 0, 1])


def test_the_sign_is_that_of_gravity_torque() -> None:
    """A weight below its axis and a spring both pull back: MuJoCo gives them one sign."""
    text = """<mujoco><compiler angle="radian"/><worldbody><body><inertial mass="1" pos="0 0 -0.5"
      diaginertia="1 1 1"/><joint name="j" axis="0 1 0" stiffness="3" springref="0"/></body>
      </worldbody></mujoco>"""
    robot = parse_mjcf(text)
    columns = stack(derive(robot))
    q, zero = np.array([[0.4]]), np.zeros((1, 1))
    Y = columns.evaluate(States(q=q, dq=zero, ddq=zero))[0, :, 0]
    parts = Y * columns.guess
    assert parts[-1] == pytest.approx(3.0 * 0.4)
    assert parts[:-1].sum() == pytest.approx(9.81 * 0.5 * np.sin(0.4))


def test_a_spring_stands_alone_where_nothing_looks_like_it() -> None:
    robot = sprung(UR5, LinearSpring(joint=UR5.joints[2]), GAS)
    columns = stack(derive(robot), friction=friction_terms(robot))
    base = reduce_stack(columns)
    assert base.standing["spring3"] == base.standing["counterbalance2"] == "alone"
    assert base.rank == reduce_stack(stack(derive(UR5), friction=friction_terms(UR5))).rank + 2


def test_a_balancer_that_pulls_like_a_weight_merges_with_the_moments_of_the_links() -> None:
    # A short crank and much gas: the torque is charge · area / volume · crank · sin(q + angle).
    robot = load_robot("planar2r")
    gas = {"anchor": 1e3, "crank": 1e-4, "area": 1e-3, "volume": 1.0, "charge": 1e8}
    robot = sprung(robot, GasSpring(joint="joint1", angle=np.pi / 2, **gas))
    columns = stack(derive(robot), friction=friction_terms(robot))
    base = reduce_stack(columns)
    assert base.rank == reduce_stack(stack(derive(load_robot("planar2r")))).rank + 6
    assert base.standing["counterbalance1"] == "combination"
    assert base.merged(["counterbalance1"]) == {"counterbalance1": "mx1R"}
    # 10 N·m at q = 0, as much as 10 / 9.81 kg·m beside the axis; nothing along y.
    column = base.columns.index("counterbalance1")
    row = list(base.names).index("mx1R")
    assert base.grouping[row, column] == pytest.approx(10.0 / 9.81, rel=1e-4)
    robot = sprung(robot, GasSpring(joint="joint1", angle=0.7, **gas))
    base = reduce_stack(stack(derive(robot)))
    joined = np.abs(base.grouping[:, base.columns.index("counterbalance1")]) > 1e-3
    assert {n for n, j in zip(base.names, joined, strict=True) if j} == {"mx1R", "my1R"}


def test_values_of_columns_go_back_to_the_robot() -> None:
    robot = sprung(UR5, LinearSpring(joint=UR5.joints[2], rest=0.3), GAS)
    names = stack(derive(robot)).names
    values = np.arange(len(names), dtype=float)
    spring, gas = with_values(robot, names, values)
    assert (spring.guess, gas.guess) == (values[-1], values[-2])
    assert (spring.joint, spring.rest) == (UR5.joints[2], 0.3)
    kept = with_values(robot, names[:-2], values[:-2])
    assert kept == robot.drives.springs
    assert_allclose(gas.unit_torque([0.5]), GAS.unit_torque([0.5]))
    assert [s.guess for s in with_values(robot, names, -values)] == [0.0, 0.0]
