"""``ident excite``: a trajectory worth executing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ident.cli import common, references
from ident.errors import UsageError

if TYPE_CHECKING:
    from ident.excitation.criteria import Information
    from ident.excitation.design import Design
    from ident.excitation.envelope import Payload
    from ident.excitation.surroundings import Surroundings
    from ident.model.robot import Robot

Starts = Annotated[int, typer.Option(help="Random starts of the search.")]
Seconds = Annotated[
    float | None, typer.Option(help="Time for the search, s: as many starts as it allows.")
]
Jobs = Annotated[int, typer.Option(help="Processes; 0 takes all processors.")]
Margin = Annotated[float, typer.Option(help="Share of each limit that may be used.")]
Distance = Annotated[float, typer.Option(help="Distance (m) that links keep from what they meet.")]
Floor = Annotated[float | None, typer.Option(help="Height (m) of a floor in the base frame.")]
Around = Annotated[
    Path | None,
    typer.Option("--surroundings", help="TOML file of floor, walls, obstacles and workspace."),
]
Carried = Annotated[
    str | None,
    typer.Option("--payload", metavar="KG[,X,Y,Z]", help="What hangs at the flange: mass, centre."),
]

Formats = Annotated[
    str,
    typer.Option(
        "--format",
        help="What is written: parquet, csv, urscript, servoj or ros2 to play; plots (SVG) or page "
        "(HTML of the arm moving; extra viz) to look at; none for the certificate alone.",
    ),
]


@common.guarded
def excite(
    context: typer.Context,
    robot: common.RobotName,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder; runs/<robot>/excitation by default.")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the files.")] = "excitation",
    harmonics: Annotated[int, typer.Option(help="Harmonics of the Fourier series.")] = 5,
    frequency_hz: Annotated[float, typer.Option(help="Base frequency, Hz.")] = 0.1,
    periods: Annotated[int, typer.Option(help="Periods to play.")] = 2,
    starts: Starts = 16,
    seconds: Seconds = None,
    jobs: Jobs = 0,
    margin: Margin = 0.95,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="Q1,…", help="Where periods start and end; 'home'; free if not given."
        ),
    ] = None,
    distance: Distance = 0.02,
    floor: Floor = None,
    surroundings: Around = None,
    payload: Carried = None,
    noise: Annotated[
        str | None,
        typer.Option(metavar="N·m,…", help="Torque noise of each joint; 1 % of its limit."),
    ] = None,
    goal: Annotated[
        str, typer.Option(help="What is minimised: condition, log_det or a_optimality.")
    ] = "condition",
    scaling: Annotated[
        str, typer.Option(help="Of columns by their prior magnitude, or in SI: prior or si.")
    ] = "prior",
    friction: Annotated[
        str, typer.Option(help="Friction terms that will be identified; none for none.")
    ] = "viscous,coulomb,offset",
    armature: Annotated[bool, typer.Option(help="Whether armatures will be identified.")] = True,
    after: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="Run that is there already; may be repeated."),
    ] = None,
    formats: Formats = "parquet,plots",
    seed: Annotated[int, typer.Option(help="Seed of the random starts.")] = 0,
    gravity: common.Gravity = None,
    mount: common.Mount = None,
    json: common.Json = False,
    quiet: common.Quiet = False,
    config: common.Config = None,
) -> None:
    """Design an excitation trajectory for ROBOT: certificate (JSON), set-points, plots."""
    from ident.cli.summary import finding
    from ident.cli.trajectories import write_design
    from ident.excitation.design import DesignOptions, design
    from ident.files import file_name

    model = references.load_robot(robot, gravity, mount)
    options = DesignOptions(
        harmonics=harmonics,
        base_frequency_hz=frequency_hz,
        periods=periods,
        starts=starts,
        seconds=seconds,
        jobs=jobs,
        margin=margin,
        start=_start(start, model.home.tolist()),
        distance=distance,
        noise=common.numbers("--noise", noise, model.n) if noise else None,
        goal=goal,  # type: ignore[arg-type]  # checked by the options
        scaling=scaling,  # type: ignore[arg-type]
        friction=common.friction_names(friction),
        armature=armature,
        payload=payload_of(payload),
        seed=seed,
    )
    earlier = tuple(_earlier(after or (), model))
    around = surroundings_of(floor, surroundings)
    folder = out or Path("runs") / file_name(model.name) / "excitation"
    with common.progress(quiet=quiet or json) as show:
        show("searching")
        found = design(model, options, surroundings=around, earlier=earlier, progress=show)
        write_design(
            folder,
            file_name(name),
            found,
            common.command_line(context),
            formats=format_names(formats),
        )
    if json:
        findings = [finding(f) for f in found.findings]
        common.print_json({"out": folder, **found.summary(), "findings": findings})
    elif not quiet:
        _print(found, folder, file_name(name))


def format_names(text: str) -> tuple[str, ...]:
    """Formats of an option, ``none`` for none."""
    return () if text == "none" else tuple(word.strip() for word in text.split(","))


def surroundings_of(floor: float | None, path: Path | None) -> Surroundings | None:
    """Surroundings of a file, of a floor alone, or None for nothing at all."""
    from ident.excitation.surroundings import Surroundings, read_surroundings
    from ident.excitation.surroundings import floor as floor_at

    if floor is None:
        return read_surroundings(path) if path else None
    if path is not None:
        raise UsageError("--floor", "given together with --surroundings", expected="one of them")
    return Surroundings(walls=(floor_at(floor),))


def payload_of(text: str | None) -> Payload | None:
    """Payload of ``KG`` or ``KG,X,Y,Z``."""
    from ident.excitation.envelope import Payload

    if text is None:
        return None
    values = common.numbers("--payload", text)
    if len(values) not in (1, 4):
        raise UsageError("--payload", f"{len(values)} numbers in '{text}'", expected="1 or 4")
    x, y, z = values[1:] or (0.0, 0.0, 0.0)
    return Payload(mass=values[0], com=(x, y, z))


def _start(text: str | None, home: list[float]) -> tuple[float, ...] | None:
    if text is None or text == "free":
        return None
    return tuple(home) if text == "home" else common.numbers("--start", text, len(home))


def _earlier(runs: Sequence[Path], robot: Robot) -> Iterator[Information]:
    """What runs of the same robot have shown of its base parameters."""
    from ident.cli.run_folder import load_estimate
    from ident.excitation.criteria import Information

    for run in runs:
        estimate = load_estimate(run)
        if estimate.robot.kinematic_digest != robot.kinematic_digest:
            raise UsageError(
                f"--after {run}",
                f"a run of '{estimate.robot.name}' with other geometry or gravity",
                expected=f"one of '{robot.name}'",
            )
        R = estimate.solution.factor[:-1, :-1]
        yield Information(names=estimate.base.names, matrix=R.T @ R)


def _print(found: Design, folder: Path, name: str) -> None:
    from ident.report.tables import print_findings

    quality, margins = found.quality, found.certificate.margins
    console = common.console()
    console.print(
        f"{quality.level}: condition number {quality.condition.scaled:.1f} scaled, "
        f"{quality.condition.raw:.1f} raw, {quality.condition.raw_inertial:.1f} raw inertial"
    )
    rows = [f"{kind} {100 * left:.0f} %" for kind, left in margins.items() if left is not None]
    if (clear := margins["collision"]) is not None:
        rows[-1] = f"nearest {1e3 * clear:.0f} mm"
    console.print(f"left of the limits: {', '.join(rows)}", soft_wrap=True)
    console.print(
        f"{folder}/{name}.json and what is played, best of {found.starts} searches in "
        f"{found.seconds:.1f} s",
        soft_wrap=True,
    )
    print_findings(console, found.findings)
