"""The minimal set by orthogonalisation at random states (Gautier 1991), proximal columns kept.

Columns are visited from the base to the tip; one that earlier columns already span is grouped into
them. This is Khalil's form: coefficients are link lengths and sines of twist angles, so they stay
of order one. Within a link, the parameters that Khalil groups (for a joint about z: Iyy, mz, m) come
last.

References
----------
    Gautier (1991), "Numerical calculation of the base inertial parameters of robots".
    Gautier, Khalil (1990), "Direct calculation of minimum set of inertial parameters of serial
    robots".
"""

from __future__ import annotations

import numpy as np

from ident.arrays import Array
from ident.base.basemap import BaseMap
from ident.conventions import INERTIAL
from ident.model.robot import Robot
from ident.regressor.columns import Column, Stack, States, stack
from ident.regressor.rigid import derive

# Relative to the column itself, so that units do not matter. On the registry arms what is left of a
# dependent column is below 1e-13, and of an independent one above 1e-2; twists written as 1.5708
# raise the former to 1e-9.
_DEPENDENT = 1e-7
_SAMPLES = 64  # states per link; the rank is generic, more change nothing

# Within a link whose joint turns about the first axis given: the last three are grouped.
_ORDER = {
    2: ("Ixx", "Ixy", "Ixz", "Iyz", "Izz", "mx", "my", "Iyy", "mz", "m"),
    0: ("Iyy", "Iyz", "Ixy", "Ixz", "Ixx", "my", "mz", "Izz", "mx", "m"),
    1: ("Izz", "Ixz", "Iyz", "Ixy", "Iyy", "mz", "mx", "Ixx", "my", "m"),
}


def reduce(robot: Robot) -> BaseMap:
    """Minimal set of the inertial parameters of ``robot`` in its gravity."""
    return reduce_stack(stack(derive(robot), armature=False))


def reduce_stack(columns: Stack) -> BaseMap:
    """Minimal set of all columns of a stack: what armature and friction merge with is grouped."""
    rng = np.random.default_rng(0)
    motion = random_states(columns.robot, _SAMPLES * len(columns.robot.links), rng)
    Y = columns.evaluate(motion)
    W = Y.transpose(0, 2, 1).reshape(-1, Y.shape[1])
    kept, grouping = _group(W, _visiting_order(columns))
    return BaseMap(columns=columns.names, kept=np.array(kept), grouping=grouping)


def random_states(robot: Robot, count: int, rng: np.random.Generator) -> States:
    """Independent states of unit scale: any position, |dq| ≤ 2, |ddq| ≤ 4 (SI)."""
    reach = np.where(robot.turns, np.pi, 1.0)
    q, dq, ddq = rng.uniform(-1.0, 1.0, size=(3, count, robot.n))
    return States(q=q * reach, dq=2.0 * dq, ddq=4.0 * ddq)


def _group(W: Array, order: list[int]) -> tuple[list[int], Array]:
    """Kept columns and grouping matrix of W, visiting its columns in ``order``."""
    norms = np.linalg.norm(W, axis=0)
    seen = norms > _DEPENDENT * norms.max()
    Q = np.empty((W.shape[0], 0))
    kept: list[int] = []
    for i in order:
        if not seen[i]:
            continue
        rest = W[:, i] / norms[i]
        for _ in range(2):  # twice is enough (Kahan): orthogonal to rounding
            rest = rest - Q @ (Q.T @ rest)
        size = np.linalg.norm(rest)
        if size > _DEPENDENT:
            Q = np.column_stack([Q, rest / size])
            kept.append(i)
    kept.sort()
    scale = norms[kept]
    coefficients, *_ = np.linalg.lstsq(W[:, kept] / scale, W, rcond=None)
    grouping = coefficients / scale[:, None]
    # What is left of exact zeros, judged by the torque that it would move.
    grouping[np.abs(coefficients) <= _DEPENDENT * np.where(seen, norms, np.inf)] = 0.0
    grouping[:, kept] = np.eye(len(kept))
    return kept, grouping


def _visiting_order(columns: Stack) -> list[int]:
    """Link by link; then drive columns. Within a link as ``_ORDER`` says for its axis."""
    def rank(item: tuple[int, Column]) -> tuple[int, int, int]:
        position, column = item
        if column.kind not in INERTIAL:
            return len(columns.robot.links) + 1, 0, position
        axis = columns.robot.links[column.number - 1].joint.axis
        return column.number, _ORDER[int(np.argmax(np.abs(axis)))].index(column.kind), position

    return [i for i, _ in sorted(enumerate(columns.columns), key=rank)]
