"""Units, frames, parameter order and stacking order: the one page.

Units
    SI everywhere inside: m, rad, kg, s, N, N·m. Other units exist only at boundaries, in the name
    (``cutoff_hz``, ``angle_deg``).
Inertial parameters
    Ten per moving link, in the link frame (URDF child frame, modified-DH frame), inertia about the
    frame **origin**: ``INERTIAL`` below, with ``mx = m·c_x``.
Columns
    Ten per link, link by link; then armature of all joints; then each friction term for all joints;
    then springs and counterbalances. A name carries a 1-based joint number: ``Izz3, armature3,
    viscous3, spring2, counterbalance2``.
Stacking
    ``tau = Y(q, dq, ddq)·theta``; row ``k·n + j`` of the stacked matrix is sample k, joint j.
Gravity
    A vector in the base frame; ``g(q)`` is +∂U/∂q, so that ``tau = M ddq + C dq + g`` holds.
    Springs likewise: their columns are +∂U/∂q, what the drive has to give.
Wrenches and twists
    Linear part first, ``(f, n)`` and ``(v, ω)``, at the named point, in the named frame.
Frames
    ``R_ab`` takes b-coordinates to a; ``p_a_ab`` is the vector from a's origin to b's, in a.
Relative error
    ``100·‖e‖/‖tau‖``, per joint and total; nothing else is called that.
"""

from __future__ import annotations

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
INERTIAL_UNITS = ("kg", *("kg·m",) * 3, *("kg·m²",) * 6)

# Pinocchio orders the tensor Ixx, Ixy, Iyy, Ixz, Iyz, Izz.
PINOCCHIO_INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")

GRAVITY = (0.0, 0.0, -9.81)

# Gravity of a robot whose base frame is turned with it; the wall's normal is the base z axis, and
# the base x axis points up.
MOUNTS = {"floor": (0.0, 0.0, -9.81), "wall": (-9.81, 0.0, 0.0), "ceiling": (0.0, 0.0, 9.81)}


def inertial_names(links: int) -> tuple[str, ...]:
    """Names of the inertial columns of ``links`` moving links, in column order."""
    return tuple(f"{name}{link + 1}" for link in range(links) for name in INERTIAL)
