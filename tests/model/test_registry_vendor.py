"""Registry robots against the makers' own files, assembled here and run by Pinocchio."""

import re
from collections.abc import Callable
from math import pi, radians
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.arrays import Array
from ident.base.minimal import reduce
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.model.urdf import parse_urdf
from ident.regressor.rigid import derive
from tests.oracles import Pinocchio
from tests.random_robots import random_motion
from tests.tolerances import REPRODUCED, ROUNDOFF, TORQUE

# A multiple of π/2 has full precision in the registry; the makers write as few as five digits.
QUARTER_TURN = 1e-5
# Universal Robots' files keep what a calibration of the nominal arm left of zero.
NO_LENGTH = 1e-9

MOMENTS = ("xx", "xy", "xz", "yy", "yz", "zz")
UR_LINKS = ("shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "wrist_3")
UR_JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")


def leaves(path: Path) -> dict[str, str]:
    """Leaves of a YAML file that nests keys only, as text by dotted key."""
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        if key.strip():
            depth = len(key) - len(key.lstrip())
            above = [*((d, k) for d, k in above if d < depth), (depth, key.strip())]
            found[".".join(k for _, k in above)] = value.replace("!degrees", "").strip()
    return found


def vector(values: dict[str, str], under: str, keys: str) -> str:
    numbers = [float(values[f"{under}.{key}"]) for key in keys.split()]
    return " ".join(repr(x) if abs(x) > NO_LENGTH else "0" for x in numbers)


def exact(text: str) -> str:
    """Angles, multiples of π/2 with full precision."""
    quarters = [round(float(x) / (pi / 2)) * (pi / 2) for x in text.split()]
    return " ".join(
        repr(q) if abs(q - float(x)) < QUARTER_TURN else x
        for q, x in zip(quarters, text.split(), strict=True)
    )


def link(name: str, com: str, mass: str, tensor: str, rpy: str = "0 0 0") -> str:
    moments = " ".join(f'i{k}="{x}"' for k, x in zip(MOMENTS, tensor.split(), strict=True))
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{mass}"/>'
        f"<inertia {moments}/></inertial></link>"
    )


def joint(name: str, ends: tuple[str, str], xyz: str, rpy: str = "0 0 0", more: str = "") -> str:
    kind = "revolute" if more else "fixed"
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{ends[0]}"/><child link="{ends[1]}"/>'
        f'<origin xyz="{xyz}" rpy="{exact(rpy)}"/>{more}</joint>'
    )


def limits(lower: float | str, upper: float | str, velocity: float | str, effort: str) -> str:
    return (
        f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="{effort}"/>'
        '<axis xyz="0 0 1"/>'
    )


def universal_robots(folder: Path) -> str:
    kinematics, physics, ends = (
        leaves(folder / "ros2_description" / f"{name}.yaml")
        for name in ("default_kinematics", "physical_parameters", "joint_limits")
    )
    text = '<link name="base"/><link name="turned"/>'
    text += joint("half_turn", ("base", "turned"), "0 0 0", f"0 0 {pi}")
    parent = "turned"
    for name, moved_by in zip(UR_LINKS, UR_JOINTS, strict=True):
        at, of = f"kinematics.{name}", "inertia_parameters"
        end = f"joint_limits.{moved_by}_joint"
        # Wrist 3 of the smallest arms turns without end: here as far as the others.
        to = radians(float(ends.get(f"{end}.max_position", "360")))
        speed = radians(float(ends[f"{end}.max_velocity"]))
        text += joint(
            f"{moved_by}_joint",
            (parent, f"{name}_link"),
            vector(kinematics, at, "x y z"),
            vector(kinematics, at, "roll pitch yaw"),
            limits(-to, to, speed, ends[f"{end}.max_effort"]),
        )
        text += link(
            f"{name}_link",
            vector(physics, f"{of}.center_of_mass.{name}_cog", "x y z"),
            physics[f"{of}.{name}_mass"],
            vector(physics, f"{of}.tensor.{name}", "ixx ixy ixz iyy iyz izz"),
            exact(vector(physics, f"{of}.rotation.{name}", "roll pitch yaw")),
        )
        parent = f"{name}_link"
    return f'<robot name="vendor">{text}</robot>'


def franka(folder: Path, prefix: str) -> str:
    kinematics, inertials, ends = (
        leaves(folder / f"{name}.yaml") for name in ("kinematics", "inertials", "joint_limits")
    )
    text = f'<link name="{prefix}link0"/><link name="{prefix}link8"/>'
    for i in range(1, 9):
        at, end, of = f"joint{i}.kinematic", f"joint{i}.limit", f"link{i}"
        keys = ("lower", "upper", "velocity", "effort")
        text += joint(
            f"{prefix}joint{i}",
            (f"{prefix}link{i - 1}", f"{prefix}link{i}"),
            vector(kinematics, at, "x y z"),
            vector(kinematics, at, "roll pitch yaw"),
            limits(*(ends[f"{end}.{key}"] for key in keys)) if i < 8 else "",
        )
        if i < 8:
            com, mass = inertials[f"{of}.origin.xyz"], inertials[f"{of}.mass"]
            tensor = (inertials[f"{of}.inertia.{key}"] for key in MOMENTS)
            text += link(f"{prefix}link{i}", com, mass, " ".join(tensor))
    return f'<robot name="vendor">{text}</robot>'


