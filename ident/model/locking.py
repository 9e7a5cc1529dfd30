"""Lock joints: what moved becomes fixed, and its links part of what carries them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model import inertia
from ident.model.drives import Drives
from ident.model.joints import Joint
from ident.model.robot import Link, Part, Robot


def lock(robot: Robot, values: Mapping[str, float]) -> Robot:
    """The robot with some joints fixed at the given positions (rad or m).

    Links behind a locked joint join their carrier, joints that mimic it are locked with it, and
    the other joints keep their drives, limits, home and names. The description is left behind,
    since it no longer is that of the robot.

    Raises
    ------
    ModelError
        An unknown joint, one that mimics another, a position outside its limits, or a drive of a
        locked joint that a joint which still moves turns as well.

    Examples
    --------
    >>> import ident
    >>> ident.lock(ident.load_robot("planar2r"), {"joint2": 0.0}).joints
    ('joint1',)
    """
    where = f"robot '{robot.name}'"
    at = {_coordinate(robot, name, value): value for name, value in values.items()}
    keep = [j for j in range(robot.n) if j not in at]
    if not keep:
        raise ModelError(where, "every joint locked", expected="one that still moves")
    links, base_parts = _lumped(robot, at, {j: new for new, j in enumerate(keep)})
    return replace(
        robot,
        links=links,
        base_parts=base_parts,
        drives=_drives(robot, keep),
        home=robot.home[keep],
        acceleration=robot.acceleration[keep],
        jerk=robot.jerk[keep],
        log_names=tuple(robot.log_names[j] for j in keep),
        description="",
    )


def _coordinate(robot: Robot, name: str, value: float) -> int:
    """Index of the coordinate of a joint that can be locked at ``value``."""
    where = f"robot '{robot.name}': joint '{name}'"
    if name not in robot.joints:
        for link in robot.links:
            if link.joint.name == name:
                remedy = f"lock '{link.joint.mimics}'"
                raise ModelError(
                    where, "a mimic joint", expected="a joint of its own", remedy=remedy
                )
        raise ModelError(where, "no such joint", expected=", ".join(robot.joints))
    j = robot.joints.index(name)
    low, high = robot.position[j]
    if not low <= float(frozen(value, (), where=where)) <= high:
        raise ModelError(where, f"locked at {value:g}", expected=f"within {low:g} to {high:g}")
    return j


def _lumped(
    robot: Robot, at: Mapping[int, float], renumbered: Mapping[int, int]
) -> tuple[tuple[Link, ...], tuple[Part, ...]]:
    """Links that still move and the parts of the base; ``at`` has positions by coordinate."""
    # Where each link, by its old index, now sits: carrier and placement in it.
    carried: dict[int, tuple[int, Array, Array]] = {-1: (-1, np.eye(3), np.zeros(3))}
    links: list[Link] = []
    base_parts = list(robot.base_parts)
    for i, link in enumerate(robot.links):
        carrier, R, p = carried[link.parent]
        joint = link.joint
        if joint.coordinate not in at:
            carried[i] = (len(links), np.eye(3), np.zeros(3))
            moved = _seen_from(joint, R, p, renumbered[joint.coordinate])
            links.append(replace(link, joint=moved, parent=carrier))
            continue
        R_j, p_j = joint.placement(at[joint.coordinate])
        R, p = R @ R_j, p + R @ p_j
        carried[i] = (carrier, R, p)
        parts = [_moved(part, R, p) for part in link.parts]
        if carrier < 0:
            base_parts += parts
        else:
            whole = links[carrier]
            pi = whole.pi + inertia.transformed(link.pi, R, p)
            links[carrier] = replace(whole, parts=(*whole.parts, *parts), pi=pi)
    return tuple(links), tuple(base_parts)


def _seen_from(joint: Joint, R: Array, p: Array, coordinate: int) -> Joint:
    """The joint as it stands in a frame where its parent sits at (R, p)."""
    letters = tuple((name, R @ direction) for name, direction in joint.letters)
    R0, p0 = R @ joint.R0, p + R @ joint.p0
    return replace(joint, R0=R0, p0=p0, letters=letters, coordinate=coordinate)


def _moved(part: Part, R: Array, p: Array) -> Part:
    """The part as it sits in a frame where its carrier sits at (R, p)."""
    letters = tuple((name, R @ direction) for name, direction in part.letters)
    return replace(part, R_ab=R @ part.R_ab, p_a_ab=p + R @ part.p_a_ab, letters=letters)


def _drives(robot: Robot, keep: list[int]) -> Drives:
    """Drives of the joints that still move.

    A drive that a locked joint used to turn as well only shifts by a constant. One that belongs to
    a locked joint, but turns with another, would go on to be felt there.
    """
    drives = robot.drives
    for j in set(range(robot.n)) - set(keep):
        for k in keep:
            if drives.coupling[j, k]:
                raise ModelError(
                    f"robot '{robot.name}': joint '{robot.joints[j]}'",
                    f"its drive also turns with joint '{robot.joints[k]}'",
                    expected="a drive that stands still with its joint",
                    remedy=f"lock '{robot.joints[k]}' too",
                )
    names = {robot.joints[j] for j in keep}
    return replace(
        drives,
        coupling=drives.coupling[np.ix_(keep, keep)],
        gear_ratio=drives.gear_ratio[keep],
        armature=drives.armature[keep],
        viscous=drives.viscous[keep],
        coulomb=drives.coulomb[keep],
        effort_rated=drives.effort_rated[keep],
        springs=tuple(spring for spring in drives.springs if spring.joint in names),
    )
