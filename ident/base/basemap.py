"""BaseMap: from all parameters to the minimal set, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, Indices, frozen, locked

Standing = Literal["alone", "combination", "none"]


@dataclass(frozen=True, eq=False, kw_only=True)
class BaseMap:
    """``beta = P theta``, where ``P`` has a unit for each kept column and the grouping besides.

    Attributes
    ----------
    columns : tuple of str
        Names of all p parameters.
    kept : (b,) indices
        Columns of the regressor that are linearly independent, in order; proximal ones are kept.
    grouping : (b, p)
        P: ``Y theta = Y[:, kept] P theta`` for every motion.
    """

    columns: tuple[str, ...]
    kept: Indices
    grouping: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        object.__setattr__(self, "kept", locked(np.array(self.kept, dtype=np.intp)))
        shape = (len(self.kept), len(self.columns))
        object.__setattr__(self, "grouping", frozen(self.grouping, shape, where="grouping"))

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.kept)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters: the kept column's, with ``R`` where others joined it."""
        return tuple(
            self.columns[k] + ("R" if np.count_nonzero(row) > 1 else "")
            for k, row in zip(self.kept, self.grouping, strict=True)
        )

    @cached_property
    def expressions(self) -> tuple[str, ...]:
        """Each base parameter in the standard ones: ``Izz1 + Iyy2 + 0.18·m3``."""
        return tuple(
            _expression(row, self.columns, int(k))
            for k, row in zip(self.kept, self.grouping, strict=True)
        )

    @cached_property
    def standing(self) -> dict[str, Standing]:
        """Whether motion shows each parameter alone, in combination only, or not at all."""
        involved = self.grouping != 0.0
        solitary = involved[involved.sum(axis=1) == 1]
        alone, any_ = solitary.any(axis=0), involved.any(axis=0)
        return {
            name: "none" if not any_[i] else "alone" if alone[i] else "combination"
            for i, name in enumerate(self.columns)
        }

    def merged(self, names: Sequence[str]) -> dict[str, str]:
        """Which of ``names`` are no base parameter of their own, and the one they join."""
        joined = {}
        for i, name in enumerate(self.columns):
            if name in names and i not in self.kept and self.grouping[:, i].any():
                joined[name] = self.names[int(np.argmax(np.abs(self.grouping[:, i])))]
        return joined

    def reduce(self, theta: ArrayLike) -> Array:
        """Base parameters (b,) of all parameters (p,)."""
        return self.grouping @ np.asarray(theta, dtype=np.float64)

    def expand(self, beta: ArrayLike, prior: ArrayLike) -> Array:
        """Parameters (p,) that reproduce ``beta`` and are nearest to ``prior`` (Euclidean)."""
        theta = np.asarray(prior, dtype=np.float64)
        gap = np.asarray(beta, dtype=np.float64) - self.reduce(theta)
        expanded: Array = theta + np.linalg.pinv(self.grouping) @ gap
        return expanded


def _expression(row: Array, columns: Sequence[str], kept: int) -> str:
    order = [kept, *(int(i) for i in np.flatnonzero(row) if i != kept)]
    text = ""
    for i in order:
        size = abs(row[i])
        term = columns[i] if abs(size - 1.0) < 1e-9 else f"{size:.6g}·{columns[i]}"
        sign = "-" if row[i] < 0 else "+"
        text += f" {sign} {term}" if text else (f"-{term}" if sign == "-" else term)
    return text
