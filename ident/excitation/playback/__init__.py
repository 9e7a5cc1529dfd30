"""What robots play: a motion with its approach and return, in formats by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ident.errors import UsageError
from ident.excitation.approach import Play
from ident.excitation.playback.options import PlaybackOptions
from ident.excitation.playback.ros2 import ros2
from ident.excitation.playback.servoj import servoj
from ident.excitation.playback.table import csv, parquet, setpoints
from ident.excitation.playback.urscript import urscript

__all__ = ["FORMATS", "PlaybackOptions", "Writer", "playback_files", "setpoints"]

Writer = Callable[[Play, str, PlaybackOptions], dict[str, bytes]]
FORMATS: dict[str, Writer] = {
    "parquet": parquet,
    "csv": csv,
    "urscript": urscript,
    "servoj": servoj,
    "ros2": ros2,
}


def playback_files(
    play: Play,
    name: str,
    formats: Iterable[str] = ("parquet",),
    options: PlaybackOptions | None = None,
) -> dict[str, bytes]:
    """Files to write, by name: those of each format for a play that is called ``name``.

    Raises
    ------
    UsageError
        A format that does not exist, or that cannot hold this play.
    """
    options, files = options or PlaybackOptions(), dict[str, bytes]()
    for kind in formats:
        if kind not in FORMATS:
            raise UsageError("format", f"'{kind}'", expected=f"one of {', '.join(FORMATS)}")
        files |= FORMATS[kind](play, name, options)
    return files
