"""What any rigid mechanism obeys, whoever computes it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.arrays import Array
from ident.model import inertia
from ident.model.registry import load_robot, robot_names
from ident.model.robot import Robot
from ident.regressor.dynamics import gravity_torque, inverse_dynamics, mass_matrix
from ident.regressor.rigid import Regressor, derive
from tests.random_robots import random_motion, random_tree, with_mimics
from tests.tolerances import FINITE_DIFFERENCE, ROUNDOFF


def coupled_tree(seed: int) -> Robot:
    rng = np.random.default_rng(seed)
    return with_mimics(random_tree(rng), rng)


def possible(robot: Robot) -> Robot:
    """The robot with the nearest possible body for each that cannot exist."""
    bodies = robot.pi.reshape(-1, 10)
    return robot.with_pi(np.concatenate([inertia.nearest_physical(pi) for pi in bodies]))


TREES = {f"tree{seed}": random_tree(np.random.default_rng(seed)) for seed in range(12)}
ROBOTS = {
    **{name: possible(load_robot(name)) for name in robot_names()},
    **TREES,
    **{f"coupled{seed}": coupled_tree(seed) for seed in range(6)},
}
over_robots = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())


def energy(robot: Robot, q: Array, dq: Array) -> float:
    """Kinetic energy by M, potential energy by where the masses are."""
    R, p = robot.forward(q)
    moments = [link.pi[0] * p[i] + R[i] @ link.pi[1:4] for i, link in enumerate(robot.links)]
    M = mass_matrix(robot, q)
    return float(0.5 * dq @ M @ dq - robot.gravity @ np.sum(moments, axis=0))


def coriolis(robot: Robot, q: Array, dq: Array) -> Array:
    """C (n, n) by Christoffel symbols, from central differences of M."""
    h = 1e-5
    steps = h * np.eye(robot.n)
    dM = (mass_matrix(robot, q + steps) - mass_matrix(robot, q - steps)) / (2.0 * h)
    symbols = 0.5 * (dM.transpose(1, 2, 0) + dM.transpose(1, 0, 2) - dM)
    return symbols @ dq


def scale(robot: Robot) -> float:
    """Largest entry of M at some states, at least one: what differences of it are relative to."""
    states = random_motion(robot, 5, np.random.default_rng(0))[0]
    return max(1.0, float(np.abs(mass_matrix(robot, states)).max()))


@over_robots
def test_mass_matrix_is_symmetric_positive_definite(robot: Robot) -> None:
    # With rotors: the TX40's flange is a point on the axis of joint 6 to its maker.
    states = random_motion(robot, 5, np.random.default_rng(1))[0]
    for M in mass_matrix(robot, states, armature=True):
        assert_array_equal(M, M.T)
        assert np.linalg.eigvalsh(M)[0] > 0.0


@over_robots
def test_the_torque_is_m_times_acceleration_and_c_times_velocity_and_gravity(robot: Robot) -> None:
    for q, dq, ddq in zip(*random_motion(robot, 3, np.random.default_rng(5)), strict=True):
        M, C, g = mass_matrix(robot, q), coriolis(robot, q, dq), gravity_torque(robot, q)
        tau = inverse_dynamics(robot, q, dq, ddq)
        assert_allclose(M @ ddq + C @ dq + g, tau, rtol=0, atol=FINITE_DIFFERENCE * scale(robot))


@over_robots
def test_the_change_of_m_less_twice_c_is_skew_symmetric(robot: Robot) -> None:
    q, dq, _ = (x[0] for x in random_motion(robot, 1, np.random.default_rng(6)))
    h = 1e-5
    after, before = mass_matrix(robot, np.array([q + h * dq, q - h * dq]))
    difference = (after - before) / (2.0 * h) - 2.0 * coriolis(robot, q, dq)
    limit = FINITE_DIFFERENCE * scale(robot)
    assert_allclose(difference, -difference.T, rtol=0, atol=limit)


@over_robots
def test_power_at_the_joints_is_the_change_of_energy(robot: Robot) -> None:
    h = 1e-4
    for q, dq, ddq in zip(*random_motion(robot, 3, np.random.default_rng(2)), strict=True):
        before, after = (energy(robot, q + s * dq + s * s / 2 * ddq, dq + s * ddq) for s in (-h, h))
        power = float(inverse_dynamics(robot, q, dq, ddq) @ dq)
        size = max(1.0, abs(power))
        assert (after - before) / (2 * h) == pytest.approx(power, abs=FINITE_DIFFERENCE * size)


@over_robots
def test_gravity_torque_is_the_gradient_of_potential_energy(robot: Robot) -> None:
    still, h = np.zeros(robot.n), 1e-5
    q = random_motion(robot, 1, np.random.default_rng(3))[0][0]
    slope = [
        (energy(robot, q + h * e, still) - energy(robot, q - h * e, still)) / (2 * h)
        for e in np.eye(robot.n)
    ]
    limit = 10 * FINITE_DIFFERENCE * scale(robot)
    assert_allclose(gravity_torque(robot, q), slope, rtol=0, atol=limit)


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
    described = map(load_robot, robot_names())
    for robot in (*described, *TREES.values()):
        for link in robot.links:
            J = sum(
                T @ inertia.pseudo_inertia(part.pi) @ T.T
                for part in link.parts
                for T in [np.block([[part.R_ab, part.p_a_ab[:, None]], [np.zeros(3), 1.0]])]
            )
            assert_allclose(inertia.pseudo_inertia(link.pi), J, rtol=0, atol=ROUNDOFF)
