from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ident.base.grouping as grouping
from ident.base.basemap import BaseMap
from ident.base.sampled import reduce, reduce_stack
from ident.conventions import MOUNTS
from ident.export.urdf import write_urdf
from ident.model import rotation
from ident.model.dh import DHRow, robot_of_table
from ident.model.registry import load_robot, robot_names
from ident.model.robot import Robot
from ident.model.urdf import read_urdf
from ident.regressor.columns import stack
from ident.regressor.friction import friction_terms
from ident.regressor.rigid import derive
from tests.oracles import Pinocchio
from tests.random_robots import random_motion, random_tree
from tests.tolerances import ROUNDOFF

NOWHERE = (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("name", "gravity", "rank"),
    [
        ("ur5", MOUNTS["floor"], 36),
        ("ur5e", MOUNTS["ceiling"], 36),
        ("ur10", MOUNTS["floor"], 36),
        ("ur10", MOUNTS["wall"], 38),
        ("ur5", NOWHERE, 34),
        ("panda", MOUNTS["floor"], 43),
        ("iiwa14", MOUNTS["floor"], 43),
        ("kuka_lwr4", MOUNTS["floor"], 43),
        ("planar2r", (0.0, -9.81, 0.0), 6),
        ("planar2r", NOWHERE, 4),
    ],
)
def test_published_ranks(name: str, gravity: tuple[float, float, float], rank: int) -> None:
    assert reduce(load_robot(name).with_gravity(gravity)).rank == rank


@pytest.mark.parametrize(
    ("name", "rank"),
    [("ur5", 40), ("ur10", 40), ("tx40", 40), ("panda", 48), ("iiwa14", 48), ("kuka_lwr4", 48)],
)
def test_armature_that_merges_is_named(name: str, rank: int) -> None:
    robot = load_robot(name)
    columns = stack(derive(robot))
    base = reduce_stack(columns)
    assert base.rank == rank
    merged = base.merged([c for c in columns.names if c.startswith("armature")])
    assert list(merged) == ["armature1", "armature2"]
    assert merged["armature1"] == "Izz1R"
    assert merged["armature2"] in {"Izz2R", "Iyy2R"}  # the inertia about the second axis


@pytest.mark.parametrize("name", ["ur5", "panda", "planar2r"])
def test_friction_merges_with_nothing(name: str) -> None:
    robot = load_robot(name)
    columns = stack(derive(robot), friction=friction_terms(robot))
    base = reduce_stack(columns)
    friction = [n for n in columns.names if n.startswith(("viscous", "coulomb", "offset"))]
    assert {base.standing[n] for n in friction} == {"alone"}
    assert base.rank == reduce_stack(stack(derive(robot))).rank + len(friction)


def panda_table(quarter: float) -> Robot:
    """Panda's geometry in modified DH parameters, with π/2 as written."""
    a = (0.0, 0.0, 0.0, 0.0825, -0.0825, 0.0, 0.088)
    turns = (0, -1, 1, 1, -1, 1, 1)
    d = (0.333, 0.0, 0.316, 0.0, 0.384, 0.0, 0.0)
    rows = [
        DHRow(link=f"l{i}", joint=f"j{i}", a=a[i], alpha=turns[i] * quarter, d=d[i], theta=0.0)
        for i in range(7)
    ]
    return robot_of_table("panda", "modified", rows)


@pytest.mark.parametrize("quarter", [np.pi / 2, 1.5708, 1.57079632679])
def test_panda_s_coefficients_stay_small_however_a_quarter_turn_is_written(quarter: float) -> None:
    base = reduce(panda_table(quarter))
    assert base.rank == 43
    assert np.abs(base.grouping).max() == pytest.approx(1.0, abs=1e-5)


def test_proximal_parameters_are_kept() -> None:
    base = reduce(load_robot("panda"))
    assert {base.columns[k][:-1] for k in base.kept} == {
        *("mx", "my", "Ixx", "Ixy", "Ixz", "Iyz", "Izz")
    }
    assert all(base.standing[f"m{i}"] != "alone" for i in range(1, 8))
    assert np.abs(base.grouping).max() == pytest.approx(1.0, abs=1e-9)


