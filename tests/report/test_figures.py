from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from ident.arrays import Array
from ident.report import figures
from ident.report.html import Report
from ident.report.svg import INK, svg_text
from tests.tolerances import ROUNDOFF

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def report(report_of: Callable[..., Report]) -> Report:
    return report_of("planar2r", still=(1,))


def every_figure(report: Report) -> dict[str, Figure]:
    estimate = report.estimate
    return {
        "torque": figures.torque_figure(estimate.robot, report.training[0], 0),
        "friction": figures.friction_figure(estimate, report.training, 0),
        "at rest": figures.friction_figure(estimate, report.training, 1),
        "parameters": figures.parameter_figure(estimate, "joint2"),
    }


def curve(figure: Figure, label: str, axes: int = 0) -> tuple[Array, Array]:
    line = next(x for x in figure.axes[axes].lines if x.get_label() == label)
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def test_a_figure_is_the_same_bytes_twice(report: Report) -> None:
    first, second = every_figure(report), every_figure(report)
    for name in first:
        assert svg_text(first[name], "k", name) == svg_text(second[name], "k", name)


def test_the_users_own_settings_change_nothing(report: Report) -> None:
    before = svg_text(every_figure(report)["torque"], "k", "t")
    with mpl.rc_context({"font.size": 30.0, "axes.grid": False, "svg.fonttype": "path"}):
        assert svg_text(every_figure(report)["torque"], "k", "t") == before


def test_svg_follows_the_page(report: Report) -> None:
    for name, figure in every_figure(report).items():
        text = svg_text(figure, "k", "a <title> & more")
        root = ET.fromstring(text)
        assert root.tag == f"{SVG}svg"
        assert root.findtext(f"{SVG}title") == "a <title> & more", name
        assert "currentColor" in text
        assert INK not in text
        assert "#000000" not in text, "black does not show on a dark page"
        assert "metadata" not in text
        assert 4_000 < len(text) < 120_000


def test_a_picture_of_its_own_brings_its_colours(report: Report) -> None:
    text = svg_text(every_figure(report)["friction"], "k", "t", alone=True)
    assert "prefers-color-scheme" in text
    ET.fromstring(text)


def test_tick_labels_keep_their_digits(report: Report) -> None:
    figure = every_figure(report)["torque"]
    figure.axes[1].set_yticks([0.0125, 0.0375])
    texts = [x.text for x in ET.fromstring(svg_text(figure, "k", "t")).iter(f"{SVG}text")]
    assert {"0.0125", "0.0375"} <= set(texts)


def test_torque_is_what_was_measured_and_predicted(report: Report) -> None:
    trace = report.training[0]
    figure = every_figure(report)["torque"]
    for label, values in (("measured", trace.measured), ("CAD", trace.cad)):
        t, tau = curve(figure, label)
        np.testing.assert_array_equal(t, trace.t - trace.t[0])
        np.testing.assert_array_equal(tau, values[:, 0])
    residual = np.asarray(figure.axes[1].lines[1].get_ydata())
    np.testing.assert_array_equal(residual, (trace.measured - trace.identified)[:, 0])
    assert figure.axes[0].get_ylabel() == "torque, N·m"
    assert figure.axes[1].get_xlabel() == "time, s"


def test_time_counts_from_the_first_row(report: Report) -> None:
    trace = report.training[0]
    robot = report.estimate.robot
    late = figures.torque_figure(robot, replace(trace, t=trace.t + 1_460_037_379.0), 0)
    t, _ = curve(late, "measured")
    np.testing.assert_allclose(t, trace.t, rtol=0, atol=1e-6)


def test_no_line_crosses_a_gap(report: Report) -> None:
    trace = report.training[0]
    gone = np.delete(np.arange(len(trace.t)), slice(100, 200))
    parts = {name: getattr(trace, name)[gone] for name in ("t", "measured", "identified", "cad")}
    figure = figures.torque_figure(report.estimate.robot, replace(trace, **parts), 0)
    t, tau = curve(figure, "measured")
    assert np.flatnonzero(np.isnan(t)).tolist() == [100]
    assert np.isnan(tau[100])


