"""``ident derive``: the equations of a robot, as programs and as text that others use."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident.cli import common, references
from ident.files import file_name, write_together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ident.base.basemap import Grouping
    from ident.model.robot import Robot
    from ident.regressor.named import Function

C = Annotated[bool, typer.Option("--c", help="Write C99: header and source.")]
Single = Annotated[bool, typer.Option("--float", help="C99 in float instead of double.")]
Python = Annotated[bool, typer.Option("--python", help="Write a Python module on NumPy alone.")]
Latex = Annotated[bool, typer.Option("--latex", help="Write LaTeX, for amsmath.")]
Folder = Annotated[
    Path | None, typer.Option("-o", "--out", help="Folder; runs/<robot>/derived by default.")
]


@common.guarded
def derive(
    robot: common.RobotName,
    c: C = False,
    single: Single = False,
    python: Python = False,
    latex: Latex = False,
    out: Folder = None,
    symbolic: common.Symbolic = False,
    lengths: common.Lengths = None,
    gravity: common.Gravity = None,
    mount: common.Mount = None,
    json: common.Json = False,
) -> None:
    """Derive regressor, base regressor, inverse dynamics, gravity torque and mass matrix.

    The regressor is kept in the cache, where later commands find it. With --c, --python or --latex
    all five are written as text, beside a table of the base parameters that they take.
    """
    from ident.cache import cache_directory
    from ident.regressor.rigid import derive as derive_regressor

    model = references.load_symbolic(robot, gravity, mount, symbolic=symbolic, lengths=lengths)
    started = time.perf_counter()
    program = derive_regressor(model).program
    seconds = time.perf_counter() - started
    base, functions = _all(model)
    texts = _texts(model, base, functions, c=c or single, single=single, python=python, latex=latex)
    folder = out or Path("runs") / file_name(model.name) / "derived"
    if texts:
        write_together(folder, {name: text.encode() for name, text in texts.items()})
    files = [folder / name for name in texts]
    if json:
        common.print_json(
            {
                "robot": model.name,
                "shape": program.outputs.shape,
                "operations": program.operations,
                "seconds": seconds,
                "cache": cache_directory(),
                "functions": [
                    {
                        "name": f.name,
                        "shape": f.program.outputs.shape,
                        "operations": f.program.operations,
                    }
                    for f in functions
                ],
                "files": files,
            }
        )
        return
    from ident.report.robots import print_functions

    print_functions(common.console(), model, functions, seconds)
    for path in files:
        typer.echo(path)


def _all(robot: Robot) -> tuple[Grouping, list[Function]]:
    from ident.base.minimal import reduce, reduce_exact
    from ident.export.functions import model_functions

    base: Grouping = reduce_exact(robot) if robot.letters else reduce(robot)
    return base, model_functions(robot, base)


def _texts(
    robot: Robot,
    base: Grouping,
    functions: Sequence[Function],
    *,
    c: bool,
    single: bool,
    python: bool,
    latex: bool,
) -> dict[str, str]:
    """Contents of the files, by name."""
    from ident.regressor.c99 import c99
    from ident.regressor.latex import latex as in_latex
    from ident.regressor.named import identifier
    from ident.regressor.python_ import python_module

    stem = identifier(robot.name)
    texts: dict[str, str] = {}
    if c:
        files = c99(robot.name, functions, scalar="float" if single else "double")
        texts |= {f"{files.stem}.h": files.header, f"{files.stem}.c": files.source}
    if python:
        texts[f"{stem}.py"] = python_module(robot.name, functions)
    if latex:
        parts = [f"% {f.name}: {f.about}\n{in_latex(f)}" for f in functions]
        texts[f"{stem}.tex"] = "\n\n".join(parts) + "\n"
    if texts:
        texts[f"{stem}_base_parameters.csv"] = _table(robot, base)
    return texts


def _table(robot: Robot, base: Grouping) -> str:
    """Base parameters in the order of ``beta``, with the value of the description."""
    from ident.base.basemap import BaseMap

    values = base.reduce(robot.pi).tolist() if isinstance(base, BaseMap) else [""] * base.rank
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "expression", "cad"])
    writer.writerows(zip(base.names, base.expressions, values, strict=True))
    return text.getvalue()
