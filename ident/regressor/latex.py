r"""Programs as LaTeX: aligned assignments, a fragment for a document that loads ``amsmath``."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from ident.regressor.named import Function, local_names, places
from ident.regressor.statements import Operand, Statement, statements

# How the motion is written; other arguments keep their names.
_ACCENTS = {"q": "q", "dq": r"\dot q", "ddq": r"\ddot q"}
_PAGE = 30  # lines of an alignment


def latex(function: Function) -> str:
    """Assignments of intermediate values and outputs; what is not assigned is zero."""
    arguments, output, letter = local_names(function)
    where, program = places(function), function.program
    symbols: dict[sp.Symbol, str] = {}

    def symbol(operand: Operand) -> sp.Expr:
        if operand.kind == "constant":
            return sp.Float(float(program.constants[operand.number]))
        if operand.kind == "result":
            text = f"{letter}_{{{operand.number}}}"
        else:
            argument, entry = where[operand.number]
            name = arguments[argument]
            text = f"{_ACCENTS.get(name, _word(name))}_{{{entry + 1}}}"
        made = sp.Symbol(f"{operand.kind}{operand.number}")
        symbols[made] = text
        return made

    lines = []
    for statement in statements(program):
        value = _expression(statement, symbol)
        text = sp.latex(value, symbol_names=symbols, order="none", full_prec=False)
        if statement.result is not None:
            name = f"{letter}_{{{statement.result}}}"
            lines.append(f"{name} &= {text}")
            text = name
        for i, j in statement.outputs:
            lines.append(f"{_word(output)}_{{{i + 1},{j + 1}}} &= {text}")
    pages = [lines[k : k + _PAGE] for k in range(0, len(lines), _PAGE)]
    return "\n".join(_aligned(page) for page in pages)


def _expression(statement: Statement, symbol: Callable[[Operand], sp.Expr]) -> sp.Expr:
    a, *rest = (symbol(operand) for operand in statement.operands)
    match statement.operation:
        case "add":
            return sp.Add(a, rest[0], evaluate=False)
        case "subtract":
            return sp.Add(a, sp.Mul(-1, rest[0], evaluate=False), evaluate=False)
        case "multiply":
            return sp.Mul(a, rest[0], evaluate=False)
        case "negative":
            return sp.Mul(-1, a, evaluate=False)
        case "sin" | "cos":
            return getattr(sp, statement.operation)(a, evaluate=False)
    return a


def _aligned(lines: list[str]) -> str:
    body = " \\\\\n".join(f"  {line}" for line in lines)
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def _word(name: str) -> str:
    """A letter as it is, a Greek one by its command, a word upright."""
    printed = str(sp.latex(sp.Symbol(name)))
    return printed if len(name) == 1 or printed.startswith("\\") else rf"\mathrm{{{name}}}"
