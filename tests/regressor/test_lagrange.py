from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from sympy.simplify.fu import TR8

from ident.errors import ModelError
from ident.model import rotation
from ident.model.dh import DHRow, robot_of_table
from ident.model.geometry import exact_geometry
from ident.model.locking import lock
from ident.model.registry import load_robot, load_symbolic
from ident.model.robot import Robot
from ident.regressor.dynamics import gravity_torque, inverse_dynamics, mass_matrix
from ident.regressor.lagrange import ClosedForm, lagrange
from ident.regressor.newton_euler import regressor_matrix
from ident.regressor.program import Tape
from ident.regressor.rigid import derive
from tests.random_robots import random_motion, random_tree, with_mimics
from tests.tolerances import ROUNDOFF

LETTERED = load_symbolic("planar2r")
PLANAR = lagrange(LETTERED, gravity="g")
ARM = lock(load_robot("ur5"), {f"wrist_{i}_joint": 0.0 for i in (1, 2, 3)})

m1, m2, l1, r1, r2, I1, I2, g = sp.symbols("m1 m2 a2 r1 r2 I1 I2 g")
q1, q2, dq1, dq2 = sp.symbols("q1 q2 dq1 dq2")
TEXTBOOK = {
    "mx1": m1 * r1,
    "my1": 0.0,
    "Izz1": I1 + m1 * r1**2,
    "mx2": m2 * r2,
    "my2": 0.0,
    "Izz2": I2 + m2 * r2**2,
}


def test_the_planar_arm_of_the_textbooks() -> None:
    form = lagrange(LETTERED, TEXTBOOK, gravity="g")
    h = -m2 * l1 * r2 * sp.sin(q2)
    M12 = I2 + m2 * r2**2 + m2 * l1 * r2 * sp.cos(q2)
    M11 = I1 + m1 * r1**2 + I2 + m2 * (l1**2 + r2**2) + 2 * m2 * l1 * r2 * sp.cos(q2)
    M = sp.Matrix([[M11, M12], [M12, I2 + m2 * r2**2]])
    C = sp.Matrix([[h * dq2, h * (dq1 + dq2)], [-h * dq1, 0]])
    hanging = m2 * r2 * g * sp.cos(q1 + q2)
    gravity = sp.Matrix([(m1 * r1 + m2 * l1) * g * sp.cos(q1) + hanging, hanging])
    for ours, theirs in ((form.M, M), (form.C, C), (form.g, gravity)):
        assert ours == theirs.applyfunc(sp.expand)
    assert form.letters == (l1, g)
    assert form.parameters[:2] == (m1, r1)


def newton_euler(robot: Robot) -> sp.Matrix:
    """Torque of the recursion in exact numbers, products of waves turned into sums by sympy."""
    tape = Tape()
    states = [sp.symbols(f"{s}1:{robot.n + 1}") for s in ("q", "dq", "ddq")]
    Y = regressor_matrix(tape, exact_geometry(robot), *states)
    meaning: dict[sp.Symbol, sp.Expr] = {}
    for symbol, expression in tape.assignments:
        meaning[symbol] = expression.xreplace(meaning).doit()
    tau = sp.Matrix(Y).xreplace(meaning) * sp.Matrix(sp.symbols(robot.inertial_names))
    return tau.applyfunc(lambda e: sp.expand(TR8(sp.expand(e))))


@pytest.mark.parametrize(
    "robot", [load_robot("planar2r"), LETTERED], ids=["numbers", "with a letter"]
)
def test_the_recursion_gives_the_same_expressions(robot: Robot) -> None:
    assert lagrange(robot).tau == newton_euler(robot)


@pytest.mark.parametrize("seed", range(30))
def test_three_joints_in_any_tree_have_the_torque_of_the_recursion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, moving=3)
    check(robot if seed % 3 else with_mimics(robot, rng), lagrange_of_numbers)


