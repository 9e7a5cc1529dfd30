"""``ident reduce``: the minimal parameter set of a robot, to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ident.cli import common, references
from ident.errors import UsageError

if TYPE_CHECKING:
    from ident.base.basemap import Grouping
    from ident.base.expressions import Naming
    from ident.model.robot import Robot

_PAGE = 15  # base parameters to an alignment, which no page break can part

Drives = Annotated[
    bool,
    typer.Option(
        "--drives", help="With armature, friction and, where lengths are numbers, springs."
    ),
]
Latex = Annotated[bool, typer.Option("--latex", help="An align* environment of amsmath.")]
Names = Annotated[
    str | None,
    typer.Option(help="standard (Izz1) or khalil (ZZ1); khalil for a Denavit-Hartenberg table."),
]


@common.guarded
def reduce(
    robot: common.RobotName,
    drives: Drives = False,
    symbolic: common.Symbolic = False,
    lengths: common.Lengths = None,
    names: Names = None,
    latex: Latex = False,
    gravity: common.Gravity = None,
    mount: common.Mount = None,
    json: common.Json = False,
) -> None:
    """Print the minimal parameter set: base parameters as expressions in standard ones.

    Letters of a Denavit-Hartenberg table stay letters, unless [dh.lengths] or --lengths gives their
    numbers; --symbolic makes letters of all lengths.
    """
    from ident.base.grouping import findings

    model = references.load_symbolic(robot, gravity, mount, symbolic=symbolic, lengths=lengths)
    naming = _naming(names, robot)
    base, said = _minimal_set(model, drives=drives), findings(model)
    if json:
        from ident.cli.summary import finding

        rows = zip(base.names, base.expressions, base.khalil, base.latex(naming), strict=True)
        common.print_json(
            {
                "rank": base.rank,
                "base": [
                    {"name": name, "expression": text, "khalil": classic, "latex": line}
                    for name, text, classic, line in rows
                ],
                "standard": base.standing,
                "merged": base.merged(base.columns[10 * len(model.links) :]),
                "letters": references.letter_values(robot, model),
                "findings": [finding(f) for f in said],
            }
        )
        return
    if latex:
        lines = base.latex(naming)
        for first in range(0, len(lines), _PAGE):
            page = " \\\\\n".join(lines[first : first + _PAGE])
            typer.echo(f"\\begin{{align*}}\n{page}\n\\end{{align*}}")
        return
    from ident.report.robots import print_base

    values = references.letter_values(robot, model)
    print_base(common.console(), base, naming=naming, letters=values, findings=said)


def _minimal_set(robot: Robot, *, drives: bool) -> Grouping:
    from ident.base.minimal import reduce as reduce_robot
    from ident.base.minimal import reduce_exact, reduce_stack

    if robot.letters:
        return reduce_exact(robot, armature=drives, friction=drives)
    if not drives:
        return reduce_robot(robot)
    from ident.regressor.columns import stack
    from ident.regressor.friction import friction_terms
    from ident.regressor.rigid import derive

    return reduce_stack(stack(derive(robot), friction=friction_terms(robot)))


def _naming(names: str | None, reference: str) -> Naming:
    if names is None:
        return "khalil" if references.is_table(reference) else "standard"
    if names == "khalil":
        return "khalil"
    if names == "standard":
        return "standard"
    raise UsageError("--names", f"'{names}'", expected="standard, khalil")
