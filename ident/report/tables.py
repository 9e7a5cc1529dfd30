"""Results on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ident.report import wording
from ident.report.terminal import add_column, blank, new_table, print_table, print_text
from ident.report.wording import number

if TYPE_CHECKING:  # to list the robots takes no regressor
    from ident.errors import Finding
    from ident.fit.estimate import Estimate
    from ident.fit.validate import Score, Validation
    from ident.fit.verdict import Verdict
    from ident.model.robot import Robot

_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan", "pass": "bold green"}
_STYLES["fail"] = _STYLES["error"]
_LABEL_WIDTH = 20


def print_summary(
    console: Console,
    estimate: Estimate,
    validation: Validation,
    verdict: Verdict,
    findings: Sequence[Finding] = (),
    *,
    also: Sequence[Validation] = (),
) -> None:
    """Print a result: verdict, errors per joint, one line on each certificate, findings.

    The verdict rests on ``validation``; ``also`` are further ones, such as one on repeats.
    """
    print_verdict(console, estimate.robot, validation, verdict)
    for scored in (validation, *also):
        blank(console)
        print_errors(console, estimate.robot, scored)
    blank(console)
    for fact in wording.facts(estimate):
        _print_fact(console, fact.label, fact.value)
    _print_fact(console, "delay", wording.largest_delay(estimate))
    _print_fact(console, "findings", wording.count_findings(findings))
    if findings:
        blank(console)
    print_findings(console, findings)


def print_verdict(console: Console, robot: Robot, validation: Validation, verdict: Verdict) -> None:
    """Print pass or fail, the error that decides, and every reason against."""
    line = Text(verdict.name.upper(), style=_STYLES[verdict.name])
    line.append(f"  {robot.name}: {wording.headline(validation)}", style="default not bold")
    print_text(console, line)
    for reason in verdict.reasons:
        print_text(console, Text(f"      - {reason}"), hang=8)


def print_errors(console: Console, robot: Robot, validation: Validation) -> None:
    """Print relative error and RMS per joint of each model, and the protocol under them."""
    name, _ = wording.KINDS[validation.kind]
    table = new_table(f"{name}, % | RMS, {wording.effort_units(robot)}")
    add_column(table, "joint")
    columns = [_score_cells(score) for _, score in wording.models(validation)]
    for name, _ in wording.models(validation):
        table.add_column(Text(f"{name}\n{'%':>7} {'RMS':>7}"), justify="right", no_wrap=True)
    for j, joint in enumerate(robot.joints):
        table.add_row(Text(joint), *(Text(cells[j]) for cells in columns))
    table.add_section()
    table.add_row(Text("all joints"), *(Text(cells[-1]) for cells in columns))
    moving = (wording.percent(score.moving) for _, score in wording.models(validation))
    table.add_row(Text(wording.MOVING), *(Text(f"{cell:>7} {'':>7}") for cell in moving))
    print_table(console, table)
    print_text(console, Text(wording.protocol(validation), style="dim"))


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print severity, place and message of each finding, the worst first."""
    for finding in wording.by_severity(findings):
        line = Text(f"{finding.severity:<9}", style=_STYLES[finding.severity])
        line.append(f"{finding.where}: ", style="default not bold")
        line.append(finding.message, style="default not bold")
        print_text(console, line, hang=9)


def print_check(console: Console, log: str, findings: Sequence[Finding]) -> None:
    """Print the findings of a check, and whether the log may be used."""
    good = not any(f.severity == "error" for f in findings)
    line = Text("OK" if good else "UNUSABLE", style=_STYLES["pass" if good else "fail"])
    line.append(f"  {log}: {wording.count_findings(findings)}", style="default not bold")
    print_text(console, line)
    print_findings(console, findings)


def _score_cells(score: Score) -> list[str]:
    """One cell per joint, relative error and RMS side by side, then the total."""
    cells = [
        f"{wording.percent(error):>7} {number(rms, 3):>7}"
        for error, rms in zip(score.per_joint, score.rms, strict=True)
    ]
    return [*cells, f"{wording.percent(score.total):>7} {'':>7}"]


def _print_fact(console: Console, label: str, text: str) -> None:
    print_text(console, Text(f"{label:<{_LABEL_WIDTH}} {text}"), hang=_LABEL_WIDTH + 1)
