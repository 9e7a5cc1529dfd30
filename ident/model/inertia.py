"""Inertia algebra: the ten parameters of a body, their frames, and what makes them possible.

A body's parameters are the vector ``pi = (m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz)`` in the
frame and about the origin that the caller names; see ``ident.conventions``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.conventions import INERTIAL, PINOCCHIO_INERTIAL
from ident.errors import ModelError

# Positions of Ixx, Ixy, Ixz, Iyy, Iyz, Izz in a symmetric matrix, row by row.
_TENSOR = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
_FROM_PINOCCHIO = [PINOCCHIO_INERTIAL.index(name) for name in INERTIAL]
_TO_PINOCCHIO = [INERTIAL.index(name) for name in PINOCCHIO_INERTIAL]


def skew(v: ArrayLike) -> Array:
    """Matrix S(v) with ``S(v) w = v × w``."""
    x, y, z = np.asarray(v, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def tensor(six: ArrayLike) -> Array:
    """Symmetric 3×3 matrix of (Ixx, Ixy, Ixz, Iyy, Iyz, Izz)."""
    xx, xy, xz, yy, yz, zz = np.asarray(six, dtype=np.float64)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def checked_mass(mass: float, where: str) -> float:
    """``mass`` (kg) of a described body.

    Raises
    ------
    ModelError
        It is negative.
    """
    if mass < 0.0:
        raise ModelError(where, f"{mass:g} kg", expected="zero or more")
    return mass


def pi_from_com(mass: float, com: ArrayLike, inertia_c: ArrayLike) -> Array:
    """Parameters from mass (kg), COM (3,) m, and the 3×3 tensor about the COM in frame axes.

    The parallel axis theorem, ``I_o = I_c + m S(c)ᵀ S(c)``.
    """
    c, inertia = np.asarray(com, dtype=np.float64), np.asarray(inertia_c, dtype=np.float64)
    inertia_o = inertia + mass * skew(c).T @ skew(c)
    return np.concatenate([[mass], mass * c, [inertia_o[ij] for ij in _TENSOR]])


def com_of(pi: ArrayLike) -> Array:
    """Centre of mass (3,) in m; the origin for a massless body."""
    pi = np.asarray(pi, dtype=np.float64)
    com: Array = pi[1:4] / pi[0] if pi[0] else np.zeros(3)
    return com


def inertia_c_of(pi: ArrayLike) -> Array:
    """3×3 tensor about the COM, in frame axes; the inverse of ``pi_from_com``."""
    pi = np.asarray(pi, dtype=np.float64)
    c = com_of(pi)
    about_com: Array = tensor(pi[4:]) - pi[0] * skew(c).T @ skew(c)
    return about_com


def transformed(pi: ArrayLike, R_ab: ArrayLike, p_a_ab: ArrayLike) -> Array:
    """Parameters in frame a of a body given in frame b, by the congruence ``T J Tᵀ``."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R_ab, p_a_ab
    return from_pseudo_inertia(T @ pseudo_inertia(pi) @ T.T)


def pseudo_inertia(pi: ArrayLike) -> Array:
    """4×4 matrix ``[[½ tr(I) 1 − I, h], [hᵀ, m]]``, positive semidefinite iff the body can exist.

    References
    ----------
        Wensing, Kim, Slotine (2018), "Linear matrix inequalities for physically consistent inertial
        parameter identification", eq. 8.
    """
    pi = np.asarray(pi, dtype=np.float64)
    inertia = tensor(pi[4:])
    J = np.empty((4, 4))
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    J[:3, 3] = J[3, :3] = pi[1:4]
    J[3, 3] = pi[0]
    return J


def from_pseudo_inertia(J: ArrayLike) -> Array:
    """Parameters of a 4×4 pseudo-inertia; the inverse of ``pseudo_inertia``."""
    J = np.asarray(J, dtype=np.float64)
    inertia = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    return np.concatenate([[J[3, 3]], J[:3, 3], [inertia[ij] for ij in _TENSOR]])


def smallest_eigenvalue(pi: ArrayLike) -> float:
    """Smallest eigenvalue of the pseudo-inertia: negative for a body that cannot exist."""
    return float(np.linalg.eigvalsh(pseudo_inertia(pi))[0])


def triangle_violation(pi: ArrayLike) -> float:
    """By how much (kg·m²) the largest principal moment exceeds the sum of the others; 0 if not."""
    a, b, c = np.linalg.eigvalsh(inertia_c_of(pi))
    return float(max(c - a - b, -a, 0.0))


def nearest_physical(pi: ArrayLike, floor: float = 1e-3) -> Array:
    """Nearest possible body with the same mass and COM.

    The second-moment matrix about the COM, ``½ tr(I_c) 1 − I_c``, has its eigenvalues raised to
    ``floor`` times their largest magnitude: the Frobenius projection on matrices so bounded.
    """
    pi = np.asarray(pi, dtype=np.float64)
    c, inertia = com_of(pi), inertia_c_of(pi)
    values, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
    raised = np.maximum(values, floor * np.abs(values).max())
    second = (axes * raised) @ axes.T
    return pi_from_com(pi[0], c, np.trace(second) * np.eye(3) - second)


def from_pinocchio(dynamic_parameters: ArrayLike) -> Array:
    """Parameters of Pinocchio's ``toDynamicParameters`` order, (..., 10), by name."""
    return np.asarray(dynamic_parameters, dtype=np.float64)[..., _FROM_PINOCCHIO]


def to_pinocchio(pi: ArrayLike) -> Array:
    """Parameters (..., 10) in Pinocchio's order, by name."""
    return np.asarray(pi, dtype=np.float64)[..., _TO_PINOCCHIO]
