"""The report: one HTML file that needs no network, no script and no explanation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from ident.errors import Finding
from ident.files import write_whole
from ident.fit.estimate import Estimate
from ident.fit.uncertainty import Parameter, parameter_table
from ident.fit.validate import Trace, Validation
from ident.fit.verdict import Verdict
from ident.report import figures, wording
from ident.report.provenance import Provenance
from ident.report.svg import svg_text


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """All that a report shows.

    Attributes
    ----------
    validations : tuple of Validation
        The first is the one that the verdict rests on.
    findings : tuple of Finding
        Of robot, logs and fit.
    training, held_out : tuple of Trace
        Torque of the logs; ``held_out`` is empty where blocks of the training log were held out.
    """

    estimate: Estimate
    validations: tuple[Validation, ...]
    verdict: Verdict
    findings: tuple[Finding, ...]
    training: tuple[Trace, ...]
    held_out: tuple[Trace, ...]
    provenance: Provenance


@dataclass(frozen=True, eq=False, kw_only=True)
class TorqueSection:
    """Torque figures of one log."""

    title: str
    caption: str
    panels: tuple[Markup, ...]


def render_report(report: Report) -> str:
    """The report as HTML: the same text for the same input, on any machine."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        number=wording.number, percent=wording.percent, interval=_interval, labels=_label_class
    )
    source = resources.files("ident.report").joinpath("report.html.j2").read_text("utf-8")
    return environment.from_string(source).render(_context(report))


def write_report(report: Report, path: Path) -> None:
    """Write the report to a file."""
    write_whole(path, render_report(report).encode(errors="replace"))


def _context(report: Report) -> dict[str, Any]:
    estimate, provenance = report.estimate, report.provenance
    rows = parameter_table(estimate)
    return {
        "robot": estimate.robot,
        "verdict": report.verdict.name,
        "headline": wording.headline(report.validations[0]),
        "reasons": wording.reasons(report.verdict),
        "facts": (*wording.facts(estimate), _found(report)),
        "units": wording.effort_units(estimate.robot),
        "tests": [_test(validation) for validation in report.validations],
        "findings": wording.by_severity(report.findings),
        "torques": _torques(report),
        "friction": _friction(report),
        "parameter_panels": _parameter_panels(estimate),
        "base_rows": [row for row in rows if row.is_base],
        "standard_rows": [row for row in rows if not row.is_base],
        "bodies": wording.bodies(estimate),
        "delays": wording.delays(estimate),
        "provenance": provenance,
        "options": _options(estimate) | dict(provenance.options),
    }


def _found(report: Report) -> wording.Fact:
    return wording.Fact(label="findings", value=wording.count_findings(report.findings))


def _test(validation: Validation) -> dict[str, Any]:
    name, _ = wording.KINDS[validation.kind]
    return {
        "name": name,
        "scores": wording.models(validation),
        "protocol": wording.protocol(validation),
        "moving": wording.MOVING,
    }


def _torques(report: Report) -> list[TorqueSection]:
    sections: list[TorqueSection] = []
    for role, traces in (("held out", report.held_out), ("training", report.training)):
        for trace in traces:
            shown = trace.t[: figures.ROWS_SHOWN]
            length = shown[-1] - shown[0]
            sections.append(
                TorqueSection(
                    title=f"Torque, {role}: {trace.log}",
                    caption=f"{length:.1f} s of the log, from t = {shown[0]:.1f} s on.",
                    panels=_torque_panels(report, trace, f"t{len(sections)}"),
                )
            )
    return sections


def _torque_panels(report: Report, trace: Trace, key: str) -> tuple[Markup, ...]:
    robot = report.estimate.robot
    return tuple(
        _inline(
            svg_text(
                figures.torque_figure(robot, trace, j),
                f"{key}j{j}",
                f"Torque of {joint} over time: measured, CAD and identified, with residuals",
            )
        )
        for j, joint in enumerate(robot.joints)
    )


def _friction(report: Report) -> tuple[Markup, ...]:
    estimate = report.estimate
    if not (report.training and figures.has_friction(estimate)):
        return ()
    return tuple(
        _inline(
            svg_text(
                figures.friction_figure(estimate, report.training, j),
                f"f{j}",
                f"Friction of {joint} against velocity: data and fitted curve",
            )
        )
        for j, joint in enumerate(estimate.robot.joints)
    )


def _parameter_panels(estimate: Estimate) -> tuple[Markup, ...]:
    return tuple(
        _inline(
            svg_text(
                figures.parameter_figure(estimate, joint),
                f"p{i}",
                f"Base parameters of {joint}: CAD and identified with 95 % intervals",
            )
        )
        for i, joint in enumerate(figures.parameter_joints(estimate))
    )


def _inline(svg: str) -> Markup:
    """A figure as it is: matplotlib has escaped what it wrote."""
    return Markup(svg)


def _options(estimate: Estimate) -> dict[str, str]:
    return {
        name: ", ".join(value) if isinstance(value, tuple) else str(value)
        for name, value in asdict(estimate.options).items()
    }


def _interval(row: Parameter) -> str:
    return wording.interval(row.ci_low, row.ci_high)


def _label_class(row: Parameter) -> str:
    """CSS class of a label."""
    return row.label.replace(" ", "-")
