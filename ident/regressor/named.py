"""Programs with names: what the text back ends make functions of."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from ident.errors import UsageError
from ident.regressor.program import Program

# Of C99 and C++20, and what generated code calls itself; Python names its own.
_TAKEN = frozenset(
    re.findall(
        r"\w+",
        """
        alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
        char32_t class compl concept const consteval constexpr constinit const_cast continue
        co_await co_return co_yield decltype default delete do double dynamic_cast else enum
        explicit export extern false float for friend goto if inline int long mutable namespace new
        noexcept not not_eq nullptr operator or or_eq private protected public register
        reinterpret_cast requires restrict return short signed sizeof static static_assert
        static_cast struct switch template this thread_local throw true try typedef typeid typename
        union unsigned using virtual void volatile wchar_t while xor xor_eq
        sin cos sinf cosf np
        """,
    )
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Function:
    """A program that becomes a function.

    Attributes
    ----------
    name : str
        What it computes: ``regressor``, ``gravity``.
    program : Program
    output : str
        Symbol of the output: ``Y``, ``tau``.
    about : str
        One line on what comes out, with units.
    units : tuple of str
        Of each argument; empty where it is not stated.
    """

    name: str
    program: Program
    output: str = "out"
    about: str = ""
    units: tuple[str, ...] = ()

    @property
    def shapes(self) -> tuple[tuple[str, int, str], ...]:
        """Name, size and unit of each argument."""
        units = self.units or ("",) * len(self.program.arguments)
        pairs = zip(self.program.arguments, units, strict=True)
        return tuple((name, size, unit) for (name, size), unit in pairs)


def regressor_function(program: Program, columns: str = "inertial parameters") -> Function:
    """The function of a regressor's program."""
    return Function(
        name="regressor",
        program=program,
        output="Y",
        about=f"tau = Y pi: torque (N m; N at prismatic joints) per unit of the {columns} (SI)",
        units=("rad or m", "rad/s or m/s", "rad/s^2 or m/s^2"),
    )


def identifier(name: str) -> str:
    """``name`` as an identifier of C, C++ and Python: plain letters, digits and underscores."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"\W+", "_", plain).strip("_")
    if not plain or plain[0].isdigit():
        plain = f"robot_{plain}".rstrip("_")
    taken = plain in _TAKEN or keyword.iskeyword(plain)
    return f"{plain}_" if taken else plain


def printable(text: str) -> str:
    """Text for a comment of C or Python: ASCII in one line, without what either reads otherwise."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    plain = "".join(c if c.isprintable() else " " for c in plain).replace("\\", "/")
    for pair in ("*/", "/*", "??"):
        plain = plain.replace(pair, " ".join(pair))
    return plain


def local_names(function: Function) -> tuple[list[str], str, str]:
    """Names of the arguments, of the output, and the letter that numbers intermediate values.

    Raises
    ------
    UsageError
        Two of them become the same.
    """
    arguments = [identifier(name) for name, _ in function.program.arguments]
    output = identifier(function.output)
    names = [*arguments, output]
    if len(set(names)) < len(names):
        raise UsageError(
            f"function '{function.name}'", f"names {', '.join(names)}", expected="each once"
        )
    letter = next(
        s for s in ("t", "x", "value") if not any(re.fullmatch(rf"{s}\d+", n) for n in names)
    )
    return arguments, output, letter


def places(function: Function) -> list[tuple[int, int]]:
    """Argument and entry, each from 0, that every input of the program stands for."""
    sizes = [size for _, size in function.program.arguments]
    return [(k, i) for k, size in enumerate(sizes) for i in range(size)]


def function_names(prefix: str, functions: Sequence[Function]) -> list[str]:
    """``prefix_name`` of each function.

    Raises
    ------
    UsageError
        Two functions get the same name.
    """
    stem = identifier(prefix).rstrip("_")
    names = [identifier(f"{stem}_{function.name}") for function in functions]
    if len(set(names)) < len(names):
        raise UsageError("functions", ", ".join(names), expected="each name once")
    return names
