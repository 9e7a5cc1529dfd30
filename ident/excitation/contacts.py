"""Distances of straight segments from each other, from planes and from boxes, with their slopes.

Arrays hold vectors along their first axis, (3, …), so that a component is one contiguous block.
Every function gives the distance and, in the base frame, the point on the segment where it is
attained and the unit gradient of the distance with respect to that point. By the envelope theorem
the derivative of a least distance is that at the closest points, which may be taken for fixed.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ident.arrays import Array

Contact = tuple[Array, Array, Array]
# m: what is closer touches, and the direction between the closest points is rounding.
_TOUCHING = 1e-9
# Of the squared lengths' product: segments that are this parallel have no single closest point.
_PARALLEL = 1e-14


def segment_to_segment(a1: Array, b1: Array, a2: Array, b2: Array) -> Contact:
    """Distance of segments a1–b1 and a2–b2, either of which may be a point.

    Parameters
    ----------
    a1, b1, a2, b2 : (3, …) m
        Ends.

    Returns
    -------
    distance (…) m, point (3, …) m on the first segment, gradient (3, …)
        The gradient with respect to the point of the second segment is the negative. Where the
        segments cross it is their common normal, and zero where there is none.

    References
    ----------
    Ericson (2005), "Real-Time Collision Detection", section 5.1.9, for the clamped minimum.
    """
    u, v, r = b1 - a1, b2 - a2, a1 - a2
    uu, vv, uv, ur, vr = _dot(u, u), _dot(v, v), _dot(u, v), _dot(u, r), _dot(v, r)
    square = uu * vv - uv * uv
    skew = square > _PARALLEL * uu * vv
    s = np.where(skew, _clipped_ratio(uv * vr - ur * vv, np.where(skew, square, 1.0)), 0.0)
    t = _clipped_ratio(uv * s + vr, vv)
    s = _clipped_ratio(uv * t - ur, uu)
    point, gap = a1 + s * u, r + s * u - t * v
    distance = np.sqrt(_dot(gap, gap))
    gradient = gap / np.maximum(distance, _TOUCHING)
    if (crossing := distance < _TOUCHING).any():
        normal = np.cross(u[:, crossing], v[:, crossing], axis=0)
        gradient[:, crossing] = normal / np.maximum(np.linalg.norm(normal, axis=0), _TOUCHING**2)
    return distance, point, gradient


def segment_to_plane(a: Array, b: Array, normal: Array, height: Array) -> Contact:
    """Signed distance of segments from planes ``normal · x = height``.

    It is positive on the side to which the normals point.

    Parameters
    ----------
    a, b : (3, E, N) m
        Ends of E segments at N instants.
    normal, height : (3, E), (E,) m
        One plane per segment; normals are unit vectors.
    """
    direction = np.broadcast_to(normal[:, :, None], a.shape)
    above_a, above_b = _dot(direction, a), _dot(direction, b)
    lower = above_a <= above_b
    distance = np.where(lower, above_a, above_b) - height[:, None]
    return distance, np.where(lower, a, b), direction


def segment_to_box(a: Array, b: Array, centre: Array, half: Array) -> Contact:
    """Signed distance of segments from boxes along the axes, negative inside.

    Inside, it is minus the way from the deepest point of the segment to the nearest face. The
    signed distance from a convex body is a convex function, so that its least value over a segment
    is found exactly, piece by piece.

    Parameters
    ----------
    a, b : (3, E, N) m
        Ends of E segments at N instants.
    centre, half : (3, E) m
        Middle and half the sides of one box per segment.
    """
    y, d, h = a - centre[:, :, None], b - a, np.broadcast_to(half[:, :, None], a.shape)
    s = _nearest_outside(y, d, h)
    x = y + s * d
    beyond = np.abs(x) - h
    out = np.maximum(beyond, 0.0)
    distance = np.sqrt(_dot(out, out))
    gradient = np.sign(x) * out / np.maximum(distance, _TOUCHING)
    if (inside := (beyond <= _TOUCHING).all(axis=0)).any():
        s[inside], distance[inside], gradient[:, inside] = _deepest_inside(
            y[:, inside], d[:, inside], h[:, inside]
        )
    return distance, a + s * d, gradient


def _nearest_outside(y: Array, d: Array, h: Array) -> Array:
    """Where on y + s·d, 0 ≤ s ≤ 1, the distance from the box |x| ≤ h is least.

    Half the derivative of the squared distance rises and is linear between the s at which the
    segment passes the plane of a face.
    """
    moving = np.where(d == 0.0, 1.0, d)
    passes = np.concatenate([(h - y) / moving, (-h - y) / moving])
    ends = np.stack([np.zeros(y.shape[1:]), np.ones(y.shape[1:])])
    s = np.sort(np.concatenate([ends, np.clip(passes, 0.0, 1.0)]), axis=0)
    x = y[:, None] + s * d[:, None]
    beyond = np.sign(x) * np.maximum(np.abs(x) - h[:, None], 0.0)
    rise = _dot(d[:, None], beyond)
    below = np.clip((rise < 0.0).sum(axis=0) - 1, 0, len(s) - 2)[None]
    s0, s1, r0, r1 = (
        np.take_along_axis(array, below + i, axis=0)[0] for array in (s, rise) for i in (0, 1)
    )
    step = np.clip(np.where(r1 > r0, -r0 / np.where(r1 > r0, r1 - r0, 1.0), 0.0), 0.0, 1.0)
    # Where it falls to the very end, the end is nearest.
    return np.asarray(np.where(r1 < 0.0, s1, s0 + step * (s1 - s0)))


def _deepest_inside(y: Array, d: Array, h: Array) -> Contact:
    """Where on y + s·d the largest of the six signed distances from the faces is least, (M,).

    A largest of linear functions is least at an end, or where one that falls meets one that rises;
    its gradient there is the mean of theirs that neither rises nor falls along the segment. Also
    that least distance, and its gradient (3, M).
    """
    start, slope = np.concatenate([y - h, -y - h]), np.concatenate([d, -d])
    i, j = np.array(list(combinations(range(6), 2)), dtype=np.intp).T
    meeting = _clipped_ratio(start[i] - start[j], slope[j] - slope[i])
    s = np.concatenate([np.zeros_like(y[:1]), np.ones_like(y[:1]), meeting])
    faces = start + s[:, None] * slope
    best, every = faces.max(axis=1).argmin(axis=0), np.arange(y.shape[1])
    meets, highest = best - 2, faces[best, :, every].argmax(axis=1)
    one = np.where(meets < 0, highest, i[meets])
    other = np.where(meets < 0, highest, j[meets])
    share = _clipped_ratio(slope[other, every], slope[other, every] - slope[one, every])
    share = np.where(one == other, 1.0, share)
    normals = np.concatenate([np.eye(3), -np.eye(3)], axis=1)
    gradient = share * normals[:, one] + (1.0 - share) * normals[:, other]
    return s[best, every], faces[best, highest, every], gradient


def _dot(x: Array, y: Array) -> Array:
    return np.asarray(x[0] * y[0] + x[1] * y[1] + x[2] * y[2])


def _clipped_ratio(x: Array, y: Array) -> Array:
    """Quotient within 0 and 1; zero where y is."""
    return np.clip(np.where(y == 0.0, 0.0, x) / np.where(y == 0.0, 1.0, y), 0.0, 1.0)
