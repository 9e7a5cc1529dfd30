import sys
from dataclasses import replace

import numpy as np
import pytest

from ident.base.sampled import random_states
from ident.errors import ModelError, UsageError
from ident.model import inertia
from ident.model.dh import DHRow, robot_of_table
from ident.model.registry import load_robot, robot_names
from ident.model.robot import Robot
from ident.model.springs import LinearSpring
from ident.regressor.columns import Stack, States, stack
from ident.regressor.friction import friction_terms
from ident.regressor.rigid import derive
from ident.simulation.plant import TIMESTEP, Plant
from ident.simulation.truth import perturb
from tests.random_robots import perturbed
from tests.tolerances import TORQUE

pytest.importorskip("mujoco")

UR5 = load_robot("ur5")


def possible(robot: Robot) -> Robot:
    pi = [
        link.pi if inertia.smallest_eigenvalue(link.pi) > 0 else inertia.nearest_physical(link.pi)
        for link in robot.links
    ]
    return robot.with_pi(np.concatenate(pi))


def all_columns(robot: Robot) -> Stack:
    return stack(derive(robot), friction=friction_terms(robot, ("viscous", "coulomb")))


def check_against_mujoco(robot: Robot) -> None:
    columns, plant = all_columns(robot), Plant(robot)
    motion = random_states(robot, 20, np.random.default_rng(0))
    ours = np.tensordot(columns.evaluate(motion), columns.guess, axes=(1, 0)).T
    theirs = [plant.inverse(*x) for x in zip(motion.q, motion.dq, motion.ddq, strict=True)]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TORQUE)


@pytest.mark.parametrize("name", sorted(robot_names()))
def test_inverse_dynamics_with_friction_is_mujocos(name: str) -> None:
    robot = possible(load_robot(name))
    if robot.drives.coupled:
        with pytest.raises(ModelError, match="coupled drives"):
            Plant(robot)
        robot = replace(robot, drives=replace(robot.drives, coupling=np.eye(robot.n)))
        robot = robot.with_pi(perturbed(robot.pi, np.random.default_rng(0)))
    check_against_mujoco(robot)


def test_a_spring_swings_a_weight_as_it_should() -> None:
    """Small swings of a sliding mass: the period is 2π √(m / k)."""
    row = DHRow(link="l", joint="j", type="prismatic", a=0.0, alpha=0.0, d=0.0, theta=0.0, mass=2.0)
    robot = robot_of_table("slide", "modified", [row]).with_gravity(np.zeros(3))
    spring = LinearSpring(joint="j", rest=0.1, stiffness=50.0)
    plant = Plant(replace(robot, drives=replace(robot.drives, springs=(spring,))))
    plant.place(np.array([0.15]))
    period = 2.0 * np.pi * np.sqrt(2.0 / 50.0)
    plant.drive(np.zeros(1), round(0.5 * period / TIMESTEP))
    assert plant.q[0] == pytest.approx(0.05, abs=1e-4)
    assert plant.dq[0] == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (-9.81, 0.0, 0.0), (1.0, 2.0, 3.0)])
def test_inverse_dynamics_of_the_true_robot_is_mujocos(gravity: tuple) -> None:
    true = perturb(UR5, np.random.default_rng(7)).robot
    check_against_mujoco(true.with_gravity(gravity))


def frictionless(robot: Robot) -> Robot:
    zero = np.zeros(robot.n)
    return replace(robot, drives=replace(robot.drives, viscous=zero, coulomb=zero))


def energy(robot: Robot, q: np.ndarray, dq: np.ndarray) -> float:
    """Kinetic and potential energy from our own mass matrix and masses."""
    n = robot.n
    columns = stack(derive(robot.with_gravity(np.zeros(3))))
    states = States(q=np.tile(q, (n, 1)), dq=np.zeros((n, n)), ddq=np.eye(n))
    M = np.tensordot(columns.evaluate(states), columns.guess, axes=(1, 0))
    R, p = robot.forward(q)
    com = [p[i] + R[i] @ inertia.com_of(link.pi) for i, link in enumerate(robot.links)]
    weight = sum(link.pi[0] * robot.gravity @ c for link, c in zip(robot.links, com, strict=True))
    return float(0.5 * dq @ M @ dq - weight)


def drift(steps_per_tenth: int) -> float:
    """Energy that a falling arm without friction gains in half a second."""
    robot = frictionless(UR5)
    plant = Plant(robot, timestep=0.1 / steps_per_tenth)
    plant.place(robot.home)
    before = energy(robot, plant.q, plant.dq)
    plant.drive(np.zeros(6), 5 * steps_per_tenth)
    return abs(energy(robot, plant.q, plant.dq) - before)


def test_energy_is_kept_ever_better_by_smaller_steps() -> None:
    coarse, fine = drift(100), drift(1000)
    assert fine < 0.02
    # The integrator is of first order: ten times smaller steps, ten times less drift.
    assert 7.0 < coarse / fine < 14.0


def test_coulomb_friction_has_its_full_size_as_soon_as_a_joint_moves() -> None:
    columns, plant = all_columns(UR5), Plant(UR5)
    coulomb = columns.which("coulomb")
    rng = np.random.default_rng(2)
    for speed in (0.05, 0.005, 0.002):
        dq = speed * rng.choice([-1.0, 1.0], size=6)
        q, ddq = rng.uniform(-2.0, 2.0, size=(2, 6))
        states = States(q=q[None], dq=dq[None], ddq=ddq[None])
        rest = columns.evaluate(states)[:, ~coulomb, 0] @ columns.guess[~coulomb]
        np.testing.assert_allclose(
            plant.inverse(q, dq, ddq) - rest,
            np.sign(dq) * UR5.drives.coulomb,
            rtol=0,
            atol=TORQUE,
        )


def test_friction_holds_an_arm_that_is_pushed_less_than_it() -> None:
    robot = UR5.with_gravity(np.zeros(3))
    plant = Plant(robot)
    plant.place(robot.home)
    plant.drive(0.9 * robot.drives.coulomb, 5000)
    assert np.abs(plant.q - robot.home).max() < 1e-3
    plant.drive(1.5 * robot.drives.coulomb, 5000)
    assert np.abs(plant.q - robot.home).min() > 1e-2


def test_a_body_that_cannot_exist_is_refused() -> None:
    with pytest.raises(ModelError, match=r"panda_link4.*no body has this mass and inertia"):
        Plant(load_robot("panda"))


def test_coupled_drives_are_refused() -> None:
    C = np.eye(6)
    C[5, 4] = 1.0
    with pytest.raises(ModelError, match="coupled drives"):
        Plant(replace(UR5, drives=replace(UR5.drives, coupling=C)))


def test_a_missing_mujoco_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(UsageError, match=r"the extra mujoco.*pip install 'ident-robot\[mujoco\]'"):
        Plant(UR5)
