import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.arrays import Array
from ident.base.minimal import reduce
from ident.errors import ModelError
from ident.model.registry import load_robot, load_symbolic
from ident.model.robot import Robot
from ident.regressor import dynamics
from ident.regressor.columns import States, stack
from ident.regressor.dynamics import (
    Quantity,
    dynamics_program,
    gravity_torque,
    inverse_dynamics,
    mass_matrix,
)
from ident.regressor.numpy_ import Runner
from ident.regressor.program import Program
from ident.regressor.rigid import derive
from tests.random_robots import random_motion, random_tree, with_mimics
from tests.tolerances import ROUNDOFF

QUANTITIES: tuple[Quantity, ...] = ("inverse_dynamics", "gravity_torque", "mass_matrix")
TREES = [random_tree(np.random.default_rng(seed)) for seed in range(12)]
TREES += [with_mimics(tree, np.random.default_rng(i)) for i, tree in enumerate(TREES[:4])]
ROBOTS = [*map(load_robot, ("planar2r", "ur5", "panda")), *TREES]
over_robots = pytest.mark.parametrize("robot", ROBOTS, ids=lambda r: f"{r.name}{r.n}")
over_quantities = pytest.mark.parametrize("quantity", QUANTITIES)


def run(program: Program, *arguments: Array) -> Array:
    """Outputs (N, rows, columns) at states (N, n) and parameters."""
    count = len(arguments[0])
    inputs = np.hstack([np.broadcast_to(a, (count, np.shape(a)[-1])) for a in arguments])
    out = np.zeros((*program.outputs.shape, count))
    Runner(program)(np.ascontiguousarray(inputs.T), out)
    return out.transpose(2, 0, 1)


def states(robot: Robot, quantity: Quantity, count: int = 5) -> tuple[Array, ...]:
    motion = random_motion(robot, count, np.random.default_rng(1))
    return motion if quantity == "inverse_dynamics" else motion[:1]


@over_robots
def test_the_torque_is_that_of_the_regressor(robot: Robot) -> None:
    q, dq, ddq = random_motion(robot, 5, np.random.default_rng(0))
    regressor, still = derive(robot), np.zeros_like(q)
    tau = regressor.inverse_dynamics(q, dq, ddq)
    gravity = regressor.inverse_dynamics(q, still, still)
    assert_allclose(inverse_dynamics(robot, q, dq, ddq), tau, rtol=0, atol=ROUNDOFF)
    assert_allclose(gravity_torque(robot, q), gravity, rtol=0, atol=ROUNDOFF)
    inertial = np.einsum("kij,kj->ki", mass_matrix(robot, q), ddq)
    expected = regressor.inverse_dynamics(q, still, ddq) - gravity
    assert_allclose(inertial, expected, rtol=0, atol=ROUNDOFF)


@over_robots
@over_quantities
def test_base_parameters_give_the_same(robot: Robot, quantity: Quantity) -> None:
    base, motion = reduce(robot), states(robot, quantity)
    whole, lean = dynamics_program(robot, quantity), dynamics_program(robot, quantity, base.kept)
    beta = base.reduce(robot.pi)
    assert lean.arguments == (*whole.arguments[:-1], ("beta", base.rank))
    assert_allclose(run(lean, *motion, beta), run(whole, *motion, robot.pi), rtol=0, atol=ROUNDOFF)
    assert lean.operations <= whole.operations


@pytest.mark.parametrize("name", ["ur5", "panda", "iiwa14"])
def test_base_parameters_save_a_seventh_of_the_operations(name: str) -> None:
    robot = load_robot(name)
    kept = reduce(robot).kept
    for quantity in ("inverse_dynamics", "gravity_torque"):
        whole = dynamics_program(robot, quantity).operations
        assert dynamics_program(robot, quantity, kept).operations < whole * 6 / 7


@over_quantities
def test_arguments_are_vectors_in_order(quantity: Quantity) -> None:
    robot = load_robot("ur5")
    program = dynamics_program(robot, quantity, armature=True)
    motion = tuple((s, 6) for s in ("q", "dq", "ddq"))
    motion = motion if quantity == "inverse_dynamics" else motion[:1]
    rotors = () if quantity == "gravity_torque" else (("armature", 6),)
    assert program.arguments == (*motion, ("pi", 60), *rotors)
    assert program.outputs.shape == ((6, 6) if quantity == "mass_matrix" else (6, 1))
    lettered = dynamics_program(load_symbolic("planar2r"), quantity)
    assert lettered.arguments[-1] == ("lengths", 1)


