"""``ident export``: an identified model in the formats that others load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ident.cli import common
from ident.errors import Finding, UnidentifiableError, UsageError
from ident.files import write_whole

FORMATS = ("urdf", "csv", "json")


@common.guarded
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of ident identify.")],
    out: common.Out = None,
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
    folder = out or run / "export"
    texts: dict[Path, str] = {}
    findings: tuple[Finding, ...] = ()
    for each in wanted:
        path = folder / f"{estimate.robot.name}.{each}"
        if each == "urdf":
            text, findings = run_folder.identified_urdf(estimate)
            if text is None:
                raise UnidentifiableError(str(path), findings[0].found, remedy=findings[0].remedy)
            texts[path] = text
        elif each == "csv":
            texts[path] = run_folder.parameters_csv(estimate)
        else:
            texts[path] = store.dumps(estimate)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        write_whole(path, text.encode())
    if not quiet:
        for path in texts:
            typer.echo(path)
        print_findings(common.console(), findings)
