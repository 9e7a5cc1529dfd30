"""The minimal set from the regressor at random states (Gautier 1991).

It asks nothing of the columns but their values, so it takes drives and springs of any kind, mimic
joints included. For the inertial parameters of a tree, ``base.minimal`` needs no samples; there the
two methods check each other.

References
----------
    Gautier (1991), "Numerical calculation of the base inertial parameters of robots".
"""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.base import grouping
from ident.base.basemap import BaseMap
from ident.model.robot import Robot
from ident.regressor.columns import Stack, States, stack
from ident.regressor.rigid import derive

_SAMPLES = 32  # states per link; the rank is generic, more change nothing


def reduce(robot: Robot) -> BaseMap:
    """Minimal set of the inertial parameters of ``robot`` in its gravity, by sampling."""
    return reduce_stack(rigid_stack(robot, armature=False))


def rigid_stack(robot: Robot, *, armature: bool) -> Stack:
    """The columns of the rigid mechanism."""
    return stack(derive(robot), armature=armature, springs=False)


def reduce_stack(columns: Stack) -> BaseMap:
    """Minimal set of all columns of a stack, by sampling."""
    robot = columns.robot
    sizes = grouping.sizes(robot, len(columns.names))
    W = sampled_rows(columns) / sizes
    kept = grouping.keep(W, robot)
    P = grouping.coefficients(W, robot, kept) * sizes / sizes[kept][:, None]
    return BaseMap(columns=columns.names, kept=kept, grouping=P)


def sampled_rows(columns: Stack) -> Array:
    """Rows (p, p) with the same dependencies between columns as the regressor at random states."""
    robot = columns.robot
    length, rate = grouping.scales(robot)
    unit = np.where(robot.turns, 1.0, length)
    motion = random_states(robot, _SAMPLES * len(robot.links), np.random.default_rng(0))
    Y = columns.evaluate(
        States(q=motion.q * unit, dq=motion.dq * unit * rate, ddq=motion.ddq * unit * rate**2)
    )
    W = (Y * unit[:, None, None]).transpose(0, 2, 1).reshape(-1, Y.shape[1])
    # All that orthogonality needs of the rows, in as few of them as there are columns.
    return np.asarray(np.linalg.qr(W, mode="r"))


def random_states(robot: Robot, count: int, rng: np.random.Generator) -> States:
    """Independent states of unit scale: any position, |dq| ≤ 2, |ddq| ≤ 4 (SI)."""
    reach = np.where(robot.turns, np.pi, 1.0)
    q, dq, ddq = rng.uniform(-1.0, 1.0, size=(3, count, robot.n))
    return States(q=q * reach, dq=2.0 * dq, ddq=4.0 * ddq)
