import sys
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.arrays import Array
from ident.errors import ModelError, UsageError
from ident.model.mjcf import parse_mjcf, read_mjcf
from ident.model.registry import load_robot, registry_folder
from ident.model.robot import Robot
from ident.regressor.columns import States, stack
from ident.regressor.friction import friction_terms
from ident.regressor.rigid import derive
from tests.random_robots import random_motion
from tests.tolerances import TORQUE


def bare(text: str) -> str:
    """The same file without meshes, by hand."""
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {"mesh", "material", "texture"} or (
                child.tag == "geom" and parent.tag == "body"
            ):
                parent.remove(child)
    for geom in root.iter("geom"):
        geom.attrib.pop("material", None)
        geom.attrib.pop("mesh", None)
    return ElementTree.tostring(root, encoding="unicode")


def inverse(text: str, robot: Robot, q: Array, dq: Array, ddq: Array, passive: bool) -> Array:
    """MuJoCo's inverse dynamics (N, n) of a file, mimic joints led by hand."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    if not passive:
        for name in ("dof_damping", "dof_armature", "jnt_stiffness"):
            getattr(model, name)[:] = 0.0
    joints = [link.joint for link in robot.links]
    gain = np.zeros((model.nv, robot.n))
    offset = np.array(model.qpos0)
    for joint in joints:
        row = model.joint(joint.name).qposadr[0]
        gain[row, joint.coordinate], offset[row] = joint.multiplier, joint.offset
    data, tau = mujoco.MjData(model), []
    for state in zip(q, dq, ddq, strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = (gain @ x for x in state)
        data.qpos += offset
        mujoco.mj_inverse(model, data)
        tau.append(gain.T @ data.qfrc_inverse)
    return np.array(tau)


def agrees(text: str, robot: Robot) -> None:
    """Rigid torque, and torque with the drives that the file describes, are MuJoCo's own."""
    states = random_motion(robot, 5, np.random.default_rng(0))
    tau = derive(robot).inverse_dynamics(*states)
    size = np.abs(tau).max()
    theirs = inverse(text, robot, *states, passive=False)
    assert_allclose(tau, theirs, rtol=0, atol=TORQUE * size)
    columns = stack(derive(robot), friction=friction_terms(robot, ["viscous"]))
    motion = States(q=states[0], dq=states[1], ddq=states[2])
    whole = np.tensordot(columns.evaluate(motion), columns.guess, axes=(1, 0)).T
    theirs = inverse(text, robot, *states, passive=True)
    assert_allclose(whole, theirs, rtol=0, atol=TORQUE * size)


ARM = """<mujoco model="arm">
  <compiler angle="degree" autolimits="true"/>
  <option gravity="0 1 -9.5"/>
  <default>
    <joint damping="0.5" armature="0.02"/>
    <default class="stiff">
      <joint frictionloss="0.7" range="-90 45" actuatorfrcrange="-9 9"/>
    </default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="pillar" pos="0 0 0.4" euler="0 0 30">
      <inertial mass="5" pos="0 0 0.1" diaginertia="0.1 0.1 0.1"/>
      <body name="upper" pos="0.1 0 0" quat="0.5 0.5 0.5 0.5">
        <inertial mass="2" pos="0.1 0.2 0.3" quat="0.9 0.1 0.2 0.3" diaginertia="0.1 0.2 0.25"/>
        <joint name="lift" type="slide" axis="0 1 1" range="-0.2 0.3"/>
        <joint name="swing" axis="1 0 1" pos="0.05 0.02 -0.1" class="stiff" ref="20"/>
        <joint name="twist" axis="0 1 0" pos="0 0.1 0" stiffness="3" springref="10"/>
        <body name="bracket" pos="0.2 0 0.1" axisangle="1 1 0 40">
          <inertial mass="0.4" pos="0 0 0.02" fullinertia="0.01 0.02 0.025 0.001 -0.002 0.003"/>
          <body name="lower" pos="0 0.1 0">
            <joint name="elbow" axis="0 0 1" pos="0 -0.1 0" ref="-15"/>
            <geom type="box" size="0.1 0.02 0.03" pos="0.1 0 0" density="1000" group="3"/>
            <geom type="sphere" size="0.05" mass="0"/>
            <body name="finger" pos="0.2 0 0">
              <inertial mass="0.1" pos="0.01 0 0" diaginertia="1e-4 1e-4 1e-4"/>
              <joint name="grip" type="slide" axis="0 1 0" ref="0.01"/>
            </body>
            <body name="thumb" pos="0.2 0 0">
              <inertial mass="0.2" pos="-0.01 0 0" diaginertia="1e-4 1e-4 1e-4"/>
              <joint name="opposed" axis="0 0 1" stiffness="0.5" ref="5"/>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <joint name="hand" joint1="opposed" joint2="grip" polycoef="0.1 -2 0 0 0"/>
  </equality>
  <actuator>
    <motor joint="lift" gear="10" ctrlrange="-3 4"/>
    <motor joint="swing" gear="2" forcerange="-20 20" forcelimited="true"/>
    <position joint="twist" kp="100" forcerange="-6 7"/>
    <motor joint="elbow" gear="2" ctrlrange="0 5"/>
    <motor joint="elbow" gear="3" ctrlrange="-1 1"/>
  </actuator>
  <keyframe><key name="other"/><key name="home" qpos="0.1 0.2 0.3 0.4 0.02 0"/></keyframe>
</mujoco>"""


