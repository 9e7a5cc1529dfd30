"""The structural minimal set beside the sampled one, and beside what is known by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal

from ident.arrays import Array
from ident.base import sampled
from ident.base.basemap import BaseMap
from ident.base.minimal import reduce, reduce_exact, reduce_stack
from ident.conventions import MOUNTS
from ident.errors import ModelError
from ident.model import rotation
from ident.model.dh import DHRow, robot_of_table
from ident.model.geometry import exact_geometry
from ident.model.joints import KINDS, Joint
from ident.model.registry import load_robot, load_symbolic, robot_names
from ident.model.robot import Robot
from ident.model.tree import Edge, assemble
from ident.regressor.columns import stack
from ident.regressor.friction import friction_terms
from ident.regressor.rigid import derive
from tests.random_robots import random_axis, random_body, random_motion, random_rotation
from tests.tolerances import ROUNDOFF

NOWHERE = (0.0, 0.0, 0.0)


def special_tree(seed: int, *, mimic: bool = False) -> Robot:
    """Draw a tree of 1 to 9 joints whose axes are often parallel, intersecting or vertical."""
    rng = np.random.default_rng(seed)
    style = int(rng.integers(4))
    inertials = {"base": random_body(rng)}
    edges: list[Edge] = []
    for i in range(int(rng.integers(1, 10))):
        parent = list(inertials)[-1] if rng.random() < 0.75 else str(rng.choice(list(inertials)))
        axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        first_is_vertical = i == 0 and rng.random() < 0.5
        follows = {}
        if mimic and edges and rng.random() < 0.35:
            leaders = [edge.joint.name for edge in edges if not edge.joint.mimics]
            follows = {
                "mimics": str(rng.choice(leaders)),
                "multiplier": float(rng.choice([-1.0, 1.0, 0.5, 2.0, -0.25])),
                "offset": float(rng.choice([0.0, np.pi / 2, 0.3])),
            }
        joint = Joint(
            name=f"j{i}",
            kind=str(rng.choice(KINDS, p=[0.5, 0.2, 0.3])),
            R0=np.eye(3) if first_is_vertical else turn(style, rng),
            p0=rng.uniform(-0.4, 0.4, 3)
            if style == 2
            else rng.choice([0.0, 0.1, 0.25, -0.3], size=3, p=[0.55, 0.15, 0.15, 0.15]),
            axis=[0.0, 0.0, 1.0]
            if first_is_vertical
            else (axis if rng.random() < 0.8 else random_axis(rng)),
            **follows,
        )
        inertials[f"l{i}"] = random_body(rng)
        edges.append(Edge(parent=parent, child=f"l{i}", joint=joint, fixed=False))
    robot = assemble("special", inertials, edges, where="special")
    gravities = [MOUNTS["floor"], NOWHERE, (0.0, -9.81, 0.0), 6.0 * rng.normal(size=3)]
    return robot.with_gravity(gravities[rng.integers(4)])


def turn(style: int, rng: np.random.Generator) -> Array:
    """Any turn, quarter turns, or none."""
    if style == 0:
        return random_rotation(rng)
    return rotation.from_rpy(*rng.integers(-1, 3, size=3) * np.pi / 2) if style < 3 else np.eye(3)


def assert_same_torque(base: BaseMap, robot: Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=10 * len(robot.links))
    Y = derive(robot)(*random_motion(robot, 20, rng))
    whole = Y @ theta
    size = max(np.abs(whole).max(), np.abs(Y).max(), 1e-3)
    assert_allclose(Y[:, base.kept] @ base.reduce(theta), whole, rtol=0, atol=ROUNDOFF * size)


@pytest.mark.parametrize("gravity", [MOUNTS["floor"], NOWHERE, (1.3, -2.2, 5.5)])
@pytest.mark.parametrize("name", robot_names())
def test_structure_and_samples_agree_on_the_registry(name: str, gravity: Any) -> None:
    robot = load_robot(name).with_gravity(gravity)
    ours, theirs = reduce(robot), sampled.reduce(robot)
    assert_array_equal(ours.kept, theirs.kept)
    assert_allclose(ours.grouping, theirs.grouping, rtol=0, atol=ROUNDOFF)
    with_drives = reduce_stack(stack(derive(robot), springs=False))
    check = sampled.reduce_stack(stack(derive(robot), springs=False))
    assert_array_equal(with_drives.kept, check.kept)
    assert_allclose(with_drives.grouping, check.grouping, rtol=0, atol=ROUNDOFF)
    assert_same_torque(ours, robot, 1)


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_structure_and_samples_agree_on_random_trees(first: int) -> None:
    for seed in range(first, first + 20):
        robot = special_tree(seed)
        base = reduce(robot)
        assert base.rank == sampled.reduce(robot).rank, seed
        columns = stack(derive(robot))
        assert reduce_stack(columns).rank == sampled.reduce_stack(columns).rank, seed
        assert_same_torque(base, robot, seed)


@pytest.mark.parametrize("seed", range(30))
def test_mimic_joints_are_reduced_by_exact_rank(seed: int) -> None:
    robot = special_tree(seed, mimic=True)
    base = reduce(robot)
    assert base.rank == sampled.reduce(robot).rank
    assert_same_torque(base, robot, seed)


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("offset", [0.0, np.pi / 4])
def test_the_planar_arm_is_grouped_in_letters(convention: Any, offset: float) -> None:
    first, second = ("L1", "L2") if convention == "standard" else (0.0, "L1")
    rows = [
        DHRow(link=f"l{i}", joint=f"j{i}", a=a, alpha=0.0, d=0.0, theta=offset)
        for i, a in ((1, first), (2, second))
    ]
    robot = robot_of_table("p2", convention, rows).with_gravity([0.0, -9.81, 0.0])
    base = reduce_exact(robot)
    (L1,) = base.letters
    assert L1.name == "L1"
    assert base.names == ("mx1R", "my1", "Izz1R", "mx2", "my2", "Izz2")
    name = base.columns.index
    groups = dict(zip(base.names, base.coefficients, strict=True))
    assert groups["Izz1R"] == {name("Izz1"): 1, name("m2"): L1**2}
    assert groups["mx1R"] == {name("mx1"): 1, name("m2"): L1}
    with pytest.raises(ModelError, match="no value"):
        reduce(robot)
    numbers = base.numbers(L1=0.5)
    assert_allclose(numbers.grouping, reduce(robot.with_lengths(L1=0.5)).grouping)
    with pytest.raises(ModelError, match="'L9': no such length"):
        base.numbers(L1=0.5, L9=1.0)


def test_exact_groupings_are_rational() -> None:
    base = reduce_exact(load_robot("panda"))
    assert base.rank == 43
    values = {value for row in base.coefficients for value in row.values()}
    assert all(isinstance(value, sp.Rational) for value in values)
    assert max(map(abs, values)) == 1
    assert sp.Rational(33, 400) in map(abs, values)  # 0.0825 m
    assert_array_equal(base.numbers().kept, base.kept)


@pytest.mark.parametrize(
    ("name", "gravity", "rank"),
    [("ur10", MOUNTS["floor"], 36), ("ur10", MOUNTS["wall"], 38), ("ur10", NOWHERE, 34)],
)
def test_mounting_decides_what_the_first_joint_shows(name: str, gravity: Any, rank: int) -> None:
    base = reduce(load_robot(name).with_gravity(gravity))
    assert base.rank == rank
    assert np.abs(base.grouping).max() <= 1.0


def test_a_table_in_letters_gives_the_same_as_its_numbers() -> None:
    symbolic = load_symbolic("planar2r")
    assert_allclose(
        reduce_exact(symbolic).numbers(a2=0.5).grouping, reduce(load_robot("planar2r")).grouping
    )


def test_a_twist_that_is_no_quarter_turn_has_no_exact_set() -> None:
    row = {"d": 0.0, "theta": 0.0}
    rows = [
        DHRow(link="l1", joint="j1", a=0.0, alpha=0.0, **row),
        DHRow(link="l2", joint="j2", a="L1", alpha=0.3, **row),
    ]
    with pytest.raises(ModelError, match="not rational"):
        reduce_exact(robot_of_table("r", "modified", rows))


def test_friction_takes_no_column_from_the_mechanism() -> None:
    robot = load_robot("ur5")
    columns = stack(derive(robot), friction=friction_terms(robot))
    base, check = reduce_stack(columns), sampled.reduce_stack(columns)
    assert_array_equal(base.kept, check.kept)
    assert_allclose(base.grouping, check.grouping, rtol=0, atol=ROUNDOFF)


def assert_drives_are_exact(robot: Robot) -> list[str]:
    """Exact and sampled sets agree; names of the drives' parameters that are grouped."""
    grouped = []
    for armature in (False, True):
        ours = reduce_exact(robot, armature=armature, friction=True).numbers()
        columns = stack(
            derive(robot), armature=armature, friction=friction_terms(robot), springs=False
        )
        theirs = sampled.reduce_stack(columns)
        assert ours.columns == columns.names
        assert_array_equal(ours.kept, theirs.kept)
        assert_allclose(ours.grouping, theirs.grouping, rtol=0, atol=ROUNDOFF)
        grouped += ours.merged(columns.names[10 * len(robot.links) :])
    return grouped


