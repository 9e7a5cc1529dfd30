"""Which columns to keep, and how the others join them: proximal parameters are kept.

Columns are visited from the base to the tip; one that earlier columns already span is grouped into
them. This is Khalil's form: coefficients are link lengths and sines of twist angles, so they stay
of order one. Within a link, the parameters that Khalil groups (for a joint about z: Iyy, mz, m)
come last. Other orders give coefficients of 12 or 147 on a Panda, and ruin condition numbers.

References
----------
    Gautier, Khalil (1990), "Direct calculation of minimum set of inertial parameters of serial
    robots".
"""

from __future__ import annotations

import numpy as np

from ident.arrays import Array, Indices, Mask
from ident.conventions import INERTIAL
from ident.errors import Finding
from ident.model.robot import Robot

# Relative to the robot's own lengths and gravity, so that units do not matter. A figure this small
# was meant as zero: a base turned by 1.5708 or 3.1416 shows up to 7e-6 of what a truly vertical
# joint hides, less than any torque sensor sees. A robot that has such figures is judged by it.
_MEANT_AS_ZERO = 3e-5
# What double precision leaves of a zero is smaller by four digits and more, over all registry
# robots in four mountings and 400 random trees.
_ZERO = 1e-10
# Of the independent columns of a link, one this strong next to the strongest may be kept; so that
# coefficients stay small where an axis is askew and a favoured column hardly shows.
_DISTINCT = 0.2
_METRES = {"m": 2, "mx": 1, "my": 1, "mz": 1}  # dimension of a column, next to that of a tensor's

# Within a link whose joint turns about the first axis given: the last three are grouped.
_ORDER = {
    2: ("Ixx", "Ixy", "Ixz", "Iyz", "Izz", "mx", "my", "Iyy", "mz", "m"),
    0: ("Iyy", "Iyz", "Ixy", "Ixz", "Ixx", "my", "mz", "Izz", "mx", "m"),
    1: ("Izz", "Ixz", "Iyz", "Ixy", "Iyy", "mz", "mx", "Ixx", "my", "m"),
}


def scales(robot: Robot) -> tuple[float, float]:
    """Length (m) and rate (rad/s) at which distances, inertia and gravity weigh about the same."""
    length = max((float(np.linalg.norm(p0)) for p0 in _distances(robot)), default=0.0) or 1.0
    return length, float(np.sqrt(np.linalg.norm(robot.gravity) / length)) or 1.0


def is_loose(robot: Robot) -> bool:
    """Whether the description has figures so small that only rounding explains them."""
    return bool(rounded_figures(robot))


def findings(robot: Robot) -> tuple[Finding, ...]:
    """That the minimal set rests on figures which are taken for rounded zeros, if it does."""
    if not (rounded := rounded_figures(robot)):
        return ()
    where, size = rounded[0]
    more = f", and {len(rounded) - 1} more such" if rounded[1:] else ""
    return (
        Finding(
            name="rounded_figures",
            severity="info",
            where=f"{robot.name}: {where}",
            found=f"a figure of {size:.1e}{more}, taken for a rounded zero: parameters that show "
            f"less than {_MEANT_AS_ZERO:g} of the strongest count as hidden",
            remedy="give angles with ten decimals (a quarter turn is 1.5707963268), or exact zeros",
        ),
    )


def zero_of(robot: Robot) -> float:
    """How small is zero, next to the largest."""
    return _MEANT_AS_ZERO if is_loose(robot) else _ZERO


def sizes(robot: Robot, columns: int) -> Array:
    """What each of the columns is in units of the robot's own length; 1 behind the inertial."""
    length, _ = scales(robot)
    inertial = length ** np.array([_METRES.get(kind, 0) for kind in INERTIAL] * len(robot.links))
    return np.concatenate([inertial, np.ones(columns - len(inertial))])


def visiting_order(robot: Robot, columns: int) -> list[list[int]]:
    """Inertial columns of each link, in ``_ORDER`` of its axis, base to tip; then all others."""
    order = []
    for i, link in enumerate(robot.links):
        preferred = _ORDER[int(np.argmax(np.abs(link.joint.axis)))]
        order.append([10 * i + INERTIAL.index(kind) for kind in preferred])
    return [*order, list(range(10 * len(robot.links), columns))]


def keep(W: Array, robot: Robot, kept: Indices | None = None) -> Indices:
    """Independent columns of rows W (N, p), visited in order; ``kept`` are some beforehand."""
    norms = np.linalg.norm(W, axis=0)
    zero = zero_of(robot)
    seen = _stronger(zero, norms, robot)
    chosen = [] if kept is None else kept.tolist()
    Q = np.linalg.qr(W[:, chosen])[0]
    for link in visiting_order(robot, W.shape[1]):
        left = np.array([i for i in link if seen[i] and i not in chosen], dtype=np.intp)
        while len(left):
            rest = W[:, left]
            for _ in range(2):  # twice is enough (Kahan): orthogonal to rounding
                rest = rest - Q @ (Q.T @ rest)
            strength = np.linalg.norm(rest, axis=0)
            independent = strength > zero * norms[left]
            if not independent.any():
                break
            first = np.argmax(independent & (strength >= _DISTINCT * strength.max()))
            Q = np.column_stack([Q, rest[:, first] / strength[first]])
            chosen.append(int(left[first]))
            left = left[independent & (left != left[first])]
    return np.array(sorted(chosen), dtype=np.intp)


def coefficients(W: Array, robot: Robot, kept: Indices) -> Array:
    """Grouping (b, p) of the columns of W (N, p) into the kept ones: ``W ≈ W[:, kept] P``."""
    norms = np.linalg.norm(W, axis=0)
    # Too weak to be kept is not too weak to be grouped: an offset of 2 mm shows with its square.
    seen = _stronger(_ZERO, norms, robot)
    Q, R = np.linalg.qr(W[:, kept])
    P = np.zeros((len(kept), W.shape[1]))
    P[:, seen] = np.linalg.solve(R, Q.T @ W[:, seen])
    # Judged by the torque that it would move.
    P[np.abs(P) * norms[kept][:, None] < _ZERO * norms] = 0.0
    P[:, kept] = np.eye(len(kept))
    return P


def _distances(robot: Robot) -> list[Array]:
    """Origins of joints in their moving parents; where the base stands, no torque tells."""
    return [link.joint.p0 for link in robot.links if link.parent >= 0]


def rounded_figures(robot: Robot) -> list[tuple[str, float]]:
    """Place and relative size of figures that only rounding explains, the largest of each place."""
    length, _ = scales(robot)
    figures = [("gravity", robot.gravity / (np.linalg.norm(robot.gravity) or 1.0))]
    for link in robot.links:
        joint, where = link.joint, f"joint '{link.joint.name}'"
        figures += [(f"{where} rotation", joint.R0), (f"{where} axis", joint.axis)]
        if link.parent >= 0:
            figures.append((f"{where} origin", joint.p0 / length))
    sizes = ((where, np.abs(values[values != 0.0])) for where, values in figures)
    small = ((where, size[size < _MEANT_AS_ZERO]) for where, size in sizes)
    return [(where, float(size.max())) for where, size in small if size.size]


def _stronger(threshold: float, norms: Array, robot: Robot) -> Mask:
    """Columns that are not zero: an inertial one next to all others, a drive's only by itself."""
    inertial = np.arange(len(norms)) < 10 * len(robot.links)
    largest = np.where(inertial, norms[inertial].max(initial=0.0), 0.0)
    return np.asarray(norms > threshold * largest)
