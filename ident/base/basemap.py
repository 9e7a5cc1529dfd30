"""BaseMap: from all parameters to the minimal set, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike

from ident.arrays import Array, Indices, frozen, locked
from ident.base import expressions
from ident.base.expressions import Naming, Terms
from ident.errors import ModelError

Standing = Literal["alone", "combination", "none"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Grouping(ABC):
    """Which columns are kept, and which join them.

    Attributes
    ----------
    columns : tuple of str
        Names of all p parameters.
    kept : (b,) indices
        Columns of the regressor that are linearly independent, in order; proximal ones are kept.
    """

    columns: tuple[str, ...]
    kept: Indices

    @property
    @abstractmethod
    def weights(self) -> Array:
        """Size (b, p) of the coefficients, zero where a parameter does not join."""

    @property
    @abstractmethod
    def terms(self) -> tuple[Terms, ...]:
        """Coefficient and name of each parameter of the base parameters, the kept one first."""

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.kept)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters: the kept column's, with ``R`` where others joined it."""
        several = np.count_nonzero(self.weights, axis=1) > 1
        return tuple(
            self.columns[k] + ("R" if more else "")
            for k, more in zip(self.kept, several, strict=True)
        )

    @cached_property
    def expressions(self) -> tuple[str, ...]:
        """Each base parameter in the standard ones: ``Izz1 + Iyy2 + 0.18·m3``."""
        return tuple(expressions.plain(terms) for terms in self.terms)

    @cached_property
    def khalil(self) -> tuple[str, ...]:
        """Each base parameter in the classic form: ``ZZ1R = ZZ1 + YY2 + d3²·(M3 + M4)``."""
        return tuple(
            f"{expressions.parameter_name(name, 'khalil')} = {expressions.khalil(terms)}"
            for name, terms in zip(self.names, self.terms, strict=True)
        )

    def latex(self, naming: Naming = "standard") -> tuple[str, ...]:
        """Each base parameter as a line of an ``align*`` environment (amsmath)."""
        return tuple(
            rf"{expressions.latex_name(name, naming)} &= {expressions.latex(terms, naming)}"
            for name, terms in zip(self.names, self.terms, strict=True)
        )

    @cached_property
    def standing(self) -> dict[str, Standing]:
        """Whether motion shows each parameter alone, in combination only, or not at all."""
        involved = self.weights != 0.0
        solitary = involved[involved.sum(axis=1) == 1]
        alone, any_ = solitary.any(axis=0), involved.any(axis=0)
        return {
            name: "none" if not any_[i] else "alone" if alone[i] else "combination"
            for i, name in enumerate(self.columns)
        }

    def merged(self, names: Sequence[str]) -> dict[str, str]:
        """Which of ``names`` are no base parameter of their own, and the one they join."""
        joined, weights = {}, self.weights
        for i, name in enumerate(self.columns):
            if name in names and i not in self.kept and weights[:, i].any():
                joined[name] = self.names[int(np.argmax(weights[:, i]))]
        return joined


@dataclass(frozen=True, eq=False, kw_only=True)
class BaseMap(Grouping):
    """``beta = P theta``, where ``P`` has a unit for each kept column and the grouping besides.

    Attributes
    ----------
    grouping : (b, p)
        P: ``Y theta = Y[:, kept] P theta`` for every motion.
    """

    grouping: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        object.__setattr__(self, "kept", locked(np.array(self.kept, dtype=np.intp)))
        shape = (len(self.kept), len(self.columns))
        object.__setattr__(self, "grouping", frozen(self.grouping, shape, where="grouping"))

    @property
    def weights(self) -> Array:
        """Size (b, p) of the coefficients."""
        return np.abs(self.grouping)

    @cached_property
    def terms(self) -> tuple[Terms, ...]:
        """Coefficient and name of each parameter of the base parameters."""
        rows = ({int(i): sp.Float(row[i]) for i in np.flatnonzero(row)} for row in self.grouping)
        return tuple(
            _kept_first(row, k, self.columns) for row, k in zip(rows, self.kept, strict=True)
        )

    def reduce(self, theta: ArrayLike) -> Array:
        """Base parameters (b,) of all parameters (p,).

        Raises
        ------
        ModelError
            Parameters of another number, or not finite.
        """
        return self.grouping @ frozen(theta, (len(self.columns),), where="theta")

    def expand(self, beta: ArrayLike, prior: ArrayLike) -> Array:
        """Parameters (p,) that reproduce ``beta`` and are nearest to ``prior`` (Euclidean).

        Raises
        ------
        ModelError
            Parameters of another number, or not finite.
        """
        theta = frozen(prior, (len(self.columns),), where="prior")
        gap = frozen(beta, (self.rank,), where="beta") - self.reduce(theta)
        expanded: Array = theta + np.linalg.pinv(self.grouping) @ gap
        return expanded


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactBaseMap(Grouping):
    """A ``BaseMap`` in rational numbers, or in the lengths of the robot that are letters.

    Attributes
    ----------
    coefficients : tuple of dict
        Per base parameter, the coefficient of each parameter that enters it, as a sympy expression.
    letters : tuple of sympy.Symbol
        What may stand in them.
    """

    coefficients: tuple[dict[int, sp.Expr], ...]
    letters: tuple[sp.Symbol, ...] = ()

    @cached_property
    def weights(self) -> Array:
        """Size (b, p) of the coefficients; of those with letters, that for lengths near 1 m."""
        near = {letter: 1.0 + 0.01 * k for k, letter in enumerate(self.letters)}
        return locked(np.abs(self._filled(near)))

    @cached_property
    def terms(self) -> tuple[Terms, ...]:
        """Coefficient and name of each parameter of the base parameters."""
        rows = zip(self.coefficients, self.kept, strict=True)
        return tuple(_kept_first(row, k, self.columns) for row, k in rows)

    def numbers(self, **lengths: float) -> BaseMap:
        """The same in numbers.

        Parameters
        ----------
        **lengths
            Values (m) of the letters.

        Raises
        ------
        ModelError
            A letter without a value, or a value without a letter.
        """
        known = {letter.name for letter in self.letters}
        if odd := sorted(known ^ lengths.keys()):
            found = "no value" if odd[0] in known else "no such length"
            expected = ", ".join(sorted(known)) or "none"
            raise ModelError(f"length '{odd[0]}'", found, expected=expected)
        P = self._filled({letter: lengths[letter.name] for letter in self.letters})
        return BaseMap(columns=self.columns, kept=self.kept, grouping=P)

    def _filled(self, values: dict[sp.Symbol, float]) -> Array:
        P = np.zeros((len(self.kept), len(self.columns)))
        for row, coefficients in zip(P, self.coefficients, strict=True):
            for i, coefficient in coefficients.items():
                row[i] = float(coefficient.subs(values) if values else coefficient)
        return P


def _kept_first(row: dict[int, sp.Expr], kept: int, columns: Sequence[str]) -> Terms:
    return [(row[i], columns[i]) for i in sorted(row, key=lambda i: (i != kept, i))]