@pytest.mark.parametrize("name", ["planar2r", "ur5", "panda", "tx40", "puma560"])
@pytest.mark.parametrize("gravity", [MOUNTS["floor"], NOWHERE, (1.3, -2.2, 5.5)])
def test_drives_are_reduced_exactly(name: str, gravity: Any) -> None:
    grouped = assert_drives_are_exact(load_robot(name).with_gravity(gravity))
    assert {name.rstrip("0123456789") for name in grouped} <= {"armature"}


def test_drives_of_trees_are_reduced_exactly() -> None:
    grouped: set[str] = set()
    for seed in range(25):
        robot = special_tree(seed)
        if exact_geometry(robot).exact:
            grouped.update(assert_drives_are_exact(robot))
    assert any(name.startswith("offset") for name in grouped)  # of a slide, whose weight is one


def test_drives_of_a_table_in_letters() -> None:
    base = reduce_exact(load_symbolic("planar2r"), armature=True, friction=True)
    robot = load_robot("planar2r")
    columns = stack(derive(robot), friction=friction_terms(robot))
    assert_allclose(base.numbers(a2=0.5).grouping, reduce_stack(columns).grouping)
    assert base.khalil[-6:] == tuple(
        f"{name} = {name}"
        for name in ("viscous1", "viscous2", "coulomb1", "coulomb2", "offset1", "offset2")
    )


