"""Joint plots of a motion before it is run: how near each joint comes to each of its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import UsageError
from ident.excitation.limits import Kind, Limits
from ident.regressor.columns import States

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Phase = tuple[str, float, float]
"""Name, start and end (s) of a part of the motion: approach, excitation, return."""

# Told apart by the colour-blind; readable on light and on dark pages.
JOINT_COLOURS = (
    "#2486c9",
    "#d9641e",
    "#159a74",
    "#b765a5",
    "#b58900",
    "#4fb0e8",
    "#c9423f",
    "#7c7f86",
)
PHASE_COLOURS = ("#8a94a0", "#e2a100", "#4fa3d8", "#159a74")
_OVER = "#d42a2a"
_SHOWN = 900  # samples of a curve
_PANEL, _BARS, _ROW = 2.55, 2.5, 1.12  # in
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.6, 0.45, 1.15, 0.5  # in, around all panels
_NAMES = 0.4  # in, more room for the names of bars


def colour(palette: Sequence[str], index: int) -> str:
    """Colour of a joint or phase; palettes start again when they end."""
    return palette[index % len(palette)]


def used_shares(motion: States, limits: Limits, torque: Array | None = None) -> dict[Kind, Array]:
    """Share (n,) of each limit that the samples use, by kind; zero where there is no limit.

    Of a position, it is the share of half the range that the joint goes off its middle.
    """
    series = _series(motion, limits, torque)
    middle = {"position": limits.middle}
    return {
        kind: np.abs(values - middle.get(kind, 0.0)).max(axis=0) / limits.largest(kind)
        for kind, values in series.items()
    }


def joint_plots(
    t: ArrayLike,
    motion: States,
    limits: Limits,
    *,
    phases: Sequence[Phase] = (),
    torque: ArrayLike | None = None,
    title: str = "",
) -> bytes:
    """SVG of a motion: a row per joint, a column per quantity, and the share used of each limit.

    Parameters
    ----------
    t : (N,) s
        Strictly increasing.
    motion : States
        Positions, velocities and accelerations (N, n).
    limits : Limits
        Drawn as dashed lines; no line where there is no limit.
    phases : sequence of (name, start s, end s)
        Shaded behind the curves.
    torque : (N, n) N·m or N, optional
        Predicted joint torque: a column of its own.

    Raises
    ------
    UsageError
        Times do not increase, or an array has another shape.
    """
    from ident.report.svg import draw, svg_text

    t = checked_times(t)
    shape = (len(t), len(limits.joints))
    tau = None if torque is None else frozen(torque, shape, where="torque", error=UsageError)
    for name in ("q", "dq", "ddq"):
        frozen(getattr(motion, name), shape, where=f"motion {name}", error=UsageError)
    figure = draw(lambda: _figure(t, motion, limits, phases, tau, title))
    shown = title or "Motion of every joint"
    about = f"{shown}: {', '.join(_series(motion, limits, tau))} and their limits"
    return svg_text(figure, "preview", about, alone=True).encode(errors="replace")


def checked_times(t: ArrayLike) -> Array:
    """Times (N,) s, at least two, locked.

    Raises
    ------
    UsageError
        They do not increase.
    """
    t = frozen(t, (None,), where="times", error=UsageError)
    if len(t) < 2 or (np.diff(t) <= 0.0).any():
        found = f"{len(t)} times" if len(t) < 2 else "a time that is not after the one before"
        raise UsageError("times", found, expected="at least two, strictly increasing")
    return t


def _series(motion: States, limits: Limits, torque: Array | None) -> dict[Kind, Array]:
    """What is shown, by kind, in order of the columns."""
    series: dict[Kind, Array] = {
        "position": motion.q,
        "velocity": motion.dq,
        "acceleration": motion.ddq,
    }
    return series if torque is None else series | {"torque": torque}


def _figure(
    t: Array,
    motion: States,
    limits: Limits,
    phases: Sequence[Phase],
    torque: Array | None,
    title: str,
) -> Figure:
    from matplotlib.figure import Figure

    series, shares = _series(motion, limits, torque), used_shares(motion, limits, torque)
    n = len(limits.joints)
    inner = (len(series) * _PANEL + _BARS, n * _ROW)
    width, height = inner[0] + _LEFT + _RIGHT, inner[1] + _TOP + _BOTTOM
    figure = Figure(figsize=(width, height))
    grid = figure.subplots(
        n,
        len(series) + 1,
        squeeze=False,
        width_ratios=[_PANEL] * len(series) + [_BARS],
        gridspec_kw={
            "left": _LEFT / width,
            "right": 1.0 - _RIGHT / width,
            "top": 1.0 - _TOP / height,
            "bottom": _BOTTOM / height,
            "wspace": 0.28,
            "hspace": 0.42,
        },
    )
    some = np.unique(np.linspace(0, len(t) - 1, _SHOWN).round().astype(np.intp))
    for j, (*panels, last) in enumerate(grid):
        for axes, (kind, values) in zip(panels, series.items(), strict=True):
            _panel(axes, t[some], values[some, j], limits, kind, j)
            _shade(axes, phases)
            axes.set_xlim(t[0], t[-1])
            axes.tick_params(labelbottom=j == n - 1)
        _move(last, _NAMES / width)
        _bars(last, {kind: share[j] for kind, share in shares.items()}, limits, j)
        panels[0].set_title(
            limits.joints[j], color=colour(JOINT_COLOURS, j), weight="bold", parse_math=False
        )
    for axes in grid[-1][:-1]:
        axes.set_xlabel("time, s")
    grid[-1][-1].set_xlabel("share of the limit, %")
    _headings(figure, grid[0], [_heading(limits, kind) for kind in series], title, height)
    _legend(figure, phases, height)
    return figure


def _panel(axes: Axes, t: Array, values: Array, limits: Limits, kind: Kind, joint: int) -> None:
    """One quantity of one joint between its limits, which are always in view."""
    from ident.report.svg import INK

    axes.plot(t, values, color=colour(JOINT_COLOURS, joint))
    largest = limits.largest(kind)[joint]
    if not np.isfinite(largest):
        axes.margins(y=0.15)
        return
    middle = limits.middle[joint] if kind == "position" else 0.0
    for end in (middle - largest, middle + largest):
        axes.axhline(end, color=INK, linestyle=(0, (4, 2)), linewidth=0.9)
    reach = 1.1 * max(largest, float(np.abs(values - middle).max()))
    axes.set_ylim(middle - reach, middle + reach)


def _shade(axes: Axes, phases: Sequence[Phase]) -> None:
    for k, (_, start, end) in enumerate(phases):
        axes.axvspan(start, end, color=colour(PHASE_COLOURS, k), alpha=0.16, linewidth=0.0)


def _bars(axes: Axes, shares: dict[Kind, float], limits: Limits, joint: int) -> None:
    """Used share of each limit of one joint, in numbers too."""
    from ident.report.svg import INK

    for y, (kind, share) in enumerate(shares.items()):
        bounded = np.isfinite(limits.largest(kind)[joint])
        over = share > 1.0
        shade = _OVER if over else colour(JOINT_COLOURS, joint)
        axes.barh(y, 100.0 * min(share, 1.15), height=0.62, color=shade, alpha=0.8)
        text = f"{100.0 * share:.0f}" if bounded else "no limit"
        weight = "bold" if over else "normal"
        axes.text(123.0 if bounded else 3.0, y, text, va="center", fontsize=8, weight=weight)
    axes.axvline(100.0, color=INK, linestyle=(0, (4, 2)), linewidth=0.9)
    axes.set_yticks(range(len(shares)), list(shares))
    axes.tick_params(axis="y", length=0.0)
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0.0, 120.0)
    axes.set_ylim(len(shares) - 0.5, -0.5)
    axes.set_xticks([0.0, 50.0, 100.0])
    axes.tick_params(labelbottom=joint == len(limits.joints) - 1)


def _move(axes: Axes, right: float) -> None:
    """Move the left edge of ``axes`` by a share of the figure."""
    box = axes.get_position()
    axes.set_position((box.x0 + right, box.y0, box.width - right, box.height))


def _heading(limits: Limits, kind: Kind) -> str:
    """Name and units of a column: those of the joints that turn, of those that slide, or both."""
    units = dict.fromkeys(limits.unit(kind, joint) for joint in range(len(limits.joints)))
    return f"{kind}, {' or '.join(units)}"


def _headings(
    figure: Figure, first: Sequence[Axes], names: Sequence[str], title: str, height: float
) -> None:
    for axes, name in zip(first, [*names, "used at most"], strict=True):
        x = axes.get_position().x0
        figure.text(x, 1.0 - 0.88 / height, name, weight="bold", va="baseline")
    x = first[0].get_position().x0
    figure.text(x, 1.0 - 0.28 / height, title, size=11, weight="bold", parse_math=False)


def _legend(figure: Figure, phases: Sequence[Phase], height: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from ident.report.svg import INK

    handles: list[Line2D | Patch] = [
        Line2D([], [], color=INK, linestyle=(0, (4, 2)), linewidth=0.9, label="limit")
    ]
    for k, (name, start, end) in enumerate(phases):
        label = f"{name}, {start:.1f} to {end:.1f} s"
        handles.append(Patch(color=colour(PHASE_COLOURS, k), alpha=0.35, label=label))
    figure.legend(
        handles=handles,
        loc="upper left",
        ncols=len(handles),
        bbox_to_anchor=(_LEFT / figure.get_figwidth(), 1.0 - 0.42 / height),
        borderaxespad=0.0,
        borderpad=0.0,
    )
