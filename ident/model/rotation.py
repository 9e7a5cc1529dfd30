"""Rotation matrices from the angles that descriptions use."""

from __future__ import annotations

from math import cos, sin

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array

# Descriptions write π/2 with as few as eleven digits; what is closer than this to 0 or ±1 was meant.
_MEANT = 1e-11


def from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """``R = Rz(yaw) Ry(pitch) Rx(roll)``, the fixed-axis angles of URDF."""
    return cleaned(about_z(yaw) @ about_y(pitch) @ about_x(roll))


def to_rpy(R: ArrayLike) -> Array:
    """Roll, pitch, yaw (3,) of a rotation matrix; the inverse of ``from_rpy``."""
    R = np.asarray(R, dtype=np.float64)
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if np.hypot(R[0, 0], R[1, 0]) < 1e-9:  # gimbal lock: only yaw − roll is defined
        return np.array([0.0, pitch, np.arctan2(-R[0, 1], R[1, 1])])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def about_x(angle: float) -> Array:
    """Rotation about x."""
    c, s = cos(angle), sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def about_y(angle: float) -> Array:
    """Rotation about y."""
    c, s = cos(angle), sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def about_z(angle: float) -> Array:
    """Rotation about z."""
    c, s = cos(angle), sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def about(axis: ArrayLike, angle: float) -> Array:
    """Rotation about a unit axis (Rodrigues)."""
    a = np.asarray(axis, dtype=np.float64)
    S = np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
    return np.eye(3) + sin(angle) * S + (1.0 - cos(angle)) * S @ S


def cleaned(R: ArrayLike) -> Array:
    """``R`` with entries within 1e-11 of 0 and ±1 made exact."""
    R = np.asarray(R, dtype=np.float64)
    nearest = np.round(R)
    return np.where(np.abs(R - nearest) < _MEANT, nearest, R) + 0.0
