"""Figures of a result, one small panel per joint, so that they fit a phone and fill a desk.

Figures are plain ``matplotlib.figure.Figure`` objects; nothing here touches pyplot or its state.
Colours are told apart by the colour-blind and on both light and dark pages (Okabe and Ito's blue
and vermilion, brightened); line styles and markers differ as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ident.arrays import Array, Mask
from ident.conventions import INERTIAL
from ident.fit.estimate import Estimate
from ident.fit.uncertainty import Label, Parameter, base_parameters
from ident.fit.validate import Trace
from ident.model.robot import Robot
from ident.regressor.columns import States
from ident.report.svg import INK, draw
from ident.report.wording import effort_unit

IDENTIFIED, CAD = "#2486c9", "#d9641e"
_WIDTH = 4.4  # in; a panel is shown about as wide as this
ROWS_SHOWN = 1200  # of a trace; more is a thicket in so small a panel
_DOTS = 600  # more dots in a panel of friction show nothing more
_STILL = 1e-6  # rad/s or m/s
_ROW = 0.19  # in per parameter


def torque_figure(robot: Robot, trace: Trace, joint: int) -> Figure:
    """Torque of one joint (by index) over time: measured, CAD, identified; residuals below."""
    return draw(lambda: _torque(robot, trace, joint))


def friction_figure(estimate: Estimate, traces: Sequence[Trace], joint: int) -> Figure:
    """Measured torque less the rigid-body part against velocity, and the fitted friction.

    What is plotted is the fitted friction plus what the whole model leaves unexplained: measured
    torque minus rigid body, armature, and what other drives put on this joint.
    """
    return draw(lambda: _friction(estimate, traces, joint))


def parameter_figure(estimate: Estimate, joint: str) -> Figure:
    """Base parameters of one joint: CAD against identified with 95 % intervals.

    Values are divided by the parameter's prior magnitude, which a CAD model gives (mass, mass times
    radius of gyration, its square), so that all units share one axis.
    """
    return draw(lambda: _parameters(estimate, joint))


def parameter_joints(estimate: Estimate) -> tuple[str, ...]:
    """Names of the joints that have base parameters, in order."""
    return tuple(dict.fromkeys(_joints_of_base(estimate)))


def has_friction(estimate: Estimate) -> bool:
    """Whether friction was fitted."""
    return bool((~_rigid(estimate)).any())


def _torque(robot: Robot, trace: Trace, joint: int) -> Figure:
    figure = _panel(3.1)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    unit = effort_unit(robot, joint)
    shown = slice(ROWS_SHOWN)
    time = trace.t[shown] - trace.t[0]
    t = _broken(time, time)
    series = (
        ("CAD", trace.cad, CAD, (0, (4, 1.5))),
        ("identified", trace.identified, IDENTIFIED, "solid"),
    )
    measured = _broken(time, trace.measured[shown, joint])
    above.plot(t, measured, color=INK, alpha=0.35, linewidth=2.2, label="measured")
    for label, values, color, style in series:
        predicted = _broken(time, values[shown, joint])
        above.plot(t, predicted, color=color, linestyle=style, label=label)
        below.plot(t, measured - predicted, color=color, linewidth=0.8)
    above.set_title(robot.joints[joint], parse_math=False)
    above.set_ylabel(f"torque, {unit}" if unit == "N·m" else f"force, {unit}")
    below.set_ylabel(f"residual, {unit}")
    below.set_xlabel("time, s")
    above.margins(x=0.0)
    _legend(above, 3)
    figure.align_ylabels()
    return figure


def _friction(estimate: Estimate, traces: Sequence[Trace], joint: int) -> Figure:
    robot, unit = estimate.robot, effort_unit(estimate.robot, joint)
    figure = _panel(2.6)
    axes = figure.subplots()
    dq = np.concatenate([trace.dq for trace in traces])
    rest = np.concatenate([trace.measured - trace.identified for trace in traces])[:, joint]
    left = friction_torque(estimate, dq)[:, joint] + rest
    some = np.unique(np.linspace(0, len(dq) - 1, min(_DOTS, len(dq))).astype(int))
    axes.plot(
        dq[some, joint],
        left[some],
        color=INK,
        alpha=0.4,
        marker="o",
        markersize=2.2,
        markeredgewidth=0.0,
        linestyle="none",
        label="measured − rigid body",
    )
    fastest = float(np.abs(dq[:, joint]).max())
    if fastest > _STILL:
        speeds, curve = _curve(estimate, joint, fastest)
        axes.plot(speeds, curve, color=IDENTIFIED, linewidth=1.8, label="fitted friction")
    else:
        axes.set_xticks([0.0])
        axes.text(0.55, 0.5, "did not move", transform=axes.transAxes)
    axes.set_title(robot.joints[joint], parse_math=False)
    axes.set_xlabel("velocity, rad/s" if robot.turns[joint] else "velocity, m/s")
    axes.set_ylabel(f"friction, {unit}")
    _legend(axes, 2)
    return figure


def friction_torque(estimate: Estimate, dq: Array) -> Array:
    """Identified friction (N, n) at joint velocities (N, n)."""
    still = np.zeros_like(dq)
    Y = estimate.columns.evaluate(States(q=still, dq=dq, ddq=still))
    friction = np.where(_rigid(estimate), 0.0, estimate.theta)
    return np.asarray(np.einsum("jpm,p->mj", Y, friction))


def _curve(estimate: Estimate, joint: int, fastest: float) -> tuple[Array, Array]:
    """Friction of a joint that moves alone, against its velocity; broken at standstill."""
    half = np.linspace(1e-6, 1.0, 40) * fastest
    speeds = np.concatenate([-half[::-1], [np.nan], half])
    dq = np.zeros((len(speeds), estimate.robot.n))
    dq[:, joint] = np.nan_to_num(speeds)
    return speeds, np.where(np.isnan(speeds), np.nan, friction_torque(estimate, dq)[:, joint])


def _rigid(estimate: Estimate) -> Mask:
    """Mask (p,) of the columns that are not friction."""
    return estimate.columns.which(*INERTIAL, "armature")


def _parameters(estimate: Estimate, joint: str) -> Figure:
    here = [i for i, name in enumerate(_joints_of_base(estimate)) if name == joint]
    rows = base_parameters(estimate)
    magnitudes = estimate.prior.base_size(estimate.base)
    figure = _panel(0.95 + _ROW * len(here), left=0.85)
    axes = figure.subplots()
    values = np.array([[rows[i].cad, rows[i].identified] for i in here]) / magnitudes[here, None]
    low, high = _span(values)
    for y, (i, scaled) in enumerate(zip(here, values, strict=True)):
        _parameter_row(axes, y, rows[i], scaled, magnitudes[i], (low, high))
    axes.set_yticks(range(len(here)), [rows[i].name for i in here])
    axes.set_ylim(len(here) - 0.5, -0.5)
    axes.set_xlim(low, high)
    axes.tick_params(axis="y", length=0.0)
    axes.set_title(joint, parse_math=False)
    axes.set_xlabel("value / prior magnitude")
    _key(axes, {rows[i].label for i in here})
    return figure


def _parameter_row(
    axes: Axes,
    y: int,
    row: Parameter,
    scaled: Array,
    magnitude: float,
    span: tuple[float, float],
) -> None:
    """One parameter: CAD as an open square, identified as a dot with its interval."""
    cad, identified = scaled
    axes.plot(cad, y, marker="s", markersize=4.5, color=CAD, fillstyle="none", linestyle="none")
    if row.label == "no data":
        axes.annotate(
            "no data", (cad, y), (7, 0), textcoords="offset points", va="center", fontsize=7.5
        )
        return
    color = IDENTIFIED
    half = (row.ci_high - row.ci_low) / 2.0 / magnitude
    reach = half if np.isfinite(half) else np.inf
    left, right = max(identified - reach, span[0]), min(identified + reach, span[1])
    width = 1.4 if row.label == "identified" else 0.6
    axes.plot([left, right], [y, y], color=color, linewidth=width, solid_capstyle="butt")
    for end, cut, arrow in ((span[0], left, "<"), (span[1], right, ">")):
        if cut == end:  # the interval goes on beyond the axis
            axes.plot(end, y, marker=arrow, markersize=4.0, color=color, clip_on=False)
    filled = "full" if row.label == "identified" else "none"
    axes.plot(identified, y, marker="o", markersize=4.0, color=color, fillstyle=filled)


def _span(values: Array) -> tuple[float, float]:
    """Range of the axis: all values, zero, and room for intervals of ordinary size."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    room = 0.25 * max(high - low, 0.2)
    return low - room, high + room


