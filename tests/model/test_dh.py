from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.base.minimal import reduce_exact
from ident.errors import ModelError, UsageError
from ident.export.functions import model_functions
from ident.export.urdf import write_urdf
from ident.model import inertia, rotation
from ident.model.dh import DHRow, lettered, robot_of_table, with_lengths
from ident.model.locking import lock
from ident.model.registry import letter_values, load_robot, load_symbolic
from ident.model.robot import Robot
from ident.model.urdf import parse_urdf
from ident.regressor.rigid import derive
from tests.random_robots import random_body, random_motion
from tests.tolerances import ROUNDOFF, TORQUE


def row(i: int, **facts: Any) -> DHRow:
    given = {"a": 0.0, "alpha": 0.0, "d": 0.0, "theta": 0.0, **facts}
    return DHRow(link=f"link{i}", joint=f"joint{i}", **given)


def planar(convention: Any) -> Robot:
    """Case P2 of the shared toy robot, in either convention."""
    standard = convention == "standard"
    lengths = (0.5, 0.4) if standard else (0.0, 0.5)
    coms = (-0.25, -0.2) if standard else (0.25, 0.2)
    rows = [
        row(
            i + 1,
            a=lengths[i],
            mass=2.0 - i,
            com=(coms[i], 0.0, 0.0),
            inertia_c=(0.0, 0.0, 0.0, 0.0, 0.0, (0.05, 0.02)[i]),
        )
        for i in range(2)
    ]
    return robot_of_table("p2", convention, rows).with_gravity([0.0, -9.81, 0.0])


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_both_conventions_hold_the_toy_robot_alike(convention: str) -> None:
    tau = derive(planar(convention)).inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert_allclose(tau, [[11.772, 1.962]], rtol=0, atol=1e-12)


def modified_of(rows: Sequence[DHRow]) -> list[DHRow]:
    """The modified table of the arm of a standard one, by hand: inertias carried by Tx(a) Rx(α)."""
    before = [(0.0, 0.0), *((r.a, r.alpha) for r in rows[:-1])]
    changed = []
    for (a, alpha), r in zip(before, rows, strict=True):
        R = rotation.about_x(r.alpha)
        com = R @ np.array(r.com) + [r.a, 0.0, 0.0]
        about_com = R @ inertia.tensor(r.inertia_c) @ R.T
        six = [about_com[i, j] for i in range(3) for j in range(i, 3)]
        changed.append(replace(r, a=a, alpha=alpha, com=tuple(com), inertia_c=six))
    return changed


@pytest.mark.parametrize("seed", range(5))
def test_standard_modified_and_urdf_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(4):
        a, alpha, d, theta = rng.uniform(-1, 1, size=4)
        pi = random_body(rng)
        c = inertia.inertia_c_of(pi)
        rows.append(
            row(
                i,
                type="prismatic" if i == 2 else "revolute",
                a=a,
                alpha=alpha,
                d=d,
                theta=theta,
                mass=pi[0],
                com=inertia.com_of(pi),
                inertia_c=[c[i, j] for i in range(3) for j in range(i, 3)],
            )
        )
    standard = robot_of_table("s", "standard", rows)
    modified = robot_of_table("m", "modified", modified_of(rows))
    states = random_motion(standard, 5, rng)
    tau = derive(standard).inverse_dynamics(*states)
    urdf = parse_urdf(write_urdf(standard))
    for other in (modified, urdf):
        assert_allclose(derive(other).inverse_dynamics(*states), tau, rtol=0, atol=ROUNDOFF)


@pytest.mark.parametrize(
    ("facts", "place"),
    [
        ({"type": "helical"}, "type"),
        ({"com": (0.0, 0.0)}, "com"),
        ({"inertia_c": (1.0,) * 5}, "inertia_c"),
        ({"mass": -1.0}, "mass: -1 kg"),
        ({"a": "0.5 m"}, "a"),
        ({"alpha": float("nan")}, "alpha"),
        ({"position": (0.0,)}, "position"),
        ({"position": (1.0, 0.0)}, "limits"),
    ],
)
def test_a_bad_row_is_named(facts: dict[str, Any], place: str) -> None:
    with pytest.raises(ModelError, match=place) as e:
        robot_of_table("r", "modified", [row(3, **facts)])
    assert "3" in e.value.where


def test_tables_need_rows_and_unique_names() -> None:
    with pytest.raises(ModelError, match="no row"):
        robot_of_table("r", "modified", [])
    with pytest.raises(ModelError, match="two links named 'link1'"):
        robot_of_table("r", "modified", [row(1), replace(row(2), link="link1")])
    with pytest.raises(ModelError, match="two joints named"):
        robot_of_table("r", "modified", [row(1), replace(row(2), joint="joint1")])


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_letters_stand_for_lengths(convention: Any) -> None:
    rng = np.random.default_rng(0)
    numbers = {"L1": 0.3, "L2": 0.2, "h": 0.1}
    rows = [row(1, d="h"), row(2, a="L1", alpha=np.pi / 2), row(3, a="-L2", d="L1", alpha=0.3)]
    symbolic = robot_of_table("r", convention, rows)
    assert symbolic.letters == (("h", "L1", "L2") if convention == "modified" else ("h", "L1"))
    with pytest.raises(ModelError, match="no value for length"):
        symbolic.forward(np.zeros(3))
    with pytest.raises(ModelError, match="no value for length"):
        derive(symbolic)(*np.zeros((3, 3)))
    known = {name: numbers[name] for name in symbolic.letters}
    filled = symbolic.with_lengths(**known)
    direct = robot_of_table("r", convention, with_lengths(rows, numbers, "r"))
    assert not filled.letters
    for q in rng.uniform(-2, 2, size=(5, 3)):
        for ours, theirs in zip(filled.forward(q), direct.forward(q), strict=True):
            assert_allclose(ours, theirs, rtol=0, atol=ROUNDOFF)
    with pytest.raises(ModelError, match="no length 'L9'"):
        symbolic.with_lengths(L9=1.0)
    with pytest.raises(ModelError, match="not finite"):
        symbolic.with_lengths(L1=np.nan)