def test_coupled_drives_show_their_armatures() -> None:
    """A drive that turns two joints enters the mass matrix where no single drive does."""
    robot = load_robot("ur5")
    C = np.eye(6)
    C[5, 4] = 1.0
    coupled = replace(robot, drives=replace(robot.drives, coupling=C))
    for arm in (robot, coupled):
        columns = stack(derive(arm))
        base, check = reduce_stack(columns), sampled.reduce_stack(columns)
        assert_array_equal(base.kept, check.kept)
        assert_allclose(base.grouping, check.grouping, rtol=0, atol=ROUNDOFF)


def turned(robot: Robot, R: Array) -> Robot:
    """The same mechanism, described in a base frame that is turned."""
    first = robot.links[0]
    joint = replace(first.joint, R0=R @ first.joint.R0, p0=R @ first.joint.p0)
    links = (replace(first, joint=joint), *robot.links[1:])
    return replace(robot, links=links).with_gravity(R @ robot.gravity)


@pytest.mark.parametrize(("name", "rank"), [("ur5", 36), ("panda", 43), ("planar2r", 6)])
@pytest.mark.parametrize("rpy", [(0.3, 0.4, 0.5), (0.0, 1.2, 0.0), (0.7, -0.2, 2.1)])
def test_the_base_frame_does_not_matter(name: str, rank: int, rpy: Any) -> None:
    robot = turned(load_robot(name), rotation.from_rpy(*rpy))
    assert reduce(robot).rank == rank
    assert_same_torque(reduce(robot), robot, 1)


def moved(robot: Robot, shift: Array) -> Robot:
    """The same mechanism elsewhere."""
    links = tuple(
        replace(link, joint=replace(link.joint, p0=link.joint.p0 + shift))
        if link.parent < 0
        else link
        for link in robot.links
    )
    return replace(robot, links=links)


