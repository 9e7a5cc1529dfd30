from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.errors import ModelError
from ident.export.urdf import write_urdf
from ident.model.dh import DHRow, robot_of_table
from ident.model.drives import Drives
from ident.model.locking import lock
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.model.springs import LinearSpring
from ident.model.urdf import parse_urdf
from ident.regressor.columns import States, stack
from ident.regressor.friction import friction_terms
from ident.regressor.rigid import derive
from tests.random_robots import perturbed, random_tree
from tests.tolerances import ROUNDOFF


def still_moves(robot: Robot, locked: Robot, values: dict[str, float]) -> None:
    """The other joints need the torque that they needed while the locked ones stood still."""
    rng = np.random.default_rng(3)
    keep = [robot.joints.index(name) for name in locked.joints]
    q, dq, ddq = np.zeros((3, 5, robot.n))
    for x in (q, dq, ddq):
        x[:, keep] = rng.uniform(-1.5, 1.5, size=(5, len(keep)))
    for name, value in values.items():
        q[:, robot.joints.index(name)] = value
    tau = derive(robot).inverse_dynamics(q, dq, ddq)[:, keep]
    ours = derive(locked).inverse_dynamics(q[:, keep], dq[:, keep], ddq[:, keep])
    assert_allclose(ours, tau, rtol=0, atol=ROUNDOFF * np.abs(tau).max())


@pytest.mark.parametrize("seed", range(12))
def test_the_other_joints_need_the_same_torque(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, moving=5)
    # Identified inertias differ from those of the parts.
    robot = robot.with_pi(perturbed(robot.pi, rng))
    names = rng.choice(robot.joints, size=int(rng.integers(1, 4)), replace=False)
    values = {str(name): float(rng.uniform(-1.5, 1.5)) for name in names}
    locked = lock(robot, values)
    assert locked.joints == tuple(name for name in robot.joints if name not in values)
    still_moves(robot, locked, values)
    one_by_one = robot
    for name, value in values.items():
        one_by_one = lock(one_by_one, {name: value})
    still_moves(robot, one_by_one, values)


def test_every_part_stays_where_it_was() -> None:
    robot = load_robot("panda")
    q = robot.home
    values = {robot.joints[0]: q[0], robot.joints[3]: q[3]}
    locked = lock(robot, values)
    left = [j for j in range(7) if j not in (0, 3)]
    for arm, pose in ((robot, q), (locked, q[left])):
        R, p = arm.forward(pose)
        at = {
            part.link: p[i] + R[i] @ part.p_a_ab
            for i, link in enumerate(arm.links)
            for part in link.parts
        }
        at.update({part.link: part.p_a_ab for part in arm.base_parts})
        if arm is robot:
            before = at
    assert before.keys() == at.keys()
    for name, place in before.items():
        assert_allclose(at[name], place, rtol=0, atol=ROUNDOFF)
    assert len(locked.base_parts) == len(robot.base_parts) + len(robot.links[0].parts)


def test_what_belongs_to_the_other_joints_is_kept() -> None:
    robot = load_robot("ur5")
    springs = tuple(LinearSpring(joint=robot.joints[j]) for j in (1, 2))
    robot = replace(robot, log_names=tuple("abcdef"), drives=replace(robot.drives, springs=springs))
    locked = lock(robot, {robot.joints[1]: -1.0})
    left = [0, 2, 3, 4, 5]
    assert locked.log_names == ("a", "c", "d", "e", "f")
    for name in ("position", "velocity", "effort", "home", "acceleration", "jerk"):
        assert_array_equal(getattr(locked, name), getattr(robot, name)[left])
    for name in ("gear_ratio", "armature", "viscous", "coulomb", "effort_rated"):
        assert_array_equal(getattr(locked.drives, name), getattr(robot.drives, name)[left])
    assert locked.drives.springs == springs[1:]
    assert not locked.description
    back = parse_urdf(write_urdf(locked))
    assert back.joints == locked.joints
    assert_allclose(back.pi, locked.pi, rtol=0, atol=1e-12)
    motion = States(q=np.ones((1, 5)), dq=np.ones((1, 5)), ddq=np.ones((1, 5)))
    columns = stack(derive(locked), friction=friction_terms(locked))
    assert columns.evaluate(motion).shape == (5, 5 * 10 + 5 + 15 + 1, 1)


