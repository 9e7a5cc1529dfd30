"""Units that logs use, each as its factor to SI."""

from __future__ import annotations

import math

from ident.errors import LogError

# Per quantity, so that a torque in degrees is refused.
FACTORS: dict[str, dict[str, float]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9},
    "position": {
        "rad": 1.0, "deg": math.pi / 180, "rev": 2 * math.pi, "mrad": 1e-3, "m": 1.0, "mm": 1e-3,
    },
    "velocity": {
        "rad/s": 1.0, "deg/s": math.pi / 180, "rpm": math.pi / 30, "m/s": 1.0, "mm/s": 1e-3,
    },
    "acceleration": {"rad/s²": 1.0, "rad/s^2": 1.0, "deg/s²": math.pi / 180, "m/s²": 1.0},
    "effort": {"N·m": 1.0, "Nm": 1.0, "N*m": 1.0, "mN·m": 1e-3, "mNm": 1e-3, "N": 1.0, "A": 1.0},
    "current": {"A": 1.0, "mA": 1e-3},
    "temperature": {"°C": 1.0, "degC": 1.0},
}  # fmt: skip


def quantity(channel: str) -> str:
    """Quantity that a channel holds: a command is measured in the unit of what it commands."""
    return channel.removesuffix("_cmd")


def factor(channel: str, unit: str, *, where: str) -> float:
    """Factor from ``unit`` to SI; the empty unit is SI.

    Raises
    ------
    LogError
        The unit does not measure this channel.
    """
    known = FACTORS[quantity(channel)]
    if unit and unit not in known:
        raise LogError(where, f"unit '{unit}'", expected=f"one of {', '.join(known)}")
    return known[unit] if unit else 1.0


def si_unit(channel: str, turns: bool) -> str:
    """SI unit of a channel of a turning or a sliding joint."""
    angle, length = {
        "time": ("s", "s"),
        "position": ("rad", "m"),
        "velocity": ("rad/s", "m/s"),
        "acceleration": ("rad/s²", "m/s²"),
        "effort": ("N·m", "N"),
        "current": ("A", "A"),
        "temperature": ("°C", "°C"),
    }[quantity(channel)]
    return angle if turns else length