def _key(axes: Axes, labels: set[Label]) -> None:
    """Legend of the markers that are there."""
    entries = [("s", CAD, "none", "CAD"), ("o-", IDENTIFIED, "full", "identified, 95 %")]
    if "prior-dominated" in labels:
        entries.append(("o", IDENTIFIED, "none", "prior-dominated"))
    for marker, color, fill, label in entries:
        axes.plot([], [], marker, color=color, fillstyle=fill, markersize=4.0, label=label)
    _legend(axes, len(entries))


def _joints_of_base(estimate: Estimate) -> list[str]:
    """Name of the joint that each base parameter belongs to: its drive's, or its link's."""
    columns, links = estimate.columns.columns, estimate.robot.links
    return [
        links[column.number - 1].joint.name if column.kind in INERTIAL else column.of
        for column in (columns[k] for k in estimate.base.kept)
    ]


def _panel(height: float, left: float = 0.65) -> Figure:
    """Figure whose axes lie at fixed margins (in), so that panels side by side line up."""
    figure = Figure(figsize=(_WIDTH, height))
    figure.subplots_adjust(
        left=left / _WIDTH,
        right=1.0 - 0.12 / _WIDTH,
        bottom=0.47 / height,
        top=1.0 - 0.45 / height,
        hspace=0.18,
    )
    return figure


def _legend(axes: Axes, columns: int) -> None:
    """Legend above the axes, right of the title where there is room, else on its own line."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        borderaxespad=0.1,
        handlelength=1.6,
        columnspacing=1.0,
        handletextpad=0.5,
    )
    axes.set_title(axes.get_title(loc="left"), loc="left", pad=20.0, parse_math=False)


def _broken(t: Array, values: Array) -> Array:
    """``values`` with NaN where time jumps, so that no line is drawn across a gap."""
    step = np.diff(t)
    if not len(step):
        return values
    gaps = np.flatnonzero((step > 2.5 * np.median(step)) | (step <= 0.0)) + 1
    return np.insert(values, gaps, np.nan)
