from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.arrays import Array
from ident.errors import ModelError
from ident.export.urdf import patch_urdf, write_urdf
from ident.model import inertia
from ident.model.registry import load_robot, load_symbolic, robot_names
from ident.model.robot import Robot
from ident.model.urdf import parse_urdf, read_urdf
from ident.regressor.rigid import derive
from tests.oracles import MuJoCo, Pinocchio
from tests.random_robots import perturbed, random_body, random_motion, random_tree
from tests.tolerances import ROUNDOFF, TORQUE

DESCRIBED = [name for name in robot_names() if load_robot(name).description]


def reproduce(text: str, robot: Robot, seed: int = 0) -> None:
    """Pinocchio, MuJoCo and our own reader find our torques in a written file."""
    states = random_motion(robot, 4, np.random.default_rng(seed))
    tau = derive(robot).inverse_dynamics(*states)
    assert_allclose(Pinocchio(text, robot).torque(*states), tau, rtol=0, atol=TORQUE)
    assert_allclose(MuJoCo(text, robot).torque(*states), tau, rtol=0, atol=TORQUE)
    back = parse_urdf(text).with_gravity(robot.gravity)
    assert_allclose(derive(back).inverse_dynamics(*states), tau, rtol=0, atol=TORQUE)


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_patched_file_reproduces_our_torques(name: str) -> None:
    robot = load_robot(name)
    identified = robot.with_pi(perturbed(robot.pi, np.random.default_rng(1)))
    reproduce(patch_urdf(robot, identified.pi).text, identified)


@pytest.mark.parametrize("name", robot_names())
def test_a_written_file_reproduces_our_torques(name: str) -> None:
    robot = load_robot(name)
    identified = robot.with_pi(perturbed(robot.pi, np.random.default_rng(2)))
    reproduce(write_urdf(identified), identified)


