from dataclasses import replace
from pathlib import Path

import coal
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.arrays import Array
from ident.errors import UsageError
from ident.excitation.collision import Clearance
from ident.excitation.contacts import segment_to_box, segment_to_plane, segment_to_segment
from ident.excitation.surroundings import Box, Plane, Surroundings, floor, read_surroundings
from ident.model.capsules import Capsule
from ident.model.kinematics import frames_and_base
from ident.model.registry import load_robot
from ident.model.robot import Robot
from tests.random_robots import random_tree, with_mimics
from tests.tolerances import FINITE_DIFFERENCE, ROUNDOFF

TABLE = Box(name="table", lower=[0.3, -0.5, -0.4], upper=[0.9, 0.5, 0.1])
CELL = Box(name="cell", lower=[-1.2, -1.2, -0.4], upper=[1.2, 1.2, 1.5])
WALL = Plane(name="wall", point=[-0.6, 0.0, 0.0], normal=[3.0, 0.3, 0.0])
EVERYTHING = Surroundings(walls=(floor(-0.1), WALL), obstacles=(TABLE,), workspace=CELL)


def dressed(robot: Robot, rng: np.random.Generator, each: int = 2) -> Robot:
    """Robot with random capsules on every link and its base, some of them balls."""
    capsules = []
    for i in range(-1, len(robot.links)):
        part = robot.links[i].name if i >= 0 else robot.base_parts[0].link
        for _ in range(each):
            a, b = rng.uniform(-0.2, 0.2, size=(2, 3))
            ball = rng.random() < 0.2
            radius = float(rng.uniform(0.02, 0.08))
            capsules.append(Capsule(link=i, part=part, a=a, b=a if ball else b, radius=radius))
    return replace(robot, capsules=tuple(capsules))


def random_robot(seed: int) -> tuple[Robot, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return dressed(with_mimics(random_tree(rng, 6), rng), rng), rng


def coal_distance(
    shape: object, R: Array, p: Array, other: object, R_o: Array, p_o: Array
) -> float:
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    coal.distance(shape, coal.Transform3s(R, p), other, coal.Transform3s(R_o, p_o), request, result)
    return float(result.min_distance)


def coal_capsule(capsule: Capsule, R: Array, p: Array) -> tuple[object, Array, Array]:
    """Coal's capsule, which lies along z about its own origin."""
    a, b = p + R @ capsule.a, p + R @ capsule.b
    length = float(np.linalg.norm(b - a))
    z = (b - a) / length if length else np.eye(3)[2]
    basis, _ = np.linalg.qr(np.column_stack([z, np.eye(3)]))
    turned = np.column_stack([basis[:, 1], np.cross(z, basis[:, 1]), z])
    return coal.Capsule(capsule.radius, length), turned, 0.5 * (a + b)


@pytest.mark.parametrize("seed", range(6))
def test_distances_of_parts_are_those_of_coal(seed: int) -> None:
    robot, rng = random_robot(seed)
    clearance = Clearance.of(robot)
    q = rng.uniform(-1.5, 1.5, size=(8, robot.n))
    values = clearance(q)
    R, p = frames_and_base(robot, q)
    for k in range(len(q)):
        shapes = [coal_capsule(c, R[k, c.link], p[k, c.link]) for c in robot.capsules]
        for row, value in zip(clearance.rows, values[:, k], strict=True):
            expected = min(coal_distance(*shapes[i], *shapes[j]) for i, j in row.pairs)
            assert value == pytest.approx(expected, abs=1e-7)  # as far as coal iterates


@pytest.mark.parametrize("seed", range(6))
def test_distances_from_surroundings_are_those_of_coal(seed: int) -> None:
    robot, rng = random_robot(seed)
    clearance = Clearance.of(robot, EVERYTHING)
    q = rng.uniform(-1.5, 1.5, size=(8, robot.n))
    values = clearance(q)
    R, p = frames_and_base(robot, q)
    compared = 0
    for k in range(len(q)):
        shapes = [coal_capsule(c, R[k, c.link], p[k, c.link]) for c in robot.capsules]
        for row, value in zip(clearance.rows, values[:, k], strict=True):
            for i, box in row.boxes:
                block = coal.Box(*(box.upper - box.lower))
                middle = 0.5 * (box.lower + box.upper)
                expected = coal_distance(*shapes[i], block, np.eye(3), middle)
                # Coal measures how far apart overlapping bodies would have to be moved.
                if expected > 0.0:
                    compared += 1
                    assert value <= expected + 1e-6
                else:
                    assert value < 1e-6
            if row.planes:
                expected = min(
                    coal_distance(
                        *shapes[i],
                        coal.Halfspace(plane.normal, plane.height),
                        np.eye(3),
                        np.zeros(3),
                    )
                    for i, plane in row.planes
                )
                assert value == pytest.approx(expected, abs=1e-6)
    assert compared


@pytest.mark.parametrize("seed", range(8))
def test_the_pullback_is_the_gradient(seed: int) -> None:
    robot, rng = random_robot(seed)
    clearance = Clearance.of(robot, EVERYTHING)
    q = rng.uniform(-1.5, 1.5, size=(20, robot.n))
    slopes = rng.normal(size=(len(clearance.rows), len(q)))
    h = 1e-6
    steps = [
        ((clearance(q + h * e) - clearance(q - h * e)) * slopes).sum(axis=0) / (2.0 * h)
        for e in np.eye(robot.n)
    ]
    found = clearance.measure(q).pullback(slopes)
    np.testing.assert_allclose(found, np.array(steps).T, rtol=0, atol=10 * FINITE_DIFFERENCE)


def sampled(a: Array, b: Array, count: int = 401) -> Array:
    """Points (count, 3) of a segment."""
    return a + np.linspace(0.0, 1.0, count)[:, None] * (b - a)


def vectors(*values: object) -> list[Array]:
    return [np.array(value, dtype=np.float64)[:, None] for value in values]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (([0, 0, 0], [0, 0, 0]), ([3, 4, 0], [3, 4, 0]), 5.0),
        (([0, 0, 0], [0, 0, 0]), ([-1, 1, 0], [1, 1, 0]), 1.0),
        (([-1, 1, 0], [1, 1, 0]), ([0, 0, 0], [0, 0, 0]), 1.0),
        (([0, 0, 0], [1, 0, 0]), ([0, 1, 0], [1, 1, 0]), 1.0),
        (([0, 0, 0], [1, 0, 0]), ([1, 1, 0], [0, 1, 0]), 1.0),
        (([0, 0, 0], [1, 0, 0]), ([4, 4, 0], [9, 4, 0]), 5.0),
        (([0, 0, 0], [1, 0, 0]), ([2, 0, 0], [3, 0, 0]), 1.0),
        (([0, 0, 0], [1, 0, 0]), ([0.5, 0, 0], [3, 0, 0]), 0.0),
        (([-1, 0, 0], [1, 0, 0]), ([0, -1, 0], [0, 1, 0]), 0.0),
        (([-1, 0, 0], [1, 0, 0]), ([0, -1, 2], [0, 1, 2]), 2.0),
        (([0, 0, 0], [1, 0, 0]), ([0, 1, 0], [1, 1 + 1e-9, 0]), 1.0),
    ],
)
def test_segments_that_are_points_parallel_or_crossing(
    first: tuple[list[float], ...], second: tuple[list[float], ...], expected: float
) -> None:
    distance, point, gradient = segment_to_segment(*vectors(*first, *second))
    assert distance[0] == pytest.approx(expected, abs=1e-9)
    assert np.isfinite(point).all() and np.linalg.norm(gradient) < 1.0 + ROUNDOFF


