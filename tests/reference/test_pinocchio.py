"""Regressor and inverse dynamics against Pinocchio."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.export.urdf import write_urdf
from ident.model.registry import load_robot, robot_names
from ident.model.robot import Robot
from ident.model.urdf import parse_urdf, read_urdf
from ident.regressor.dynamics import gravity_torque, inverse_dynamics, mass_matrix
from ident.regressor.lagrange import lagrange
from ident.regressor.rigid import derive
from tests.oracles import Pinocchio
from tests.random_robots import perturbed, random_motion, random_tree
from tests.tolerances import ROUNDOFF, TORQUE


def check(urdf: str, robot: Robot, seed: int, tolerance: float = ROUNDOFF) -> None:
    states = random_motion(robot, 4, np.random.default_rng(seed))
    peer, regressor = Pinocchio(urdf, robot), derive(robot)
    assert_allclose(regressor(*states), peer.regressor(*states), rtol=0, atol=tolerance)
    tau = regressor.inverse_dynamics(*states)
    assert_allclose(tau, peer.torque(*states), rtol=0, atol=tolerance)
    assert_allclose(inverse_dynamics(robot, *states), tau, rtol=0, atol=tolerance)
    q = states[0]
    assert_allclose(gravity_torque(robot, q), peer.gravity(q), rtol=0, atol=tolerance)
    assert_allclose(mass_matrix(robot, q), peer.mass_matrix(q), rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", robot_names())
def test_registry_robots(name: str) -> None:
    robot = load_robot(name)
    if not robot.description:
        # A table may hold bodies that cannot exist, which no URDF is written with.
        robot = robot.with_pi(perturbed(robot.pi, np.random.default_rng(0)))
    check(robot.description or write_urdf(robot), robot, 0)


@pytest.mark.parametrize("seed", range(50))
def test_random_trees(seed: int) -> None:
    robot = random_tree(np.random.default_rng(seed))
    check(write_urdf(robot), robot, seed)


@pytest.mark.parametrize("seed", range(8))
def test_the_coriolis_matrix_of_lagrange(seed: int) -> None:
    robot = random_tree(np.random.default_rng(seed), moving=3)
    q, dq, _ = random_motion(robot, 4, np.random.default_rng(seed))
    _, C, _ = lagrange(robot, "numbers").functions()
    theirs = Pinocchio(write_urdf(robot), robot).coriolis(q, dq)
    assert_allclose(C(q, dq), theirs, rtol=0, atol=ROUNDOFF)


def test_random_trees_cover_what_they_are_for() -> None:
    robots = [random_tree(np.random.default_rng(seed)) for seed in range(50)]
    links = [link for robot in robots for link in robot.links]
    assert {link.joint.kind for link in links} == {"revolute", "continuous", "prismatic"}
    assert any(len(link.parts) > 1 for link in links)
    assert any(np.count_nonzero(link.joint.axis) == 3 for link in links)
    parents = [[link.parent for link in robot.links] for robot in robots]
    assert any(len(set(p)) < len(p) for p in parents)


def test_a_continuous_joint_is_one_column_here_and_two_coordinates_there() -> None:
    urdf = write_urdf(load_robot("planar2r")).replace('"revolute"', '"continuous"')
    robot = parse_urdf(urdf)
    assert Pinocchio(urdf, robot).model.nq == 4
    assert robot.n == 2
    check(urdf, robot, 1)


@pytest.mark.parametrize(
    "file",
    [
        "kinova_jaco/example_robot_data/kinova.urdf",
        "kuka_lwr4/kuka_lwr4.urdf",
        "panda/example_robot_data/panda.urdf",
        "staubli_tx40/tx40_mdh_modified.urdf",
        "ur5/example_robot_data/ur5_robot.urdf",
        "xarm7/example_robot_data/xarm7.urdf",
    ],
)
def test_vendor_files(shared: Path, file: str) -> None:
    robot = read_urdf(shared / "models" / file)
    # Quarter turns written with eleven digits are exact here, as written there.
    check(robot.description, robot, 2, tolerance=TORQUE)


def test_mimic_fingers_are_coupled(shared: Path) -> None:
    path = shared / "models/panda/example_robot_data/panda.urdf"
    if not path.is_file():
        pytest.skip("no Panda with hand among the vendor models")
    robot = read_urdf(path)
    assert [link.joint.mimics for link in robot.links][-1] == "panda_finger_joint1"
    assert (robot.n, len(robot.links)) == (8, 9)
    check(robot.description, robot, 3)


@pytest.mark.parametrize(("multiplier", "offset"), [(1.0, 0.0), (-2.0, 0.3), (0.5, -0.1)])
def test_mimic_joints_of_any_ratio(multiplier: float, offset: float) -> None:
    robot = random_tree(np.random.default_rng(5), moving=4)
    names = robot.joints
    mimic = f'<mimic joint="{names[0]}" multiplier="{multiplier}" offset="{offset}"/>'
    head, joint, tail = write_urdf(robot).partition(f'<joint name="{names[2]}"')
    urdf = head + joint + tail.replace("</joint>", mimic + "</joint>", 1)
    coupled = parse_urdf(urdf).with_gravity(robot.gravity)
    assert coupled.joints == (names[0], names[1], names[3])
    check(urdf, coupled, 4)