def described(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    return re.sub(r'rpy="([^"]*)"', lambda found: f'rpy="{exact(found[1])}"', text)


def jaco(file: Path) -> str:
    # example-robot-data mounts the arm with a quarter turn that Kinova's own file has not.
    turned = f'rpy="{exact("0 0 1.57079632679")}" xyz="0.000 0.000 0.000"'
    text = described(file)
    assert turned in text
    return text.replace(turned, 'xyz="0 0 0"')


# Where the registry has other tensors than these files, only gravity can be compared.
GRAVITY_ONLY = {"ur3", "ur3e", "ur5", "ur5e"}
VENDORS: dict[str, Callable[[Path], str]] = {
    **{
        name: lambda models, name=name: universal_robots(models / name)
        for name in ("ur3", "ur3e", "ur5", "ur5e", "ur10", "ur10e", "ur16e")
    },
    "panda": lambda models: franka(models / "panda/franka_description_fer", "panda_"),
    "fr3": lambda models: franka(models / "fr3/franka_description_fr3", "fr3_"),
    "xarm7": lambda models: described(models / "xarm7/example_robot_data/xarm7.urdf"),
    "kinova_jaco": lambda models: jaco(models / "kinova_jaco/example_robot_data/kinova.urdf"),
}


def torques_agree(robot: Robot, text: str, vendor: Robot, *, motion: float = 1.0) -> None:
    q, dq, ddq = random_motion(robot, 8, np.random.default_rng(0))
    states = 2.0 * q, motion * dq, motion * ddq
    tau = derive(robot).inverse_dynamics(*states)
    peer = Pinocchio(text, vendor).torque(*states)
    assert_allclose(tau, peer, rtol=0, atol=TORQUE)


def origins(robot: Robot, q: Array) -> dict[str, Array]:
    """Origins in the base frame of all that moves, by link name."""
    return {
        part.link: p + R @ part.p_a_ab
        for link, R, p in zip(robot.links, *robot.forward(q), strict=True)
        for part in link.parts
    }


@pytest.mark.parametrize("name", VENDORS)
def test_frames_limits_and_torque_are_the_maker_s(shared: Path, name: str) -> None:
    text = VENDORS[name](shared / "models")
    robot, vendor = load_robot(name), parse_urdf(text)
    assert robot.joints == vendor.joints
    given = np.isfinite(vendor.position)
    assert_allclose(robot.position[given], vendor.position[given], rtol=REPRODUCED)
    assert_allclose(robot.velocity, vendor.velocity, rtol=REPRODUCED)
    assert_allclose(robot.effort, vendor.effort, rtol=REPRODUCED)

    for q in random_motion(robot, 8, np.random.default_rng(1))[0]:
        assert_allclose(robot.forward(q)[0], vendor.forward(q)[0], rtol=0, atol=ROUNDOFF)
        ours, theirs = origins(robot, q), origins(vendor, q)
        assert {link.name for link in robot.links} <= ours.keys() & theirs.keys()
        for link_name in ours.keys() & theirs.keys():
            assert_allclose(ours[link_name], theirs[link_name], rtol=0, atol=ROUNDOFF)
    torques_agree(robot, text, vendor, motion=0.0 if name in GRAVITY_ONLY else 1.0)


# lbr_fri_ros2_stack 218d723f, iiwa7_description.xacro: all frames parallel to the base at zero.
# Joint origin; y of its axis (else z); centre of mass; mass; Ixx, Iyy, Iyz, Izz.
IIWA7 = """
0  0      0.1475   0  0  -0.034819 0.123299  3.394011  0.021383 0.020403  0.003797 0.007563
0 -0.0105 0.1925   1  0   0.039793 0.086944  4.031991  0.031697 0.03008   0.005889 0.009666
0  0.0105 0.2075   0  0   0.034819 0.123299  3.394011  0.021383 0.020403 -0.003797 0.007563
0  0.0105 0.1925  -1  0  -0.039793 0.086944  4.031989  0.031695 0.030079 -0.005889 0.009665
0 -0.0105 0.2075   0  0  -0.029824 0.076267  1.529239  0.008485 0.007136  0.002806 0.003848
0 -0.0707 0.1925   1  0   0.07102  0.00495   2.403626  0.007067 0.006804  0.000311 0.004629
0  0.0707 0.091    0  3e-6 -2e-6   0.013782  0.259474  0.000171 0.000171  0        0.000299
"""


def test_tool_and_torque_of_the_iiwa_7_are_those_of_its_source() -> None:
    text, parent = '<link name="base_link"/><link name="tool0"/>', "base_link"
    for i, row in enumerate(IIWA7.split("\n")[1:-1], start=1):
        x, y, z, axis_y, *com, mass, xx, yy, yz, zz = row.split()
        axis = f'<axis xyz="0 {axis_y} {1 - abs(int(axis_y))}"/>'
        free = '<limit lower="-3" upper="3" velocity="1" effort="1"/>'
        text += joint(f"A{i}", (parent, f"link_{i}"), f"{x} {y} {z}", more=axis + free)
        text += link(f"link_{i}", " ".join(com), mass, f"{xx} 0 0 {yy} {yz} {zz}")
        parent = f"link_{i}"
    text += joint("ee", (parent, "tool0"), "0 0 0.035")
    text = f'<robot name="vendor">{text}</robot>'
    robot, vendor = load_robot("iiwa7"), parse_urdf(text)
    torques_agree(robot, text, vendor)
    for q in random_motion(robot, 8, np.random.default_rng(1))[0]:
        assert_allclose(robot.forward(q)[0][-1], vendor.forward(q)[0][-1], rtol=0, atol=ROUNDOFF)
        tools = origins(robot, q)["tool0"], origins(vendor, q)["tool0"]
        assert_allclose(*tools, rtol=0, atol=ROUNDOFF)


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        *((name, 36) for name in ("ur3", "ur3e", "ur10e", "ur16e", "kinova_jaco")),
        *((name, 43) for name in ("fr3", "iiwa7", "xarm7")),
    ],
)
def test_ranks_are_those_of_the_family(name: str, rank: int) -> None:
    assert reduce(load_robot(name)).rank == rank
