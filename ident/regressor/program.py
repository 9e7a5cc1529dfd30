"""Straight-line programs: what a derivation leaves, and what every back end runs.

A program is a list of two-operand instructions in single-assignment form. Values are numbered:
first the inputs, then the constants, then one per instruction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from ident.arrays import Array, frozen, locked

# Order matters: a program stores the position of its operation here.
OPERATIONS = ("add", "subtract", "multiply", "negative", "sin", "cos")
_SCHEMA = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """A straight-line program.

    Attributes
    ----------
    inputs : tuple of str
        Names of the inputs.
    constants : (c,)
        Numbers that instructions refer to.
    code : (k, 3)
        Operation (index in ``OPERATIONS``) and two operands; a unary one repeats its operand.
    outputs : (rows, columns)
        Value number of every output; −1 is a structural zero.
    """

    inputs: tuple[str, ...]
    constants: Array
    code: NDArray[np.int32]
    outputs: NDArray[np.int32]

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        constants = frozen(self.constants, (None,), where="program constants")
        object.__setattr__(self, "constants", constants)
        for name in ("code", "outputs"):
            array = np.array(getattr(self, name), dtype=np.int32)
            assert array.ndim == 2
            object.__setattr__(self, name, locked(array))

    @property
    def operations(self) -> int:
        """Number of instructions that cost a floating-point operation (sign changes do not)."""
        return int(np.sum(self.code[:, 0] != OPERATIONS.index("negative")))

    def dumps(self) -> bytes:
        """The program as JSON."""
        facts = {
            "schema": _SCHEMA,
            "inputs": self.inputs,
            "constants": self.constants.tolist(),
            "code": self.code.tolist(),
            "outputs": self.outputs.tolist(),
        }
        return json.dumps(facts).encode()

    @classmethod
    def loads(cls, content: bytes) -> Program:
        """Read what ``dumps`` wrote; ValueError or KeyError for anything else."""
        facts = json.loads(content)
        if facts.pop("schema") != _SCHEMA:
            raise ValueError("another schema")
        return cls(
            inputs=tuple(facts["inputs"]),
            constants=facts["constants"],
            code=np.array(facts["code"], dtype=np.int32).reshape(-1, 3),
            outputs=facts["outputs"],
        )


class Tape:
    """Records a derivation: every expression becomes a symbol the moment it is formed.

    Equal expressions, up to sign, become one symbol, so nothing ever grows and nothing is computed
    twice.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._symbols: dict[sp.Expr, sp.Symbol] = {}
        self.assignments: list[tuple[sp.Symbol, sp.Expr]] = []

    def keep(self, expression: sp.Expr) -> sp.Expr:
        """The symbol, its negative, or the number that stands for ``expression``."""
        if expression.is_Atom:
            return expression
        if expression.could_extract_minus_sign():
            return -self.keep(-expression)
        symbol = self._symbols.get(expression)
        if symbol is None:
            symbol = sp.Symbol(f"t{len(self.assignments)}")
            self._symbols[expression] = symbol
            self.assignments.append((symbol, expression))
        return symbol

    def add(self, *terms: sp.Expr) -> sp.Expr:
        """Sum, two terms at a time."""
        total = sp.S.Zero
        for term in terms:
            total = self.keep(total + term)
        return total

    def times(self, a: sp.Expr, b: sp.Expr) -> sp.Expr:
        """Product."""
        return self.keep(a * b)

    def dot(self, u: list[sp.Expr], v: list[sp.Expr]) -> sp.Expr:
        """Scalar product."""
        return self.add(*(self.times(a, b) for a, b in zip(u, v, strict=True)))

    def cross(self, u: list[sp.Expr], v: list[sp.Expr]) -> list[sp.Expr]:
        """Vector product."""
        (a, b, c), (x, y, z) = u, v
        t = self.times
        return [
            self.add(t(b, z), -t(c, y)),
            self.add(t(c, x), -t(a, z)),
            self.add(t(a, y), -t(b, x)),
        ]

    def plus(self, *vectors: list[sp.Expr]) -> list[sp.Expr]:
        """Sum of vectors."""
        return [self.add(*terms) for terms in zip(*vectors, strict=True)]

    def scaled(self, factor: sp.Expr, vector: list[sp.Expr]) -> list[sp.Expr]:
        """Scalar times vector."""
        return [self.times(factor, v) for v in vector]

    def apply(self, matrix: list[list[sp.Expr]], vector: list[sp.Expr]) -> list[sp.Expr]:
        """Matrix times vector."""
        return [self.dot(row, vector) for row in matrix]

    def finish(self, inputs: list[sp.Symbol], outputs: list[list[sp.Expr]]) -> Program:
        """The program of ``outputs``; instructions that no output needs are dropped."""
        return _Assembler(inputs, self._needed(outputs)).assemble(outputs)

    def _needed(self, outputs: list[list[sp.Expr]]) -> list[tuple[sp.Symbol, sp.Expr]]:
        wanted = {s for row in outputs for e in row for s in e.free_symbols}
        needed = []
        for symbol, expression in reversed(self.assignments):
            if symbol in wanted:
                wanted |= expression.free_symbols
                needed.append((symbol, expression))
        return needed[::-1]


