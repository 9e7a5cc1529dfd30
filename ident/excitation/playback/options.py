"""How a play is written: rates, and what a controller is told."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ident.errors import UsageError

# Ranges of ``servoj``: URScript manual, module motion.
_GAIN, _LOOKAHEAD_S = (100.0, 2000.0), (0.03, 0.2)


@dataclass(frozen=True, kw_only=True)
class PlaybackOptions:
    """Rates of the set-points, and parameters of the URScript programs.

    Attributes
    ----------
    rate_hz : float, optional
        Of parquet and CSV; the trajectory's own by default.
    ros2_rate_hz : float
        Of the points of a ROS 2 trajectory, between which its controller interpolates.
    servoj_rate_hz : float, optional
        Of the controller that set-points are streamed to: by default 125 Hz for the CB3 arms UR3,
        UR5 and UR10, and 500 Hz for any other.
    gain, lookahead_s : float
        How ``servoj`` follows set-points: 100 to 2000, 0.03 s to 0.2 s.
    host, port : str, int
        Where the controller finds the computer that streams; the sender can fill in the host.
    """

    rate_hz: float | None = None
    ros2_rate_hz: float = 100.0
    servoj_rate_hz: float | None = None
    gain: float = 300.0
    lookahead_s: float = 0.1
    host: str = "192.168.1.100"
    port: int = 50010

    def __post_init__(self) -> None:
        """Check what would otherwise come to light on a robot."""
        for name, value in (
            ("rate", self.rate_hz),
            ("ros2 rate", self.ros2_rate_hz),
            ("servoj rate", self.servoj_rate_hz),
        ):
            if value is not None and not 0.0 < value < np.inf:
                raise UsageError(name, f"{value:g} Hz", expected="finite, above zero")
        for name, value, (low, high) in (
            ("servoj gain", self.gain, _GAIN),
            ("servoj lookahead", self.lookahead_s, _LOOKAHEAD_S),
        ):
            if not low <= value <= high:
                raise UsageError(name, f"{value:g}", expected=f"{low:g} to {high:g}")
        if not re.fullmatch(r"[A-Za-z0-9.:-]+", self.host):
            raise UsageError("host", f"'{self.host}'", expected="a name or an address")
        if not 0 < self.port < 65536:
            raise UsageError("port", str(self.port), expected="1 to 65535")
