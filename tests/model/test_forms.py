"""One arm in five forms: URDF, standard and modified DH tables, screw axes, MJCF."""

from collections.abc import Callable
from functools import cache

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.arrays import Array
from ident.model import inertia, rotation
from ident.model.dh import DHRow, robot_of_table
from ident.model.mjcf import parse_mjcf
from ident.model.robot import Robot
from ident.model.screws import ScrewRow, robot_of_screws
from ident.model.urdf import parse_urdf
from ident.regressor.rigid import derive
from tests.oracles import MuJoCo, Pinocchio
from tests.random_robots import random_body, random_motion
from tests.tolerances import ROUNDOFF

Pose = tuple[Array, Array]
HALF = np.pi / 2

# Standard tables, (type, a, alpha, d, theta): the UR5, the Stanford arm and a SCARA.
TABLES = {
    "ur5": [
        ("revolute", 0.0, HALF, 0.089159, 0.0),
        ("revolute", -0.425, 0.0, 0.0, 0.0),
        ("revolute", -0.39225, 0.0, 0.0, 0.3),
        ("revolute", 0.0, HALF, 0.10915, 0.0),
        ("revolute", 0.0, -HALF, 0.09465, -1.2),
        ("revolute", 0.0, 0.0, 0.0823, 0.0),
    ],
    "stanford": [
        ("revolute", 0.0, -HALF, 0.412, 0.0),
        ("revolute", 0.0, HALF, 0.154, 0.0),
        ("prismatic", 0.0, 0.0, 0.2, -HALF),
        ("revolute", 0.0, -HALF, 0.0, 0.0),
        ("revolute", 0.0, HALF, 0.0, 0.0),
        ("revolute", 0.0, 0.0, 0.263, 0.0),
    ],
    "scara": [
        ("revolute", 0.325, 0.0, 0.387, 0.0),
        ("revolute", 0.275, np.pi, 0.0, 0.0),
        ("prismatic", 0.0, 0.0, 0.05, 0.4),
        ("revolute", 0.0, 0.0, 0.1, 0.0),
    ],
}  # fmt: skip


def bodies(arm: str) -> list[Array]:
    rng = np.random.default_rng(len(arm))
    return [random_body(rng) for _ in TABLES[arm]]


def six(tensor: Array) -> list[float]:
    return [tensor[i, j] for i in range(3) for j in range(i, 3)]


def after(one: Pose, other: Pose) -> Pose:
    return one[0] @ other[0], one[1] + one[0] @ other[1]


def back(pose: Pose) -> Pose:
    return pose[0].T, -pose[0].T @ pose[1]


def frames(arm: str) -> list[Pose]:
    """Frames of the standard table at zero, frame 0 first; joint i turns about z of frame i − 1."""
    out = [(np.eye(3), np.zeros(3))]
    for _, a, alpha, d, theta in TABLES[arm]:
        R = rotation.about_z(theta) @ rotation.about_x(alpha)
        along = np.array([a * np.cos(theta), a * np.sin(theta), d])
        out.append(after(out[-1], (R, along)))
    return out


def standard(arm: str) -> Robot:
    rows = []
    for i, ((kind, a, alpha, d, theta), pi) in enumerate(
        zip(TABLES[arm], bodies(arm), strict=True), 1
    ):
        about = six(inertia.inertia_c_of(pi))
        rows.append(
            DHRow(
                **{"link": f"l{i}", "joint": f"j{i}", "type": kind, "inertia_c": about},
                **{"a": a, "alpha": alpha, "d": d, "theta": theta},
                mass=pi[0],
                com=inertia.com_of(pi),
            )
        )
    return robot_of_table(arm, "standard", rows)


def modified(arm: str) -> Robot:
    rows, before = [], (0.0, 0.0)
    for i, ((kind, a, alpha, d, theta), pi) in enumerate(
        zip(TABLES[arm], bodies(arm), strict=True), 1
    ):
        R = rotation.about_x(alpha)
        rows.append(
            DHRow(
                **{"link": f"l{i}", "joint": f"j{i}", "type": kind},
                **{"a": before[0], "alpha": before[1], "d": d, "theta": theta},
                mass=pi[0],
                com=R @ inertia.com_of(pi) + [a, 0.0, 0.0],
                inertia_c=six(R @ inertia.inertia_c_of(pi) @ R.T),
            )
        )
        before = (a, alpha)
    return robot_of_table(arm, "modified", rows)