def test_a_file_with_all_that_the_format_offers_gives_mujoco_s_torque() -> None:
    agrees(ARM, parse_mjcf(ARM))


def test_what_a_file_says_of_joints_and_drives_is_kept() -> None:
    robot = parse_mjcf(ARM)
    assert (robot.name, robot.joints) == ("arm", ("lift", "swing", "twist", "elbow", "grip"))
    assert [link.name for link in robot.links] == [
        *("upper/lift", "upper/swing", "upper", "lower", "finger", "thumb")
    ]
    assert [part.link for part in robot.links[2].parts] == ["upper", "bracket"]
    assert [part.link for part in robot.base_parts] == ["world", "pillar"]
    assert [link.joint.kind for link in robot.links[:4]] == [
        *("prismatic", "revolute", "continuous", "continuous")
    ]
    assert_array_equal(robot.gravity, [0.0, 1.0, -9.5])
    assert_allclose(robot.home, [0.1, 0.2, 0.3, 0.4, 0.02])
    assert_allclose(robot.position[:2], [[-0.2, 0.3], np.radians([-90, 45])])
    assert_allclose(robot.effort, [30.0, 9.0, 6.0, 13.0, np.inf])
    follows = robot.links[5].joint
    assert (follows.mimics, follows.multiplier) == ("grip", -2.0)
    assert follows.offset == pytest.approx(np.radians(5) + 0.1 + 2.0 * 0.01)
    drives = robot.drives
    assert_allclose(drives.armature, [0.02, 0.02, 0.02, 0.02, 0.1])
    assert_allclose(drives.viscous, [0.5, 0.5, 0.5, 0.5, 2.5])
    assert_allclose(drives.coulomb, [0.0, 0.7, 0.0, 0.0, 0.0])
    assert [(s.joint, s.guess) for s in drives.springs] == [("twist", 3.0), ("grip", 2.0)]
    assert drives.springs[0].rest == pytest.approx(np.radians(10))
    assert [f.name for f in robot.findings] == ["massless_link", "massless_link"]


@pytest.mark.parametrize(
    ("file", "joints"),
    [
        ("panda/menagerie/panda.xml", 8),  # one finger leads the other
        ("panda/menagerie/panda_nohand.xml", 7),
        ("kuka_iiwa14/menagerie/iiwa14.xml", 7),
        ("ur5e/menagerie/ur5e.xml", 6),
    ],
)
def test_vendor_files_give_mujoco_s_torque_without_their_meshes(
    shared: Path, file: str, joints: int
) -> None:
    path = shared / "models" / file
    robot = load_robot(path)
    assert robot.n == joints
    assert not robot.findings
    low, high = robot.position.T
    assert ((low <= robot.home) & (robot.home <= high)).all()
    assert robot.home.any()
    agrees(bare(path.read_text(encoding="utf-8")), robot)