@pytest.mark.parametrize("shift", [[1e6, 0.0, 0.0], [1e-6, -1e6, 3e5]])
@pytest.mark.parametrize(
    "robot",
    [*map(load_robot, robot_names()), *map(special_tree, range(20))],
    ids=lambda robot: f"{robot.name}{robot.n}",
)
def test_the_place_of_the_base_does_not_matter(robot: Robot, shift: Any) -> None:
    for method in (reduce, sampled.reduce):
        here, there = method(robot), method(moved(robot, np.array(shift)))
        assert_array_equal(there.kept, here.kept)
        assert_allclose(there.grouping, here.grouping, rtol=0, atol=ROUNDOFF)


@pytest.mark.parametrize(
    "gravity",
    [
        rotation.about_x(3.1416) @ [0.0, 0.0, 9.81],
        (9.81 * np.cos(1.5708), 0.0, -9.81 * np.sin(1.5708)),
        (1e-30, 0.0, -9.81),
        (1.2e-15, 0.0, 9.81),
    ],
)
def test_a_tilt_that_only_rounding_explains_shows_nothing(gravity: Any) -> None:
    assert reduce(load_robot("ur5").with_gravity(gravity)).rank == 36


@pytest.mark.parametrize(("gravity", "rank"), [((1.0, 2.0, 3.0), 4), (MOUNTS["floor"], None)])
def test_coaxial_joints_on_a_skew_axis(gravity: Any, rank: int | None) -> None:
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    inertials = {"base": random_body(np.random.default_rng(0))}
    edges = []
    for i in range(4):
        inertials[f"l{i}"] = random_body(np.random.default_rng(i))
        joint = Joint(name=f"j{i}", kind="revolute", R0=np.eye(3), p0=np.zeros(3), axis=axis)
        parent = "base" if i == 0 else f"l{i - 1}"
        edges.append(Edge(parent=parent, child=f"l{i}", joint=joint, fixed=False))
    robot = assemble("coaxial", inertials, edges, where="coaxial")
    robot = robot.with_gravity(gravity)
    assert reduce(robot).rank == (rank or sampled.reduce(robot).rank)


@pytest.mark.parametrize("gain", [1.0 / 3.0, 0.3333333333333333, 2.0**0.5, -7.0])
@pytest.mark.parametrize("own", [0.0, np.pi / 4])
def test_mimic_gains_and_turned_frames_of_any_digits(gain: float, own: float) -> None:
    body = random_body(np.random.default_rng(0))
    first = Joint(
        name="a", kind="revolute", R0=rotation.about_z(own), p0=[0, 0, 0.1], axis=[0, 0, 1]
    )
    second = Joint(
        name="b",
        kind="revolute",
        R0=rotation.about_x(np.pi / 2),
        p0=[0.3, 0, 0],
        axis=[0, 0, 1],
        mimics="a",
        multiplier=gain,
    )
    robot = assemble(
        "m",
        {"base": body, "l": body, "k": body},
        [
            Edge(parent="base", child="l", joint=first, fixed=False),
            Edge(parent="l", child="k", joint=second, fixed=False),
        ],
        where="m",
    )
    base = reduce(robot)
    assert base.rank == sampled.reduce(robot).rank
    assert_same_torque(base, robot, 2)


@pytest.mark.parametrize("tilt", [np.pi / 6, np.pi / 4])
def test_a_mimic_joint_in_a_tilted_frame_shows_no_more(tilt: float) -> None:
    straight = special_mimic()
    assert reduce(turned(straight, rotation.about_x(tilt))).rank == reduce(straight).rank


def special_mimic() -> Robot:
    """A first axis along gravity, and an arm behind it of which one joint follows another."""
    bodies = {name: random_body(np.random.default_rng(0)) for name in ("base", "a", "b", "c")}
    quarter = rotation.about_x(np.pi / 2)
    facts: list[dict[str, Any]] = [
        {"R0": np.eye(3), "p0": [0.0, 0.0, 0.3]},
        {"R0": quarter, "p0": [0.1, 0.0, 0.2]},
        {"R0": np.eye(3), "p0": [0.4, 0.0, 0.0], "mimics": "j1", "multiplier": -1.0},
    ]
    names = list(bodies)
    edges = [
        Edge(
            parent=names[i],
            child=names[i + 1],
            joint=Joint(name=f"j{i}", kind="revolute", axis=[0.0, 0.0, 1.0], **given),
            fixed=False,
        )
        for i, given in enumerate(facts)
    ]
    return assemble("mimic", bodies, edges, where="mimic")
