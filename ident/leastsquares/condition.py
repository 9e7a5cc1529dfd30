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
    return Condition(scaled=condition_number(R * magnitudes), raw=condition_number(R))


def condition_number(matrix: Array) -> float:
    """Largest singular value over the smallest; infinite where that is rounding."""
    s = np.linalg.svd(matrix, compute_uv=False)
    # Below this a singular value is rounding: the data do not show its direction.
    lost = s[-1] <= len(s) * np.finfo(float).eps * s[0]
    return float("inf") if lost else float(s[0] / s[-1])
