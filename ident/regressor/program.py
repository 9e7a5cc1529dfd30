"""Straight-line programs: what a derivation leaves, and what every back end runs.

A program is a list of two-operand instructions in single-assignment form. Values are numbered:
first the inputs, then the constants, then one per instruction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from ident.arrays import Array, Indices, digest, frozen, locked
from ident.errors import ModelError

# Order matters: a program stores the position of its operation here.
OPERATIONS = ("add", "subtract", "multiply", "negative", "sin", "cos")
_SCHEMA = 2

Arguments = tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Program:
    """A straight-line program.

    Attributes
    ----------
    arguments : tuple of (name, size)
        The vectors that the inputs make up, in order: ``(("q", 6), ("dq", 6), ("ddq", 6))``.
    inputs : tuple of str
        Names of the inputs, one per entry of the arguments: ``q1, q2, …``.
    constants : (c,)
        Numbers that instructions refer to.
    code : (k, 3)
        Operation (index in ``OPERATIONS``) and two operands; a unary one repeats its operand.
    outputs : (rows, columns)
        Value number of every output; −1 is a structural zero.
    """

    arguments: Arguments
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
        assert sum(size for _, size in self.arguments) == len(self.inputs)
        fixed = len(self.inputs) + len(self.constants)
        # Each instruction refers to what stands before it.
        before = fixed + np.arange(len(self.code))[:, None]
        operations, operands = self.code[:, :1], self.code[:, 1:]
        assert ((operations >= 0) & (operations < len(OPERATIONS))).all()
        assert ((operands >= 0) & (operands < before)).all()
        assert ((self.outputs >= -1) & (self.outputs < fixed + len(self.code))).all()

    @property
    def operations(self) -> int:
        """Number of instructions that cost a floating-point operation (sign changes do not)."""
        return int(np.sum(self.code[:, 0] != OPERATIONS.index("negative")))

    @property
    def trigonometric(self) -> int:
        """Number of sines and cosines among them."""
        wanted = [OPERATIONS.index(name) for name in ("sin", "cos")]
        return int(np.isin(self.code[:, 0], wanted).sum())

    def select(self, columns: Indices) -> Program:
        """The program of some of the output columns; what only others need is dropped."""
        outputs = self.outputs[:, columns]
        first = len(self.inputs) + len(self.constants)
        needed = np.zeros(first + len(self.code), dtype=bool)
        needed[outputs[outputs >= 0]] = True
        for k in range(len(self.code) - 1, -1, -1):
            if needed[first + k]:
                needed[self.code[k, 1:]] = True
        needed[: len(self.inputs)] = True  # a caller passes them all
        number = np.append(np.cumsum(needed) - 1, -1)  # the last stands for a structural zero
        code = self.code[needed[first:]]
        return replace(
            self,
            constants=self.constants[needed[len(self.inputs) : first]],
            code=np.column_stack([code[:, 0], number[code[:, 1:]]]),
            outputs=number[outputs],
        )

    def dumps(self) -> bytes:
        """The program as JSON, behind a line with its digest."""
        facts = {
            "schema": _SCHEMA,
            "arguments": self.arguments,
            "inputs": self.inputs,
            "constants": self.constants.tolist(),
            "code": self.code.tolist(),
            "outputs": self.outputs.tolist(),
        }
        body = json.dumps(facts).encode()
        return digest([body]).encode() + b"\n" + body

    @classmethod
    def loads(cls, content: bytes) -> Program:
        """Read what ``dumps`` wrote; ValueError for anything else."""
        line, _, body = content.partition(b"\n")
        if line != digest([body]).encode():
            raise ValueError("damaged")
        facts = json.loads(body)
        if not isinstance(facts, dict) or facts.get("schema") != _SCHEMA:
            raise ValueError("another schema")
        try:
            return cls(
                arguments=tuple((str(name), int(size)) for name, size in facts["arguments"]),
                inputs=tuple(facts["inputs"]),
                constants=facts["constants"],
                code=np.array(facts["code"], dtype=np.int32).reshape(-1, 3),
                outputs=facts["outputs"],
            )
        except (KeyError, TypeError, AssertionError, OverflowError, ModelError) as e:
            raise ValueError(f"not a program: {e}") from e


class Tape:
    """Records a derivation: every sum and product becomes a symbol the moment it is formed.

    Operands are symbols, their negatives, and numbers. Equal results, up to sign, become one
    symbol, so nothing ever grows and nothing is computed twice.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._symbols: dict[tuple[object, ...], sp.Symbol] = {}
        self.assignments: list[tuple[sp.Symbol, sp.Expr]] = []

    def sin(self, angle: sp.Expr) -> sp.Expr:
        """Sine; an odd function, so that its sign comes out."""
        positive, x = _signed(angle)
        return _times_sign(positive, self._keep(("sin", x), sp.sin, x))

    def cos(self, angle: sp.Expr) -> sp.Expr:
        """Cosine."""
        _, x = _signed(angle)
        return self._keep(("cos", x), sp.cos, x)

    def add(self, *terms: sp.Expr) -> sp.Expr:
        """Sum, two terms at a time."""
        total = sp.S.Zero
        for term in terms:
            total = self._plus(total, term)
        return total

    def times(self, a: sp.Expr, b: sp.Expr) -> sp.Expr:
        """Product."""
        if a is sp.S.Zero or b is sp.S.Zero:
            return sp.S.Zero
        if a.is_Number and b.is_Number:
            return a * b
        (positive_a, x), (positive_b, y) = _signed(a), _signed(b)
        positive = positive_a == positive_b
        if x is sp.S.One or y is sp.S.One:
            return _times_sign(positive, y if x is sp.S.One else x)
        product = self._keep(("times", frozenset((x, y))), sp.Mul, x, y)
        return _times_sign(positive, product)

    def _plus(self, a: sp.Expr, b: sp.Expr) -> sp.Expr:
        if a is sp.S.Zero or b is sp.S.Zero:
            return b if a is sp.S.Zero else a
        if a.is_Number and b.is_Number:
            return a + b
        (positive_a, x), (positive_b, y) = _signed(a), _signed(b)
        if x == y:
            return self.times(sp.Integer(2), a) if positive_a == positive_b else sp.S.Zero
        if positive_a == positive_b:
            total = self._keep(("plus", frozenset((x, y))), sp.Add, x, y)
            return _times_sign(positive_a, total)
        if (known := self._symbols.get(("minus", y, x))) is not None:
            return _times_sign(positive_b, known)
        return _times_sign(positive_a, self._keep(("minus", x, y), sp.Add, x, -y))

    def _keep(
        self, key: tuple[object, ...], operation: Callable[..., sp.Expr], *operands: sp.Expr
    ) -> sp.Symbol:
        """The symbol that stands for an operation, which ``key`` tells from all others."""
        symbol = self._symbols.get(key)
        if symbol is None:
            symbol = self._symbols[key] = sp.Symbol(f"t{len(self.assignments)}")
            self.assignments.append((symbol, operation(*operands, evaluate=False)))
        return symbol

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

    def finish(
        self, arguments: Mapping[str, Sequence[sp.Symbol]], outputs: list[list[sp.Expr]]
    ) -> Program:
        """The program of ``outputs``; instructions that no output needs are dropped."""
        return _Assembler(arguments, self._needed(outputs)).assemble(outputs)

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
        self,
        arguments: Mapping[str, Sequence[sp.Symbol]],
        assignments: list[tuple[sp.Symbol, sp.Expr]],
    ) -> None:
        self._arguments = tuple((name, len(symbols)) for name, symbols in arguments.items())
        self._inputs = [symbol for symbols in arguments.values() for symbol in symbols]
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
            arguments=self._arguments,
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
            (positive, x), *rest = sorted(map(_signed, e.args), key=lambda term: not term[0])
            value = self._value(x if positive else -x)
            for positive, x in rest:
                value = self._emit("add" if positive else "subtract", value, self._value(x))
        elif e.is_Mul and e.args[0] is sp.S.NegativeOne:
            value = self._emit("negative", self._value(-e))
        else:
            first, *factors = e.args
            value = self._value(first)
            for factor in factors:
                value = self._emit("multiply", value, self._value(factor))
        self._numbers[e] = value
        return value

    def _emit(self, operation: str, a: int, b: int | None = None) -> int:
        self._code.append((OPERATIONS.index(operation), a, a if b is None else b))
        return len(self._inputs) + len(self._code) - 1


def _signed(e: sp.Expr) -> tuple[bool, sp.Expr]:
    """Whether a symbol, its negative or a number has no minus sign, and what is left without it."""
    if e.is_Symbol:
        return True, e
    if e.is_Number:
        return (True, e) if e >= 0 else (False, -e)
    sign, symbol = e.args
    assert sign is sp.S.NegativeOne and symbol.is_Symbol, e
    return False, symbol


def _times_sign(positive: bool, e: sp.Expr) -> sp.Expr:
    return e if positive else -e
