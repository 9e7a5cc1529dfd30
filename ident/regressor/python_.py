"""Programs as a Python module to read, keep and change: it needs NumPy and nothing of ident."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ident import __version__
from ident.regressor.named import Function, function_names, local_names, places, printable
from ident.regressor.statements import Operand, expression, statements

_HEAD = '''"""{robot}, written by ident {version}.

SI units: m, rad, kg, s, N, N m. Arrays may hold many samples: the last axis of an argument is its
entries, axes before it are broadcast, and the last two axes of a result are its rows and columns.
"""

import numpy as np
'''


def python_module(robot: str, functions: Sequence[Function]) -> str:
    """Source of a module with one function for each program.

    Raises
    ------
    UsageError
        Two functions, or two arguments of one, would get the same name.
    """
    text = _HEAD.format(robot=_plain(robot), version=__version__)
    for name, function in zip(function_names(robot, functions), functions, strict=True):
        text += "\n\n" + "\n".join(_definition(name, function)) + "\n"
    return text


def _definition(name: str, function: Function) -> Iterator[str]:
    arguments, output, letter = local_names(function)
    program = function.program
    rows, columns = program.outputs.shape
    yield f"def {name}({', '.join(arguments)}):"
    yield f'    """{_plain(function.about or function.name)}.'
    yield ""
    for argument, (_, size, unit) in zip(arguments, function.shapes, strict=True):
        yield f"    {argument}: (..., {size}){f' {unit}' if unit else ''}"
    yield f"    Returns {output}: (..., {rows}, {columns}), in {program.operations} operations"
    yield '    """'
    for argument in arguments:
        yield f"    {argument} = np.asarray({argument})"
    shape = ", ".join(f"{argument}.shape[:-1]" for argument in arguments)
    kind = ", ".join([*arguments, "float"])
    yield f"    shape = np.broadcast_shapes({shape})"
    yield f"    {output} = np.zeros((*shape, {rows}, {columns}), dtype=np.result_type({kind}))"
    yield from (f"    {line}" for line in _lines(function, arguments, output, letter))
    yield f"    return {output}"


def _lines(function: Function, arguments: list[str], output: str, letter: str) -> Iterator[str]:
    where, constants = places(function), function.program.constants.tolist()

    def name(operand: Operand) -> str:
        if operand.kind == "constant":
            return repr(constants[operand.number])
        if operand.kind == "result":
            return f"{letter}{operand.number}"
        argument, entry = where[operand.number]
        return f"{arguments[argument]}[..., {entry}]"

    for statement in statements(function.program):
        value = expression(statement, name, "np.{}")
        if statement.result is not None:
            yield f"{letter}{statement.result} = {value}"
            value = f"{letter}{statement.result}"
        yield from (f"{output}[..., {i}, {j}] = {value}" for i, j in statement.outputs)


def _plain(text: str) -> str:
    """Text that ends no docstring."""
    return printable(text).replace('"""', "'''").rstrip('"')
