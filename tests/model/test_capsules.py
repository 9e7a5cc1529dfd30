from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ident.arrays import Array
from ident.errors import ModelError
from ident.excitation.collision import Clearance
from ident.model.capsules import Capsule
from ident.model.registry import load_robot, robot_names
from ident.model.robot import Robot
from ident.model.urdf import parse_urdf
from tests.tolerances import ROUNDOFF

ARMS = sorted(set(robot_names()) - {"planar2r"})
# Links that lie nearer than this to each other at home; as meshes they are 14 and 13 mm apart.
CLOSE = {"ur5": 0.003}

URDF = """
<robot name="r">
  <link name="base"/>
  <link name="arm">
    <collision>
      <origin xyz="0 0 0.5" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.1" length="0.6"/></geometry>
    </collision>
    <collision><geometry><mesh filename="arm.stl"/></geometry></collision>
  </link>
  <link name="hand">
    <collision><geometry><box size="0.06 0.3 0.08"/></geometry></collision>
    <collision><geometry><sphere radius="0.2"/></geometry></collision>
    <collision><geometry><sphere radius="0"/></geometry></collision>
  </link>
  <joint name="j" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/>
  </joint>
  <joint name="f" type="fixed">
    <parent link="arm"/><child link="hand"/>
    <origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>
  </joint>
</robot>
"""


ENDS = "from = [0.0, 0.0, 0.0], to = [0.0, 0.0, 0.0]"


def figures(capsule: Capsule) -> Array:
    return np.concatenate([capsule.a, capsule.b, [capsule.radius]])


def test_collision_geometry_of_a_urdf_is_enclosed_and_placed_in_the_moving_link() -> None:
    cylinder, box, sphere = parse_urdf(URDF).capsules
    assert [c.part for c in (cylinder, box, sphere)] == ["arm", "hand", "hand"]
    assert {c.link for c in (cylinder, box, sphere)} == {0}
    for capsule, expected in (
        (cylinder, [-0.3, 0, 0.5, 0.3, 0, 0.5, 0.1]),
        (box, [1.15, 0, 0, 0.85, 0, 0, 0.05]),
        (sphere, [1, 0, 0, 1, 0, 0, 0.2]),
    ):
        np.testing.assert_allclose(figures(capsule), expected, rtol=0, atol=ROUNDOFF)


def test_collision_geometry_that_is_no_number_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"link 'arm' <collision> <cylinder radius>: 'thick'"):
        parse_urdf(URDF.replace('radius="0.1"', 'radius="thick"'))


def from_file(folder: Path, lines: str) -> Robot:
    (folder / "robot.urdf").write_text(URDF)
    text = f'schema = 1\nname = "r"\ndescription = "robot.urdf"\n{lines}'
    (folder / "robot.toml").write_text(text)
    return load_robot(folder)


def test_a_file_says_the_shape_before_its_urdf_does(tmp_path: Path) -> None:
    assert len(from_file(tmp_path, "").capsules) == 3
    lines = """
        [[capsules]]
        link = "hand"
        from = [0.1, 0.0, 0.0]
        to = [0.1, 0.0, 0.2]
        radius = 0.03
    """
    [capsule] = from_file(tmp_path, lines).capsules
    assert (capsule.link, capsule.part) == (0, "hand")
    np.testing.assert_allclose(
        figures(capsule), [1, 0.1, 0, 1, 0.1, 0.2, 0.03], rtol=0, atol=ROUNDOFF
    )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            f'capsules = [{{ link = "claw", {ENDS}, radius = 1.0 }}]',
            r"robot.toml: capsules: no link 'claw' \(expected base, arm, hand\)",
        ),
        (
            f'capsules = [{{ link = "arm", {ENDS}, radius = 0.0 }}]',
            r"capsules\.1\.radius",
        ),
        ('capsules = [{ link = "arm", from = [0.0], to = [0.0], radius = 1.0 }]', r"capsules\.1\."),
        ('never_meet = [["arm", "claw"]]', r"never_meet: no link 'claw'"),
        ('never_meet = [["arm"]]', r"never_meet\.1"),
    ],
)
def test_a_shape_that_cannot_be_is_refused_by_name(
    tmp_path: Path, lines: str, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        from_file(tmp_path, lines)


def test_a_capsule_needs_a_radius() -> None:
    with pytest.raises(ModelError, match="capsule of link 'arm': radius 0 m"):
        Capsule(link=0, part="arm", a=np.zeros(3), b=np.zeros(3), radius=0.0)


@pytest.mark.parametrize("name", ARMS)
def test_every_arm_of_the_registry_has_a_shape_in_which_it_can_stand_at_home(name: str) -> None:
    robot = load_robot(name)
    assert {capsule.link for capsule in robot.capsules} == set(range(-1, len(robot.links)))
    clearance = Clearance.of(robot)
    assert "no_capsule" not in {finding.name for finding in clearance.findings}
    assert clearance(robot.home[None]).min() > CLOSE.get(name, 0.01)


def test_links_that_never_meet_are_not_watched() -> None:
    robot = load_robot("ur5")
    row = "wrist_3_link – wrist_1_link"
    assert row not in Clearance.of(robot).names
    assert row in Clearance.of(replace(robot, never_meet=())).names


def test_what_is_close_at_home_has_to_keep_half_of_that() -> None:
    clearance = Clearance.of(load_robot("ur5"))
    home = clearance(clearance.robot.home[None])[:, 0]
    required = clearance.required(0.02)
    np.testing.assert_array_equal(required, np.minimum(0.02, home / 2))
    assert required.max() == 0.02 > required.min() > 0.0
