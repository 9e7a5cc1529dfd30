"""Coefficients that keep the kinematic limits, whatever numbers an optimiser tries.

Position, velocity, acceleration and jerk are linear in the free coefficients of a joint, so that
their limits are rows ``v_i(z) ≤ 1``. The map ``x = z / (1 + Σ_i max(v_i(z), 0)^p)^(1/p)`` takes any
z to an x within all of them: the divisor is never below the largest row, nor below one. It is
smooth, and the larger p the closer x comes to the limits. An optimiser over z then needs no
constraints at all, and every one of its iterates can be played.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ident.arrays import Array
from ident.excitation.fourier import RestToRest
from ident.excitation.limits import KINEMATIC, Limits

Pullback = Callable[[Array], Array]


class Gauge:
    """The kinematic limits as seen from the start, sampled over one period."""

    def __init__(self, rest: RestToRest, limits: Limits, points: int) -> None:
        """Limits at ``points`` instants, so much tighter that they hold between these too."""
        period = 2.0 * np.pi / rest.omega
        slack = np.cos(np.pi * rest.harmonics / points)
        self.maps = rest.maps(np.arange(points) * (period / points), len(KINEMATIC))
        room = limits.half_range * slack
        off = rest.start - limits.middle
        ahead, behind = [room - off], [room + off]
        for kind in KINEMATIC[1:]:
            ahead.append(limits.largest(kind) * slack)
            behind.append(limits.largest(kind) * slack)
        limited = [k for k, allowed in enumerate(ahead) if np.isfinite(allowed).any()]
        self._rows = np.concatenate(self.maps[limited])
        self._ahead, self._behind = (
            np.repeat(1.0 / np.array(sides)[limited].T, points, axis=1) for sides in (ahead, behind)
        )

    def size(self, z: Array) -> Array:
        """Largest row (n,) of each joint: 1 where a limit is just kept."""
        return np.asarray(self._used(z)[0].max(axis=1))

    def inside(self, z: Array, sharpness: float) -> tuple[Array, Pullback]:
        """Coefficients x (n, free) within the limits, and the map from slopes by x to those by z.

        ``sharpness`` is p.
        """
        used, unit = self._used(z)
        largest = np.maximum(used.max(axis=1), 1.0)[:, None]
        ratios = (used / largest) ** (sharpness - 1.0)
        total = (ratios * used / largest).sum(axis=1) + largest[:, 0] ** -sharpness
        divisor = largest[:, 0] * total ** (1.0 / sharpness)
        x = z / divisor[:, None]
        # ∂divisor/∂v_i = (v_i/divisor)^(p−1)
        weights = ratios * total[:, None] ** (1.0 / sharpness - 1.0) * unit

        def pullback(slopes: Array) -> Array:
            along = (slopes * x).sum(axis=1) / divisor
            return np.asarray(slopes / divisor[:, None] - along[:, None] * (weights @ self._rows))

        return x, pullback

    def _used(self, z: Array) -> tuple[Array, Array]:
        """Rows (n, m) at z, zero at least, and how they grow with what they limit."""
        value = z @ self._rows.T
        unit = np.where(value > 0.0, self._ahead, -self._behind)
        return value * unit, unit
