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

from ident.arrays import Array, Mask
from ident.base.basemap import BaseMap
from ident.conventions import INERTIAL
from ident.model.robot import Robot
from ident.regressor.columns import Column, Stack, States, stack
from ident.regressor.rigid import derive

# Relative to the column itself, and to the robot's own lengths and gravity, so that units do not
# matter. Measured on registry robots in every mounting, vendor files and random trees: what is left
# of a dependent column is below 2e-13, of an independent one above 5e-2. Between them lie angles
# written with few digits: a base tilted by 1.5708 shows the parameters of a joint that should be
# vertical to 4e-6, less than any torque sensor sees.
_DEPENDENT = 1e-5
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
    seen = _seen(np.linalg.norm(R, axis=0), columns, length)
    kept, grouping = _group(R, [i for i in _visiting_order(columns) if seen[i]])
    return BaseMap(columns=columns.names, kept=np.array(kept), grouping=grouping)


def _scales(robot: Robot) -> tuple[float, float]:
    """Length (m) and rate (rad/s) at which distances, inertia and gravity weigh about the same."""
    length = max(float(np.linalg.norm(link.joint.p0)) for link in robot.links) or 1.0
    return length, float(np.sqrt(np.linalg.norm(robot.gravity) / length)) or 1.0


def _seen(norms: Array, columns: Stack, length: float) -> Mask:
    """Which columns are more than rounding: an inertial one next to all others of its robot."""
    metres = {"m": 2, "mx": 1, "my": 1, "mz": 1}
    sizes = norms / length ** np.array([metres.get(c.kind, 0) for c in columns.columns])
    inertial = columns.inertial
    floor = _DEPENDENT * sizes[inertial].max(initial=0.0)
    return np.asarray(np.where(inertial, sizes > floor, norms > 0.0))


def random_states(robot: Robot, count: int, rng: np.random.Generator) -> States:
    """Independent states of unit scale: any position, |dq| ≤ 2, |ddq| ≤ 4 (SI)."""
    reach = np.where(robot.turns, np.pi, 1.0)
    q, dq, ddq = rng.uniform(-1.0, 1.0, size=(3, count, robot.n))
    return States(q=q * reach, dq=2.0 * dq, ddq=4.0 * ddq)


def _group(W: Array, order: list[int]) -> tuple[list[int], Array]:
    """Kept columns and grouping matrix of W, visiting its columns in ``order``."""
    norms = np.linalg.norm(W[:, order], axis=0)
    units = W[:, order] / norms
    basis = np.empty((len(W), len(order)))
    chosen: list[int] = []
    for k, rest in enumerate(units.T):
        Q = basis[:, : len(chosen)]
        for _ in range(2):  # twice is enough (Kahan): orthogonal to rounding
            rest = rest - Q @ (Q.T @ rest)
        size = np.linalg.norm(rest)
        if size > _DEPENDENT:
            basis[:, len(chosen)] = rest / size
            chosen.append(k)
    Q = basis[:, : len(chosen)]
    coefficients = np.linalg.solve(Q.T @ units[:, chosen], Q.T @ units)
    # What is left of exact zeros, judged by the torque that it would move.
    coefficients[np.abs(coefficients) <= _DEPENDENT] = 0.0
    coefficients[:, chosen] = np.eye(len(chosen))
    kept = np.array(order, dtype=np.intp)[chosen]
    grouping = np.zeros((len(kept), W.shape[1]))
    grouping[:, order] = coefficients * norms / norms[chosen][:, None]
    ascending = np.argsort(kept)
    return kept[ascending].tolist(), grouping[ascending]


def _visiting_order(columns: Stack) -> list[int]:
    """Link by link; then drive columns. Within a link as ``_ORDER`` says for its axis."""

    def rank(item: tuple[int, Column]) -> tuple[int, int, int]:
        position, column = item
        if column.kind not in INERTIAL:
            return len(columns.robot.links) + 1, 0, position
        axis = columns.robot.links[column.number - 1].joint.axis
        return column.number, _ORDER[int(np.argmax(np.abs(axis)))].index(column.kind), position

    return [i for i, _ in sorted(enumerate(columns.columns), key=rank)]