def test_mimics_are_locked_with_the_joint_that_they_follow() -> None:
    robot = random_tree(np.random.default_rng(2), moving=4)
    joints = [link.joint for link in robot.links]
    joints[2] = replace(joints[2], mimics=joints[0].name, multiplier=-0.5, offset=0.2, coordinate=0)
    joints[3] = replace(joints[3], coordinate=2)
    links = tuple(replace(x, joint=j) for x, j in zip(robot.links, joints, strict=True))
    fields = {"home": np.zeros(3), "acceleration": np.zeros(0), "jerk": np.zeros(0)}
    robot = replace(robot, links=links, drives=Drives.plain(3), log_names=(), **fields)
    leader = joints[0].name
    locked = lock(robot, {leader: 0.7})
    assert locked.joints == (joints[1].name, joints[3].name)
    still_moves(robot, locked, {leader: 0.7})
    other = lock(robot, {joints[1].name: 0.4})
    assert [link.joint.coordinate for link in other.links] == [0, 0, 1]
    still_moves(robot, other, {joints[1].name: 0.4})
    with pytest.raises(ModelError, match=f"a mimic joint.*lock '{leader}'"):
        lock(robot, {joints[2].name: 0.0})


def test_armature_of_a_locked_joint_is_not_felt() -> None:
    """Case B1: a point of 1 kg at 0.5 m, with a rotor of 0.1 kg·m², accelerated by 2 rad/s²."""
    row = {"a": 0.0, "alpha": 0.0, "d": 0.0, "theta": 0.0}
    point = {"mass": 1.0, "com": (0.5, 0.0, 0.0)}
    rows = [DHRow(link="l1", joint="j1", **row), DHRow(link="l2", joint="j2", **row, **point)]
    arm = robot_of_table("pendulum", "modified", rows).with_gravity([0.0, -9.81, 0.0])
    arm = replace(arm, drives=replace(arm.drives, armature=np.array([0.1, 7.0])))
    columns = stack(derive(lock(arm, {"j2": 0.0})))
    state = np.zeros((1, 1))
    tau = columns.evaluate(States(q=state, dq=state, ddq=state + 2.0))[0, :, 0] @ columns.guess
    assert tau == pytest.approx(5.605, abs=1e-12)


def coupled() -> Robot:
    robot = load_robot("ur5")
    C = np.eye(6)
    C[5, 4] = 1.0
    return replace(robot, drives=replace(robot.drives, coupling=C))


def test_a_drive_that_only_a_locked_joint_turned_as_well_is_left_with_its_own() -> None:
    robot = coupled()
    locked = lock(robot, {robot.joints[4]: 0.3})
    assert_array_equal(locked.drives.coupling, np.eye(5))
    both = lock(robot, {robot.joints[4]: 0.3, robot.joints[5]: 0.0})
    assert not both.drives.coupled


def test_a_drive_that_would_go_on_to_turn_is_named() -> None:
    robot = coupled()
    with pytest.raises(ModelError, match=r"wrist_3_joint.*also turns with joint 'wrist_2_joint'"):
        lock(robot, {robot.joints[5]: 0.0})


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"elbow": 0.0}, "joint 'elbow': no such joint.*joint1, joint2"),
        ({"joint1": 4.0}, "joint 'joint1': locked at 4.*-3.14 to 3.14"),
        ({"joint1": np.nan}, "not finite"),
        ({"joint1": 0.0, "joint2": 0.0}, "every joint locked"),
    ],
)
def test_what_cannot_be_locked_is_named(values: dict[str, float], found: str) -> None:
    with pytest.raises(ModelError, match=found):
        lock(load_robot("planar2r"), values)
