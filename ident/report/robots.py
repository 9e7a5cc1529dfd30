"""Robots on a terminal: what is known of them, their minimal parameters, their equations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ident.arrays import Array
from ident.conventions import INERTIAL
from ident.errors import Finding
from ident.model import inertia, rotation
from ident.report.tables import print_findings
from ident.report.terminal import add_column, blank, new_table, print_table, print_text
from ident.report.wording import NOTHING, number

if TYPE_CHECKING:  # to list the robots takes no regressor
    from ident.base.basemap import BaseMap, Grouping
    from ident.base.expressions import Naming
    from ident.model.robot import Robot
    from ident.regressor.named import Function

_STANDINGS = {
    "alone": "stand alone",
    "combination": "in combination only",
    "none": "not at all (no effect on any torque)",
}


def print_robots(console: Console, robots: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
    """Print registry names with their titles and aliases, as ``robot_names`` gives them."""
    table = new_table()
    for header in ("robot", "title", "aliases"):
        add_column(table, header, wrap=header == "aliases")
    for name, (title, aliases) in robots.items():
        table.add_row(Text(name), Text(title), Text(", ".join(aliases)))
    print_table(console, table)


def print_robot(
    console: Console,
    robot: Robot,
    *,
    base: BaseMap | None = None,
    sources: Sequence[tuple[str, str]] = (),
) -> None:
    """Print a robot's kinematics, limits, inertias, drives, sources and findings.

    Parameters
    ----------
    base : BaseMap, optional
        Of the inertial parameters: says which masses motion can show.
    sources : sequence of (what, origin)
        Where the figures come from.
    """
    title = f"{robot.name}  {robot.title}".strip()
    print_text(console, Text(title, style="bold"))
    gravity = ", ".join(number(g) for g in robot.gravity)
    print_text(console, Text(f"{robot.n} joints, gravity ({gravity}) m/s² in the base frame"))
    for table in (_kinematic_table, _limit_table, _mass_table, _tensor_table, _drive_table):
        blank(console)
        print_table(console, table(robot))
    for line in (*_mimics(robot), *_couplings(robot), *_springs(robot)):
        print_text(console, Text(line), hang=2)
    if base is not None:
        print_text(console, Text(_mass_note(base, len(robot.links)), style="dim"))
    if sources:
        blank(console)
    for what, origin in sources:
        print_text(console, Text(f"{what}: {' '.join(origin.split())}"), hang=2)
    if robot.findings:
        blank(console)
    print_findings(console, robot.findings)


def print_functions(
    console: Console, robot: Robot, functions: Sequence[Function], seconds: float
) -> None:
    """Print sizes and operation counts of what was derived, the regressor first.

    Parameters
    ----------
    seconds : float
        That the regressor took, to derive or to load from the cache.
    """
    rows, columns = functions[0].program.outputs.shape
    text = f"{robot.name}: {rows} × {columns} regressor in {seconds:.2f} s"
    if robot.letters:
        text += f", of the lengths {', '.join(robot.letters)}"
    print_text(console, Text(text))
    blank(console)
    table = new_table()
    add_column(table, "function")
    for header in ("size", "operations", "sines, cosines"):
        add_column(table, header, right=True)
    for function in functions:
        program = function.program
        table.add_row(
            Text(function.name),
            "×".join(map(str, program.outputs.shape)),
            str(program.operations),
            str(program.trigonometric),
        )
    print_table(console, table)


def print_base(
    console: Console,
    base: Grouping,
    *,
    naming: Naming = "standard",
    letters: Mapping[str, float | None] | None = None,
    findings: Sequence[Finding] = (),
) -> None:
    """Print base parameters as expressions, and what motion shows of each standard parameter.

    Parameters
    ----------
    letters : mapping, optional
        Lengths (m) that the letters in the expressions stand for, where they are known.
    findings : sequence of Finding
        What the set rests on.
    """
    from ident.base.expressions import parameter_name

    def named(names: Iterable[str]) -> str:
        return ", ".join(parameter_name(name, naming) for name in names)

    groups = {
        how: [name for name, s in base.standing.items() if s == standing]
        for standing, how in _STANDINGS.items()
    }
    counts = [f"{len(names)} {how}" for how, names in groups.items()]
    print_text(
        console,
        Text(f"{base.rank} base parameters of {len(base.columns)}: {', '.join(counts)}"),
    )
    for letter, value in (letters or {}).items():
        print_text(console, Text(f"{letter} = {'any length' if value is None else f'{value:g} m'}"))
    blank(console)
    width = max(len(name) for name in base.names) + 2
    if naming == "khalil":
        for line in base.khalil:
            print_text(console, Text(line), hang=width)
    else:
        for name, expression in zip(base.names, base.expressions, strict=True):
            print_text(console, Text(f"{name:<{width}}{expression}"), hang=width)
    blank(console)
    for how, names in groups.items():
        if names:
            print_text(console, Text(f"{how}: {named(names)}"), hang=2)
    drives = [name for name in base.columns if name.rstrip("0123456789") not in INERTIAL]
    for name, into in base.merged(drives).items():
        text = f"{named([name])} has no place of its own: it joins {named([into])}"
        print_text(console, Text(text), hang=2)
    if findings:
        blank(console)
    print_findings(console, findings)


def _kinematic_table(robot: Robot) -> Table:
    table = new_table("kinematics: link frame in its parent's at zero (mm, °), axis in the link's")
    add_column(table, "joint")
    add_column(table, "kind")
    add_column(table, "parent → link", wrap=True)
    for header in ("x, y, z", "roll, pitch, yaw", "axis"):
        add_column(table, header, right=True)
    for link in robot.links:
        joint = link.joint
        parent = robot.links[link.parent].name if link.parent >= 0 else robot.base_parts[0].link
        table.add_row(
            Text(joint.name),
            joint.kind,
            Text(f"{parent} → {link.name}"),
            _row(1e3 * joint.p0),
            _row(np.degrees(rotation.to_rpy(joint.R0))),
            _row(joint.axis),
        )
    return table


def _limit_table(robot: Robot) -> Table:
    table = new_table("limits (rad, s, N·m; m and N where a joint slides)")
    add_column(table, "joint")
    for header in ("lower", "upper", "velocity", "accel.", "jerk", "effort", "rated"):
        add_column(table, header, right=True)
    for j, joint in enumerate(robot.joints):
        figures = (
            *robot.position[j],
            robot.velocity[j],
            robot.acceleration[j],
            robot.jerk[j],
            robot.effort[j],
            robot.drives.effort_rated[j],
        )
        table.add_row(Text(joint), *(_limit(x) for x in figures))
    return table


def _mass_table(robot: Robot) -> Table:
    table = new_table("links, with all that is fixed to them")
    add_column(table, "link")
    for header in ("mass, kg", "COM x, m", "y", "z"):
        add_column(table, header, right=True)
    for link in robot.links:
        com = link.pi[1:4] / link.pi[0] if link.pi[0] else np.full(3, np.nan)
        table.add_row(Text(link.name), number(link.pi[0]), *(_metres(c) for c in com))
    return table


def _tensor_table(robot: Robot) -> Table:
    table = new_table("inertia about the COM in link axes, kg·m²")
    add_column(table, "link")
    for header in ("Ixx", "Iyy", "Izz"):
        add_column(table, header, right=True)
    add_column(table, "Ixy, Ixz, Iyz", right=True, wrap=True)
    for link in robot.links:
        about_com = inertia.inertia_c_of(link.pi)
        # What a rotation leaves of a zero is not printed as one more digit of the figures.
        tidy = np.where(np.abs(about_com) < 1e-12 * np.abs(about_com).max(), 0.0, about_com)
        diagonal, others = np.diag(tidy), tidy[np.triu_indices(3, 1)]
        products = ", ".join(f"{x + 0.0:.4g}" for x in others)
        table.add_row(Text(link.name), *(f"{x + 0.0:.4g}" for x in diagonal), products)
    return table


def _drive_table(robot: Robot) -> Table:
    drives = robot.drives
    table = new_table("drives (kg·m², N·m·s/rad, N·m)")
    add_column(table, "joint")
    for header in ("gear ratio", "armature", "viscous", "Coulomb"):
        add_column(table, header, right=True)
    figures = (drives.gear_ratio, drives.armature, drives.viscous, drives.coulomb)
    for joint, *values in zip(robot.joints, *figures, strict=True):
        table.add_row(Text(joint), *(number(x) for x in values))
    return table


def _mimics(robot: Robot) -> Iterator[str]:
    for link in robot.links:
        if (joint := link.joint).mimics:
            motion = f"{joint.multiplier:g}·{joint.mimics} {joint.offset:+g}"
            yield f"{joint.name} follows another joint: {motion}"


def _couplings(robot: Robot) -> Iterator[str]:
    for i, row in enumerate(robot.drives.coupling):
        if np.count_nonzero(row) > 1 or row[i] != 1.0:
            turns = " ".join(
                f"{c:+g}·{joint}" for c, joint in zip(row, robot.joints, strict=True) if c
            )
            yield f"drive {i + 1} is coupled: it turns by {turns.lstrip('+')}, before its gears"


def _springs(robot: Robot) -> Iterator[str]:
    for spring in robot.drives.springs:
        facts = ", ".join(
            f"{f.name} {getattr(spring, f.name):g}" for f in fields(spring) if f.name != "joint"
        )
        yield f"{spring.kind} at {spring.joint}: {facts}"


def _mass_note(base: BaseMap, links: int) -> str:
    names = [f"m{i + 1}" for i in range(links)]
    alone = [name for name in names if base.standing.get(name) == "alone"]
    if alone:
        return f"Motion shows {', '.join(alone)} alone; other masses in combination only."
    return "Motion shows no link mass alone, only combinations: these masses cannot be identified."


def _metres(value: float) -> str:
    return NOTHING if np.isnan(value) else f"{round(value, 4) + 0.0:.4f}"  # no negative zero


def _row(values: Array) -> str:
    """Figures without the digits that rounding left, as in 0, 89.159, -90."""
    return ", ".join(f"{round(float(v), 4) + 0.0:.7g}" for v in values)


def _limit(value: float) -> Text:
    return Text(NOTHING if np.isinf(value) else number(value))
