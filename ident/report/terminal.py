"""Plain text where there is no terminal; 80 columns are enough where there is."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

_PIPE_WIDTH = 1_000_000


def new_table(title: str = "") -> Table:
    """Return an empty table."""
    return Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1),
        header_style="bold",
    )


def add_column(table: Table, header: str, *, right: bool = False, wrap: bool = False) -> None:
    """Add a column whose cells are cut, or wrapped, where the terminal is narrow."""
    table.add_column(
        Text(header),
        justify="right" if right else "left",
        no_wrap=not wrap,
        overflow="fold" if wrap else "ellipsis",
    )


def print_table(console: Console, table: Table) -> None:
    """Print a table; a pipe has no edge, so there nothing is cut."""
    if console.is_terminal:
        console.print(table)
        return
    endless = console.options.update(max_width=_PIPE_WIDTH)
    width = console.measure(table, options=endless).maximum
    whole = console.render(table, endless.update(width=width))
    console.print(Segments(whole), soft_wrap=True, end="")


def print_text(console: Console, text: Text, *, hang: int = 0) -> None:
    """Print a line: wrapped on a terminal, under the first ``hang`` characters; whole in a pipe."""
    if not console.is_terminal:
        console.print(text, soft_wrap=True, highlight=False)
        return
    grid = Table.grid()
    grid.add_column(width=hang, no_wrap=True)
    grid.add_column()
    grid.add_row(text[:hang], text[hang:])
    console.print(grid if hang else text, highlight=False)


def blank(console: Console) -> None:
    """Print an empty line."""
    console.print()
