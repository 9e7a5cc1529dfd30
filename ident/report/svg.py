"""Figures as SVG text: the same bytes every time, at home in light and in dark pages."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# Stands for the page's text colour while matplotlib draws; no other line uses it.
INK = "#010203"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "ident",
    "svg.fonttype": "none",  # text stays text: small, selectable, in the page's own font
    "path.simplify_threshold": 0.25,
    "font.size": 9.0,
    "font.family": "sans-serif",
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": INK,
    "grid.alpha": 0.14,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.1,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_LOOK = 'font-family="system-ui, sans-serif" stroke-linejoin="round"'
# A picture on its own has no page to take its text colour from.
_ALONE = "<style>svg{color:#1b1f24}@media (prefers-color-scheme:dark){svg{color:#e6e8eb}}</style>"


@contextmanager
def _house_style() -> Iterator[None]:
    """Matplotlib's defaults and `_STYLE`, whatever the user's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def draw(make: Callable[[], Figure]) -> Figure:
    """The figure that ``make`` returns, drawn in the house style."""
    with _house_style():
        return make()


def svg_text(figure: Figure, key: str, title: str, *, alone: bool = False) -> str:
    """One ``<svg>`` element.

    Parameters
    ----------
    key : str
        Prefix of its ids: different for every figure of a page.
    title : str
        What it shows, for those who do not see it.
    alone : bool
        For a file of its own instead of a page: brings its text colours along.
    """
    buffer = io.StringIO()
    with _house_style():
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    head, body = buffer.getvalue().split("<svg", 1)[1].split(">", 1)
    view = re.search(r'viewBox="[^"]*"', head)
    assert view is not None
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{view[0]} role="img" {_LOOK}><title>{escape(title)}</title>'
        f"{_ALONE if alone else ''}{_compact(_own_ids(body, key))}\n"
    ).replace(INK, "currentColor")


def _own_ids(body: str, key: str) -> str:
    """Drop ids that nothing refers to, and make the others the figure's own."""
    used = set(re.findall(r"#([\w.-]+)", body))

    def kept(match: re.Match[str]) -> str:
        return f' id="{key}-{match[1]}"' if match[1] in used else ""

    body = re.sub(r' id="([^"]*)"', kept, body)
    return re.sub(r'(url\(|href=")#', rf"\1#{key}-", body)


def _compact(body: str) -> str:
    """The same picture to a hundredth of a point, in the page's font, in half the bytes."""
    body = re.sub(r'<style type="text/css">.*?</style>', "", body, flags=re.DOTALL)
    body = re.sub(r' font-family: [^;"]*;', "", body)
    body = re.sub(r' transform="rotate\(-0 [^)]*\)"', "", body)
    body = re.sub(r'(?<= [dxy]=)"[^"]*"', _rounded, body)
    body = re.sub(r"(<g[^>]*)>\s*((?:<use [^>]*/>\s*)+)</g>", _share_style, body)
    return re.sub(r"\s*\n\s*", " ", body).replace("> <", "><").strip()


def _rounded(attribute: re.Match[str]) -> str:
    return re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.2f}", attribute[0])


def _share_style(group: re.Match[str]) -> str:
    """One style for a group of equal markers instead of one for each."""
    opening, markers = group.groups()
    styles = set(re.findall(r' style="[^"]*"', markers))
    if len(styles) != 1:
        return group[0]
    style = styles.pop()
    return f"{opening}{style}>{markers.replace(style, '')}</g>"