@pytest.mark.parametrize("seed", range(10))
def test_trees_with_fixed_links_survive_writing_and_patching(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    described = parse_urdf(write_urdf(tree)).with_gravity(tree.gravity)
    identified = described.with_pi(perturbed(described.pi, rng))
    reproduce(patch_urdf(described, identified.pi).text, identified, seed)


@pytest.mark.parametrize("seed", range(10))
def test_what_is_written_is_read_back(seed: int) -> None:
    robot = random_tree(np.random.default_rng(seed))
    back = parse_urdf(write_urdf(robot))
    assert (back.name, back.joints) == (robot.name, robot.joints)
    for mine, theirs in zip(back.links, robot.links, strict=True):
        assert (mine.name, mine.parent, mine.joint.kind) == (
            *(theirs.name, theirs.parent, theirs.joint.kind),
        )
        assert [p.link for p in mine.parts] == [p.link for p in theirs.parts]
        assert_array_equal(mine.joint.p0, theirs.joint.p0)
        assert_allclose(mine.joint.R0, theirs.joint.R0, rtol=0, atol=1e-14)
        assert_allclose(mine.joint.axis, theirs.joint.axis, rtol=0, atol=1e-15)
        assert_allclose(mine.pi, theirs.pi, rtol=0, atol=1e-14)
    assert_array_equal(back.velocity, robot.velocity)
    ends = np.where(
        [[link.joint.kind == "continuous"] for link in robot.links], [-np.inf, np.inf], [-2.0, 2.0]
    )
    assert_array_equal(back.position, ends)
    assert_allclose(back.base_parts[0].pi, robot.base_parts[0].pi, rtol=0, atol=1e-14)


def test_limits_that_are_not_there_stay_so_and_mimics_are_kept() -> None:
    robot = random_tree(np.random.default_rng(4), moving=3)
    first, *rest = robot.links
    joints = [
        replace(first.joint, lower=-np.inf, upper=np.inf, velocity=np.inf, effort=np.inf),
        replace(rest[0].joint, mimics=first.joint.name, multiplier=-0.5, offset=0.25, coordinate=0),
        replace(rest[1].joint, coordinate=1),
    ]
    links = tuple(replace(link, joint=j) for link, j in zip(robot.links, joints, strict=True))
    drives = load_robot("planar2r").drives
    fields = {"home": np.zeros(2), "acceleration": np.zeros(2), "jerk": np.zeros(2)}
    robot = replace(robot, links=links, drives=drives, log_names=(), **fields)
    text = write_urdf(robot)
    back = parse_urdf(text)
    assert_array_equal(back.velocity, robot.velocity)
    assert back.velocity[0] == np.inf
    coupled = back.links[1].joint
    assert (coupled.mimics, coupled.multiplier, coupled.offset) == (joints[0].name, -0.5, 0.25)
    Pinocchio(text, robot)


ARM = """<?xml version="1.0" encoding="latin-1"?>
<!-- Größe > 1 -->
<robot name="arm" xmlns:vendor='http://example.org/a>b'>
\t<link name="base"><inertial><mass value="3"/></inertial></link>
  <link name='one' note="a > b">
    <inertial>
      <!-- from CAD -->
      <mass value="2.0"></mass>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0" /><vendor:grade>B</vendor:grade>
    </inertial>
    <visual><geometry><mesh filename="one.stl"/></geometry></visual>
  </link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="one"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/><axis xyz="0 0 1"/></joint>
  <link name="two" />
  <joint name="j2" type="revolute"><parent link="one"/><child link="two"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <gazebo reference="one"><link name="two"/></gazebo>
  <transmission name="t"><joint name="j1"/></transmission>
</robot>
<!-- end -->"""


def test_only_inertias_change() -> None:
    robot = parse_urdf(ARM)
    pi = np.concatenate([random_body(np.random.default_rng(s)) for s in range(2)])
    text = patch_urdf(robot, pi).text
    assert_allclose(parse_urdf(text).pi, pi, rtol=0, atol=1e-14)
    rest = iter(text)
    # All that was there and is no inertia is still there, in order.
    kept = (
        ARM.replace('<mass value="2.0"></mass>', "")
        .replace('<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0" />', "")
        .replace('<link name="two" />', '<link name="two">', 1)
    )
    assert all(character in rest for character in kept)
    for line in ("<!-- from CAD -->", "<vendor:grade>B</vendor:grade>", "<!-- Größe > 1 -->"):
        assert line in text
    assert text.endswith("<!-- end -->")
    assert text.count("<inertial>") == 3
    assert '\t<link name="base"><inertial><mass value="3"/></inertial></link>\n' in text


def test_a_body_that_is_as_described_is_not_touched() -> None:
    for name in ("ur5", "iiwa14"):
        robot = load_robot(name)
        assert patch_urdf(robot, robot.pi).text == robot.description
    robot = parse_urdf(ARM)
    one = robot.pi.copy()
    one[10:] = random_body(np.random.default_rng(0))
    text = patch_urdf(robot, one).text
    assert '<mass value="2.0"></mass>' in text


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_ends_and_a_byte_order_mark_stay(ending: str, tmp_path: Path) -> None:
    content = "\ufeff" + ARM.replace("\n", ending)
    path = tmp_path / "arm.urdf"
    path.write_bytes(content.encode())
    robot = read_urdf(path)
    pi = np.concatenate([random_body(np.random.default_rng(s)) for s in range(2)])
    text = patch_urdf(robot, pi).text
    assert text.startswith("\ufeff<?xml")
    assert text.count("\n") - text.count("\r\n") == (0 if ending == "\r\n" else text.count("\n"))


@pytest.mark.parametrize(
    "empty", ["<inertial/>", "<inertial></inertial>", "<inertial>\n</inertial>"]
)
def test_an_empty_inertial_is_filled(empty: str) -> None:
    text = ARM.replace('<link name="two" />', f'<link name="two">{empty}</link>')
    robot = replace(parse_urdf(ARM), description=text)
    pi = np.concatenate([random_body(np.random.default_rng(s)) for s in range(2)])
    back = parse_urdf(patch_urdf(robot, pi).text)
    assert_allclose(back.pi, pi, rtol=0, atol=1e-14)


def moments(values: tuple[float, float, float], mass: float, com: Array) -> Array:
    return inertia.pi_from_com(mass, com, np.diag(values))


def test_small_inertias_keep_their_digits() -> None:
    robot = load_robot("ur5")
    small = moments((4.4959551e-07, 5e-07, 6e-07), 0.01, np.array([1e-3, 0.0, -2e-3]))
    pi = np.concatenate([robot.pi[:-10], small])
    for text in (patch_urdf(robot, pi).text, write_urdf(robot.with_pi(pi))):
        back = inertia.inertia_c_of(parse_urdf(text).links[-1].pi)
        assert back[0, 0] == pytest.approx(4.4959551e-07, rel=1e-9)


def test_a_milligram_is_kept() -> None:
    robot = load_robot("ur5")
    pi = np.concatenate([robot.pi[:-10], moments((2e-9, 2e-9, 3e-9), 1e-6, np.zeros(3))])
    text = patch_urdf(robot, pi).text
    light = parse_urdf(text)
    assert light.links[-1].pi[0] == 1e-6
    body = MuJoCo(text, light).model.body(light.links[-1].name)
    assert body.mass[0] == pytest.approx(1e-6, rel=1e-12)
    assert body.inertia == pytest.approx([3e-9, 2e-9, 2e-9], rel=1e-9)


def lump(own: Array, tool: Array) -> Robot:
    """An arm of one moving link that carries a fixed tool."""
    robot = random_tree(np.random.default_rng(0), moving=2)
    link = robot.links[1]
    placed = replace(link.parts[0], link="tool", R_ab=np.eye(3), p_a_ab=[0.0, 0.0, 0.2], pi=tool)
    parts = (replace(link.parts[0], pi=own), placed)
    total = own + placed.pi_carrier
    links = (robot.links[0], replace(link, parts=parts, pi=total))
    return parse_urdf(write_urdf(replace(robot, links=links)))


BODY = moments((0.02, 0.03, 0.04), 2.0, np.zeros(3))
TOOL = moments((0.001, 0.001, 0.001), 0.5, np.zeros(3))


def test_a_fixed_link_keeps_its_inertia_where_the_rest_can_exist() -> None:
    robot = lump(BODY, TOOL)
    pi = robot.pi.copy()
    pi[10:] += moments((0.002, 0.002, 0.002), 0.1, np.zeros(3))
    patched = patch_urdf(robot, pi)
    back = parse_urdf(patched.text)
    assert_allclose(back.links[1].parts[1].pi, TOOL, rtol=0, atol=1e-15)
    assert_allclose(back.pi, pi, rtol=0, atol=1e-14)
    (finding,) = patched.findings
    assert (finding.name, finding.severity) == ("fixed_links_kept", "info")
    assert "'tool'" in finding.found


def test_the_moving_link_takes_all_where_the_rest_cannot_exist() -> None:
    robot = lump(BODY, TOOL)
    pi = np.concatenate([robot.pi[:10], moments((0.01, 0.01, 0.01), 0.4, np.zeros(3))])
    patched = patch_urdf(robot, pi)
    back = parse_urdf(patched.text)
    assert not back.links[1].parts[1].pi.any()
    assert_allclose(back.pi, pi, rtol=0, atol=1e-14)
    (finding,) = patched.findings
    assert (finding.name, finding.severity) == ("fixed_links_merged", "warning")
    reproduce(patched.text, robot.with_pi(pi))


def test_a_frame_whose_mass_hangs_on_fixed_links_stays_a_frame() -> None:
    robot = lump(np.zeros(10), TOOL)
    pi = robot.pi.copy()
    pi[10:] *= 1.0 + 1e-14
    back = parse_urdf(patch_urdf(robot, pi).text)
    assert not back.links[1].parts[0].pi.any()
    assert back.links[1].parts[1].pi.any()


def test_the_base_keeps_its_inertia() -> None:
    robot = parse_urdf(ARM)
    pi = np.concatenate([random_body(np.random.default_rng(s)) for s in range(2)])
    for text in (patch_urdf(robot, pi).text, write_urdf(robot.with_pi(pi))):
        assert_array_equal(parse_urdf(text).base_parts[0].pi, robot.base_parts[0].pi)


def test_a_body_that_cannot_exist_is_refused_by_name() -> None:
    robot = load_robot("ur5")
    impossible = {
        "negative mass": -robot.pi,
        "triangle": np.concatenate([robot.pi[:50], moments((0.1, 0.1, 0.3), 1.0, np.zeros(3))]),
        "com without mass": np.concatenate([robot.pi[:50], [0, 0.1, 0, 0, 0, 0, 0, 0, 0, 0]]),
    }
    for pi in impossible.values():
        for write in (
            lambda pi=pi: patch_urdf(robot, pi),
            lambda pi=pi: write_urdf(robot.with_pi(pi)),
        ):
            with pytest.raises(ModelError, match="eigenvalue -") as e:
                write()
            assert "link '" in e.value.where
    with pytest.raises(ModelError, match="panda_link4"):
        patch_urdf(load_robot("panda"), load_robot("panda").pi)


def test_values_that_do_not_fit_are_refused() -> None:
    robot = load_robot("ur5")
    with pytest.raises(ModelError, match="59"):
        patch_urdf(robot, robot.pi[:-1])
    with pytest.raises(ModelError, match="not finite"):
        patch_urdf(robot, np.full(60, np.nan))
    with pytest.raises(ModelError, match="write_urdf"):
        patch_urdf(load_robot("planar2r"), load_robot("planar2r").pi)
    with pytest.raises(ModelError, match="no link"):
        patch_urdf(replace(robot, description=ARM), 2 * robot.pi)


@pytest.mark.parametrize(
    "file",
    [
        "kinova_jaco/example_robot_data/kinova.urdf",
        "panda/example_robot_data/panda.urdf",
        "staubli_tx40/tx40_mdh_modified.urdf",
        "ur5/example_robot_data/ur5_robot.urdf",
        "xarm7/example_robot_data/xarm7.urdf",
    ],
)
def test_vendor_files_are_patched_and_keep_all_else(shared: Path, file: str) -> None:
    robot = read_urdf(shared / "models" / file)
    pi = perturbed(robot.pi, np.random.default_rng(3))
    patched = patch_urdf(robot, pi)
    back = parse_urdf(patched.text)
    assert_allclose(back.pi, pi, rtol=0, atol=ROUNDOFF)
    old, new = robot.description.splitlines(), patched.text.splitlines()
    words = ("<mass", "<inertia ", "<origin", "<inertial", "</inertial", "</link>", "<link")
    skeleton = [[line for line in t if not any(w in line for w in words)] for t in (old, new)]
    assert skeleton[0] == skeleton[1]
    states = random_motion(robot, 3, np.random.default_rng(4))
    tau = derive(robot.with_pi(pi)).inverse_dynamics(*states)
    peer = Pinocchio(patched.text, robot).torque(*states)
    assert_allclose(peer, tau, rtol=0, atol=TORQUE)


def test_a_robot_whose_lengths_are_letters_is_refused() -> None:
    with pytest.raises(ModelError, match="no value for length a2"):
        write_urdf(load_symbolic("planar2r"))
