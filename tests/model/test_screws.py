from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.errors import ModelError
from ident.model import inertia, rotation
from ident.model.registry import load_robot
from ident.model.screws import ScrewRow, robot_of_screws
from ident.regressor.rigid import derive
from tests.random_robots import random_motion
from tests.tolerances import ROUNDOFF


def row(i: int, **facts: Any) -> ScrewRow:
    given = {"axis": (0.0, 0.0, 1.0), "point": (0.0, 0.0, 0.0), **facts}
    return ScrewRow(**{"link": f"link{i}", "joint": f"joint{i}", **given})


def planar(**second: Any) -> list[ScrewRow]:
    """Case P2 of the shared toy robot, its second link with the frame that is asked for."""
    about = (0.0, 0.0, 0.0, 0.0, 0.0, 0.05)
    first = row(1, mass=2.0, com=(0.25, 0.0, 0.0), inertia_c=about)
    placed = {"point": (0.5, 0.0, 7.0), "com": (0.2, 0.0, 0.0), **second}
    return [first, row(2, mass=1.0, inertia_c=(0.0, 0.0, 0.0, 0.0, 0.0, 0.02), **placed)]


@pytest.mark.parametrize(
    "second",
    [
        {},
        {"xyz": (0.5, 0.0, 0.0)},
        {"xyz": (0.9, 0.0, 0.3), "com": (-0.2, 0.0, 0.0)},
        {"xyz": (0.5, 0.1, 0.0), "rpy": (0.0, 0.0, np.pi / 2), "com": (-0.1, -0.2, 0.0)},
        {"axis": None, "point": None, "screw": (0.0, 0.0, 1.0, 0.0, -0.5, 0.0)},
    ],
)
def test_the_toy_robot_weighs_what_it_should_in_any_frame(second: dict[str, Any]) -> None:
    robot = robot_of_screws("p2", planar(**second)).with_gravity([0.0, -9.81, 0.0])
    zero = np.zeros(2)
    assert_allclose(derive(robot).inverse_dynamics(zero, zero, zero), [[11.772, 1.962]], atol=1e-12)


def exponential(row: ScrewRow, q: float) -> np.ndarray:
    """4×4 motion of a screw by the series of the matrix exponential."""
    axis, point = row.line()
    twist = np.zeros((4, 4))
    if row.turns:
        twist[:3, :3], twist[:3, 3] = inertia.skew(axis), -np.cross(axis, point)
    else:
        twist[:3, 3] = axis
    out, power = np.eye(4), np.eye(4)
    for k in range(1, 40):
        power = power @ twist * (q / k)
        out += power
    return out


def random_rows(rng: np.random.Generator, parents: tuple[str, ...]) -> list[ScrewRow]:
    rows = []
    for i, parent in enumerate(parents):
        axis = rng.normal(size=3)
        rows.append(
            row(
                i,
                type="prismatic" if i == 2 else "revolute",
                axis=axis / np.linalg.norm(axis),
                point=rng.normal(size=3),
                xyz=rng.normal(size=3),
                rpy=rng.uniform(-3, 3, size=3),
                parent=parent,
                mass=1.0,
            )
        )
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_links_stand_where_the_product_of_exponentials_puts_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, ("", "", "", "link0", "base_link"))
    robot = robot_of_screws("tree", rows)
    above = [[0], [0, 1], [0, 1, 2], [0, 3], [4]]
    q = rng.uniform(-2, 2, size=5)
    R, p = robot.forward(q)
    assert [link.name for link in robot.links] == [r.link for r in rows]
    for i, path in enumerate(above):
        T = np.eye(4)
        for k in path:
            T = T @ exponential(rows[k], q[k])
        tabled = T[:3, :3] @ np.array(rows[i].xyz) + T[:3, 3]
        off = rows[i].frame[2]
        assert_allclose(R[i], T[:3, :3] @ rotation.from_rpy(*rows[i].rpy), rtol=0, atol=ROUNDOFF)
        assert_allclose(p[i] + R[i] @ off, tabled, rtol=0, atol=ROUNDOFF)
        # No nearer point of the axis.
        if rows[i].turns:
            assert abs(robot.links[i].joint.axis @ off) < ROUNDOFF


