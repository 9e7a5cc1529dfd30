from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.errors import ModelError
from ident.export.urdf import patch_urdf
from ident.model import inertia
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.model.urdf import parse_urdf, read_urdf
from ident.regressor.rigid import derive
from tests.tolerances import ROUNDOFF

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="one">
    <inertial><origin xyz="0.1 0 0"/><mass value="2"/>
      <inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="j1" type="revolute">
    <parent link="base"/><child link="one"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
</robot>
"""


def arm(*changes: tuple[str, str]) -> str:
    text = ARM
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_what_the_file_says_is_read() -> None:
    robot = parse_urdf(ARM)
    (link,) = robot.links
    assert (robot.name, robot.joints, link.name) == ("arm", ("j1",), "one")
    assert_allclose(link.pi, [2, 0.2, 0, 0, 1, 0, 0, 2.02, 0, 2.52], rtol=0, atol=1e-15)
    assert_array_equal(robot.position, [[-1, 1]])
    assert (robot.velocity[0], robot.effort[0]) == (2.0, 10.0)
    assert robot.description == ARM


def test_inertial_rpy_turns_the_tensor() -> None:
    turned = arm(
        ('<origin xyz="0.1 0 0"/>', '<origin xyz="0 0 0" rpy="0 0 1.5707963267948966"/>'),
        ('iyy="2"', 'iyy="2.0"'),
        ('<axis xyz="0 0 1"/>', '<axis xyz="1 0 0"/>'),
    )
    robot = parse_urdf(turned).with_gravity([0, 0, 0])
    assert_allclose(
        inertia.tensor(robot.links[0].pi[4:]), np.diag([2.0, 1.0, 2.5]), rtol=0, atol=1e-15
    )
    assert derive(robot).inverse_dynamics([0.3], [0.0], [1.0])[0, 0] == pytest.approx(2.0)


def test_fixed_links_are_lumped_where_they_sit() -> None:
    fixed = """
  <link name="tool"><inertial><origin xyz="0 0 0.5"/><mass value="1"/></inertial></link>
  <link name="tip"/>
  <joint name="mount" type="fixed"><parent link="one"/><child link="tool"/>
    <origin xyz="0 0 1" rpy="0 1.5707963267948966 0"/></joint>
  <joint name="end" type="fixed"><parent link="tool"/><child link="tip"/></joint>