def screws(arm: str) -> Robot:
    rows, poses = [], frames(arm)
    for i, (table, pi) in enumerate(zip(TABLES[arm], bodies(arm), strict=True), 1):
        R, p = poses[i]
        rows.append(
            ScrewRow(
                **{"link": f"l{i}", "joint": f"j{i}", "type": table[0]},
                **{"axis": poses[i - 1][0][:, 2], "point": poses[i - 1][1]},
                **{"xyz": p, "rpy": rotation.to_rpy(R), "com": inertia.com_of(pi)},
                mass=pi[0],
                inertia_c=six(inertia.inertia_c_of(pi)),
            )
        )
    return robot_of_screws(arm, rows)


def text(*values: float) -> str:
    return " ".join(repr(float(v)) for v in values)


@cache
def urdf_text(arm: str) -> str:
    """Link frames on the joint axes; tensors in the axes of the table's frames."""
    poses = frames(arm)
    lines = [f'<robot name="{arm}"><link name="l0"/>']
    for i, (table, pi) in enumerate(zip(TABLES[arm], bodies(arm), strict=True), 1):
        R, p = after(back(poses[max(i - 2, 0)]), poses[i - 1])
        Q, c = after(back(poses[i - 1]), after(poses[i], (np.eye(3), inertia.com_of(pi))))
        keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        about = six(inertia.inertia_c_of(pi))
        tensor = " ".join(f'{k}="{v!r}"' for k, v in zip(keys, map(float, about), strict=True))
        lines.append(
            f'<joint name="j{i}" type="{table[0]}"><parent link="l{i - 1}"/><child link="l{i}"/>'
            f'<origin xyz="{text(*p)}" rpy="{text(*rotation.to_rpy(R))}"/><axis xyz="0 0 1"/>'
            '<limit lower="-9" upper="9" effort="1" velocity="1"/></joint>'
            f'<link name="l{i}"><inertial><mass value="{float(pi[0])!r}"/>'
            f'<origin xyz="{text(*c)}" rpy="{text(*rotation.to_rpy(Q))}"/><inertia {tensor}/>'
            "</inertial></link>"
        )
    return "".join(lines) + "</robot>"


@cache
def mjcf_text(arm: str) -> str:
    """Body frames are the table's, off the joint axes."""
    poses, lines = frames(arm), ['<mujoco><compiler angle="radian"/><worldbody>']
    for i, (table, pi) in enumerate(zip(TABLES[arm], bodies(arm), strict=True), 1):
        R, p = after(back(poses[i - 1]), poses[i])
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, R.ravel())
        Q, anchor = after(back(poses[i]), poses[i - 1])
        xx, xy, xz, yy, yz, zz = six(inertia.inertia_c_of(pi))
        kind = "hinge" if table[0] == "revolute" else "slide"
        lines.append(
            f'<body name="l{i}" pos="{text(*p)}" quat="{text(*quat)}">'
            f'<inertial mass="{text(pi[0])}" '
            f'pos="{text(*inertia.com_of(pi))}" fullinertia="{text(xx, yy, zz, xy, xz, yz)}"/>'
            f'<joint name="j{i}" type="{kind}" pos="{text(*anchor)}" axis="{text(*Q[:, 2])}"/>'
        )
    return "".join(lines) + "</body>" * len(TABLES[arm]) + "</worldbody></mujoco>"


FORMS: dict[str, Callable[[str], Robot]] = {
    "urdf": lambda arm: parse_urdf(urdf_text(arm)),
    "standard": standard,
    "modified": modified,
    "screws": screws,
    "mjcf": lambda arm: parse_mjcf(mjcf_text(arm)),
}


@pytest.mark.parametrize("arm", TABLES)
@pytest.mark.parametrize("form", FORMS)
def test_torque_does_not_depend_on_the_form(arm: str, form: str) -> None:
    robot = FORMS[form](arm)
    assert robot.joints == tuple(f"j{i + 1}" for i in range(len(TABLES[arm])))
    states = random_motion(robot, 6, np.random.default_rng(1))
    tau = derive(robot).inverse_dynamics(*states)
    peer = Pinocchio(urdf_text(arm), robot).torque(*states)
    assert_allclose(tau, peer, rtol=0, atol=ROUNDOFF * np.abs(peer).max())
    other = MuJoCo(urdf_text(arm), robot).torque(*states)
    assert_allclose(tau, other, rtol=0, atol=ROUNDOFF * np.abs(peer).max())


@pytest.mark.parametrize("arm", TABLES)
def test_mujoco_itself_reads_the_file_so(arm: str) -> None:
    model = mujoco.MjModel.from_xml_string(mjcf_text(arm))
    data, robot = mujoco.MjData(model), FORMS["mjcf"](arm)
    states = random_motion(robot, 6, np.random.default_rng(2))
    tau = derive(robot).inverse_dynamics(*states)
    for k, (q, dq, ddq) in enumerate(zip(*states, strict=True)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        atol = ROUNDOFF * np.abs(tau).max()
        assert_allclose(tau[k], data.qfrc_inverse, rtol=0, atol=atol)