def ways(base: BaseMap, robot: Robot, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Torque by all parameters and by the base, at fresh states, and its size."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=10 * len(robot.links))
    Y = derive(robot)(*random_motion(robot, 20, rng))
    return Y @ theta, Y[:, base.kept] @ base.reduce(theta), np.abs(Y).max()


@pytest.mark.parametrize("name", robot_names())
def test_base_parameters_give_the_same_torque(name: str) -> None:
    robot = load_robot(name)
    whole, grouped, size = ways(reduce(robot), robot, 1)
    assert_allclose(grouped, whole, rtol=0, atol=ROUNDOFF * max(1.0, size))


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_have_the_rank_that_pinocchio_s_regressor_has(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng)
    base = reduce(robot)
    states = random_motion(robot, 30 * len(robot.links), rng)
    W = Pinocchio(write_urdf(robot), robot).regressor(*states)
    norms = np.linalg.norm(W, axis=0)
    s = np.linalg.svd(W[:, norms > 1e-9] / norms[norms > 1e-9], compute_uv=False)
    assert base.rank == np.count_nonzero(s > 1e-8 * s[0])
    whole, grouped, size = ways(base, robot, seed)
    assert_allclose(grouped, whole, rtol=0, atol=ROUNDOFF * size)
    assert np.abs(base.grouping).max() < 20.0


@pytest.mark.parametrize("threshold", [1e-12, 1e-8, 3e-6])
def test_the_rank_stands_in_a_wide_gap(threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    robots = [
        *(load_robot(name) for name in robot_names()),
        load_robot("ur10").with_gravity(MOUNTS["wall"]),
        *(random_tree(np.random.default_rng(seed)) for seed in range(10)),
    ]
    ranks = [reduce(robot).rank for robot in robots]
    monkeypatch.setattr(grouping, "_ZERO", threshold)
    assert [reduce(robot).rank for robot in robots] == ranks


def test_vendor_files_keep_their_rank(shared: Path) -> None:
    for file, rank in {
        "kinova_jaco/example_robot_data/kinova.urdf": 36,
        "kuka_iiwa14/ros_industrial/lbr_iiwa_14_r820.urdf": 43,
        "panda/example_robot_data/panda.urdf": 48,  # with the fingers of the hand
        "staubli_tx40/tx40_mdh_modified.urdf": 36,
        "ur3/example_robot_data/ur3_robot.urdf": 36,
        "xarm7/example_robot_data/xarm7.urdf": 43,
    }.items():
        assert reduce(read_urdf(shared / "models" / file)).rank == rank, file


def in_units(robot: Robot, metre: float) -> Robot:
    """The same robot with lengths in another unit."""
    links = tuple(
        replace(link, joint=replace(link.joint, p0=metre * link.joint.p0)) for link in robot.links
    )
    return replace(robot, links=links).with_gravity(metre * robot.gravity)


@pytest.mark.parametrize("metre", [1e-4, 1e3])
def test_the_unit_of_length_does_not_matter(metre: float) -> None:
    slide = random_tree(np.random.default_rng(3))
    assert not all(slide.turns)
    for robot in (load_robot("ur5"), load_robot("panda"), slide):
        base, scaled = reduce(robot), reduce(in_units(robot, metre))
        assert_array_equal(scaled.kept, base.kept)
        power = [{"m": 2, "mx": 1, "my": 1, "mz": 1}.get(c[:-1], 0) for c in base.columns]
        units = metre ** np.array(power, dtype=float)
        restored = scaled.grouping * units[base.kept][:, None] / units
        assert_allclose(restored, base.grouping, rtol=0, atol=ROUNDOFF)


def test_a_tilt_that_only_rounding_explains_shows_nothing() -> None:
    ur5 = load_robot("ur5")
    tilted = ur5.with_gravity([9.81 * np.cos(1.5708), 0.0, -9.81 * np.sin(1.5708)])
    assert reduce(tilted).rank == 36
    assert reduce(ur5.with_gravity([0.01, 0.0, -9.81])).rank == 38


def test_figures_that_are_taken_for_rounded_zeros_are_said() -> None:
    ur5 = load_robot("ur5")
    assert grouping.findings(ur5) == ()
    assert grouping.findings(ur5.with_gravity([0.01, 0.0, -9.81])) == ()
    (said,) = grouping.findings(ur5.with_gravity([9.81 * np.cos(1.5708), 0.0, -9.81]))
    assert (said.name, said.where) == ("rounded_figures", "ur5: gravity")
    assert "3.7e-06, taken for a rounded zero" in said.message
    assert "3e-05" in said.message
    elbow, wrist = ur5.links[2], ur5.links[4]
    turned = replace(elbow.joint, R0=rotation.from_rpy(0.0, 0.0, 3.1416) @ elbow.joint.R0)
    off = replace(wrist.joint, p0=wrist.joint.p0 + np.array([0.0, 0.0, 1e-7]))
    links = [*ur5.links]
    links[2], links[4] = replace(elbow, joint=turned), replace(wrist, joint=off)
    (said,) = grouping.findings(replace(ur5, links=tuple(links)))
    assert said.where == f"ur5: joint '{ur5.joints[2]}' rotation"
    assert "7.3e-06, and 1 more such" in said.message


def test_a_slide_shows_its_mass_alone() -> None:
    row = DHRow(link="l", joint="j", type="prismatic", a=0.0, alpha=0.0, d=0.0, theta=0.0)
    base = reduce(robot_of_table("slide", "modified", [row]))
    assert base.names == ("m1",)
    assert base.standing["m1"] == "alone"
    assert base.standing["Izz1"] == "none"
