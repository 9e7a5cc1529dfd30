"""Designed trajectories as files: what a robot plays, and the certificate that comes with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ident.excitation.design import Design
from ident.excitation.playback import PlaybackOptions, playback_files
from ident.files import write_together


def write_design(
    folder: Path,
    name: str,
    design: Design,
    command: str = "",
    *,
    formats: Iterable[str] = ("parquet",),
    options: PlaybackOptions | None = None,
) -> None:
    """Write ``<name>.json`` and the play in the formats by name, all of them or none.

    Parameters
    ----------
    command : str
        What makes it again; kept in the JSON.

    Raises
    ------
    UsageError
        The folder cannot be written, or a format does not exist or cannot hold the play.
    """
    facts = {**design.to_dict(), **({"command": command} if command else {})}
    text = json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
    played = playback_files(design.play, name, formats, options)
    files = {f"{name}.json": text.encode(), **played}
    write_together(folder, files)
