"""The adjoint of a straight-line program: gradients by reverse accumulation.

A program maps inputs x to outputs y. Its adjoint takes x and, for every output, the slope of some
number f by it, and gives the slopes of f by x: the chain rule, from the last instruction back to
the first. It costs about three times the program, however many inputs there are, and is a
straight-line program itself, so that every back end runs it.

References
----------
    Griewank, Walther (2008), "Evaluating derivatives", chapter 3.
"""

from __future__ import annotations

import sympy as sp

from ident.regressor.program import OPERATIONS, Program, Tape

SLOPE = "slope"


def adjoint(program: Program) -> Program:
    """Slopes (inputs, 1) of ``Σ slope·output`` by each input.

    The program has the further argument ``slope``, with one entry for each output that is no
    structural zero, row by row.
    """
    outputs = program.outputs[program.outputs >= 0].tolist()
    given = sp.symbols(f"{SLOPE}1:{len(outputs) + 1}")
    tape = Tape()
    values = _forward(program, tape)
    slopes = [sp.S.Zero] * len(values)

    def give(value: int, slope: sp.Expr) -> None:
        slopes[value] = tape.add(slopes[value], slope)

    for value, slope in zip(outputs, given, strict=True):
        give(value, slope)
    first = len(values) - len(program.code)
    for value, (operation, a, b) in reversed(list(enumerate(program.code.tolist(), start=first))):
        slope = slopes[value]
        match OPERATIONS[operation]:
            case "add":
                give(a, slope)
                give(b, slope)
            case "subtract":
                give(a, slope)
                give(b, -slope)
            case "multiply":
                give(a, tape.times(slope, values[b]))
                give(b, tape.times(slope, values[a]))
            case "negative":
                give(a, -slope)
            case "sin":
                give(a, tape.times(slope, tape.cos(values[a])))
            case "cos":
                give(a, -tape.times(slope, tape.sin(values[a])))
    inputs = values[: len(program.inputs)]
    arguments, start = {}, 0
    for name, size in program.arguments:
        arguments[name] = inputs[start : start + size]
        start += size
    return tape.finish({**arguments, SLOPE: given}, [[slope] for slope in slopes[: len(inputs)]])


def _forward(program: Program, tape: Tape) -> list[sp.Expr]:
    """Value of every input, constant and instruction, recorded on ``tape``."""
    values = [*sp.symbols(program.inputs), *map(sp.Float, program.constants.tolist())]
    for operation, a, b in program.code.tolist():
        x, y = values[a], values[b]
        match OPERATIONS[operation]:
            case "add":
                values.append(tape.add(x, y))
            case "subtract":
                values.append(tape.add(x, -y))
            case "multiply":
                values.append(tape.times(x, y))
            case "negative":
                values.append(-x)
            case "sin":
                values.append(tape.sin(x))
            case "cos":
                values.append(tape.cos(x))
    return values