</robot>"""
    (link,) = parse_urdf(ARM.replace("</robot>", fixed)).links
    point = inertia.pi_from_com(1.0, [0.5, 0.0, 1.0], np.zeros((3, 3)))
    assert [part.link for part in link.parts] == ["one", "tool", "tip"]
    assert_allclose(link.pi, parse_urdf(ARM).links[0].pi + point, rtol=0, atol=ROUNDOFF)
    assert [f.name for f in parse_urdf(ARM.replace("</robot>", fixed)).findings] == ["no_tensor"]


@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        ("<robot", "robot.urdf", "not XML"),
        ("", "robot.urdf", "not XML"),
        ("<mujoco/>", "robot.urdf", "<mujoco>"),
        ("<robot/>", "robot.urdf", "no <link>"),
        (arm(('type="revolute"', 'type="floating"')), "joint 'j1'", "floating"),
        (arm(('type="revolute"', 'type="planar"')), "joint 'j1'", "planar"),
        (arm((' type="revolute"', "")), "joint 'j1'", "type ''"),
        (arm(('<mass value="2"/>', "")), "link 'one' <inertial>", "no <mass>"),
        (arm(('<mass value="2"/>', "<mass/>")), "link 'one' <mass>", "no 'value'"),
        (arm(('value="2"', 'value="-2"')), "link 'one' <mass value>", "-2 kg"),
        (arm(('value="2"', 'value="nan"')), "link 'one' <mass value>", "'nan'"),
        (arm(('ixx="1"', 'ixx="inf"')), "link 'one' <inertia ixx>", "'inf'"),
        (arm(('value="2"', 'value="two"')), "link 'one' <mass value>", "'two'"),
        (arm(('xyz="0.1 0 0"', 'xyz="0.1 0"')), "link 'one' <origin xyz>", "2 numbers"),
        (arm(('xyz="0 0 1"', 'xyz="0 0 0"')), "robot.urdf: joint 'j1' axis", "length zero"),
        (arm(('lower="-1"', 'lower="3"')), "robot.urdf: joint 'j1' limits", "lower 3 above"),
        (arm(('lower="-1"', 'lower="nan"')), "joint 'j1' <limit lower>", "'nan'"),
        (arm(('<parent link="base"/>', "")), "joint 'j1'", "no <parent"),
        (arm(('<parent link="base"/>', '<parent link="bass"/>')), "joint 'j1'", "'bass'"),
        (arm(('<link name="base"/>', "<link/>")), "robot.urdf", "without a name"),
        (arm(("</robot>", '<link name="one"/></robot>')), "robot.urdf", "two links named 'one'"),
        (arm(("</robot>", '<link name="stray"/></robot>')), "robot.urdf", "2 root links"),
        (arm(('<child link="one"/>', '<child link="base"/>')), "robot.urdf", "loop"),
        (
            arm(("</joint>", '<mimic joint="j9"/></joint>')),
            "joint 'j1'",
            "mimics 'j9'",
        ),
        (arm(("</joint>", "<mimic/></joint>")), "joint 'j1' <mimic>", "no 'joint'"),
        (arm(('type="revolute"', 'type="fixed"')), "arm", "no moving joint"),
    ],
)
def test_a_bad_file_gives_one_error_that_names_the_place(text: str, place: str, found: str) -> None:
    with pytest.raises(ModelError) as e:
        parse_urdf(text, where="robot.urdf")
    assert place in str(e.value)
    assert found in str(e.value)
    assert "\n" not in str(e.value)


JOINT = '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/></joint>'


@pytest.mark.parametrize(
    ("joints", "found"),
    [
        ([("a", "base", "x"), ("a", "x", "y")], "two joints named 'a'"),
        ([("a", "base", "y"), ("b", "x", "y")], "two parents"),
        ([("a", "x", "y"), ("b", "y", "x")], "loop"),
        ([("a", "x", "y"), ("b", "y", "x"), ("c", "x", "base")], "0 root links"),
        ([("a", "x", "y"), ("b", "y", "base"), ("c", "base", "x")], "loop"),
    ],
)
def test_joints_that_are_no_tree(joints: list[tuple[str, str, str]], found: str) -> None:
    links = "".join(f'<link name="{name}"/>' for name in ("base", "x", "y"))
    text = f"<robot>{links}{''.join(JOINT.format(*joint) for joint in joints)}</robot>"
    with pytest.raises(ModelError, match=found):
        parse_urdf(text)


@pytest.mark.parametrize(
    "text",
    [
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="a"><xacro:arg name="b"/></robot>',
        '<robot name="a"><xacro:arg name="b"/></robot>',
    ],
)
def test_xacro_is_recognised_and_the_remedy_given(text: str) -> None:
    with pytest.raises(ModelError) as e:
        parse_urdf(text)
    assert "xacro FILE" in e.value.remedy


def test_an_expanded_xacro_still_declares_its_namespace() -> None:
    text = arm(("<robot name", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name'))
    assert parse_urdf(text).joints == ("j1",)


def test_a_default_namespace_is_no_obstacle() -> None:
    assert parse_urdf(arm(("<robot ", '<robot xmlns="http://drake.mit.edu" '))).n == 1


@pytest.mark.parametrize("written", ["inf", "1e30"])
def test_no_limit_can_be_written_out(written: str) -> None:
    robot = parse_urdf(arm(('velocity="2"', f'velocity="{written}"')))
    assert robot.velocity[0] == np.inf


def test_a_tensor_of_zeros_is_noted() -> None:
    zeros = arm(('ixx="1" iyy="2" izz="2.5"', 'ixx="0" iyy="0.0" izz="0"'))
    (finding,) = parse_urdf(zeros).findings
    assert (finding.name, finding.where) == ("no_tensor", "URDF: link 'one'")


def test_a_file_is_kept_to_the_byte(tmp_path: Path) -> None:
    content = ("\ufeff" + ARM.replace("\n", "\r\n")).encode()
    path = tmp_path / "arm.urdf"
    path.write_bytes(content)
    assert read_urdf(path).description.encode() == content


UMLAUTS = ARM.replace('"one"', '"Arm-Größe"').replace("arm", "Länge")


@pytest.mark.parametrize("codec", ["ISO-8859-1", "windows-1252", "UTF-16", "GB18030", "utf-8"])
def test_a_file_is_read_in_the_encoding_that_it_declares(tmp_path: Path, codec: str) -> None:
    (tmp_path / "arm.urdf").write_bytes(declaring(codec).encode(codec))
    robot = load_robot(tmp_path / "arm.urdf")
    assert (robot.name, robot.links[0].name) == ("Länge", "Arm-Größe")
    assert robot.description == declaring("utf-8" if codec == "utf-8" else "UTF-8")
    (tmp_path / "again.urdf").write_text(patch_urdf(robot, robot.pi).text, encoding="utf-8")
    assert_array_equal(read_urdf(tmp_path / "again.urdf").pi, robot.pi)


def declaring(codec: str) -> str:
    return UMLAUTS.replace('?xml version="1.0"?', f'?xml version="1.0" encoding="{codec}"?')


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_wide_characters_need_neither_mark_nor_declaration(tmp_path: Path, codec: str) -> None:
    (tmp_path / "arm.urdf").write_bytes(UMLAUTS.encode(codec))
    assert read_urdf(tmp_path / "arm.urdf").description == UMLAUTS


@pytest.mark.parametrize("codec", ["ISO-8859-1", "ascii", "UTF-16", "utf8"])
def test_plain_text_is_kept_to_the_byte_whatever_it_declares(tmp_path: Path, codec: str) -> None:
    content = arm(('?xml version="1.0"?', f'?xml version="1.0" encoding="{codec}"?')).encode()
    (tmp_path / "arm.urdf").write_bytes(content)
    assert load_robot(tmp_path / "arm.urdf").description.encode() == content


@pytest.mark.parametrize("codec", ["klingon", "rot13", "zlib"])
def test_an_encoding_that_nobody_knows_is_named(tmp_path: Path, codec: str) -> None:
    (tmp_path / "arm.urdf").write_bytes(declaring(codec).encode("latin-1"))
    with pytest.raises(ModelError, match=rf"'{codec}', which is no encoding known .*save it as"):
        load_robot(tmp_path / "arm.urdf")


@pytest.mark.parametrize("codec", ["ascii", "utf-8", "shift_jis"])
def test_a_file_that_is_not_in_the_encoding_that_it_declares(tmp_path: Path, codec: str) -> None:
    (tmp_path / "arm.urdf").write_bytes(declaring(codec).encode("latin-1"))
    with pytest.raises(ModelError, match=rf"is not {codec} .*save it as UTF-8"):
        load_robot(tmp_path / "arm.urdf")


@pytest.mark.parametrize("codec", ["utf-8", "ISO-8859-1", "UTF-16"])
def test_entities_that_would_fill_the_memory_are_refused(tmp_path: Path, codec: str) -> None:
    lines = [f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9)]
    bomb = f"<!DOCTYPE robot [<!ENTITY e0 'lol'>{''.join(lines)}]><robot name='&e9;'/>"
    text = f'<?xml version="1.0" encoding="{codec}"?>{bomb}'
    (tmp_path / "arm.urdf").write_bytes(text.encode(codec))
    with pytest.raises(ModelError, match="not XML: limit on input amplification"):
        load_robot(tmp_path / "arm.urdf")


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    missing, binary = tmp_path / "none.urdf", tmp_path / "binary.urdf"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (missing, binary, tmp_path):
        with pytest.raises(ModelError, match="cannot be read") as e:
            read_urdf(path)
        assert e.value.where == str(path)


VENDOR = [
    ("double_pendulum/example_robot_data/double_pendulum.urdf", 2),
    ("kinova_jaco/example_robot_data/kinova.urdf", 6),
    ("kuka_iiwa14/ros_industrial/lbr_iiwa_14_r820.urdf", 7),
    ("kuka_lwr4/kuka_lwr4.urdf", 7),
    ("panda/example_robot_data/panda.urdf", 8),
    ("staubli_tx40/tx40_mdh_modified.urdf", 6),
    ("ur10/example_robot_data/ur10_robot.urdf", 6),
    ("ur3/example_robot_data/ur3_robot.urdf", 6),
    ("ur5/example_robot_data/ur5_robot.urdf", 6),
    ("xarm7/example_robot_data/xarm7.urdf", 7),
]


@pytest.mark.parametrize(("file", "n"), VENDOR)
def test_vendor_files_are_read(shared: Path, file: str, n: int) -> None:
    robot: Robot = read_urdf(shared / "models" / file)
    assert robot.n == n
    assert np.isfinite(robot.pi).all()
