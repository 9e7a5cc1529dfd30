"""Terminal output: plain text where there is no terminal, 80 columns are enough where there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.console import Console
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from ident.conventions import INERTIAL
from ident.report import wording
from ident.report.wording import NOTHING, number

if TYPE_CHECKING:  # to list the robots takes no regressor
    from ident.base.basemap import BaseMap, Grouping
    from ident.base.expressions import Naming
    from ident.errors import Finding
    from ident.fit.estimate import Estimate
    from ident.fit.validate import Score, Validation
    from ident.fit.verdict import Verdict
    from ident.model.robot import Robot

_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan", "pass": "bold green"}
_STYLES["fail"] = _STYLES["error"]
_STANDINGS = {
    "alone": "stand alone",
    "combination": "in combination only",
    "none": "not at all (no effect on any torque)",
}
_LABEL_WIDTH = 20
_PIPE_WIDTH = 1_000_000


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
        _blank(console)
        print_errors(console, estimate.robot, scored)
    _blank(console)
    for fact in wording.facts(estimate):
        _print_fact(console, fact.label, fact.value)
    _print_fact(console, "delay", wording.largest_delay(estimate))
    _print_fact(console, "findings", wording.count_findings(findings))
    if findings:
        _blank(console)
    print_findings(console, findings)


def print_verdict(console: Console, robot: Robot, validation: Validation, verdict: Verdict) -> None:
    """Print pass or fail, the error that decides, and every reason against."""
    line = Text(verdict.name.upper(), style=_STYLES[verdict.name])
    line.append(f"  {robot.name}: {wording.headline(validation)}", style="default not bold")
    _print_text(console, line)
    for reason in verdict.reasons:
        _print_text(console, Text(f"      - {reason}"), hang=8)


def print_errors(console: Console, robot: Robot, validation: Validation) -> None:
    """Print relative error and RMS per joint of each model, and the protocol under them."""
    name, _ = wording.KINDS[validation.kind]
    table = _table(f"{name}, % | RMS, {wording.effort_units(robot)}")
    _add_column(table, "joint")
    columns = [_score_cells(score) for _, score in wording.models(validation)]
    for name, _ in wording.models(validation):
        table.add_column(Text(f"{name}\n{'%':>7} {'RMS':>7}"), justify="right", no_wrap=True)
    for j, joint in enumerate(robot.joints):
        table.add_row(Text(joint), *(Text(cells[j]) for cells in columns))
    table.add_section()
    table.add_row(Text("all joints"), *(Text(cells[-1]) for cells in columns))
    moving = (wording.percent(score.moving) for _, score in wording.models(validation))
    table.add_row(Text(wording.MOVING), *(Text(f"{cell:>7} {'':>7}") for cell in moving))
    _print_table(console, table)
    _print_text(console, Text(wording.protocol(validation), style="dim"))


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print severity, place and message of each finding, the worst first."""
    for finding in wording.by_severity(findings):
        line = Text(f"{finding.severity:<9}", style=_STYLES[finding.severity])
        line.append(f"{finding.where}: ", style="default not bold")
        line.append(finding.message, style="default not bold")
        _print_text(console, line, hang=9)


def print_check(console: Console, log: str, findings: Sequence[Finding]) -> None:
    """Print the findings of a check, and whether the log may be used."""
    good = not any(f.severity == "error" for f in findings)
    line = Text("OK" if good else "UNUSABLE", style=_STYLES["pass" if good else "fail"])
    line.append(f"  {log}: {wording.count_findings(findings)}", style="default not bold")
    _print_text(console, line)
    print_findings(console, findings)


