"""``ident import``: a foreign log as canonical parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ident.cli import common, references
from ident.errors import UsageError


@common.guarded
def import_log(
    robot: common.RobotName,
    log: Annotated[str, typer.Argument(metavar="LOG", help="Log of this robot.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Parquet file to write.")],
    profile: common.Profile = None,
    quiet: common.Quiet = False,
    config: common.Config = None,
) -> None:
    """Convert LOG to canonical parquet: SI, joints by name, facts in the schema."""
    from ident.logs.readers import read_log
    from ident.logs.writer import copy_log
    from ident.report.tables import print_findings

    if common.shared([log], [str(out)]):
        raise UsageError(f"-o {out}", "the log itself", expected="another file")
    model = references.load_robot(robot)
    recording = read_log(log, model, profile=profile)
    copy_log(out, model, recording)
    if not quiet:
        console = common.console()
        console.print(f"{out}: {recording.rows} rows of {', '.join(recording.channels)}")
        print_findings(console, recording.findings)