WAITING = [
    row(1, d="h", a="L1", mass=2.0, com=(-0.2, 0.1, 0.0), inertia_c=(0.1, 0.0, 0.0, 0.2, 0.0, 0.2)),
    row(2, a=0.3, alpha=np.pi / 2, mass=1.0, com=(0.0, 0.1, 0.0)),
    row(3, a="-L3", mass=0.5, inertia_c=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1)),
]
NUMBERS = {"h": 0.4, "L1": 0.25, "L3": 0.1}


def test_inertias_off_their_axes_by_a_letter_wait_for_the_number() -> None:
    robot = robot_of_table("r", "standard", WAITING)
    assert robot.letters == ("h", "L1", "L3")
    assert [link.waits for link in robot.links] == [True, False, True]
    assert not robot.findings
    for use in (lambda: robot.pi, lambda: robot.with_pi(np.ones(30)), lambda: robot.digest):
        with pytest.raises(ModelError, match=r"no value for length h, L1, L3"):
            use()
    with pytest.raises(ModelError, match="no value for length"):
        write_urdf(robot)
    known = robot_of_table("r", "standard", with_lengths(WAITING, NUMBERS, "r"))
    for first in ("L1", "L3"):
        step = robot.with_lengths(**{first: NUMBERS[first]})
        rest = {name: NUMBERS[name] for name in step.letters}
        assert_allclose(step.with_lengths(**rest).pi, known.pi, rtol=0, atol=ROUNDOFF)
    assert robot.kinematic_digest != known.kinematic_digest


def test_a_part_that_waits_does_so_on_a_joint_that_is_locked() -> None:
    locked = {"joint3": -0.3}
    robot = lock(robot_of_table("r", "standard", WAITING), locked)
    assert robot.letters == ("h", "L1", "L3")
    known = lock(robot_of_table("r", "standard", with_lengths(WAITING, NUMBERS, "r")), locked)
    assert_allclose(robot.with_lengths(**NUMBERS).pi, known.pi, rtol=0, atol=ROUNDOFF)


@pytest.mark.parametrize("locked", [{}, {"joint2": 0.3}, {"joint3": -0.3}])
def test_what_was_filled_is_exported_as_if_the_numbers_had_stood_there(
    locked: dict[str, float],
) -> None:
    filled = robot_of_table("r", "standard", WAITING).with_lengths(**NUMBERS)
    direct = robot_of_table("r", "standard", with_lengths(WAITING, NUMBERS, "r"))
    states = random_motion(lock(direct, locked), 5, np.random.default_rng(0))
    expected = derive(lock(direct, locked)).inverse_dynamics(*states)
    read = parse_urdf(write_urdf(lock(filled, locked)))
    assert_allclose(derive(read).inverse_dynamics(*states), expected, rtol=0, atol=TORQUE)


@pytest.mark.parametrize("lengths", [{}, {"h": 0.4}, {"L1": 0.25}, {"h": 0.4, "L1": 0.25}])
def test_masses_do_not_change_what_letters_are_derived_to(lengths: dict[str, float]) -> None:
    bare = [replace(r, mass=0.0, inertia_c=(0.0,) * 6) for r in WAITING]
    rows = [with_lengths(table, lengths, "r") for table in (WAITING, bare)]
    full, empty = (reduce_exact(robot_of_table("r", "standard", table)) for table in rows)
    assert full.khalil == empty.khalil
    robot = robot_of_table("r", "standard", rows[0])
    modules = [f.program.outputs.shape for f in model_functions(robot, full)]
    assert modules[0] == (3, 30)


def test_the_letters_of_a_standard_table_give_its_dynamics_back() -> None:
    known = load_robot("kr300")
    symbolic = load_symbolic("kr300")
    values = {name: letter_values("kr300")[name] for name in symbolic.letters}
    states = random_motion(known, 5, np.random.default_rng(0))
    found, expected = (
        derive(robot).inverse_dynamics(*states)
        for robot in (symbolic.with_lengths(**values), known)
    )
    assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_every_length_can_become_a_letter() -> None:
    rows = lettered([row(1, d=0.3), row(2, a=0.5), row(3, a=-0.1, d="h")])
    assert [(r.a, r.d) for r in rows] == [(0.0, "d1"), ("a2", 0.0), ("a3", "h")]
    rows = lettered([row(1, d=0.3), row(2, a=0.3, d="-d1"), row(3, a="a2")])
    assert [(r.a, r.d) for r in rows] == [(0.0, "d1_"), ("a2_", "-d1"), ("a2", 0.0)]
    symbolic = load_symbolic("planar2r")
    assert symbolic.letters == ("a2",)
    assert_allclose(symbolic.gravity, [0.0, -9.81, 0.0])
    with pytest.raises(UsageError, match="not described by a Denavit"):
        load_symbolic("ur5")


@pytest.mark.parametrize("name", ["M2", "ZZ1", "IA1", "m2", "q1", "armature1"])
def test_a_letter_is_not_called_like_a_parameter(name: str) -> None:
    with pytest.raises(ModelError, match=name):
        robot_of_table("r", "modified", [row(1, a=name)])
    with pytest.raises(ModelError, match=name):
        robot_of_table("r", "standard", [row(1, a=name, mass=1.0)])
