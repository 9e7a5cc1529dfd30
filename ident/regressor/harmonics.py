"""Sums of cosines and sines of multiple angles, with polynomial coefficients.

Rotations are such sums, and so are their products and derivatives. Written so, an expression in
joint angles has one form only: what is equal looks equal, what cancels is gone, and no
simplification is left to be searched for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import sympy as sp

Number = int | Fraction | float
# Whether it is a sine, and how often each coordinate enters its angle; the first is positive.
Wave = tuple[bool, tuple[int | Fraction, ...]]
Powers = tuple[int, ...]
Key = tuple[Wave, Powers]


@dataclass(frozen=True, eq=False)
class Harmonics:
    """``Σ number · monomial · wave``; a constant has the wave ``cos 0``.

    Attributes
    ----------
    terms : mapping of (wave, powers) to number
        ``powers`` are those of the coordinates and then of the letters, one each.
    """

    terms: Mapping[Key, Number]

    def __add__(self, other: Harmonics) -> Harmonics:
        if not self.terms or not other.terms:
            return other if not self.terms else self
        terms = dict(self.terms)
        for key, x in other.terms.items():
            _add(terms, key, x)
        return Harmonics(terms)

    def __mul__(self, other: Harmonics) -> Harmonics:
        terms: dict[Key, Number] = {}
        for (wave_a, powers_a), a in self.terms.items():
            for (wave_b, powers_b), b in other.terms.items():
                powers = _sum(powers_a, powers_b)
                for wave, factor in _product(wave_a, wave_b):
                    _add(terms, (wave, powers), factor * (a * b))
        return Harmonics(terms)

    def scaled(self, factor: Number) -> Harmonics:
        """Product with a number."""
        return Harmonics({key: factor * x for key, x in self.terms.items()} if factor else {})

    def derivative(self, i: int) -> Harmonics:
        """Derivative by coordinate i, which may be an angle, a length, or both (mimic joints)."""
        terms: dict[Key, Number] = {}
        for ((sine, k), powers), x in self.terms.items():
            if k[i]:
                _add(terms, ((not sine, k), powers), (k[i] if sine else -k[i]) * x)
            if powers[i]:
                lower = (*powers[:i], powers[i] - 1, *powers[i + 1 :])
                _add(terms, ((sine, k), lower), powers[i] * x)
        return Harmonics(terms)

    @property
    def size(self) -> float:
        """Largest of the numbers."""
        return max((abs(float(x)) for x in self.terms.values()), default=0.0)

    def without_residue(self, floor: float) -> Harmonics:
        """The sum without floating-point numbers up to ``floor``, which rounding left of zeros."""
        return Harmonics(
            {k: x for k, x in self.terms.items() if not isinstance(x, float) or abs(x) > floor}
        )

    def expressions(
        self, coordinates: Sequence[sp.Symbol], letters: Sequence[sp.Symbol]
    ) -> Iterator[sp.Expr]:
        """Terms as sympy expressions."""
        symbols = (*coordinates, *letters)
        for ((sine, k), powers), x in self.terms.items():
            angle = sp.Add(*(_exact(n) * q for n, q in zip(k, coordinates, strict=True)))
            wave = sp.sin(angle) if sine else sp.cos(angle)
            monomial = sp.Mul(*(s**p for s, p in zip(symbols, powers, strict=True)))
            yield _exact(x) * monomial * wave


@dataclass(frozen=True)
class Space:
    """How many coordinates and letters the sums of one robot are about."""

    coordinates: int
    letters: int

    def constant(self, value: sp.Expr) -> Harmonics:
        """A number."""
        return self._term(False, self._still, self._one, number(value))

    def symbol(self, i: int) -> Harmonics:
        """Coordinate i as a length, or letter ``i − coordinates``."""
        powers = tuple(int(j == i) for j in range(self.coordinates + self.letters))
        return self._term(False, self._still, powers, 1)

    def wave(self, sine: bool, i: int, gain: sp.Expr) -> Harmonics:
        """Sine or cosine of ``gain`` times coordinate i."""
        often = number(gain)
        assert not isinstance(often, float)  # a joint's multiplier is a decimal
        k = tuple(often if j == i else 0 for j in range(self.coordinates))
        return self._term(sine, k, self._one, 1)

    @property
    def _still(self) -> tuple[int, ...]:
        return (0,) * self.coordinates

    @property
    def _one(self) -> Powers:
        return (0,) * (self.coordinates + self.letters)

    def _term(
        self, sine: bool, k: tuple[int | Fraction, ...], powers: Powers, x: Number
    ) -> Harmonics:
        sign, wave = _ordered(sine, k)
        return Harmonics({(wave, powers): sign * x} if sign and x else {})


def _add(terms: dict[Key, Number], key: Key, x: Number) -> None:
    total = terms.get(key, 0) + x
    if total:
        terms[key] = total
    else:
        terms.pop(key, None)


@lru_cache(maxsize=2**16)
def _sum(a: Powers, b: Powers) -> Powers:
    return tuple(x + y for x, y in zip(a, b, strict=True))


@lru_cache(maxsize=2**16)
def _product(a: Wave, b: Wave) -> tuple[tuple[Wave, Number], ...]:
    """Product of two waves, by the angles' sum and difference."""
    (sine_a, j), (sine_b, k) = a, b
    half, sine = Fraction(1, 2), sine_a != sine_b
    over = tuple(x + y for x, y in zip(j, k, strict=True))
    under = tuple(x - y for x, y in zip(j, k, strict=True))
    found: dict[Wave, Number] = {}
    for angle, factor in (
        (over, -half if sine_a and sine_b else half),
        (under, -half if sine_b and not sine_a else half),
    ):
        sign, wave = _ordered(sine, angle)
        found[wave] = found.get(wave, 0) + sign * factor
    return tuple((wave, x) for wave, x in found.items() if x)


def _ordered(sine: bool, k: tuple[int | Fraction, ...]) -> tuple[int, Wave]:
    """A wave whose first coordinate enters with a plus sign, and the sign before it."""
    first = next((x for x in k if x), 0)
    if first >= 0:
        return int(bool(first) or not sine), (sine, k)
    return (-1 if sine else 1), (sine, tuple(-x for x in k))


def number(value: sp.Expr) -> Number:
    """A number as Python's own; exact unless it is a floating-point number."""
    if value.is_Integer:
        return int(value)
    return Fraction(int(value.p), int(value.q)) if value.is_Rational else float(value)


def _exact(x: Number) -> sp.Expr:
    return sp.Float(x) if isinstance(x, float) else sp.Rational(Fraction(x))
