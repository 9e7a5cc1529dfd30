"""Set-points streamed to a controller of Universal Robots, which gives them to ``servoj``.

A program that lists the set-points has tens of thousands of lines, and controllers have refused
programs of some thousand. So the controller asks a computer for them, some at a time, and keeps a
tenth of a second in store: network and computer may be late by that much, and an arm whose
computer has gone stops as soon.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from ident.errors import UsageError
from ident.excitation.approach import Play
from ident.excitation.playback import sender
from ident.excitation.playback.options import PlaybackOptions
from ident.excitation.playback.table import csv_of
from ident.excitation.playback.text import rendered
from ident.excitation.playback.urscript import context, require_ur

_CB3, _E_SERIES = 125.0, 500.0
_STORE_S = 0.1
# A step this much larger than any of the play is none of it.
_LARGER = 1.5


def servoj(play: Play, name: str, options: PlaybackOptions) -> dict[str, bytes]:
    """``<name>_servoj``: set-points (``.csv``), sender (``.py``) and program (``.script``)."""
    require_ur(play)
    rate_hz = options.servoj_rate_hz or controller_rate_hz(play.robot)
    _, motion, _ = play.sample(rate_hz)
    if np.abs(motion.q - motion.q[0]).max() * sender.UNIT > np.iinfo(np.int32).max:
        raise UsageError(
            f"trajectory {play.trajectory.id}",
            "it goes further than 4 rad from home",
            expected="a motion within 4 rad, which 32-bit integers resolve to 1e-9 rad",
            remedy="choose urscript, or move home",
        )
    data = sender.packed(motion.q.tolist())
    batches = int(np.ceil(_STORE_S * rate_hz / sender.BATCH))
    text = rendered(
        "servoj.script.j2",
        **context(play, options),
        name=name,
        rate_hz=rate_hz,
        rows=len(data) // (4 * sender.JOINTS),
        check=sender.checksum(data),
        unit=sender.UNIT,
        batch=sender.BATCH,
        store=max(2, batches) * sender.BATCH,
        largest=_LARGER * np.abs(np.diff(motion.q, axis=0)).max(axis=0) + 1e-6,
    )
    return {
        f"{name}_servoj.csv": csv_of(play, rate_hz),
        f"{name}_servoj.py": resources.files(__package__).joinpath("sender.py").read_bytes(),
        f"{name}_servoj.script": text,
    }


def controller_rate_hz(robot: str) -> float:
    """Steps a second of a robot's controller, by its name."""
    return _CB3 if robot.lower() in ("ur3", "ur5", "ur10") else _E_SERIES
