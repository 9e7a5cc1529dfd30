"""Programs for controllers of Universal Robots, in URScript.

References
----------
    Universal Robots, "The URScript Programming Language", modules motion, internals and interfaces.
"""

from __future__ import annotations

import re

import numpy as np

from ident.errors import UsageError
from ident.excitation.approach import Play
from ident.excitation.playback.options import PlaybackOptions
from ident.excitation.playback.text import rendered

_AXES = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
# An arm within 3° of home at each joint has its tool within some centimetres of where it should be.
NEAR = 0.05


def urscript(play: Play, name: str, options: PlaybackOptions) -> dict[str, bytes]:
    """``<name>.script``: evaluates the moves and the series on the controller, at its own rate."""
    require_ur(play)
    s = play.trajectory.series
    rate = s.omega * np.arange(1, s.harmonics + 1)
    file = f"{name}.script"
    text = rendered(
        "urscript.script.j2",
        **context(play, options),
        file=file,
        omega=s.omega,
        mean=s.q0,
        amplitudes=list(zip((s.a / rate).T, (-s.b / rate).T, strict=True)),
    )
    return {file: text}


def context(play: Play, options: PlaybackOptions) -> dict[str, object]:
    """What both programs are told."""
    return {
        "play": play,
        "begin_s": play.phase_bounds["excitation"][0],
        "end_s": play.phase_bounds["excitation"][1],
        "back_s": play.duration_s - play.approach.duration_s,
        "near": NEAR,
        "degrees": ", ".join(f"{angle:.1f}" for angle in np.rad2deg(play.home)),
        "options": options,
    }


def require_ur(play: Play) -> None:
    """Refuse arms that are not of Universal Robots.

    Raises
    ------
    UsageError
        Not six turning joints, or neither the robot's name nor those of its joints say so.
    """
    n = len(play.joints)
    named = re.match(r"ur\d", play.robot, re.IGNORECASE)
    axes = n == len(_AXES) and all(map(str.__contains__, play.joints, _AXES))
    if n != len(_AXES) or not all(play.turns) or not (named or axes):
        raise UsageError(
            f"robot '{play.robot}'",
            f"{n} joints: {', '.join(play.joints)}",
            expected="an arm of Universal Robots, six joints from shoulder_pan to wrist_3",
            remedy="choose another format: csv, parquet or ros2",
        )
