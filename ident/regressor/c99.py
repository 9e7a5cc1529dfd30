"""Programs as C99: a header and a source that need ``math.h`` and nothing else.

No allocation, no loop, no branch, no state: each function is a list of assignments, one line per
instruction, in an order that keeps few values alive. The header serves C++ too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ident import __version__
from ident.regressor.named import (
    Function,
    function_names,
    identifier,
    local_names,
    places,
    printable,
)
from ident.regressor.statements import Operand, expression, statements

Scalar = Literal["double", "float"]

_HEADER = """\
/*
{{ about }}
 */
#ifndef {{ guard }}
#define {{ guard }}

#ifdef __cplusplus
extern "C" {
#endif
{% for f in functions %}

/*
{{ f.about }}
 */
void {{ f.name }}({{ f.declared }});
{% endfor %}

#ifdef __cplusplus
}
#endif

#endif
"""

_SOURCE = """\
/*
{{ about }}
 */
#include "{{ header }}"
{% if math %}

#include <math.h>
{% endif %}
{% for f in functions %}

void {{ f.name }}({{ f.defined }})
{
{% for line in f.lines %}
    {{ line }}
{% endfor %}
}
{% endfor %}
"""


@dataclass(frozen=True, kw_only=True)
class CFiles:
    """A header and the source that includes it.

    Attributes
    ----------
    stem : str
        Name of both files, without ``.h`` and ``.c``.
    """

    stem: str
    header: str
    source: str


@dataclass(frozen=True, kw_only=True)
class _Printed:
    """A function as the templates take it."""

    name: str
    about: str
    declared: str
    defined: str
    lines: tuple[str, ...]


def c99(robot: str, functions: Sequence[Function], *, scalar: Scalar = "double") -> CFiles:
    """C99 of the functions of a robot; matrices are row-major.

    Raises
    ------
    UsageError
        Two functions, or two arguments of one, would get the same name.
    """
    from jinja2 import Environment, StrictUndefined

    names = function_names(robot, functions)
    printed = [_printed(n, f, scalar) for n, f in zip(names, functions, strict=True)]
    stem = identifier(robot)
    templates = Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
    )
    facts = {
        "about": _commented(_about(robot, scalar)),
        "guard": f"{stem.upper()}_H",
        "header": f"{stem}.h",
        "functions": printed,
        "math": any("cos" in line or "sin" in line for f in printed for line in f.lines),
    }
    header, source = (templates.from_string(text).render(facts) for text in (_HEADER, _SOURCE))
    return CFiles(stem=stem, header=header, source=source)


def _about(robot: str, scalar: Scalar) -> Iterator[str]:
    yield f"{robot}, written by ident {__version__}."
    yield f"SI units: m, rad, kg, s, N, N m. All numbers are {scalar}; matrices are row-major."
    yield "Arguments and output of a function must not overlap."


def _printed(name: str, function: Function, scalar: Scalar) -> _Printed:
    arguments, output, letter = local_names(function)
    program = function.program
    rows, columns = program.outputs.shape
    sizes = [size for _, size in program.arguments]
    declared = [f"const {scalar} {a}[{size}]" for a, size in zip(arguments, sizes, strict=True)]
    declared.append(f"{scalar} {output}[{rows * columns}]")
    about = [f"{function.about or function.name}."]
    about += [
        f"{a}[{size}]{f', {unit}' if unit else ''}"
        for a, (_, size, unit) in zip(arguments, function.shapes, strict=True)
    ]
    about.append(f"{output}[{rows * columns}]: {rows} x {columns}, row by row")
    about.append(f"{program.operations} operations")
    return _Printed(
        name=name,
        about=_commented(about),
        declared=", ".join(declared),
        defined=", ".join(declared).replace("[", "[restrict "),
        lines=tuple(_lines(function, arguments, output, letter, scalar)),
    )


def _lines(
    function: Function, arguments: list[str], output: str, letter: str, scalar: Scalar
) -> Iterator[str]:
    program = function.program
    suffix = "f" if scalar == "float" else ""
    constants = [f"{value!r}{suffix}" for value in program.constants.tolist()]
    where = places(function)
    used: set[int] = set()

    def name(operand: Operand) -> str:
        if operand.kind == "constant":
            return constants[operand.number]
        if operand.kind == "result":
            return f"{letter}{operand.number}"
        argument, entry = where[operand.number]
        used.add(argument)
        return f"{arguments[argument]}[{entry}]"

    width = program.outputs.shape[1]
    lines = []
    for statement in statements(program):
        value = expression(statement, name, "{}" + suffix)
        if statement.result is not None:
            lines.append(f"const {scalar} {letter}{statement.result} = {value};")
            value = f"{letter}{statement.result}"
        lines += [f"{output}[{i * width + j}] = {value};" for i, j in statement.outputs]
    yield from (f"(void){a};" for k, a in enumerate(arguments) if k not in used)
    yield from lines
    zeros = np.flatnonzero(program.outputs.ravel() < 0).tolist()
    yield from (f"{output}[{k}] = 0.0{suffix};" for k in zeros)


def _commented(lines: Sequence[str] | Iterator[str]) -> str:
    """Lines of a comment, in plain characters that neither end nor nest it."""
    return "\n".join(f" * {printable(line)}".rstrip() for line in lines)
