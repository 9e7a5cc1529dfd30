"""``ident simulate-samples``: the sample logs again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ident.cli import common


@common.guarded
def simulate_samples(
    root: Annotated[Path, typer.Option("--root", help="Checkout to write into.")] = Path("."),
) -> None:
    """Simulate the sample logs in data/logs again, from the trajectories that they play."""
    from ident.cli.sample_logs import ROBOT, write_samples

    write_samples(root)
    typer.echo(root / "data" / "logs" / ROBOT)