def test_the_mass_matrix_computes_each_entry_once() -> None:
    for robot in ROBOTS:
        outputs = dynamics_program(robot, "mass_matrix").outputs
        assert np.array_equal(outputs, outputs.T)


def test_rotors_act_through_the_coupling_of_the_drives() -> None:
    robot = load_robot("tx40")
    q, dq, ddq = random_motion(robot, 3, np.random.default_rng(0))
    terms = stack(derive(robot))
    expected = terms.evaluate(States(q=q, dq=dq, ddq=ddq)).transpose(2, 0, 1) @ terms.guess
    tau = inverse_dynamics(robot, q, dq, ddq, armature=True)
    assert_allclose(tau, expected, rtol=0, atol=ROUNDOFF)
    added = mass_matrix(robot, q, armature=True) - mass_matrix(robot, q)
    C = robot.drives.coupling
    rotors = np.broadcast_to(C.T @ np.diag(robot.drives.armature) @ C, added.shape)
    assert_allclose(added, rotors, rtol=0, atol=ROUNDOFF)


def test_places_of_base_parameters_are_checked() -> None:
    robot = load_robot("planar2r")
    for kept in ([0, 20], [-1], [3, 2], [2, 2]):
        with pytest.raises(ModelError, match="ascending, from 0 to 19"):
            dynamics_program(robot, "gravity_torque", np.array(kept))


def test_one_state_and_many() -> None:
    robot = load_robot("ur5")
    q, dq, ddq = random_motion(robot, 4, np.random.default_rng(0))
    for many, one in (
        (inverse_dynamics(robot, q, dq, ddq), inverse_dynamics(robot, q[2], dq[2], ddq[2])),
        (gravity_torque(robot, q), gravity_torque(robot, q[2])),
        (mass_matrix(robot, q), mass_matrix(robot, q[2])),
    ):
        assert one.shape == many.shape[1:]
        assert_allclose(one, many[2], rtol=0, atol=1e-12)
    assert mass_matrix(robot, np.empty((0, 6))).shape == (0, 6, 6)
    with pytest.raises(ModelError, match="shape 5"):
        gravity_torque(robot, np.zeros(5))
    with pytest.raises(ModelError, match="dq"):
        inverse_dynamics(robot, q, dq[0], ddq)
    with pytest.raises(ModelError, match="a2"):
        mass_matrix(load_symbolic("planar2r"), [0.0, 0.0])


@pytest.mark.parametrize("count", [1, 6, 7, 8, 14, 20])
def test_it_does_not_show_where_a_block_ends(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluated() -> tuple[Array, ...]:
        return (
            inverse_dynamics(robot, q, dq, ddq, armature=True),
            gravity_torque(robot, q),
            mass_matrix(robot, q, armature=True),
        )

    robot = load_robot("tx40")
    q, dq, ddq = random_motion(robot, count, np.random.default_rng(0))
    whole = evaluated()
    monkeypatch.setattr(dynamics, "_BLOCK", 7)
    for one, other in zip(whole, evaluated(), strict=True):
        np.testing.assert_array_equal(one, other)
        assert other.flags.c_contiguous


def test_memory_beyond_the_torque_does_not_grow_with_the_parameters() -> None:
    robot, count = load_robot("panda"), 100_000
    q = np.zeros((count, robot.n))
    gravity_torque(robot, q[:1])
    tracemalloc.start()
    tau = gravity_torque(robot, q)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The 70 parameters repeated for each sample would be ten times the positions.
    assert peak < tau.nbytes + q.nbytes + 40e6


@pytest.mark.parametrize("sample", [0, 9, 20])
def test_a_motion_that_overflows_is_named(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = load_robot("ur5")
    q, dq, ddq = (np.array(x) for x in random_motion(robot, 21, np.random.default_rng(0)))
    dq[sample, 1] = 1e200
    monkeypatch.setattr(dynamics, "_BLOCK", 7)
    with pytest.raises(ModelError, match=f"inverse_dynamics: not finite at sample {sample} "):
        inverse_dynamics(robot, q, dq, ddq)
    with pytest.raises(ModelError, match="inverse_dynamics: not finite at sample 0 "):
        inverse_dynamics(robot, q[sample], dq[sample], ddq[sample])
