"""A play as ROS 2 ``trajectory_msgs/msg/JointTrajectory`` in YAML."""

from __future__ import annotations

import json

from ident.excitation.approach import Play
from ident.excitation.playback.options import PlaybackOptions
from ident.excitation.playback.text import rendered

_NANO = 10**9


def ros2(play: Play, name: str, options: PlaybackOptions) -> dict[str, bytes]:
    """``<name>_ros2.yaml``: points with position, velocity and acceleration.

    A controller that has all three interpolates by quintics.
    """
    t, motion, _ = play.sample(options.ros2_rate_hz)
    times = [divmod(round(seconds * _NANO), _NANO) for seconds in t.tolist()]
    file = f"{name}_ros2.yaml"
    text = rendered(
        "ros2.yaml.j2",
        play=play,
        file=file,
        rate_hz=options.ros2_rate_hz,
        joints=json.dumps(play.joints),
        points=list(zip(times, motion.q, motion.dq, motion.ddq, strict=True)),
    )
    return {file: text}
