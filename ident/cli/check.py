"""``ident check``: whether a log may be believed."""

from __future__ import annotations

from typing import Annotated

import typer

from ident.cli import common, references
from ident.errors import LogError


@common.guarded
def check(
    robot: common.RobotName,
    log: Annotated[str, typer.Argument(metavar="LOG", help="Log of this robot.")],
    gravity: common.Gravity = None,
    mount: common.Mount = None,
    profile: common.Profile = None,
    json: common.Json = False,
    quiet: common.Quiet = False,
    config: common.Config = None,
) -> None:
    """Check LOG against ROBOT before it is believed. Exit code 3: an error was found."""
    from ident.cli.inputs import settled_gravity
    from ident.cli.summary import finding
    from ident.logs.checks import as_finding
    from ident.logs.checks import check as check_log
    from ident.logs.readers import read_log
    from ident.report.tables import print_check

    model = references.load_robot(robot, gravity, mount)
    try:
        recording = read_log(log, model, profile=profile)
    except LogError as e:
        if not json:
            raise
        common.print_json({"ok": False, "findings": [finding(as_finding(e))]})
        raise typer.Exit(LogError.exit_code) from e
    model, findings = settled_gravity(model, [recording], bool(gravity or mount))
    findings += check_log(recording, model)
    good = all(f.severity != "error" for f in findings)
    if json:
        common.print_json({"ok": good, "findings": [finding(f) for f in findings]})
    elif not quiet:
        print_check(common.console(), recording.name, findings)
    if not good:
        raise typer.Exit(LogError.exit_code)
