import json
from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal

from ident.arrays import digest
from ident.model.registry import load_robot, load_symbolic
from ident.model.robot import Robot
from ident.regressor.newton_euler import derive_program
from ident.regressor.numpy_ import Runner
from ident.regressor.program import OPERATIONS, Program, Tape
from tests.random_robots import random_tree
from tests.tolerances import BACK_END

PLANAR = derive_program(load_robot("planar2r"))


def symbolic_matrix(program: Program) -> sp.Matrix:
    """Outputs of a program as sympy expressions of its inputs."""
    values: list[sp.Expr] = [*sp.symbols(program.inputs), *map(sp.Float, program.constants)]
    apply: dict[str, Callable[[sp.Expr, sp.Expr], sp.Expr]] = {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "negative": lambda a, _: -a,
        "sin": lambda a, _: sp.sin(a),
        "cos": lambda a, _: sp.cos(a),
    }
    for operation, a, b in program.code:
        values.append(apply[OPERATIONS[operation]](values[a], values[b]))
    rows, columns = program.outputs.shape
    return sp.Matrix(
        rows, columns, lambda i, j: values[k] if (k := program.outputs[i, j]) >= 0 else 0
    )


def run(program: Program, inputs: np.ndarray) -> np.ndarray:
    out = np.zeros((*program.outputs.shape, inputs.shape[1]))
    Runner(program)(inputs, out)
    return out


@pytest.mark.parametrize(
    "robot",
    [load_robot("planar2r"), *(random_tree(np.random.default_rng(s), moving=2) for s in range(3))],
    ids=["planar2r", "tree0", "tree1", "tree2"],
)
def test_the_back_end_computes_what_sympy_does(robot: Robot) -> None:
    program = derive_program(robot)
    reference = sp.lambdify(sp.symbols(program.inputs), symbolic_matrix(program), "mpmath")
    inputs = np.random.default_rng(0).uniform(-2, 2, size=(len(program.inputs), 5))
    ours = run(program, inputs)
    for k in range(5):
        exact = np.array(reference(*inputs[:, k]).tolist(), dtype=float)
        scale = np.abs(exact).max()
        assert_allclose(ours[:, :, k], exact, rtol=0, atol=BACK_END * scale)


def test_the_toy_robot_has_the_textbook_regressor() -> None:
    q1, q2, d1, d2, a1, a2 = sp.symbols(PLANAR.inputs)
    Y = symbolic_matrix(PLANAR)
    half = sp.Rational(1, 2)
    expected = half * (
        2 * sp.cos(q2) * a1 + sp.cos(q2) * a2 - 2 * sp.sin(q2) * d1 * d2 - sp.sin(q2) * d2**2
    ) + sp.Float(9.81) * sp.cos(q1 + q2)
    difference = sp.lambdify((q1, q2, d1, d2, a1, a2), Y[0, 11] - expected)
    states = np.random.default_rng(1).uniform(-2, 2, size=(6, 20))
    assert_allclose(difference(*states), 0.0, rtol=0, atol=1e-13)
    assert Y[1, 9] == 0
    assert Y[0, 9] == a1
    assert sp.simplify(Y[1, 19] - a1 - a2) == 0


def test_equal_results_are_computed_once_whatever_their_sign() -> None:
    tape = Tape()
    a, b = sp.symbols("a b")
    assert tape.add(a, -b) == -tape.add(b, -a)
    assert tape.add(-a, -b) == -tape.add(b, a)
    assert tape.times(a, b) == tape.times(-b, -a) == -tape.times(a, -b)
    assert tape.sin(-a) == -tape.sin(a)
    assert tape.cos(-a) == tape.cos(a)
    assert len(tape.assignments) == 5
    assert tape.add(a, -a) == 0
    assert tape.times(a, sp.S.Zero) == 0
    assert tape.times(sp.S.NegativeOne, a) == -a
    assert tape.add(a, a) == tape.times(sp.Integer(2), a)


@pytest.mark.parametrize(("name", "peer"), [("ur5", 1529), ("panda", 2158), ("iiwa14", 1893)])
def test_fewer_operations_than_sympybotics(name: str, peer: int) -> None:
    assert derive_program(load_robot(name)).operations < peer


def test_a_program_survives_being_stored() -> None:
    back = Program.loads(PLANAR.dumps())
    assert back.inputs == PLANAR.inputs
    for name in ("constants", "code", "outputs"):
        assert_array_equal(getattr(back, name), getattr(PLANAR, name))


def sealed(facts: object) -> bytes:
    body = json.dumps(facts).encode()
    return digest([body]).encode() + b"\n" + body


FACTS = json.loads(PLANAR.dumps().partition(b"\n")[2])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\x00",
        PLANAR.dumps()[:-5],
        PLANAR.dumps().replace(b"9.81", b"9.82"),
        sealed([]),
        sealed(5),
        sealed(None),
        sealed({**FACTS, "schema": 0}),
        sealed({k: v for k, v in FACTS.items() if k != "code"}),
        sealed({**FACTS, "constants": None}),
        sealed({**FACTS, "constants": ["x"]}),
        sealed({**FACTS, "outputs": [[10**6]]}),
        sealed({**FACTS, "outputs": [[2**40]]}),
        sealed({**FACTS, "code": [[0, 0, 10**6]]}),
        sealed({**FACTS, "code": [[99, 0, 0]]}),
        sealed({**FACTS, "code": [[0, 0]]}),
    ],
)
def test_damaged_content_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError):
        Program.loads(content)


def test_selected_columns_are_computed_alone() -> None:
    whole = derive_program(load_robot("ur5"))
    kept = np.array([0, 9, 25, 59])
    some = whole.select(kept)
    assert some.arguments == whole.arguments == (("q", 6), ("dq", 6), ("ddq", 6))
    assert some.operations < whole.operations / 2
    inputs = np.random.default_rng(0).uniform(-2, 2, size=(18, 7))
    assert_array_equal(run(some, inputs), run(whole, inputs)[:, kept])


def test_letters_are_inputs() -> None:
    symbolic = derive_program(load_symbolic("planar2r"))
    assert symbolic.arguments[-1] == ("lengths", 1)
    assert symbolic.inputs[-1] == "a2"
    states = np.random.default_rng(0).uniform(-2, 2, size=(6, 5))
    with_length = np.vstack([states, np.full(5, 0.5)])
    assert_allclose(run(symbolic, with_length), run(PLANAR, states), rtol=0, atol=BACK_END)
    q2, a1, a2, length = sp.symbols("q2 ddq1 ddq2 a2")
    Y = symbolic_matrix(symbolic)
    assert Y[1, 10] == 0
    assert sp.trigsimp(sp.expand(Y[0, 10]).coeff(a1)) == length**2
    assert sp.expand(Y[1, 11]).coeff(a1) == length * sp.cos(q2)
    assert sp.expand(Y[1, 19]) == a1 + a2
