"""The minimal set by orthogonalisation at random states (Gautier 1991), proximal columns kept.

Columns are visited from the base to the tip; one that earlier columns already span is grouped into
them. This is Khalil's form: coefficients are link lengths and sines of twist angles, so they stay
of order one. Within a link, the parameters that Khalil groups (for a joint about z: Iyy, mz, m)
come last.

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
from ident.regressor.columns import Stack, States, stack
from ident.regressor.rigid import derive

# Relative to the column itself, and to the robot's own lengths and gravity, so that units do not
# matter. Measured on all registry robots in four mountings, ten vendor files and 150 random trees,
# any threshold from 4e-14 to 1e-2 finds the same rank. Between them lie angles written with few
# digits: a base turned by 1.5708 or 3.1416 shows up to 7e-6 of what a truly vertical joint hides,
# less than any torque sensor sees; that is taken for zero.
_DEPENDENT = 3e-5
# Of the independent columns of a link, one this strong next to the strongest may be kept; so that
# coefficients stay small where an axis is askew and a favoured column hardly shows.
_DISTINCT = 0.2
# What rounding leaves of a zero coefficient, relative to the column.
_ROUNDING = 1e-10
_METRES = {"m": 2, "mx": 1, "my": 1, "mz": 1}  # dimension of a column, next to that of a tensor's
_SAMPLES = 32  # states per link; the rank is generic, more change nothing

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
    robot = columns.robot
    length, rate = _scales(robot)
    unit = np.where(robot.turns, 1.0, length)
    motion = random_states(robot, _SAMPLES * len(robot.links), np.random.default_rng(0))
    Y = columns.evaluate(
        States(q=motion.q * unit, dq=motion.dq * unit * rate, ddq=motion.ddq * unit * rate**2)
    )
    W = (Y * unit[:, None, None]).transpose(0, 2, 1).reshape(-1, Y.shape[1])
    # All that orthogonality needs of the rows, in as few of them as there are columns.
    R = np.asarray(np.linalg.qr(W, mode="r"))
    sizes = length ** np.array([_METRES.get(c.kind, 0) for c in columns.columns])
    return _grouped(R / sizes, sizes, columns)


def _scales(robot: Robot) -> tuple[float, float]:
    """Length (m) and rate (rad/s) at which distances, inertia and gravity weigh about the same."""
    length = max(float(np.linalg.norm(link.joint.p0)) for link in robot.links) or 1.0
    return length, float(np.sqrt(np.linalg.norm(robot.gravity) / length)) or 1.0


def random_states(robot: Robot, count: int, rng: np.random.Generator) -> States:
    """Independent states of unit scale: any position, |dq| ≤ 2, |ddq| ≤ 4 (SI)."""
    reach = np.where(robot.turns, np.pi, 1.0)
    q, dq, ddq = rng.uniform(-1.0, 1.0, size=(3, count, robot.n))
    return States(q=q * reach, dq=2.0 * dq, ddq=4.0 * ddq)


def _grouped(W: Array, sizes: Array, columns: Stack) -> BaseMap:
    """Kept columns and grouping of W, whose columns are those of ``columns`` over ``sizes``."""
    norms = np.linalg.norm(W, axis=0)
    inertial = columns.inertial
    # An inertial column is zero next to all others of its robot, a drive's only by itself.
    seen = norms > np.where(inertial, _DEPENDENT * norms[inertial].max(initial=0.0), 0.0)
    Q, kept = np.empty((len(W), 0)), np.empty(0, dtype=np.intp)
    for link in _visiting_order(columns):
        left = np.array([i for i in link if seen[i]], dtype=np.intp)
        while len(left):
            rest = W[:, left]
            for _ in range(2):  # twice is enough (Kahan): orthogonal to rounding
                rest = rest - Q @ (Q.T @ rest)
            strength = np.linalg.norm(rest, axis=0)
            independent = strength > _DEPENDENT * norms[left]
            if not independent.any():
                break
            first = np.argmax(independent & (strength >= _DISTINCT * strength.max()))
            Q = np.column_stack([Q, rest[:, first] / strength[first]])
            kept = np.append(kept, left[first])
            left = left[independent & (left != left[first])]
    grouping = np.zeros((len(kept), W.shape[1]))
    grouping[:, seen] = np.linalg.solve(Q.T @ W[:, kept], Q.T @ W[:, seen])
    # Judged by the torque that it would move.
    grouping[np.abs(grouping) * norms[kept][:, None] < _ROUNDING * norms] = 0.0
    grouping[:, kept] = np.eye(len(kept))
    grouping *= sizes / sizes[kept][:, None]
    ascending = np.argsort(kept)
    return BaseMap(columns=columns.names, kept=kept[ascending], grouping=grouping[ascending])


def _visiting_order(columns: Stack) -> list[list[int]]:
    """Columns of each link, in ``_ORDER`` of its axis, from base to tip; then drive columns."""
    order: list[list[int]] = [[] for _ in range(len(columns.robot.links) + 1)]
    for i, column in enumerate(columns.columns):
        inertial = column.kind in INERTIAL
        order[column.number - 1 if inertial else -1].append(i)
    for link, visited in zip(columns.robot.links, order[:-1], strict=True):
        preferred = _ORDER[int(np.argmax(np.abs(link.joint.axis)))]
        visited.sort(key=lambda i: preferred.index(columns.columns[i].kind))
    return order
