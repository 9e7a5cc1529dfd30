"""Gradients by reverse accumulation against complex steps and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.base.sampled import reduce_stack
from ident.errors import ModelError
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.regressor.adjoint import adjoint
from ident.regressor.columns import States, stack
from ident.regressor.friction import Coulomb, Offset, Viscous
from ident.regressor.newton_euler import derive_program
from ident.regressor.numpy_ import Runner
from ident.regressor.program import OPERATIONS, Program
from ident.regressor.rigid import derive
from ident.regressor.selection import Selection
from tests.random_robots import random_motion, random_tree
from tests.regressor.compiling import COMPILERS
from tests.tolerances import FINITE_DIFFERENCE, ROUNDOFF

COMPLEX = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "negative": lambda a, _: -a,
    "sin": lambda a, _: np.sin(a),
    "cos": lambda a, _: np.cos(a),
}


def complex_run(program: Program, inputs: np.ndarray) -> np.ndarray:
    """Outputs (entries, N) that are no structural zero, in complex numbers."""
    values = [*inputs, *(np.full(inputs.shape[1], c, dtype=complex) for c in program.constants)]
    for operation, a, b in program.code:
        values.append(COMPLEX[OPERATIONS[operation]](values[a], values[b]))
    return np.array([values[k] for k in program.outputs[program.outputs >= 0]])


@pytest.mark.parametrize(
    "robot",
    [
        *map(load_robot, ("planar2r", "ur5", "panda", "tx40")),
        *(random_tree(np.random.default_rng(seed), moving=3 + seed % 4) for seed in range(6)),
    ],
    ids=lambda robot: robot.name,
)
def test_the_adjoint_is_the_complex_step_of_the_regressor(robot: Robot) -> None:
    program, rng, step = derive_program(robot), np.random.default_rng(1), 1e-30
    inputs = rng.uniform(-2.0, 2.0, size=(len(program.inputs), 3))
    slopes = rng.normal(size=(int((program.outputs >= 0).sum()), 3))
    found = np.zeros((len(inputs), 1, 3))
    Runner(adjoint(program))(np.concatenate([inputs, slopes]), found)
    for i, row in enumerate(found[:, 0]):
        turned = inputs.astype(complex)
        turned[i] += 1j * step
        expected = (slopes * complex_run(program, turned).imag / step).sum(axis=0)
        assert_allclose(row, expected, rtol=0, atol=ROUNDOFF * max(np.abs(expected).max(), 1.0))


@pytest.mark.parametrize("name", ["planar2r", "ur5", "tx40", "kr300"])
def test_slopes_of_every_column_are_finite_differences(name: str) -> None:
    # tx40 has coupled drives, kr300 a gas spring.
    robot, rng = load_robot(name), np.random.default_rng(2)
    friction = (Viscous(robot), Coulomb(robot, 0.2), Offset(robot))
    columns = stack(derive(robot), friction=friction)
    selected = Selection(columns, reduce_stack(columns).kept)
    states = random_motion(robot, 5, rng)
    places, values = selected.values(States(q=states[0], dq=states[1], ddq=states[2]))
    slopes = rng.normal(size=values.shape)
    found = selected.pullback(States(q=states[0], dq=states[1], ddq=states[2]), slopes)
    h = 1e-6
    for order in range(3):
        for j in range(robot.n):
            ends = []
            for sign in (1.0, -1.0):
                moved = [x.copy() for x in states]
                moved[order][:, j] += sign * h
                motion = States(q=moved[0], dq=moved[1], ddq=moved[2])
                ends.append((slopes * selected.values(motion)[1]).sum(axis=0))
            expected = (ends[0] - ends[1]) / (2.0 * h)
            scale = max(np.abs(found[order]).max(), 1.0)
            assert_allclose(found[order, j], expected, rtol=0, atol=FINITE_DIFFERENCE * scale)
    dense = columns.evaluate(States(q=states[0], dq=states[1], ddq=states[2]))[:, selected.kept]
    assert_array_equal(dense[tuple(places.T)], values)


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("shape", [(-5, 0), (5, 0), (0, -1), (0, 1)])
def test_slopes_of_another_shape_are_refused_before_anything_reads_them(
    backend: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    if backend == "c" and not COMPILERS:
        pytest.skip("no C compiler")
    monkeypatch.setenv("IDENT_REGRESSOR", backend)
    robot = load_robot("planar2r")
    columns = stack(derive(robot))
    selected = Selection(columns, np.arange(len(columns.names)))
    states = random_motion(robot, 40, np.random.default_rng(0))
    motion = States(q=states[0], dq=states[1], ddq=states[2])
    entries, samples = len(selected.values(motion)[1]), 40
    wrong = np.ones((entries + shape[0], samples + shape[1]))
    with pytest.raises(ModelError, match="slopes"):
        selected.pullback(motion, wrong)
    rigid = int(derive(robot).pattern.sum())
    with pytest.raises(ModelError, match="slopes"):
        derive(robot).pullback(*states, np.ones((rigid + shape[0], samples + shape[1])))


def test_an_empty_motion_has_no_values() -> None:
    robot = load_robot("ur5")
    columns = stack(derive(robot))
    selected = Selection(columns, np.arange(len(columns.names)))
    nothing = np.zeros((0, 6))
    places, values = selected.values(States(q=nothing, dq=nothing, ddq=nothing))
    assert values.shape == (len(places), 0)
