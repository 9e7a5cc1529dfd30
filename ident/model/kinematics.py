"""Forward kinematics of many configurations at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.model.inertia import skew
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
    for i, link in enumerate(robot.links):
        joint, R_0a, p_0a = link.joint, R[:, link.parent], p[:, link.parent]
        x = joint.multiplier * q[:, joint.coordinate] + joint.offset
        if joint.turns:
            np.matmul(R_0a, _turned(joint, x), out=R[:, i])
            p[:, i] = p_0a + R_0a @ joint.p0
        else:
            np.matmul(R_0a, joint.R0, out=R[:, i])
            p_ab = joint.p0 + np.multiply.outer(x, joint.R0 @ joint.axis)
            p[:, i] = p_0a + np.einsum("kij,kj->ki", R_0a, p_ab)
    return R, p


def _turned(joint: Joint, angle: Array) -> Array:
    """``R0 · rot(axis, angle)`` (N, 3, 3), by Rodrigues' formula."""
    odd = joint.R0 @ skew(joint.axis)
    sine, versine = np.sin(angle), 1.0 - np.cos(angle)
    parts = np.stack([odd.ravel(), (odd @ skew(joint.axis)).ravel()])
    turned = np.column_stack([sine, versine]) @ parts + joint.R0.ravel()
    return np.asarray(turned.reshape(-1, 3, 3))
