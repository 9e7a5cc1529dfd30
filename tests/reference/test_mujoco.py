"""Inverse dynamics against MuJoCo."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.export.urdf import write_urdf
from ident.model.registry import load_robot, robot_names
from ident.regressor.rigid import derive
from tests.oracles import MuJoCo
from tests.random_robots import perturbed, random_motion, random_tree
from tests.tolerances import TORQUE


@pytest.mark.parametrize("name", robot_names())
def test_registry_robots(name: str) -> None:
    rng = np.random.default_rng(0)
    robot = load_robot(name)
    robot = robot.with_pi(perturbed(robot.pi, rng))
    states = random_motion(robot, 4, rng)
    tau = derive(robot).inverse_dynamics(*states)
    assert_allclose(tau, MuJoCo(write_urdf(robot), robot).torque(*states), rtol=0, atol=TORQUE)


@pytest.mark.parametrize("seed", range(25))
def test_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng)
    states = random_motion(robot, 4, rng)
    tau = derive(robot).inverse_dynamics(*states)
    assert_allclose(tau, MuJoCo(write_urdf(robot), robot).torque(*states), rtol=0, atol=TORQUE)
