"""Simple bodies as triangles, for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, Indices

_AROUND, _RINGS = 24, 7  # facets of a capsule about its axis, and rings of each of its ends


@dataclass(frozen=True, eq=False, kw_only=True)
class Solid:
    """A body of one colour or several.

    Attributes
    ----------
    vertices, normals : (V, 3) m, (V, 3)
        Corners, and the unit outward normals there.
    triangles : (T, 3)
        Indices of their corners, anticlockwise from outside.
    colours : (V,)
        As 0xRRGGBB.
    """

    vertices: Array
    normals: Array
    triangles: Indices
    colours: Indices


def capsule(a: ArrayLike, b: ArrayLike, radius: float, colour: int) -> Solid:
    """Everything within ``radius`` m of the segment from ``a`` to ``b`` (3,) m; a ball if equal."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    quarter = np.linspace(0.0, 0.5 * np.pi, _RINGS)
    latitude = np.concatenate([quarter - 0.5 * np.pi, quarter])
    longitude = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)
    x, y, z = _basis(b - a)
    flat = np.cos(longitude)[:, None] * x + np.sin(longitude)[:, None] * y
    normals = np.cos(latitude)[:, None, None] * flat + np.sin(latitude)[:, None, None] * z
    centres = np.where(np.arange(len(latitude))[:, None] < _RINGS, a, b)
    vertices = centres[:, None] + radius * normals
    ring = np.arange(len(latitude) - 1)[:, None] * _AROUND
    here, after = np.arange(_AROUND), np.roll(np.arange(_AROUND), -1)
    corners = [ring + here, ring + after, ring + here + _AROUND, ring + after + _AROUND]
    i, j, k, l = (corner.ravel() for corner in np.broadcast_arrays(*corners))
    triangles = np.concatenate([np.column_stack([i, j, l]), np.column_stack([i, l, k])])
    return _solid(vertices.reshape(-1, 3), normals.reshape(-1, 3), triangles, colour)


def box(lower: ArrayLike, upper: ArrayLike, colour: int) -> Solid:
    """Box along the axes between two opposite corners (3,) m."""
    lower, upper = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    faces = [
        patch(middle + half * normal, normal, half, colour) for normal in (*np.eye(3), *-np.eye(3))
    ]
    return joined(faces)


def patch(middle: Array, normal: Array, half: ArrayLike, colour: int) -> Solid:
    """Rectangle about ``middle``; ``half`` its sides, (3,) m along the base axes or one for all."""
    x, y, z = _basis(normal)
    corners = np.array([-x - y, x - y, x + y, -x + y])
    normals = np.broadcast_to(z, (4, 3))
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    return _solid(middle + corners * np.asarray(half), normals, triangles, colour)


def grid(middle: Array, normal: Array, half: float, step: float) -> Array:
    """Ends (lines, 2, 3) m of a square grid about ``middle`` with a line every ``step`` m."""
    x, y, _ = _basis(normal)
    count = round(half / step)
    at = step * np.arange(-count, count + 1)[:, None]
    lines = [
        np.stack([at * along - half * across, at * along + half * across], axis=1)
        for along, across in ((x, y), (y, x))
    ]
    return middle + np.concatenate(lines)


def joined(solids: Sequence[Solid]) -> Solid:
    """Several bodies as one."""
    counts = [len(solid.vertices) for solid in solids]
    starts = np.cumsum([0, *counts[:-1]])
    return Solid(
        vertices=np.concatenate([solid.vertices for solid in solids]),
        normals=np.concatenate([solid.normals for solid in solids]),
        triangles=np.concatenate(
            [solid.triangles + start for solid, start in zip(solids, starts, strict=True)]
        ),
        colours=np.concatenate([solid.colours for solid in solids]),
    )


def _solid(vertices: Array, normals: Array, triangles: Indices, colour: int) -> Solid:
    colours = np.full(len(vertices), colour, dtype=np.intp)
    return Solid(vertices=vertices, normals=normals, triangles=triangles, colours=colours)


def _basis(direction: Array) -> tuple[Array, Array, Array]:
    """Right-handed unit vectors whose last is along ``direction``, or z where that is zero."""
    length = float(np.linalg.norm(direction))
    z = direction / length if length > 0.0 else np.eye(3)[2]
    # Across from the base axis that is farthest from it: base axes give base axes.
    y = np.cross(z, np.roll(np.eye(3), -1, axis=0)[int(np.argmax(np.abs(z)))])
    y /= np.linalg.norm(y)
    return np.cross(y, z), y, z