class _Assembler:
    """Turns assignments into numbered instructions."""

    def __init__(
        self, inputs: list[sp.Symbol], assignments: list[tuple[sp.Symbol, sp.Expr]]
    ) -> None:
        self._inputs = inputs
        self._assignments = assignments
        self._constants: dict[float, int] = {}
        self._code: list[tuple[int, int, int]] = []
        self._numbers: dict[sp.Expr, int] = {}

    def assemble(self, outputs: list[list[sp.Expr]]) -> Program:
        # Until all constants are known, constant k is −1 − k and instruction k is inputs + k.
        self._numbers = {symbol: i for i, symbol in enumerate(self._inputs)}
        for symbol, expression in self._assignments:
            self._numbers[symbol] = self._value(expression)
        rows = [[None if e.is_zero else self._value(e) for e in row] for row in outputs]
        return Program(
            inputs=tuple(symbol.name for symbol in self._inputs),
            constants=np.array(list(self._constants)),
            code=np.array(
                [(op, self._final(a), self._final(b)) for op, a, b in self._code], dtype=np.int32
            ).reshape(-1, 3),
            outputs=np.array([[-1 if v is None else self._final(v) for v in row] for row in rows]),
        )

    def _final(self, value: int) -> int:
        inputs = len(self._inputs)
        if value < 0:
            return inputs - 1 - value
        return value if value < inputs else value + len(self._constants)

    def _value(self, e: sp.Expr) -> int:
        if (number := self._numbers.get(e)) is not None:
            return number
        if e.is_Number:
            return -1 - self._constants.setdefault(float(e), len(self._constants))
        if isinstance(e, sp.sin | sp.cos):
            value = self._emit(type(e).__name__, self._value(e.args[0]))
        elif e.is_Add:
            # A positive term first, so that a difference is one instruction.
            terms = sorted(e.args, key=lambda term: term.could_extract_minus_sign())
            value = self._value(terms[0])
            for term in terms[1:]:
                if term.could_extract_minus_sign():
                    value = self._emit("subtract", value, self._value(-term))
                else:
                    value = self._emit("add", value, self._value(term))
        elif e.is_Mul and e.args[0] is sp.S.NegativeOne:
            value = self._emit("negative", self._value(-e))
        else:
            first, *rest = _factors(e)
            value = self._value(first)
            for factor in rest:
                value = self._emit("multiply", value, self._value(factor))
        self._numbers[e] = value
        return value

    def _emit(self, operation: str, a: int, b: int | None = None) -> int:
        self._code.append((OPERATIONS.index(operation), a, a if b is None else b))
        return len(self._inputs) + len(self._code) - 1


def _factors(e: sp.Expr) -> list[sp.Expr]:
    """Factors of a product; a square counts twice."""
    if e.is_Pow and e.exp.is_Integer and e.exp > 0:
        return [e.base] * int(e.exp)
    assert e.is_Mul, e
    return [f for arg in e.args for f in (_factors(arg) if arg.is_Pow else [arg])]