def body(inside: str, rest: str = "", name: str = "b") -> str:
    inertial = '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'
    return (
        f'<mujoco><worldbody><body name="{name}">{inside.replace("INERTIAL", inertial)}</body>'
        f"</worldbody>{rest}</mujoco>"
    )


# Things that need files of their own; of all that only a mesh may decide a mass.
MESH = """<asset>
  <texture name="steel" type="2d" file="steel.png"/><material name="grey" texture="steel"/>
  <mesh name="hull" file="hull.stl"/><hfield name="hill" file="hill.png" size="1 1 1 1"/>
</asset>"""
TWO = body(
    'INERTIAL<joint name="j"/><body name="c">INERTIAL<joint name="k"/>'
    '<body name="d">INERTIAL<joint name="l"/></body></body>',
    "<equality>TIE</equality>",
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (body('INERTIAL<freejoint name="float"/>'), "joint 'float': a free joint.*fix the base"),
        (body('INERTIAL<joint name="hip" type="ball"/>'), "joint 'hip': a ball joint.*hinges"),
        (body('<joint/><geom type="mesh" mesh="hull" material="grey"/>', MESH),
         "body 'b': no <inertial>, and its mesh 'hull.stl' is missing.*an <inertial>, or put"),
        (body("INERTIAL"), "no moving joint"),
        (body("<joint/>"), "MuJoCo: .*mass"),
        (body('INERTIAL<joint axis="0 0 0"/>'), "MuJoCo: "),
        ("<mujoco><worldbody><bod/></worldbody></mujoco>", "MuJoCo: .*bod"),
        ("<mujoco>", "MuJoCo: "),
        (TWO.replace("TIE", '<joint joint1="j" joint2="k" polycoef="0 1 2"/>'),
         "equality '1': a polynomial"),
        (TWO.replace("TIE", '<connect name="close" body1="d" body2="b" anchor="0 0 0"/>'),
         "equality 'close': .*loop.*deactivate"),
        (TWO.replace("TIE", '<joint joint1="j" joint2="k"/><joint joint1="j" joint2="l"/>'),
         "'j' follows twice"),
        (TWO.replace("TIE", '<joint joint1="j" joint2="k"/><joint joint1="k" joint2="j"/>'),
         "'j': follows itself"),
    ],
)  # fmt: skip
def test_what_is_no_tree_of_hinges_and_slides_is_named(text: str, found: str) -> None:
    with pytest.raises(ModelError, match=found) as e:
        parse_mjcf(text, where="arm.xml")
    assert e.value.where.startswith(("arm.xml", "MuJoCo Model", "robot"))


def test_ties_are_followed_to_the_joint_that_leads_and_a_tie_to_nothing_welds() -> None:
    tie = '<joint joint1="j" joint2="k" polycoef="1 2 0"/><joint joint1="k" joint2="l"/>'
    robot = parse_mjcf(TWO.replace("TIE", tie))
    assert robot.joints == ("l",)
    assert [(x.joint.multiplier, x.joint.offset) for x in robot.links] == [(2, 1), (1, 0), (1, 0)]
    agrees(TWO.replace("TIE", tie), robot)
    welded = TWO.replace("TIE", '<joint joint1="k" polycoef="0.5"/>')
    robot = parse_mjcf(welded)
    assert robot.joints == ("j", "l")
    still = welded.replace('<joint name="k"/>', "").replace('name="c"', 'name="c" euler="0 0 DEG"')
    still = still.replace("DEG", str(np.degrees(0.5))).replace(
        '<joint joint1="k" polycoef="0.5"/>', ""
    )
    agrees(still, robot)
    inactive = '<joint joint1="j" joint2="k" active="false"/>'
    assert parse_mjcf(TWO.replace("TIE", inactive)).n == 3


