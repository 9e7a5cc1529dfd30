import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

from ident.base.basemap import BaseMap, ExactBaseMap
from ident.base.minimal import reduce
from ident.errors import ModelError
from ident.model.registry import load_robot
from ident.regressor.rigid import derive
from tests.random_robots import random_motion
from tests.tolerances import ROUNDOFF

PLANAR = load_robot("planar2r")
BASE = reduce(PLANAR)


def test_the_toy_robot_s_base_parameters_are_the_textbook_s() -> None:
    assert BASE.names == ("mx1R", "my1", "Izz1R", "mx2", "my2", "Izz2")
    assert BASE.expressions[0] == "mx1 + 0.5·m2"
    assert BASE.expressions[2] == "Izz1 + 0.25·m2"
    assert_allclose(BASE.reduce(PLANAR.pi), [1.0, 0.0, 0.425, 0.2, 0.0, 0.06], rtol=0, atol=1e-12)


def test_a_mass_that_motion_does_not_show_may_differ_without_any_torque() -> None:
    other = PLANAR.pi.copy()
    for name, value in {"m2": 1.3, "mx1": 0.35, "Izz1": 0.10}.items():
        other[BASE.columns.index(name)] = value
    states = random_motion(PLANAR, 100, np.random.default_rng(0))
    Y = derive(PLANAR)(*states)
    assert_allclose(Y @ other, Y @ PLANAR.pi, rtol=0, atol=1e-12)
    assert_allclose(BASE.reduce(other), BASE.reduce(PLANAR.pi), rtol=0, atol=1e-15)
    assert {BASE.standing[n] for n in ("m2", "mx1", "Izz1")} == {"combination"}
    assert {BASE.standing[n] for n in ("my1", "mx2", "Izz2")} == {"alone"}
    assert {BASE.standing[n] for n in ("m1", "Ixx1", "mz2")} == {"none"}


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_expanding_keeps_the_base_and_moves_the_prior_least(name: str) -> None:
    robot = load_robot(name)
    base = reduce(robot)
    rng = np.random.default_rng(1)
    beta = base.reduce(robot.pi) + rng.normal(size=base.rank)
    theta = base.expand(beta, prior=robot.pi)
    assert_allclose(base.reduce(theta), beta, rtol=0, atol=ROUNDOFF)
    # Any other answer differs by what motion does not show, which the move has no share of.
    hidden = np.linalg.svd(base.grouping)[2][base.rank :]
    assert_allclose(hidden @ (theta - robot.pi), 0.0, rtol=0, atol=ROUNDOFF)
    assert_allclose(
        base.expand(base.reduce(robot.pi), prior=robot.pi), robot.pi, rtol=0, atol=ROUNDOFF
    )


@pytest.mark.parametrize("shape", [(), (19,), (20, 1), (2, 20)])
def test_parameters_of_another_number_are_refused(shape: tuple[int, ...]) -> None:
    other = np.zeros(shape)
    with pytest.raises(ModelError, match=r"theta: shape .* \(expected shape 20\)"):
        BASE.reduce(other)
    with pytest.raises(ModelError, match=r"prior: shape .* \(expected shape 20\)"):
        BASE.expand(np.zeros(6), prior=other)
    with pytest.raises(ModelError, match=r"beta: shape .* \(expected shape 6\)"):
        BASE.expand(other, prior=PLANAR.pi)


def test_no_link_mass_stands_alone_on_an_arm() -> None:
    for name in ("ur5", "panda"):
        standing = reduce(load_robot(name)).standing
        assert all(standing[n] != "alone" for n in standing if n.rstrip("0123456789") == "m")


def test_expressions_read_well() -> None:
    base = BaseMap(
        columns=("a", "b", "c"),
        kept=np.array([0, 2]),
        grouping=np.array([[1.0, -1.0, 0.0], [0.0, -0.25, 1.0]]),
    )
    assert base.expressions == ("a - b", "c - 0.25·b")
    assert base.names == ("aR", "cR")
    assert base.merged(["b", "c"]) == {"b": "aR"}
    assert base.standing == {"a": "combination", "b": "combination", "c": "combination"}


def test_exact_expressions_read_well() -> None:
    one, (a, b) = sp.Integer(1), sp.symbols("a2 d3")
    base = ExactBaseMap(
        columns=("Izz1", "m2", "m3", "mz3", "armature1"),
        kept=np.array([0, 3]),
        coefficients=({0: one, 1: a**2 - b, 2: a**2 - b, 4: one}, {3: one, 1: -a * b / 4, 2: -one}),
        letters=(a, b),
    )
    assert base.expressions == (
        "Izz1 + (a2²-d3)·m2 + (a2²-d3)·m3 + armature1",
        "mz3 - 0.25·a2·d3·m2 - m3",
    )
    assert base.khalil == (
        "ZZ1R = ZZ1 + (a2²-d3)·(M2 + M3) + IA1",
        "MZ3R = MZ3 - 0.25·a2·d3·M2 - M3",
    )
    assert base.latex()[1] == (
        r"\mathit{mz}_{3R} &= \mathit{mz}_{3} - 0.25 a_{2} d_{3}\,m_{2} - m_{3}"
    )
    numbers = base.numbers(a2=2.0, d3=1.0)
    assert_allclose(numbers.grouping, [[1, 3, 3, 0, 1], [0, -0.5, -1, 1, 0]])
    assert numbers.names == base.names
    assert numbers.standing == base.standing
