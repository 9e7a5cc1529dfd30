"""Base parameters as text, ``Izz1 + Iyy2 + 0.18·m3`` or Khalil's ``ZZ1 + YY2 + d3²·M3``, and LaTeX.

References
----------
    Khalil, Dombre (2004), "Modeling, identification and control of robots", §9.4: the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import sympy as sp

from ident.conventions import INERTIAL

Naming = Literal["standard", "khalil"]
Terms = Sequence[tuple[sp.Expr, str]]  # coefficient and name of each parameter of a sum

_KHALIL = {"m": "M", "mx": "MX", "my": "MY", "mz": "MZ", "armature": "IA"}
_KHALIL |= {name: name[1:].upper() for name in INERTIAL[4:]}
_NUMBERED = re.compile(r"([A-Za-z]+)(\d+)(R?)")
_MARKUP = re.compile(r"\\[A-Za-z]+|[\\{}_^, ]")  # takes no room on the page
_LINE = 46  # characters; what an article has room for beside the names
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def parameter_name(name: str, naming: Naming) -> str:
    """Name of a parameter, ``Izz1R``, or Khalil's, ``ZZ1R``."""
    match = _NUMBERED.fullmatch(name)
    if naming == "standard" or match is None or match[1] not in _KHALIL:
        return name
    return f"{_KHALIL[match[1]]}{match[2]}{match[3]}"


def plain(terms: Terms) -> str:
    """Sum as text, with standard names: ``Izz1 + Iyy2 + 0.18·m3``."""
    return _joined(((_factor(c), name) for c, name in terms), "·")


def khalil(terms: Terms) -> str:
    """Sum as text, with Khalil's names and what has one coefficient together."""
    named = [(c, parameter_name(name, "khalil")) for c, name in terms]
    return _joined(((_factor(c), _together(names)) for c, names in _shared(named)), "·")


def latex(terms: Terms, naming: Naming) -> str:
    """Sum in LaTeX, with what has one coefficient together, in lines that fit a page."""
    named = [(c, latex_name(name, naming)) for c, name in terms]
    sums = ((_latex_factor(c), _together(names, r"\left({}\right)")) for c, names in _shared(named))
    lines, width = [""], 0
    for term in _signed(sums, r"\,"):
        width += len(_MARKUP.sub("", term))
        if width > _LINE:
            lines, width = [*lines, ""], len(_MARKUP.sub("", term))
        lines[-1] += term
    return " \\\\\n&\\quad".join(lines)


def latex_name(name: str, naming: Naming) -> str:
    """Name of a parameter in LaTeX."""
    match = _NUMBERED.fullmatch(parameter_name(name, naming))
    if match is None:
        return rf"\mathrm{{{name}}}"
    kind, number, regrouped = match.groups()
    if naming == "standard" and kind in INERTIAL[4:]:
        return rf"I_{{{kind[1:]},{number}{regrouped}}}"
    letters = kind if len(kind) == 1 else rf"\mathit{{{kind}}}"
    return rf"{letters}_{{{number}{regrouped}}}"


def _shared(terms: Terms) -> list[tuple[sp.Expr, list[str]]]:
    """Names by coefficient, in order of appearance; ones and minus ones stay apart."""
    together: list[tuple[sp.Expr, list[str]]] = []
    places: dict[sp.Expr, int] = {}
    for coefficient, name in terms:
        if coefficient in places and not _is_one(coefficient):
            together[places[coefficient]][1].append(name)
        else:
            places[coefficient] = len(together)
            together.append((coefficient, [name]))
    return together


def _together(names: Sequence[str], brackets: str = "({})") -> str:
    return names[0] if len(names) == 1 else brackets.format(" + ".join(names))


def _joined(terms: Iterable[tuple[str, str]], times: str) -> str:
    return "".join(_signed(terms, times))


def _signed(terms: Iterable[tuple[str, str]], times: str) -> Iterator[str]:
    """Each term with the sign before it; the first with no more than a minus."""
    first = True
    for factor, name in terms:
        sign, size = ("-", factor[1:].lstrip()) if factor.startswith("-") else ("+", factor)
        term = f"{size}{times}{name}" if size else name
        if first:
            yield f"-{term}" if sign == "-" else term
        else:
            yield f" {sign} {term}"
        first = False


def _factor(coefficient: sp.Expr) -> str:
    """Coefficient as plain text, with its sign; nothing for a one."""
    text = str(_as_written(coefficient)).replace(" ", "")
    text = re.sub(r"\*\*(\d+)", lambda m: m[1].translate(_SUPERSCRIPTS), text)
    return _wrapped(coefficient, text.replace("*", "·"), "({})")


def _latex_factor(coefficient: sp.Expr) -> str:
    return _wrapped(coefficient, sp.latex(_as_written(coefficient)), r"\left({}\right)")


def _wrapped(coefficient: sp.Expr, text: str, brackets: str) -> str:
    if _is_one(coefficient):
        return "-" if coefficient < 0 else ""
    return brackets.format(text) if coefficient.is_Add else text


def _is_one(coefficient: sp.Expr) -> bool:
    return bool(coefficient.is_number) and abs(abs(float(coefficient)) - 1.0) < 1e-9


def _as_written(coefficient: sp.Expr) -> sp.Expr:
    """Fractions as decimal numbers, under the name of a symbol so that they print as written."""
    fractions = [x for x in coefficient.atoms(sp.Number) if not x.is_Integer]
    return coefficient.xreplace({x: _decimal(float(x)) for x in fractions})


def _decimal(x: float) -> sp.Expr:
    symbol = sp.Symbol(f"{abs(x):.10g}")
    return symbol if x >= 0 else -symbol
