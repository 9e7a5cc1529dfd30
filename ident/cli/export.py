"""``ident export``: an identified model in the formats that others load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ident.cli import common
from ident.errors import Finding, UnidentifiableError, UsageError
from ident.files import file_name, write_together

FORMATS = ("urdf", "csv", "json")


@common.guarded
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of ident identify.")],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Folder; RUN/export by default, replaced with RUN."),
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", metavar="FORMAT,…", help="urdf, csv, json.")
    ] = "urdf",
    quiet: common.Quiet = False,
    config: common.Config = None,
) -> None:
    """Write the model of RUN as URDF (patched in place), parameter table, or saved estimate."""
    wanted = [name.strip() for name in formats.split(",")]
    if unknown := [name for name in wanted if name not in FORMATS]:
        raise UsageError("--format", f"'{unknown[0]}'", expected=", ".join(FORMATS))

    from ident import store
    from ident.cli import run_folder
    from ident.report.tables import print_findings

    estimate = run_folder.load_estimate(run)
    folder = out or run / run_folder.EXPORTS
    texts: dict[str, str] = {}
    findings: tuple[Finding, ...] = ()
    for each in wanted:
        name = f"{file_name(estimate.robot.name)}.{each}"
        if each == "urdf":
            text, findings = run_folder.identified_urdf(estimate)
            if text is None:
                raise UnidentifiableError(
                    str(folder / name), findings[0].found, remedy=findings[0].remedy
                )
            texts[name] = text
        elif each == "csv":
            texts[name] = run_folder.parameters_csv(estimate)
        else:
            texts[name] = store.dumps(estimate)
    write_together(folder, {name: text.encode() for name, text in texts.items()})
    if not quiet:
        for name in texts:
            typer.echo(folder / name)
        print_findings(common.console(), findings)
