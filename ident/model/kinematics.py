"""Forward kinematics of many configurations at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.model.joints import Joint, letters_left

if TYPE_CHECKING:
    from ident.model.robot import Robot


def frames(robot: Robot, q: ArrayLike) -> tuple[Array, Array]:
    """Placement of every moving link in the base frame: R (N, links, 3, 3), p (N, links, 3) m.

    Parameters
    ----------
    q : (N, n) rad or m
        Configurations.

    Raises
    ------
    ModelError
        ``q`` has another shape, or a length of the robot is a letter still.
    """
    R, p = frames_and_base(robot, q)
    return R[:, :-1], p[:, :-1]


def frames_and_base(robot: Robot, q: ArrayLike) -> tuple[Array, Array]:
    """The same, and the base itself as the last link, so that index −1 is the base."""
    q = frozen(q, (None, robot.n), where="q")
    if robot.letters:
        raise letters_left(robot.letters, f"robot '{robot.name}'")
    R, p = (
        np.empty((len(q), len(robot.links) + 1, 3, 3)),
        np.empty((len(q), len(robot.links) + 1, 3)),
    )
    R[:, -1], p[:, -1] = np.eye(3), 0.0
    R_ab, p_ab = _placements([link.joint for link in robot.links], q)
    for i, link in enumerate(robot.links):
        R_0a, p_0a = R[:, link.parent], p[:, link.parent]
        np.matmul(R_0a, R_ab[:, i], out=R[:, i])
        p[:, i] = p_0a + (R_0a @ p_ab[:, i, :, None])[..., 0]
    return R, p


def _placements(joints: Sequence[Joint], q: Array) -> tuple[Array, Array]:
    """``R_ab`` (N, links, 3, 3) and ``p_a_ab`` (N, links, 3) of every joint, by Rodrigues."""
    gain, offset, turns = (
        np.array([getattr(joint, name) for joint in joints])
        for name in ("multiplier", "offset", "turns")
    )
    R0, p0, axis = (
        np.array([getattr(joint, name) for joint in joints]) for name in ("R0", "p0", "axis")
    )
    x = gain * q[:, [joint.coordinate for joint in joints]] + offset
    angle, way = np.where(turns, x, 0.0)[..., None, None], np.where(turns, 0.0, x)[..., None]
    # Columns of skew(a) are a × e_k.
    S = np.cross(axis[:, None], np.eye(3)).transpose(0, 2, 1)
    odd = R0 @ S
    R_ab = R0 + np.sin(angle) * odd + (1.0 - np.cos(angle)) * (odd @ S)
    return R_ab, p0 + way * (R0 @ axis[:, :, None])[..., 0]