def test_crossing_segments_part_along_their_common_normal() -> None:
    _, _, gradient = segment_to_segment(*vectors([-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0]))
    np.testing.assert_allclose(np.abs(gradient[:, 0]), [0.0, 0.0, 1.0], rtol=0, atol=ROUNDOFF)


@pytest.mark.parametrize("seed", range(5))
def test_segments_are_as_close_as_their_closest_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a1, b1, a2, b2 = rng.normal(size=(4, 3, 50))
    b2[:, :20] = a2[:, :20] + (b1 - a1)[:, :20] * rng.normal(size=20)  # parallel
    distance, *_ = segment_to_segment(a1, b1, a2, b2)
    for k in range(50):
        s, t = sampled(a1[:, k], b1[:, k]), sampled(a2[:, k], b2[:, k])
        least = np.linalg.norm(s[:, None] - t, axis=-1).min()
        assert least - 0.02 < distance[k] < least + ROUNDOFF


@pytest.mark.parametrize("seed", range(5))
def test_a_box_is_as_far_as_the_closest_point_and_as_deep_as_the_deepest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1.0, 1.0, size=(2, 3, 100, 1))
    b[:, :10] = a[:, :10]
    b[0, 10:30] = a[0, 10:30]
    centre, half = rng.uniform(-0.2, 0.2, size=(3, 100)), rng.uniform(0.1, 0.5, size=(3, 100))
    distance, point, _ = segment_to_box(a, b, centre, half)
    assert (distance < -0.02).any() and (distance > 0.02).any()
    for k in range(100):
        x = np.vstack([sampled(a[:, k, 0], b[:, k, 0], 4001), point[:, k, 0]])
        beyond = np.abs(x - centre[:, k]) - half[:, k]
        outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
        signed = np.where(outside > 0.0, outside, beyond.max(axis=1))
        assert distance[k, 0] == pytest.approx(signed[-1], abs=ROUNDOFF)
        assert signed.min() - 1e-3 < distance[k, 0] < signed.min() + ROUNDOFF


def test_a_plane_is_as_far_as_the_lower_end() -> None:
    a, b = (x[:, :, None] for x in vectors([0, 0, 1], [0, 0, -2]))
    distance, point, gradient = segment_to_plane(a, b, *vectors([0, 0, 1]), np.array([-0.5]))
    assert distance[0, 0] == -1.5 and point[2, 0, 0] == -2.0
    np.testing.assert_array_equal(gradient[:, 0, 0], [0.0, 0.0, 1.0])


UR5 = load_robot("ur5")


