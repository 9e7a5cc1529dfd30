"""``ident plan``: a campaign to play and log, and whether its logs are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ident.cli import common, excite, references
from ident.errors import LogError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from ident.cli.campaign_check import StepStatus
    from ident.cli.campaign_folder import Planned
    from ident.excitation.campaign import Campaign

_STYLES = {"usable": "green", "unusable": "bold red", "missing": "yellow"}


@common.guarded
def plan(
    context: typer.Context,
    robot: Annotated[
        str | None,
        typer.Argument(
            metavar="ROBOT",
            help="Registry name, URDF, MJCF or TOML file, or run folder; with --check the plan's.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder; runs/<robot>/campaign by default.")
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Say which logs of a campaign are missing or unusable."
        ),
    ] = None,
    payload: excite.Carried = None,
    periods: Annotated[int, typer.Option(help="Periods of the excitation.")] = 5,
    warmup: Annotated[float, typer.Option(help="Warm-up, s; 0 for none.")] = 600.0,
    poses: Annotated[int, typer.Option(help="Static poses.")] = 12,
    starts: excite.Starts = 16,
    seconds: excite.Seconds = None,
    jobs: excite.Jobs = 0,
    margin: excite.Margin = 0.95,
    distance: excite.Distance = 0.02,
    floor: excite.Floor = None,
    surroundings: excite.Around = None,
    formats: excite.Formats = "parquet",
    seed: Annotated[int, typer.Option(help="Seed of searches and poses.")] = 0,
    gravity: common.Gravity = None,
    mount: common.Mount = None,
    profile: common.Profile = None,
    json: common.Json = False,
    quiet: common.Quiet = False,
    config: common.Config = None,
) -> None:
    """Write a campaign for ROBOT: warm-up, static poses, friction sweeps, excitation, validation.

    With --check FOLDER nothing is written; exit code 3: a log is missing or unusable.
    """
    if check is not None:
        if gravity or mount:
            raise UsageError("--gravity", "given together with --check", expected="the plan's own")
        _check(check, robot, profile, json=json, quiet=quiet)
        return
    if robot is None:
        raise UsageError("ROBOT", "not given", expected="a robot, or --check FOLDER")
    from ident.cli.campaign_folder import open_folder, require_formats, write_campaign
    from ident.excitation.campaign import CampaignOptions
    from ident.excitation.campaign import plan as plan_campaign
    from ident.excitation.design import DesignOptions
    from ident.excitation.poses import PoseOptions
    from ident.files import file_name

    model = references.load_robot(robot, gravity, mount)
    options = CampaignOptions(
        design=DesignOptions(
            periods=periods,
            starts=starts,
            seconds=seconds,
            jobs=jobs,
            margin=margin,
            distance=distance,
            seed=seed,
        ),
        payload=excite.payload_of(payload),
        warmup_s=warmup,
        poses=PoseOptions(poses=poses),
    )
    around = excite.surroundings_of(floor, surroundings)
    kinds = tuple(word.strip() for word in formats.split(","))
    require_formats(kinds, model)
    folder = out or Path("runs") / file_name(model.name) / "campaign"
    with common.progress(quiet=quiet or json) as show, open_folder(folder) as fresh:
        campaign = plan_campaign(model, options, surroundings=around, progress=show)
        show("writing")
        write_campaign(
            fresh,
            folder,
            campaign,
            reference=_reference(robot),
            command=common.command_line(context),
            formats=kinds,
        )
    if json:
        common.print_json(_summary(campaign, folder))
    elif not quiet:
        _print(common.console(), campaign, folder)


def _reference(robot: str) -> str:
    """What finds the robot again from any working folder."""
    from ident.model.registry import registry_name

    return robot if registry_name(robot) else str(Path(robot).resolve())


def _summary(campaign: Campaign, folder: Path) -> dict[str, Any]:
    """What ``ident plan --json`` prints."""
    from ident.cli.summary import finding

    steps = [
        {
            "name": step.name,
            "kind": step.kind,
            "duration_s": step.duration_s,
            "loaded": step.loaded,
            "log": step.log,
            "margins": step.certificate.margins,
            "condition": asdict(step.design.quality.condition) if step.design else None,
        }
        for step in campaign.steps
    ]
    return {
        "out": folder,
        "robot": campaign.robot.name,
        "steps": steps,
        "duration_s": campaign.duration_s,
        "poses": campaign.poses,
        "gravity_condition": campaign.gravity_condition,
        "findings": [finding(f) for f in campaign.findings],
        "seconds": campaign.seconds,
    }


def _print(console: Console, campaign: Campaign, folder: Path) -> None:
    from rich.text import Text

    from ident.cli.campaign_checklist import clock
    from ident.report.tables import print_findings
    from ident.report.terminal import add_column, new_table, print_table

    table = new_table(f"{campaign.robot.name}: {clock(campaign.duration_s)} min of motion")
    for header, right in (
        ("step", False),
        ("min", True),
        ("condition", True),
        ("torque left", True),
    ):
        add_column(table, header, right=right)
    for step in campaign.steps:
        left = step.certificate.margins["torque"]
        condition = f"{step.design.quality.condition.scaled:.1f}" if step.design else ""
        share = "" if left is None else f"{100.0 * left:.0f} %"
        cells = (step.name, clock(step.duration_s), condition, share)
        table.add_row(*map(Text, cells))
    print_table(console, table)
    console.print(f"{folder}/CHECKLIST.md says what to do, in order", soft_wrap=True)
    print_findings(console, campaign.findings)


def _check(
    folder: Path, robot: str | None, profile: str | None, *, json: bool, quiet: bool
) -> None:
    """Check the logs of a campaign; leave with 3 where one is missing or unusable."""
    from ident.cli.campaign_check import check_campaign, next_step, require_model
    from ident.cli.campaign_folder import read_campaign

    planned = read_campaign(folder)
    model = references.load_robot(robot or planned.reference).with_gravity(planned.gravity)
    require_model(planned, model)
    statuses = []
    with common.progress(quiet=quiet or json) as show:
        for status in check_campaign(planned, model, profile=profile):
            show(f"{status.step.name}: {status.status}")
            statuses.append(status)
    todo = next_step(statuses)
    if json:
        steps = [status.to_dict() for status in statuses]
        common.print_json({"ok": todo is None, "next": todo, "steps": steps})
    elif not quiet:
        _print_check(common.console(), planned, statuses, todo)
    if todo is not None:
        raise typer.Exit(LogError.exit_code)


def _print_check(
    console: Console, planned: Planned, statuses: Sequence[StepStatus], todo: str | None
) -> None:
    from rich.text import Text

    from ident.report.tables import print_findings
    from ident.report.terminal import add_column, new_table, print_table

    usable = sum(status.status == "usable" for status in statuses)
    table = new_table(f"{planned.robot}: {usable} of {len(statuses)} logs usable")
    add_column(table, "step")
    add_column(table, "status")
    add_column(table, "log, or why not", wrap=True)
    for status in statuses:
        why = "; ".join(status.reasons) or (status.log.name if status.log else "")
        word = Text(status.status, style=_STYLES[status.status])
        table.add_row(Text(status.step.name), word, Text(why))
    print_table(console, table)
    print_findings(console, [f for status in statuses for f in status.findings])
    if todo is None:
        console.print("all there")
    else:
        console.print(f"next: {todo} → {planned.folder}/logs/{todo}.*", soft_wrap=True)