def print_robots(console: Console, robots: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
    """Print registry names with their titles and aliases, as ``robot_names`` gives them."""
    table = _table()
    for header in ("robot", "title", "aliases"):
        _add_column(table, header, wrap=header == "aliases")
    for name, (title, aliases) in robots.items():
        table.add_row(Text(name), Text(title), Text(", ".join(aliases)))
    _print_table(console, table)


def print_robot(
    console: Console,
    robot: Robot,
    *,
    base: BaseMap | None = None,
    sources: Sequence[tuple[str, str]] = (),
) -> None:
    """Print a robot's joints, limits, links and findings.

    Parameters
    ----------
    base : BaseMap, optional
        Of the inertial parameters: says which masses motion can show.
    sources : sequence of (what, origin)
        Where the figures come from.
    """
    title = f"{robot.name}  {robot.title}".strip()
    _print_text(console, Text(title, style="bold"))
    gravity = ", ".join(number(g) for g in robot.gravity)
    _print_text(console, Text(f"{robot.n} joints, gravity ({gravity}) m/s² in the base frame"))
    _blank(console)
    _print_table(console, _joint_table(robot))
    _blank(console)
    _print_table(console, _link_table(robot))
    if base is not None:
        _print_text(console, Text(_mass_note(base, len(robot.links)), style="dim"))
    if sources:
        _blank(console)
    for what, origin in sources:
        _print_text(console, Text(f"{what}: {' '.join(origin.split())}"), hang=2)
    if robot.findings:
        _blank(console)
    print_findings(console, robot.findings)


def print_base(
    console: Console,
    base: Grouping,
    *,
    naming: Naming = "standard",
    letters: Mapping[str, float | None] | None = None,
) -> None:
    """Print base parameters as expressions, and what motion shows of each standard parameter.

    Parameters
    ----------
    letters : mapping, optional
        Lengths (m) that the letters in the expressions stand for, where they are known.
    """
    from ident.base.expressions import parameter_name

    def named(names: Iterable[str]) -> str:
        return ", ".join(parameter_name(name, naming) for name in names)

    groups = {
        how: [name for name, s in base.standing.items() if s == standing]
        for standing, how in _STANDINGS.items()
    }
    counts = [f"{len(names)} {how}" for how, names in groups.items()]
    _print_text(
        console,
        Text(f"{base.rank} base parameters of {len(base.columns)}: {', '.join(counts)}"),
    )
    for letter, value in (letters or {}).items():
        _print_text(
            console, Text(f"{letter} = {'any length' if value is None else f'{value:g} m'}")
        )
    _blank(console)
    width = max(len(name) for name in base.names) + 2
    if naming == "khalil":
        for line in base.khalil:
            _print_text(console, Text(line), hang=width)
    else:
        for name, expression in zip(base.names, base.expressions, strict=True):
            _print_text(console, Text(f"{name:<{width}}{expression}"), hang=width)
    _blank(console)
    for how, names in groups.items():
        if names:
            _print_text(console, Text(f"{how}: {named(names)}"), hang=2)
    drives = [name for name in base.columns if name.rstrip("0123456789") not in INERTIAL]
    for name, into in base.merged(drives).items():
        text = f"{named([name])} has no place of its own: it joins {named([into])}"
        _print_text(console, Text(text), hang=2)


def _joint_table(robot: Robot) -> Table:
    table = _table("joint limits (rad, s, N·m; m and N where a joint slides)")
    _add_column(table, "joint")
    for header in ("lower", "upper", "velocity", "accel.", "effort", "rated"):
        _add_column(table, header, right=True)
    for j, joint in enumerate(robot.joints):
        figures = (
            *robot.position[j],
            robot.velocity[j],
            robot.acceleration[j],
            robot.effort[j],
            robot.drives.effort_rated[j],
        )
        table.add_row(Text(joint), *(_limit(x) for x in figures))
    return table


def _link_table(robot: Robot) -> Table:
    table = _table("links, from the description")
    _add_column(table, "link")
    for header in ("mass, kg", "COM x, m", "y", "z"):
        _add_column(table, header, right=True)
    for link in robot.links:
        com = link.pi[1:4] / link.pi[0] if link.pi[0] else np.full(3, np.nan)
        table.add_row(Text(link.name), number(link.pi[0]), *(_metres(c) for c in com))
    return table


def _mass_note(base: BaseMap, links: int) -> str:
    names = [f"m{i + 1}" for i in range(links)]
    alone = [name for name in names if base.standing.get(name) == "alone"]
    if alone:
        return f"Motion shows {', '.join(alone)} alone; other masses in combination only."
    return "Motion shows no link mass alone, only combinations: these masses cannot be identified."


def _metres(value: float) -> str:
    return NOTHING if np.isnan(value) else f"{round(value, 4) + 0.0:.4f}"  # no negative zero


def _limit(value: float) -> Text:
    return Text(NOTHING if np.isinf(value) else number(value))


def _score_cells(score: Score) -> list[str]:
    """One cell per joint, relative error and RMS side by side, then the total."""
    cells = [
        f"{wording.percent(error):>7} {number(rms, 3):>7}"
        for error, rms in zip(score.per_joint, score.rms, strict=True)
    ]
    return [*cells, f"{wording.percent(score.total):>7} {'':>7}"]


def _print_fact(console: Console, label: str, text: str) -> None:
    _print_text(console, Text(f"{label:<{_LABEL_WIDTH}} {text}"), hang=_LABEL_WIDTH + 1)


def _table(title: str = "") -> Table:
    return Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1),
        header_style="bold",
    )


def _add_column(table: Table, header: str, *, right: bool = False, wrap: bool = False) -> None:
    table.add_column(
        Text(header),
        justify="right" if right else "left",
        no_wrap=not wrap,
        overflow="fold" if wrap else "ellipsis",
    )


def _print_table(console: Console, table: Table) -> None:
    """Print a table; a pipe has no edge, so there nothing is cut."""
    if console.is_terminal:
        console.print(table)
        return
    endless = console.options.update(max_width=_PIPE_WIDTH)
    width = console.measure(table, options=endless).maximum
    whole = console.render(table, endless.update(width=width))
    console.print(Segments(whole), soft_wrap=True, end="")


def _print_text(console: Console, text: Text, *, hang: int = 0) -> None:
    """Print a line: wrapped on a terminal, under the first ``hang`` characters; whole in a pipe."""
    if not console.is_terminal:
        console.print(text, soft_wrap=True, highlight=False)
        return
    grid = Table.grid()
    grid.add_column(width=hang, no_wrap=True)
    grid.add_column()
    grid.add_row(text[:hang], text[hang:])
    console.print(grid if hang else text, highlight=False)


def _blank(console: Console) -> None:
    console.print()