def test_only_a_mesh_that_decides_a_mass_is_missed(tmp_path: Path) -> None:
    inside = 'INERTIAL<joint name="j"/><geom type="mesh" mesh="hull"/><body name="c" pos="1 0 0">{}'
    inside = inside.replace("{}", '<site material="grey"/>{}')
    for geom in ('mesh="hull" type="mesh" mass="0"', 'type="box" size="1 1 1" material="grey"'):
        text = body(inside.format(f"<geom {geom}/></body>"), MESH)
        (tmp_path / "arm.xml").write_text(text)
        robot = read_mjcf(tmp_path / "arm.xml")
        assert robot.links[0].pi[0] == (1.0 if "mesh" in geom else 8001.0)
    (tmp_path / "arm.xml").write_text(
        body(inside.format('<geom type="mesh" mesh="hull"/></body>'), MESH)
    )
    with pytest.raises(ModelError, match="body 'c': no <inertial>"):
        read_mjcf(tmp_path / "arm.xml")
    cube = [f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    faces = ["1 2 4", "1 4 3", "5 7 8", "5 8 6", "1 5 6", "1 6 2"]
    faces += ["3 4 8", "3 8 7", "1 3 7", "1 7 5", "2 6 8", "2 8 4"]
    (tmp_path / "hull.obj").write_text("\n".join(cube + [f"f {face}" for face in faces]))
    text = (tmp_path / "arm.xml").read_text().replace("hull.stl", "hull.obj")
    (tmp_path / "arm.xml").write_text(text)
    assert read_mjcf(tmp_path / "arm.xml").links[0].pi[0] == pytest.approx(1001.0)


def test_the_root_element_decides_what_an_xml_file_is(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(
        "<?xml version='1.0'?>\n<!-- <robot> -->\n" + body("INERTIAL<joint/>")
    )
    assert load_robot(tmp_path / "a.xml").links[0].name == "b"
    urdf = (registry_folder() / "ur5" / "robot.urdf").read_text(encoding="utf-8")
    (tmp_path / "b.xml").write_text(urdf)
    assert load_robot(tmp_path / "b.xml").description == urdf
    (tmp_path / "c.xml").write_text("nothing")
    with pytest.raises(ModelError, match="not XML"):
        load_robot(tmp_path / "c.xml")


def test_a_table_may_stand_on_an_mjcf_file(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(ARM)
    table = 'schema = 1\nname = "mine"\ndescription = "arm.xml"\n'
    (tmp_path / "robot.toml").write_text(table)
    robot, direct = load_robot(tmp_path), parse_mjcf(ARM)
    assert robot.name == "mine"
    assert_array_equal(robot.gravity, direct.gravity)
    assert_array_equal(robot.home, direct.home)
    assert_array_equal(robot.drives.armature, direct.drives.armature)
    more = "gravity = [0.0, 0.0, 0.0]\n[friction]\nviscous = [1.0, 1.0, 1.0, 1.0, 1.0]\n"
    (tmp_path / "robot.toml").write_text(table + more)
    robot = load_robot(tmp_path)
    assert not robot.gravity.any()
    assert_array_equal(robot.drives.viscous, np.ones(5))
    assert_array_equal(robot.drives.armature, direct.drives.armature)


def test_what_a_robot_cannot_hold_is_said() -> None:
    text = ARM.replace('name="lower"', 'name="lower" gravcomp="1"').replace(
        "<option ", '<option density="1.2" '
    )
    found = {f.found for f in parse_mjcf(text).notes}
    assert found == {"gravity compensation", "a surrounding fluid"}


def test_a_keyframe_outside_the_limits_is_no_home() -> None:
    robot = parse_mjcf(ARM.replace("0.1 0.2 0.3 0.4", "0.9 0.2 0.3 0.4"))
    assert_allclose(robot.home[0], 0.0)


def test_a_missing_mujoco_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(UsageError, match=r"the extra mujoco.*pip install 'ident-robot\[mujoco\]'"):
        parse_mjcf(ARM)


PAIR = """<mujoco>{}<worldbody><body><joint name="a" axis="1 0 0"/>
<geom name="g" size=".1" pos="0 .2 0" mass="1"/><body><joint name="b" axis="1 0 0"/>
<geom size=".1" pos="0 .4 0" mass="1"/></body></body></worldbody>{}</mujoco>"""
TIE = '<equality><joint joint1="b" joint2="a"/></equality>'


def test_what_a_file_switches_off_is_off() -> None:
    off = '<option><flag {}="disable"/></option>'
    assert parse_mjcf(PAIR.format("", TIE)).joints == ("a",)
    for flag in ("equality", "constraint"):
        assert parse_mjcf(PAIR.format(off.format(flag), TIE)).joints == ("a", "b")
    assert not parse_mjcf(PAIR.format(off.format("gravity"), TIE)).gravity.any()


WRAPPED = """<mujoco><worldbody>
  <geom name="post" type="cylinder" size=".05 .1" pos="0 0 1"/><site name="start" pos="0 0.2 1"/>
  <body><inertial mass="2" pos="0 .1 0" diaginertia=".1 .1 .1"/><joint name="a" axis="1 0 0"/>
    <geom name="roll" type="sphere" size=".1" pos="0 .3 .3" mass="7"/><geom size=".1" mass="9"/>
    <body pos="0 .5 0"><joint name="b" axis="1 0 0"/><geom size=".1" pos="0 .4 0" mass="1"/>
      <geom name="ball" type="sphere" size=".1" mass="0" pos="0 0 .4"/><site name="end"/></body>
  </body></worldbody>
  <tendon>
    <spatial name="cable"><site site="start"/><geom geom="post"/><site site="start"/>
      <geom geom="roll"/><site site="end"/><geom geom="ball"/><site site="start"/></spatial>
    <fixed name="split"><joint joint="a" coef=".5"/><joint joint="b" coef=".5"/></fixed>
  </tendon>
  <actuator><motor name="winch" tendon="cable"/><motor name="both" tendon="split"/></actuator>
  <custom><tuple name="t"><element objtype="geom" objname="roll" prm="0"/></tuple></custom>
  <sensor><tendonpos tendon="cable"/></sensor>
</mujoco>"""


def test_tendons_stay_with_the_geoms_that_they_wrap_around() -> None:
    robot = parse_mjcf(WRAPPED)
    assert robot.joints == ("a", "b")
    agrees(WRAPPED, robot)


def test_a_tuple_may_name_what_is_dropped() -> None:
    flat = '<geom name="flat" type="box" size="1 1 1"/>'
    text = WRAPPED.replace('"roll" prm', '"flat" prm').replace('<geom size=".1" mass="9"/>', flat)
    agrees(text, parse_mjcf(text))


def test_names_that_are_made_up_are_free() -> None:
    inertial = '<inertial mass="1" pos="0 .1 0" diaginertia="1 1 1"/>'
    text = f"""<mujoco><worldbody>
      <body>{inertial}<joint axis="1 0 0"/><joint name="joint1" axis="0 1 0"/>
        <body name="body1">{inertial}<joint name="joint3_"/>
          <body name="body1/joint2">{inertial}<joint name="joint2" axis="1 0 0"/>
            <body>{inertial}<joint axis="1 0 0"/><joint name="joint5" axis="0 1 0"/></body>
          </body></body></body>
      <body name="body4">{inertial}<joint name="joint3"/><joint name="x" axis="1 0 0"/></body>
      <body name="body4/joint3">{inertial}<joint name="y"/></body>
      </worldbody></mujoco>"""
    robot = parse_mjcf(text)
    names = [link.name for link in robot.links]
    assert robot.joints == (
        *("joint1_", "joint1", "joint3_", "joint2", "joint5_", "joint5", "joint3", "x", "y"),
    )
    assert names == [
        *("body1_/joint1_", "body1_", "body1", "body1/joint2", "body4_/joint5_", "body4_"),
        *("body4/joint3_", "body4", "body4/joint3"),
    ]


@pytest.mark.parametrize(
    "reference",
    [
        '<equality><joint joint1="joint2" joint2="joint1"/></equality>',
        '<tendon><fixed name="t"><joint joint="joint1" coef="1"/></fixed></tendon>',
        '<actuator><motor joint="joint2"/></actuator>',
        '<contact><exclude body1="body1" body2="body2"/></contact>',
    ],
)
def test_a_made_up_name_satisfies_no_reference_of_the_file(reference: str) -> None:
    link = '<joint axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    bodies = f'<body>{link}<body pos="1 0 0">{link}</body></body>'
    parse_mjcf(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    with pytest.raises(ModelError, match=r"not found|unknown"):
        parse_mjcf(f"<mujoco><worldbody>{bodies}</worldbody>{reference}</mujoco>")
