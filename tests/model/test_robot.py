from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.arrays import Array
from ident.conventions import MOUNTS
from ident.errors import ModelError
from ident.model import inertia, rotation
from ident.model.drives import Drives
from ident.model.joints import Joint
from ident.model.registry import load_robot
from ident.model.tree import Edge, assemble
from ident.regressor.rigid import derive
from tests.random_robots import random_motion, random_tree
from tests.tolerances import ROUNDOFF


@pytest.mark.parametrize("seed", range(3))
def test_turning_the_base_is_turning_gravity_the_other_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng)
    R = rotation.from_rpy(*rng.uniform(-3, 3, size=3))
    first = robot.links[0]
    roots = [
        replace(link, joint=replace(link.joint, R0=R @ link.joint.R0, p0=R @ link.joint.p0))
        if link.parent < 0
        else link
        for link in robot.links
    ]
    turned = replace(robot, links=tuple(roots)).with_gravity(robot.gravity)
    level = robot.with_gravity(R.T @ robot.gravity)
    assert first.parent == -1
    states = random_motion(robot, 4, rng)
    assert_allclose(
        derive(turned).inverse_dynamics(*states),
        derive(level).inverse_dynamics(*states),
        rtol=0,
        atol=ROUNDOFF,
    )


def test_mounting_changes_gravity_torque_only() -> None:
    robot = load_robot("ur10")
    q, dq, ddq = random_motion(robot, 3, np.random.default_rng(0))
    floor, wall = (derive(robot.with_gravity(MOUNTS[m])) for m in ("floor", "wall"))
    moving = [
        r.inverse_dynamics(q, dq, ddq) - r.inverse_dynamics(q, 0 * q, 0 * q) for r in (floor, wall)
    ]
    assert_allclose(*moving, rtol=0, atol=ROUNDOFF)
    # The first axis of a wall-mounted arm is horizontal: it feels gravity.
    still = np.zeros((1, 6))
    assert abs(floor.inverse_dynamics(still, still, still)[0, 0]) < ROUNDOFF
    assert abs(wall.inverse_dynamics(np.eye(1, 6), still, still)[0, 0]) > 1.0


def test_digests_tell_geometry_from_inertia() -> None:
    robot = load_robot("ur5")
    heavier, ceiling = robot.with_pi(1.1 * robot.pi), robot.with_gravity(MOUNTS["ceiling"])
    assert heavier.kinematic_digest == robot.kinematic_digest
    assert heavier.digest != robot.digest
    assert ceiling.kinematic_digest != robot.kinematic_digest


def test_a_far_off_violation_is_found_and_a_point_mass_is_none() -> None:
    rng = np.random.default_rng(0)
    robot = random_tree(rng, moving=2)
    link = robot.links[1]

    def found(tensor: Array, com: Array) -> list[str]:
        pi = inertia.pi_from_com(1.0, com, tensor)
        parts = (replace(link.parts[0], pi=pi),)
        changed = replace(robot, links=(robot.links[0], replace(link, parts=parts, pi=pi)))
        return [f.name for f in changed.findings]

    for com in rng.normal(size=(20, 3)):
        assert found(np.zeros((3, 3)), com) == []
        assert found(np.diag([1e-5, 1e-5, 1e-5]), com) == []
        assert found(np.diag([1e-5, 1e-5, 2.1e-5]), com) == ["nonphysical_inertia"]


def test_values_are_read_only_and_checked() -> None:
    robot = load_robot("ur5")
    with pytest.raises(ValueError, match="read-only"):
        robot.pi[0] = 1.0
    with pytest.raises(ModelError, match="60"):
        robot.with_pi(np.ones(59))
    with pytest.raises(ModelError, match="not finite"):
        robot.with_pi(np.full(60, np.nan))
    with pytest.raises(ModelError, match="gravity"):
        robot.with_gravity([0, 0, np.nan])


