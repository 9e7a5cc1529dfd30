"""Condition numbers, always with the scaling that they belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Condition numbers of one weighted regressor.

    Attributes
    ----------
    scaled : float
        Columns divided by their prior magnitudes.
    raw : float
        SI columns as they are.
    """

    scaled: float
    raw: float


def condition_numbers(R: Array, magnitudes: Array) -> Condition:
    """Condition of a factor R (p, p), with columns scaled by prior ``magnitudes`` (p,) and raw."""
    return Condition(scaled=_condition(R * magnitudes), raw=_condition(R))


def _condition(R: Array) -> float:
    s = np.linalg.svd(R, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0.0 else float("inf")