def test_random_trees_with_mimics_cover_what_they_are_for() -> None:
    found = set()
    for seed in range(0, 30, 3):
        rng = np.random.default_rng(seed)
        links = with_mimics(random_tree(rng, moving=3), rng).links
        kinds = {link.joint.name: link.joint.turns for link in links}
        found |= {(kinds[j.name], kinds[j.mimics]) for j in (k.joint for k in links) if j.mimics}
    assert found == {(a, b) for a in (True, False) for b in (True, False)}


def lagrange_of_numbers(robot: Robot) -> tuple[ClosedForm, dict[str, float]]:
    return lagrange(robot, "numbers"), {}


def lagrange_of_symbols(robot: Robot) -> tuple[ClosedForm, dict[str, float]]:
    return lagrange(robot), dict(zip(robot.inertial_names, robot.pi.tolist(), strict=True))


@pytest.mark.parametrize("derived", [lagrange_of_numbers, lagrange_of_symbols])
def test_an_arm_of_the_registry_in_numbers_and_symbols(derived: Any) -> None:
    check(ARM, derived)


def check(robot: Robot, derived: Any) -> None:
    form, values = derived(robot)
    M, C, g = form.functions(values)
    q, dq, ddq = random_motion(robot, 4, np.random.default_rng(0))
    assert_allclose(M(q), mass_matrix(robot, q), rtol=0, atol=ROUNDOFF)
    assert_allclose(g(q), gravity_torque(robot, q), rtol=0, atol=ROUNDOFF)
    tau = (M(q) @ ddq[..., None] + C(q, dq) @ dq[..., None])[..., 0] + g(q)
    assert_allclose(tau, inverse_dynamics(robot, q, dq, ddq), rtol=0, atol=ROUNDOFF)
    for one, many in ((M(q[1]), M(q)), (C(q[1], dq[1]), C(q, dq)), (g(q[1]), g(q))):
        assert_allclose(one, many[1], rtol=0, atol=ROUNDOFF)


@pytest.mark.parametrize("form", [PLANAR, lagrange(ARM)], ids=["planar2r", "ur5 of three joints"])
def test_the_change_of_m_less_twice_c_is_skew_symmetric(form: ClosedForm) -> None:
    change = sum(
        (form.M.diff(q) * dq for q, dq in zip(form.q, form.dq, strict=True)),
        sp.zeros(*form.M.shape),
    )
    difference = change - 2 * form.C
    assert (difference + difference.T).applyfunc(sp.expand) == sp.zeros(*form.M.shape)
    assert form.M == form.M.T


def turned(robot: Robot) -> Robot:
    """The robot on another wall of the room, which turns with it."""
    R = rotation.from_rpy(np.pi / 2, 0.0, -np.pi / 2)
    links = tuple(
        replace(link, joint=replace(link.joint, R0=R @ link.joint.R0, p0=R @ link.joint.p0))
        if link.parent < 0
        else link
        for link in robot.links
    )
    return replace(robot, links=links).with_gravity(R @ robot.gravity)


@pytest.mark.parametrize("robot", [load_robot("planar2r"), ARM], ids=["planar2r", "ur5"])
def test_equal_expressions_are_the_same(robot: Robot) -> None:
    one, other = lagrange(robot), lagrange(turned(robot))
    assert (one.M, one.C, one.g) == (other.M, other.C, other.g)


@pytest.mark.parametrize("robot", [load_robot("planar2r"), ARM], ids=["planar2r", "ur5"])
def test_the_regressor_is_that_of_the_recursion(robot: Robot) -> None:
    form = lagrange(robot)
    Y = sp.lambdify((*form.q, *form.dq, *form.ddq), form.regressor())
    q, dq, ddq = random_motion(robot, 3, np.random.default_rng(0))
    ours = np.concatenate([np.array(Y(*row)) for row in np.hstack([q, dq, ddq])])
    assert_allclose(ours, derive(robot)(q, dq, ddq), rtol=0, atol=ROUNDOFF)
    assert tuple(p.name for p in form.parameters) == robot.inertial_names


