"""What any rigid mechanism obeys, whoever computes it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.arrays import Array
from ident.model import inertia
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.regressor.rigid import Regressor, derive
from tests.random_robots import random_motion, random_tree
from tests.tolerances import FINITE_DIFFERENCE, ROUNDOFF

ROBOTS = [load_robot("ur5"), *(random_tree(np.random.default_rng(seed)) for seed in range(12))]
IDS = ["ur5", *(f"tree{seed}" for seed in range(12))]
over_robots = pytest.mark.parametrize("robot", ROBOTS, ids=IDS)


def mass_matrix(regressor: Regressor, q: Array) -> Array:
    """M(q) (n, n) from unit accelerations."""
    n = regressor.robot.n
    still = np.zeros((n, n))
    at = np.broadcast_to(q, (n, n))
    tau = regressor.inverse_dynamics(at, still, np.eye(n))
    return (tau - regressor.inverse_dynamics(at, still, still)).T


def energy(regressor: Regressor, q: Array, dq: Array) -> float:
    """Kinetic energy by M, potential energy by where the masses are."""
    robot = regressor.robot
    R, p = robot.forward(q)
    moments = [link.pi[0] * p[i] + R[i] @ link.pi[1:4] for i, link in enumerate(robot.links)]
    return float(
        0.5 * dq @ mass_matrix(regressor, q) @ dq - robot.gravity @ np.sum(moments, axis=0)
    )


@over_robots
def test_mass_matrix_is_symmetric_positive_definite(robot: Robot) -> None:
    for q in random_motion(robot, 5, np.random.default_rng(1))[0]:
        M = mass_matrix(derive(robot), q)
        assert_allclose(M, M.T, rtol=0, atol=ROUNDOFF)
        assert np.linalg.eigvalsh(M)[0] > 0.0


@over_robots
def test_power_at_the_joints_is_the_change_of_energy(robot: Robot) -> None:
    regressor = derive(robot)
    h = 1e-4
    for q, dq, ddq in zip(*random_motion(robot, 3, np.random.default_rng(2)), strict=True):
        before, after = (
            energy(regressor, q + s * dq + s * s / 2 * ddq, dq + s * ddq) for s in (-h, h)
        )
        power = float(regressor.inverse_dynamics(q, dq, ddq)[0] @ dq)
        size = max(1.0, abs(power))
        assert (after - before) / (2 * h) == pytest.approx(power, abs=FINITE_DIFFERENCE * size)


@over_robots
def test_gravity_torque_is_the_gradient_of_potential_energy(robot: Robot) -> None:
    regressor = derive(robot)
    still, h = np.zeros(robot.n), 1e-5
    q = random_motion(robot, 1, np.random.default_rng(3))[0][0]
    slope = [
        (energy(regressor, q + h * e, still) - energy(regressor, q - h * e, still)) / (2 * h)
        for e in np.eye(robot.n)
    ]
    gravity = regressor.inverse_dynamics(q, still, still)[0]
    assert_allclose(gravity, slope, rtol=0, atol=10 * FINITE_DIFFERENCE)


@over_robots
def test_torque_scales_with_speed_squared_and_mass(robot: Robot) -> None:
    weightless = derive(robot.with_gravity([0.0, 0.0, 0.0]))
    q, dq, ddq = random_motion(robot, 3, np.random.default_rng(4))
    tau = weightless.inverse_dynamics(q, dq, ddq)
    faster = weightless.inverse_dynamics(q, 2 * dq, 4 * ddq)
    assert_allclose(faster, 4 * tau, rtol=0, atol=ROUNDOFF)
    heavier = Regressor(robot=robot.with_pi(3 * robot.pi), program=weightless.program)
    assert_allclose(heavier.inverse_dynamics(q, dq, ddq), 3 * tau, rtol=0, atol=ROUNDOFF)


def test_a_link_s_parameters_are_those_of_its_parts_in_its_frame() -> None:
    for robot in ROBOTS:
        for link in robot.links:
            J = sum(
                T @ inertia.pseudo_inertia(part.pi) @ T.T
                for part in link.parts
                for T in [np.block([[part.R_ab, part.p_a_ab[:, None]], [np.zeros(3), 1.0]])]
            )
            assert_allclose(inertia.pseudo_inertia(link.pi), J, rtol=0, atol=ROUNDOFF)
