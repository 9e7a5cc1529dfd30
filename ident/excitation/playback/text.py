"""Text that controllers read: exact numbers, plain words, templates."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources

import jinja2


def number(value: float) -> str:
    """A number with all its digits, 17 at most, and a decimal point.

    YAML 1.1 takes ``1e-16`` for text and URScript takes ``2`` for an integer.
    """
    mantissa, exponent, power = repr(float(value)).partition("e")
    return mantissa + ("" if "." in mantissa else ".0") + exponent + power


def numbers(values: Iterable[float]) -> str:
    """Numbers in brackets."""
    return f"[{', '.join(map(number, values))}]"


def plain(text: str) -> str:
    """Text on one line, in ASCII, without quotes: as a comment it ends nothing early."""
    return " ".join(text.split()).encode("ascii", "replace").decode().replace('"', "'")


def rendered(template: str, **values: object) -> bytes:
    """A template of this package, filled in."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(number=number, numbers=numbers, plain=plain)
    return environment.get_template(template).render(values).encode()


def _source(template: str) -> str:
    return resources.files("ident.excitation.playback").joinpath(template).read_text("utf-8")