def test_a_regressor_needs_parameters_that_enter_linearly() -> None:
    with pytest.raises(ModelError, match=r"not linear in m1, r1"):
        lagrange(LETTERED, TEXTBOOK).regressor()
    with pytest.raises(ModelError, match="not linear in no parameters"):
        lagrange(ARM, "numbers").regressor()
    with pytest.raises(ModelError, match="not linear"):
        lagrange(ARM, {"mx2": 1.0}).regressor()


def test_masses_in_points_and_nothing_else() -> None:
    nothing = dict.fromkeys(LETTERED.inertial_names, 0.0)
    form = lagrange(LETTERED, nothing | {"m2": sp.Symbol("m2")})
    assert sp.Matrix([[m2 * l1**2, 0], [0, 0]]) == form.M
    assert form.parameters == (m2,)
    assert form.g[0] == m2 * l1 * sp.Rational("9.81") * sp.cos(q1)


def test_the_letter_of_gravity_is_its_magnitude() -> None:
    tilted = load_robot("planar2r").with_gravity([3.0, -4.0, 12.0])
    g = lagrange(tilted, gravity="g").g
    assert g.subs("g", 13) == lagrange(tilted).g
    for letter, robot in (("a2", LETTERED), ("m1", tilted), ("q1", tilted), ("9", tilted)):
        with pytest.raises(ModelError, match=f"letter '{letter}'"):
            lagrange(robot, gravity=letter)
    with pytest.raises(ModelError, match="a letter for it"):
        lagrange(tilted.with_gravity([0.0, 0.0, 0.0]), gravity="g")


def test_what_is_too_large_or_unknown_is_refused() -> None:
    with pytest.raises(ModelError, match=r"6 moving links.*at most 4.*pass largest=6"):
        lagrange(load_robot("ur5"))
    with pytest.raises(ModelError, match="no parameter 'm3'"):
        lagrange(LETTERED, {"m3": 1.0})
    with pytest.raises(ModelError, match="'number'"):
        lagrange(LETTERED, cast(Any, "number"))
    with pytest.raises(ModelError, match="parameter m1"):
        lagrange(LETTERED, {"m1": float("nan")})
    with pytest.raises(ModelError, match="no value for a2, g, mx1"):
        PLANAR.functions({"m2": 1.0, "Izz1": 1.0, "Izz2": 1.0, "mx2": 1.0, "my1": 0, "my2": 0})


def test_numbers_are_as_written() -> None:
    M = lagrange(load_robot("planar2r"), "numbers").M
    assert M[0, 0] == sp.Rational("0.485") + sp.Rational("0.2") * sp.cos(q2)


def test_latex_has_dots() -> None:
    assert r"\dot{q}_{1}" in PLANAR.latex("C")
    assert r"\ddot{q}_{2}" in PLANAR.latex("tau")
    assert r"\cos{\left(q_{1} + q_{2} \right)}" in PLANAR.latex("g")


@pytest.mark.parametrize("name", ["Q", "m", "parameters", "__class__"])
def test_latex_of_what_is_no_matrix_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=f"no matrix '{name}' .expected one of M, C, g, tau"):
        PLANAR.latex(cast(Any, name))


def test_a_standard_table_whose_masses_wait_for_a_letter_has_a_closed_form() -> None:
    rows = [
        DHRow(link=f"l{i}", joint=f"j{i}", a=a, alpha=0.0, d=0.0, theta=0.0, mass=1.0)
        for i, a in ((1, "L1"), (2, "L2"))
    ]
    form = lagrange(robot_of_table("arm", "standard", rows))
    assert sp.Symbol("L1") in form.M.free_symbols
    with pytest.raises(ModelError, match="no value for length L1, L2"):
        lagrange(robot_of_table("arm", "standard", rows), "numbers")


@pytest.mark.parametrize(
    ("value", "said"),
    [(sp.Symbol("q2"), "q2"), (1 + sp.Symbol("dq1"), "dq1"), (sp.nan, "nan"), (sp.oo, "oo")],
)
def test_a_parameter_that_moves_or_is_no_number_is_refused(value: sp.Expr, said: str) -> None:
    with pytest.raises(ModelError, match=f"inertial parameter Izz2: .*{said}"):
        lagrange(LETTERED, {"Izz2": value})