def test_friction_is_measured_torque_less_the_rigid_body(report: Report) -> None:
    # Against the base parameters: all of them but friction, on the same rows.
    estimate, trace = report.estimate, report.training[0]
    theta = dict(zip(estimate.columns.names, estimate.theta, strict=True))
    friction = (
        theta["viscous1"] * trace.dq[:, 0]
        + theta["coulomb1"] * np.sign(trace.dq[:, 0])
        + theta["offset1"]
    )
    rigid = trace.identified[:, 0] - friction
    dq, left = curve(every_figure(report)["friction"], "measured − rigid body")
    every = np.stack([trace.dq[:, 0], trace.measured[:, 0] - rigid])
    away = np.abs(every[:, None, :] - np.stack([dq, left])[:, :, None]).max(axis=0).min(axis=1)
    assert len(dq) > 500
    np.testing.assert_allclose(away, 0.0, rtol=0, atol=1e3 * ROUNDOFF)


def test_friction_breaks_at_standstill(report: Report) -> None:
    theta = dict(zip(report.estimate.columns.names, report.estimate.theta, strict=True))
    speeds, torque = curve(every_figure(report)["friction"], "fitted friction")
    (middle,) = np.flatnonzero(np.isnan(torque))
    jump = torque[middle + 1] - torque[middle - 1]
    np.testing.assert_allclose(jump, 2.0 * theta["coulomb1"], rtol=1e-3)
    assert speeds.size > 10


def test_a_joint_at_rest_has_no_curve(report: Report) -> None:
    (axes,) = every_figure(report)["at rest"].axes
    assert "fitted friction" not in [line.get_label() for line in axes.lines]
    assert [text.get_text() for text in axes.texts] == ["did not move"]


def test_parameters_without_data_are_said_to_be_so(report: Report) -> None:
    (axes,) = every_figure(report)["parameters"].axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    silent = [names[round(text.xy[1])] for text in axes.texts]
    assert {"viscous2", "coulomb2"} <= set(silent)
    assert {text.get_text() for text in axes.texts} == {"no data"}


def test_an_interval_without_end_stays_in_the_axes(report_of: Callable[..., Report]) -> None:
    estimate = replace(report_of("planar2r").estimate)
    wild = np.array(estimate.std)
    wild[:3] = np.inf
    vars(estimate)["std"] = wild  # where a cached property keeps its value
    for joint in figures.parameter_joints(estimate):
        figure = figures.parameter_figure(estimate, joint)
        low, high = figure.axes[0].get_xlim()
        drawn = np.concatenate([np.atleast_1d(x.get_xdata()) for x in figure.axes[0].lines])
        assert np.isfinite([low, high]).all()
        assert ((drawn >= low) & (drawn <= high)).all()
        ET.fromstring(svg_text(figure, "k", joint))


def test_every_base_parameter_is_in_one_panel(report_of: Callable[..., Report]) -> None:
    estimate = report_of("ur5").estimate
    shown: list[str] = []
    for joint in figures.parameter_joints(estimate):
        (axes,) = figures.parameter_figure(estimate, joint).axes
        shown += [label.get_text() for label in axes.get_yticklabels()]
    assert figures.parameter_joints(estimate) == estimate.robot.joints
    assert sorted(shown) == sorted(estimate.base.names)


def test_a_sliding_joint_has_forces(report_of: Callable[..., Report]) -> None:
    report = report_of("lift")
    figure = figures.torque_figure(report.estimate.robot, report.training[0], 0)
    assert figure.axes[0].get_ylabel() == "force, N"
    friction = figures.friction_figure(report.estimate, report.training, 0)
    assert friction.axes[0].get_xlabel() == "velocity, m/s"
