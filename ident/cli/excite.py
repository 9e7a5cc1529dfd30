"""``ident excite``: a trajectory worth executing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ident.cli import common, references


@common.guarded
def excite(
    robot: common.RobotName,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder; runs/<robot>/excitation by default.")
    ] = None,
    harmonics: Annotated[int, typer.Option(help="Harmonics of the Fourier series.")] = 5,
    frequency_hz: Annotated[float, typer.Option(help="Base frequency, Hz.")] = 0.1,
    periods: Annotated[int, typer.Option(help="Periods to play.")] = 2,
    starts: Annotated[int, typer.Option(help="Random feasible starts.")] = 200,
    margin: Annotated[float, typer.Option(help="Share of each limit that may be used.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the random starts.")] = 0,
    gravity: common.Gravity = None,
    mount: common.Mount = None,
    json: common.Json = False,
    quiet: common.Quiet = False,
    config: common.Config = None,
) -> None:
    """Design an excitation trajectory for ROBOT: set-points (parquet) and certificate (JSON)."""
    from ident.cli.trajectories import write_design
    from ident.excitation.design import DesignOptions, design
    from ident.files import file_name

    model = references.load_robot(robot, gravity, mount)
    options = DesignOptions(
        harmonics=harmonics,
        base_frequency_hz=frequency_hz,
        periods=periods,
        starts=starts,
        margin=margin,
        seed=seed,
    )
    folder = out or Path("runs") / file_name(model.name) / "excitation"
    with common.progress(quiet=quiet or json) as show:
        show(f"trying {starts} starts")
        found = design(model, options)
        write_design(folder, "excitation", found)
    if json:
        common.print_json({"out": folder, **found.summary()})
    elif not quiet:
        _print(found, folder)


def _print(found: object, folder: Path) -> None:
    from ident.excitation.design import Design
    from ident.report.tables import print_findings

    assert isinstance(found, Design)
    quality, margins = found.quality, found.certificate.margins
    console = common.console()
    console.print(
        f"{quality.level}: condition number {quality.condition.scaled:.1f} scaled, "
        f"{quality.condition.raw:.1f} raw, {quality.condition.raw_inertial:.1f} raw inertial"
    )
    rows = ", ".join(
        f"{name} {100 * left:.0f} %" for name, left in margins.items() if left is not None
    )
    console.print(f"left of the limits: {rows}", soft_wrap=True)
    console.print(
        f"{folder}/excitation.parquet and .json, in {found.seconds:.1f} s", soft_wrap=True
    )
    print_findings(console, found.findings)