def test_mimics_share_a_coordinate_and_the_order_of_description_does_not_matter() -> None:
    robot = random_tree(np.random.default_rng(2), moving=3)
    inertials = {"base": np.zeros(10), **{link.name: link.pi for link in robot.links}}
    a, b, c = (link.joint for link in robot.links)
    first = replace(a, mimics=c.name, multiplier=-2.0, offset=0.1)
    names = ["base", *(link.name for link in robot.links)]
    edges = [
        Edge(parent="base", child=name, joint=joint, fixed=False)
        for name, joint in zip(names[1:], (first, b, c), strict=True)
    ]
    coupled = assemble("coupled", inertials, edges, where="test")
    assert coupled.joints == (b.name, c.name)
    assert [link.joint.coordinate for link in coupled.links] == [1, 0, 1]
    R, _ = coupled.forward([0.0, 0.7])
    assert_array_equal(R[0], coupled.links[0].joint.placement(0.7)[0])


def test_a_chain_may_be_longer_than_python_nests_calls() -> None:
    turning = Joint(name="", kind="continuous", R0=np.eye(3), p0=np.ones(3), axis=np.eye(3)[2])
    names = [f"link{i}" for i in range(3000)]
    edges = [
        Edge(parent=a, child=b, joint=replace(turning, name=b), fixed=b != names[-1])
        for a, b in pairwise(names)
    ]
    robot = assemble("chain", {name: np.zeros(10) for name in names}, edges, where="test")
    assert [part.link for part in robot.base_parts] == names[:-1]
    assert_array_equal(robot.links[0].joint.p0, [2999.0, 2999.0, 2999.0])


def test_links_are_numbered_depth_first_in_the_order_of_the_description() -> None:
    turning = Joint(name="", kind="continuous", R0=np.eye(3), p0=np.zeros(3), axis=np.eye(3)[2])
    described = ["a/b", "a/c", "b/d", "c/e", "b/f", "a/g", "d/h"]
    pairs = [pair.split("/") for pair in described]
    edges = [
        Edge(parent=a, child=b, joint=replace(turning, name=b), fixed=b in "cf") for a, b in pairs
    ]
    robot = assemble("tree", dict.fromkeys("abcdefgh", np.zeros(10)), edges, where="test")
    assert robot.joints == tuple("bdheg")
    assert [link.parent for link in robot.links] == [-1, 0, 1, -1, -1]
    assert [part.link for part in robot.base_parts] == ["a", "c"]
    assert [part.link for part in robot.links[0].parts] == ["b", "f"]


@pytest.mark.parametrize(
    ("limits", "home"),
    [((-3.0, 3.0), 0.0), ((-1.0, 4.0), 0.0), ((-3.07, -0.07), -1.57), ((0.0, 2.0), 1.0),
     ((-0.01, 3.0), 1.495), ((-np.inf, np.inf), 0.0), ((-np.inf, -0.5), -0.5), ((-2, np.inf), 0.0)],
)  # fmt: skip
def test_without_a_home_a_robot_rests_where_its_limits_allow(limits, home) -> None:
    planar = load_robot("planar2r")
    first = planar.links[0]
    joint = replace(first.joint, lower=limits[0], upper=limits[1])
    links = (replace(first, joint=joint), *planar.links[1:])
    assert_allclose(replace(planar, links=links, home=np.zeros(0)).home, [home, 0.0], rtol=1e-12)


@pytest.mark.parametrize("limits", [{"velocity": -1.0}, {"effort": np.nan}, {"lower": np.nan}])
def test_limits_that_cannot_be_are_refused(limits) -> None:
    with pytest.raises(ModelError, match="limits"):
        replace(load_robot("planar2r").links[0].joint, **limits)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"effort_rated": np.array([-5.0])}, "effort_rated: -5"),
        ({"gear_ratio": np.array([0.0])}, "gear_ratio: 0"),
        ({"coupling": np.zeros((1, 1))}, "coupling: singular"),
    ],
)
def test_drives_that_cannot_be_are_refused(values, found) -> None:
    with pytest.raises(ModelError, match=found):
        replace(Drives.plain(1), **values)
    assert np.isnan(Drives.plain(1).effort_rated).all()