def test_what_a_joint_connects_and_what_no_motion_changes_is_not_watched() -> None:
    clearance = Clearance.of(UR5, Surroundings(walls=(floor(),)))
    assert "forearm_link – base_link_inertia" in clearance.names
    assert "wrist_3_link – floor" in clearance.names
    assert "shoulder_link – base_link_inertia" not in clearance.names
    assert "forearm_link – upper_arm_link" not in clearance.names
    assert not {"base_link_inertia – floor", "shoulder_link – floor"} & set(clearance.names)
    [finding] = [f for f in clearance.findings if f.name == "constant_distance"]
    assert "base_link_inertia – floor" in finding.where


def test_what_overlaps_in_every_pose_is_named_and_not_watched() -> None:
    fat = Capsule(link=1, part="upper_arm_link", a=[0, 0, 0.1], b=[-0.425, 0, 0.1], radius=0.3)
    near = Capsule(link=3, part="wrist_1_link", a=[0, 0, 0], b=[0, 0, 0], radius=0.5)
    clearance = Clearance.of(replace(UR5, capsules=(fat, near)))
    [finding] = [f for f in clearance.findings if f.name == "always_overlapping"]
    assert finding.where == "ur5: wrist_1_link – upper_arm_link"
    assert clearance.names == ()
    assert clearance(np.zeros((3, 6))).shape == (0, 3)
    np.testing.assert_array_equal(
        clearance.measure(np.zeros((3, 6))).pullback(np.zeros((0, 3))), np.zeros((3, 6))
    )


def test_a_robot_without_capsules_says_so() -> None:
    clearance = Clearance.of(replace(UR5, capsules=()), EVERYTHING)
    assert clearance.names == ()
    [finding] = clearance.findings
    assert finding.name == "no_capsule" and finding.severity == "warning"


def test_slopes_of_another_shape_are_refused() -> None:
    distances = Clearance.of(UR5).measure(np.zeros((3, 6)))
    with pytest.raises(UsageError, match="slopes: shape 3"):
        distances.pullback(np.zeros(3))


FILE = """
floor = { z = -0.1 }
workspace = { lower = [-1.2, -1.2, -0.4], upper = [1.2, 1.2, 1.5] }

[[walls]]
point = [-0.6, 0.0, 0.0]
normal = [3.0, 0.3, 0.0]

[[obstacles]]
name = "table"
lower = [0.3, -0.5, -0.4]
upper = [0.9, 0.5, 0.1]
"""


def test_a_file_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(FILE)
    found = read_surroundings(path)
    assert [wall.name for wall in found.walls] == ["floor", "wall 1"]
    np.testing.assert_array_equal(found.walls[1].normal, WALL.normal)
    assert found.obstacles[0].name == "table" and found.workspace is not None
    q = np.random.default_rng(0).normal(size=(5, 6))
    np.testing.assert_array_equal(Clearance.of(UR5, found)(q), Clearance.of(UR5, EVERYTHING)(q))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("floor = 0", "floor: 0: "),
        ("[floor]\nheight = 1.0", "floor.height: unknown key"),
        ("[[walls]]\npoint = [0.0, 0.0, 0.0]", "walls.1.normal: missing"),
        ("[[walls]]\npoint = [0.0, 0.0]\nnormal = [1.0, 0.0, 0.0]", "walls.1.point"),
        (
            "[[walls]]\npoint = [0.0, 0.0, 0.0]\nnormal = [0.0, 0.0, 0.0]",
            "wall 1 normal: length zero",
        ),
        (
            "[workspace]\nlower = [0.0, 0.0, 0.0]\nupper = [1.0, 0.0, 1.0]",
            "workspace: y from 0 to 0 m",
        ),
        ("[[obstacles]]\nlower = [nan, 0.0, 0.0]\nupper = [1.0, 0.0, 1.0]", "obstacles.1.lower"),
        ("[floor", "not TOML"),
    ],
)
def test_what_is_no_surroundings_is_refused_by_name(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_surroundings(path)
    assert str(path) in str(caught.value) and message in str(caught.value)


def test_a_missing_file_and_two_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_surroundings(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="two things named 'floor'"):
        Surroundings(walls=(floor(), floor(0.1)))


@pytest.mark.parametrize("name", ["ur5", "kinova_jaco"])
def test_what_is_near_is_as_exact_as_if_everything_were(name: str) -> None:
    robot = load_robot(name)
    clearance, rng = Clearance.of(robot, Surroundings(walls=(floor(),))), np.random.default_rng(4)
    q = robot.home + rng.uniform(-1.5, 1.5, size=(300, robot.n))
    everything, near = clearance.measure(q), clearance.measure(q, within=0.05)
    close = everything.values < 0.05
    assert close.any()
    assert not close.all()
    assert_array_equal(near.values[close], everything.values[close])
    assert (near.values[~close] >= 0.05).all()
    assert (near.values <= everything.values + 1e-12).all()
    slopes = np.where(close, rng.normal(size=close.shape), 0.0)
    assert_allclose(near.pullback(slopes), everything.pullback(slopes), rtol=0, atol=ROUNDOFF)
