"""Rotation matrices from the angles that descriptions use."""

from __future__ import annotations

from math import cos, sin

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array

# Descriptions write π/2 with as few as eleven digits: a smaller sine or cosine was meant as zero.
_MEANT = 1e-11


def from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """``R = Rz(yaw) Ry(pitch) Rx(roll)``, the fixed-axis angles of URDF."""
    return cleaned(about_z(yaw) @ about_y(pitch) @ about_x(roll))


def to_rpy(R: ArrayLike) -> Array:
    """Roll, pitch, yaw (3,) of a rotation matrix; the inverse of ``from_rpy``."""
    R = np.asarray(R, dtype=np.float64)
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    # Near gimbal lock yaw is arbitrary; roll follows from what yaw leaves, so that R is met.
    yaw = np.arctan2(R[1, 0], R[0, 0])
    rest = about_z(-yaw) @ R
    return np.array([np.arctan2(-rest[1, 2], rest[1, 1]), pitch, yaw])


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
    turned: Array = np.eye(3) + sin(angle) * S + (1.0 - cos(angle)) * S @ S
    return turned


def cleaned(R: ArrayLike) -> Array:
    """Rotation matrix or unit vector with entries within 1e-11 of 0 made exact.

    An entry becomes ±1 only where it is alone in its row: cos(3.7e-6) is 1 to 1e-11 as well, but
    next to a sine of 3.7e-6 it would make a matrix that does not quite rotate.
    """
    R = np.asarray(R, dtype=np.float64)
    R = np.where(np.abs(R) < _MEANT, 0.0, R)
    alone = np.count_nonzero(R, axis=-1, keepdims=True) == 1
    return np.where(alone & (np.abs(np.abs(R) - 1.0) < _MEANT), np.sign(R), R)
