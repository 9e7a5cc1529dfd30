"""Exact numbers, in which the minimal set of a rational geometry is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

# Entries are elements of a field: rational numbers, or rational functions of letters.
Rows = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Field:
    """Numbers to compute with.

    Attributes
    ----------
    array : callable
        Array of such numbers from nested lists of sympy expressions.
    span : callable
        Independent rows that span the same space as those given.
    expression : callable
        Sympy expression of one such number.
    """

    array: Callable[[Any], Rows]
    span: Callable[[Rows], Rows]
    expression: Callable[[Any], sp.Expr]


def rational(letters: Sequence[sp.Symbol] = ()) -> Field:
    """Rational numbers, or rational functions of ``letters``."""
    domain = sp.QQ.frac_field(*letters) if letters else sp.QQ

    def array(values: Any) -> Rows:
        expressions = np.array(values, dtype=object)
        converted = np.empty_like(expressions)
        for i in np.ndindex(expressions.shape):
            converted[i] = domain.from_sympy(sp.sympify(expressions[i]))
        return converted

    return Field(array, lambda rows: echelon(rows, range(rows.shape[1]))[0], domain.to_sympy)


def echelon(rows: Rows, order: Sequence[int]) -> tuple[Rows, list[int]]:
    """Reduced row echelon form of exact rows, and its pivot columns, visited in ``order``."""
    left: list[Rows] = list(rows)
    done: list[Rows] = []
    pivots: list[int] = []
    for c in order:
        k = next((k for k, row in enumerate(left) if row[c]), None)
        if k is None:
            continue
        pivot = left.pop(k)
        pivot = pivot / pivot[c]
        # The array stands first: an element of a field would take it for one of its own.
        done = [row - pivot * row[c] if row[c] else row for row in done]
        left = [row - pivot * row[c] if row[c] else row for row in left]
        done.append(pivot)
        pivots.append(c)
    return (np.array(done) if done else rows[:0]), pivots
