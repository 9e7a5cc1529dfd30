"""Exact rank of the regressor at random rational states.

An angle whose half has a rational tangent has a rational cosine and sine, and a joint that turns by
a multiple of another follows by the addition formulas; so does everything that the regressor is
computed from. Numbers are kept modulo a large prime, where they are exact and do not grow: a
combination of columns that vanishes at all states vanishes there too, and one that does not, does
so with a chance of 1e-16 (Schwartz, Zippel).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import cos, lcm, sin, tan
from typing import Any

import numpy as np
import sympy as sp

from ident.model.geometry import ExactJoint, Geometry, Matrix
from ident.regressor.newton_euler import regressor_matrix
from ident.regressor.program import Tape

_PRIME = 2**61 - 1
_SPARE = 3  # states beyond what the number of columns asks for

Numbers = np.ndarray[Any, Any]  # integers below the prime, one per state
Turn = tuple[Any, Any]  # cosine and sine


def independent_columns(
    geometry: Geometry, order: Sequence[int], coupling: Matrix | None = None
) -> list[int]:
    """Columns that are independent of those before them in ``order``, over all motions.

    Parameters
    ----------
    geometry : Geometry
        In rational numbers.
    order : sequence of int
        Every column, in the order in which they are preferred.
    coupling : (n, n), optional
        Joint-motor coupling of the drives: their armatures are n more columns then.
    """
    return _pivots(_rows(geometry, coupling), order)


class _TurnTape(Tape):
    """A tape on which cosines and sines are inputs, under symbols of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: dict[sp.Expr, tuple[sp.Symbol, sp.Symbol]] = {}

    def cos(self, angle: sp.Expr) -> sp.Expr:
        return self._turn(angle)[0]

    def sin(self, angle: sp.Expr) -> sp.Expr:
        return self._turn(angle)[1]

    def _turn(self, angle: sp.Expr) -> tuple[sp.Symbol, sp.Symbol]:
        k = len(self.turns)
        return self.turns.setdefault(angle, (sp.Symbol(f"cos{k}"), sp.Symbol(f"sin{k}")))


def _rows(geometry: Geometry, coupling: Matrix | None) -> Numbers:
    """Regressor at enough random states to tell what is independent: a row per state and joint."""
    n = 1 + max(joint.coordinate for joint in geometry.joints)
    columns = 10 * len(geometry.joints) + (n if coupling else 0)
    states = -(-columns // n) + _SPARE
    rng = np.random.default_rng(0)

    tape = _TurnTape()
    q, dq, ddq = (sp.symbols(f"{s}1:{n + 1}") for s in ("q", "dq", "ddq"))
    Y = regressor_matrix(tape, geometry, q, dq, ddq)
    values: dict[sp.Symbol, Numbers] = {s: _random(states, rng) for s in (*q, *dq, *ddq)}
    for joint, turn in zip(geometry.joints, _turns(geometry, n, states, rng), strict=True):
        angle = tape.add(tape.times(joint.gain, q[joint.coordinate]), joint.offset)
        values |= zip(tape.turns.get(angle, ()), turn, strict=False)
    _evaluate(tape, values)

    zero = np.zeros(states, dtype=object)
    rows = [[_value(e, values) + zero for e in row] for row in Y]
    for i, row in enumerate(rows):
        for c in coupling or ():
            speed = sum(_value(a, values) * values[s] for a, s in zip(c, ddq, strict=True))
            row.append(_value(c[i], values) * speed % _PRIME + zero)
    return np.array(rows, dtype=object).transpose(2, 0, 1).reshape(-1, columns)


def _evaluate(tape: Tape, values: dict[sp.Symbol, Numbers]) -> None:
    """Add the value of every symbol of the tape that the given ones determine."""
    for symbol, expression in tape.assignments:
        if not all(s in values for s in expression.free_symbols):
            continue  # the angles themselves
        first, *others = (_value(e, values) for e in expression.args)
        for other in others:
            first = (first + other if expression.is_Add else first * other) % _PRIME
        values[symbol] = first


def _value(e: sp.Expr, values: dict[sp.Symbol, Numbers]) -> Any:
    """Value of an operand of a tape: a symbol, its negative, or a number."""
    if e.is_Symbol:
        return values[e]
    if e.is_Number:
        return _remainder(e)
    return -values[e.args[1]] % _PRIME


def _remainder(e: sp.Expr) -> int:
    return int(e.p) * pow(int(e.q), -1, _PRIME) % _PRIME


def _random(count: int, rng: np.random.Generator) -> Numbers:
    return rng.integers(1, _PRIME, size=count).astype(object)


def _turns(geometry: Geometry, n: int, count: int, rng: np.random.Generator) -> list[Turn]:
    """Random cosines and sines of every joint's angle, those of one coordinate consistent."""
    # A coordinate is so many times the angle that is drawn, so that gains of 1/2 are whole.
    parts = [
        lcm(*(joint.gain.q for joint in geometry.joints if joint.coordinate == i)) for i in range(n)
    ]
    drawn = [_turned(_random(count, rng)) for _ in range(n)]

    def turn(joint: ExactJoint) -> Turn:
        i = joint.coordinate
        whole = _power(drawn[i], int(joint.gain * parts[i]))
        return _times(whole, _fixed(float(joint.offset)))

    return [turn(joint) for joint in geometry.joints]


def _turned(t: Any) -> Turn:
    """Turn by an angle whose half has the tangent t."""
    squares = t * t
    below = np.array([pow(int(1 + s), -1, _PRIME) for s in squares], dtype=object)
    return (1 - squares) * below % _PRIME, 2 * t * below % _PRIME


def _fixed(angle: float) -> Turn:
    """A rational turn by a given angle: a quarter turn exactly, any other to 1e-15."""
    c, s = cos(angle), sin(angle)
    if min(abs(c), abs(s)) < 1e-11:
        return round(c) % _PRIME, round(s) % _PRIME
    t = sp.Rational(Fraction(tan(0.5 * angle)).limit_denominator(10**8))
    return _remainder((1 - t * t) / (1 + t * t)), _remainder(2 * t / (1 + t * t))


def _times(a: Turn, b: Turn) -> Turn:
    return (a[0] * b[0] - a[1] * b[1]) % _PRIME, (a[0] * b[1] + a[1] * b[0]) % _PRIME


def _power(turn: Turn, k: int) -> Turn:
    if k < 0:
        return _power((turn[0], -turn[1]), -k)
    whole: Turn = (1, 0)
    while k:
        if k & 1:
            whole = _times(whole, turn)
        turn, k = _times(turn, turn), k >> 1
    return whole


def _pivots(rows: Numbers, order: Sequence[int]) -> list[int]:
    """Pivot columns by elimination."""
    pivots = []
    for c in order:
        (nonzero,) = np.nonzero(rows[:, c])
        if not len(nonzero):
            continue
        pivot = rows[nonzero[0]] * pow(int(rows[nonzero[0], c]), -1, _PRIME) % _PRIME
        rows = np.delete(rows, nonzero[0], axis=0)
        rows = (rows - rows[:, c : c + 1] * pivot) % _PRIME
        pivots.append(c)
    return pivots
