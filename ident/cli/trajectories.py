"""Designed trajectories as files: what a robot plays, and the certificate that comes with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from ident import __version__
from ident.excitation.design import Design
from ident.excitation.envelope import Load
from ident.excitation.playback import PlaybackOptions, playback_files
from ident.files import write_together
from ident.regressor.rigid import derive

PREVIEWS = {"plots": ".svg", "page": ".html"}
_PREVIEW_HZ = 50.0


def write_design(
    folder: Path,
    name: str,
    design: Design,
    command: str = "",
    *,
    formats: Sequence[str] = ("parquet",),
    options: PlaybackOptions | None = None,
) -> None:
    """Write ``<name>.json`` and the play in the formats by name, all of them or none.

    Beside what robots play, formats are ``plots`` (SVG of every joint with its limits) and ``page``
    (HTML of the arm moving; needs the extra ``viz``).

    Parameters
    ----------
    command : str
        What makes it again; kept in the JSON.

    Raises
    ------
    UsageError
        The folder cannot be written, or a format does not exist or cannot hold the play.
    """
    versions = {name: metadata.version(name) for name in ("numpy", "scipy")}
    made = {"command": command, "versions": {"ident": __version__, **versions}}
    facts = {**design.to_dict(), **made}
    text = json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
    chosen = set(formats)
    played = playback_files(design.play, name, [f for f in formats if f not in PREVIEWS], options)
    shown = {f"{name}{PREVIEWS[f]}": _preview(f, design) for f in PREVIEWS if f in chosen}
    write_together(folder, {f"{name}.json": text.encode(), **played, **shown})


def _preview(kind: str, design: Design) -> bytes:
    """What ``kind`` shows of a design."""
    play, limits = design.play, design.certificate.limits
    t, motion, _ = play.sample(_PREVIEW_HZ)
    phases = [(name, *span) for name, span in play.phase_bounds.items()]
    title = f"{play.robot} {play.trajectory.id}"
    if kind == "page":
        from ident.report.scene import scene_page

        around = design.surroundings
        return scene_page(
            design.robot, t, motion.q, title=title, phases=phases, surroundings=around
        )
    from ident.report.preview import joint_plots

    load = Load(derive(design.robot), design.options.payload)
    torque = load.torque(motion)
    return joint_plots(t, motion, limits, phases=phases, torque=torque, title=title)