def test_a_frame_on_its_axis_stays_where_it_is_and_keeps_its_decimals() -> None:
    rows = [row(1, point=(0.0, 0.0, 0.1)), row(2, axis=(0.0, 1.0, 0.0), point=(0.3, 0.0, 0.4))]
    robot = robot_of_screws("r", rows)
    assert_array_equal(robot.links[1].joint.p0, [0.3, 0.0, 0.3])
    assert_array_equal(robot.links[1].joint.R0, np.eye(3))


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"type": "helical"}, "type: 'helical'"),
        ({"axis": (0.0, 0.0, 0.0)}, "axis: length 0"),
        ({"axis": (0.0, 0.0, 2.0)}, "axis: length 2"),
        ({"axis": (0.0, 1.0)}, "axis: shape 2"),
        ({"axis": None}, "neither of 'axis' and 'screw'"),
        ({"screw": (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)}, "both"),
        ({"point": None}, "no 'point'"),
        ({"point": (0.0, np.nan, 0.0)}, "point: not finite"),
        ({"axis": None, "screw": (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)}, "'point' beside 'screw'"),
        ({"axis": None, "point": None, "screw": (0.0, 0.0, 1.0, 1.0, 0.0, 0.2)}, "pitch 0.2"),
        ({"axis": None, "point": None, "screw": (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)}, "length 0"),
        ({"axis": None, "point": None, "screw": (0.0, 0.0, 3.0, 1.0, 0.0, 0.0)}, "length 3"),
        (
            {"type": "prismatic", "axis": None, "point": None, "screw": (0, 0, 1.0, 1.0, 0, 0)},
            "a turning part",
        ),
        ({"inertia_c": (1.0,) * 5}, "inertia_c"),
        ({"mass": -1.0}, "mass: -1 kg"),
        ({"parent": "link9"}, "unknown parent 'link9'"),
        ({"position": (1.0, 0.0)}, "limits"),
    ],
)
def test_a_bad_row_is_named(facts: dict[str, Any], found: str) -> None:
    with pytest.raises(ModelError, match=found) as e:
        robot_of_screws("r", [row(3, **facts)])
    assert "3" in e.value.where


def test_rows_need_to_be_a_tree_of_unique_names() -> None:
    with pytest.raises(ModelError, match="no row"):
        robot_of_screws("r", [])
    with pytest.raises(ModelError, match="two links named 'link1'"):
        robot_of_screws("r", [row(1), row(2, link="link1")])
    with pytest.raises(ModelError, match="two links named 'base_link'"):
        robot_of_screws("r", [row(1, link="base_link")])
    with pytest.raises(ModelError, match="two joints named 'joint1'"):
        robot_of_screws("r", [row(1), row(2, joint="joint1")])
    with pytest.raises(ModelError, match="loop"):
        robot_of_screws("r", [row(1, parent="link2"), row(2), row(3, parent="base_link")])


TABLE = """
schema = 1
name = "p2"
gravity = [0.0, -9.81, 0.0]

[screws]

[[screws.links]]
link = "link1"
joint = "joint1"
axis = [0.0, 0.0, 1.0]
point = [0.0, 0.0, 0.0]
mass = 2.0
com = [0.25, 0.0, 0.0]
inertia_c = [0.0, 0.0, 0.0, 0.0, 0.0, 0.05]

[[screws.links]]
link = "link2"
joint = "joint2"
screw = [0.0, 0.0, 1.0, 0.0, -0.5, 0.0]
mass = 1.0
com = [0.2, 0.0, 0.0]
inertia_c = [0.0, 0.0, 0.0, 0.0, 0.0, 0.02]
"""


def test_a_table_of_screws_is_read(tmp_path) -> None:
    (tmp_path / "robot.toml").write_text(TABLE)
    robot, direct = load_robot(tmp_path), robot_of_screws("p2", planar())
    states = random_motion(robot, 5, np.random.default_rng(0))
    tau = derive(direct.with_gravity(robot.gravity)).inverse_dynamics(*states)
    assert_allclose(derive(robot).inverse_dynamics(*states), tau, rtol=0, atol=ROUNDOFF)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("point = [0.0, 0.0, 0.0]", "points = [0.0, 0.0, 0.0]", r"links\.1\.points: unknown key"),
        ("point = [0.0, 0.0, 0.0]", "point = [0.0, 0.0]", r"links\.1\.point"),
        ("axis = [0.0, 0.0, 1.0]", "axis = [0.0, 0.0, 0.5]", "row 'link1' axis: length 0.5"),
        ("[screws]", 'description = "robot.urdf"\n[screws]', r"'description' beside \[screws\]"),
        ("[screws]", '[dh]\nconvention = "modified"\nlinks = []\n[screws]', "beside"),
    ],
)
def test_a_bad_table_is_named(tmp_path, old: str, new: str, place: str) -> None:
    (tmp_path / "robot.toml").write_text(TABLE.replace(old, new, 1))
    with pytest.raises(ModelError, match=place) as error:
        load_robot(tmp_path)
    assert error.value.where.startswith(str(tmp_path / "robot.toml"))


def test_a_lead_screw_is_no_rotation() -> None:
    lead = 0.005 / (2.0 * np.pi)  # m/rad, of 5 mm a turn
    with pytest.raises(ModelError, match="pitch"):
        ScrewRow(link="l", joint="j", screw=[0.0, 0.0, 1.0, 0.0, 0.0, lead])
