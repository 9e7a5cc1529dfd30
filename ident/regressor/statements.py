"""Programs as statements, in the order and numbering that every text back end prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from ident.regressor.program import OPERATIONS, Program
from ident.regressor.schedule import UNARY, in_order

Kind = Literal["input", "constant", "result"]


@dataclass(frozen=True, kw_only=True)
class Operand:
    """An input or a constant, counted from 0, or a result, counted from 1."""

    kind: Kind
    number: int


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One instruction, or an output that repeats an input or a constant.

    Attributes
    ----------
    operation : str
        One of ``OPERATIONS``, or ``copy``.
    operands : tuple of Operand
        One or two.
    result : int or None
        Number of the result, where a later statement needs it.
    outputs : tuple of (row, column)
        Outputs that take the value.
    """

    operation: str
    operands: tuple[Operand, ...]
    result: int | None
    outputs: tuple[tuple[int, int], ...]


def statements(program: Program) -> Iterator[Statement]:
    """Statements of a program, depth first; results are numbered without gaps."""
    program = in_order(program)
    inputs, fixed = len(program.inputs), len(program.inputs) + len(program.constants)
    code = program.code.tolist()
    taken: dict[int, list[tuple[int, int]]] = {}
    for i, row in enumerate(program.outputs.tolist()):
        for j, value in enumerate(row):
            taken.setdefault(value, []).append((i, j))
    used = {v for _, *operands in code for v in operands}
    results: dict[int, int] = {}

    def operand(value: int) -> Operand:
        if value >= fixed:
            return Operand(kind="result", number=results[value])
        if value >= inputs:
            return Operand(kind="constant", number=value - inputs)
        return Operand(kind="input", number=value)

    def statement(operation: str, operands: tuple[Operand, ...], value: int) -> Statement:
        outputs = tuple(taken.get(value, ()))
        result = results.get(value)
        return Statement(operation=operation, operands=operands, result=result, outputs=outputs)

    for value in range(fixed):
        if value in taken:
            yield statement("copy", (operand(value),), value)
    for value, (operation, a, b) in enumerate(code, start=fixed):
        operands = (operand(a),) if operation in UNARY else (operand(a), operand(b))
        if value in used:
            results[value] = len(results) + 1
        yield statement(OPERATIONS[operation], operands, value)


def expression(statement: Statement, name: Callable[[Operand], str], function: str = "{}") -> str:
    """The right-hand side, as C and Python write it; ``function`` makes ``sin`` their sine."""
    operands = [name(operand) for operand in statement.operands]
    match statement.operation:
        case "copy":
            return operands[0]
        case "negative":
            return f"-{operands[0]}"
        case "sin" | "cos":
            return f"{function.format(statement.operation)}({operands[0]})"
    sign = {"add": "+", "subtract": "-", "multiply": "*"}[statement.operation]
    return f"{operands[0]} {sign} {operands[1]}"
