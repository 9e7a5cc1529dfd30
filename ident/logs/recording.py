"""Recording: a log as a stream of rows, joints by name, SI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen, locked
from ident.errors import Finding, LogError
from ident.logs.sources import ArraySource, Source
from ident.model.robot import Robot

EffortKind = Literal["joint_torque", "link_torque_sensor", "motor_torque", "motor_current"]
EffortOrigin = Literal["measured", "commanded", "simulated"]
TorqueTiming = Literal["instantaneous", "held"]
TimeKind = Literal["device", "receive"]

CHANNELS = (
    "position",
    "velocity",
    "acceleration",
    "effort",
    "current",
    "temperature",
    "position_cmd",
    "velocity_cmd",
    "effort_cmd",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Facts:
    """What a log says of itself, or what its reader assumed.

    Attributes
    ----------
    effort_kind : str
        What ``effort`` means. A link torque sensor sees neither armature nor motor friction.
    torque_timing : str
        ``held``: row k holds the mean torque between samples k and k + 1.
    gravity : three floats, m/s², or None
        In the base frame; None where the log does not say.
    trajectory_id, period_s, highest_harmonic_hz
        The excitation that was executed, if one was.
    time_kind : str
        Whether ``time`` was stamped by the device or when a message arrived.
    source_format, source_sha256 : str
        The foreign file that the log was imported from.
    assumed : tuple of str
        Names of the facts above that the reader assumed, because the log does not say.
    """

    robot: str = ""
    effort_kind: EffortKind = "joint_torque"
    effort_origin: EffortOrigin = "measured"
    torque_timing: TorqueTiming = "instantaneous"
    gravity: tuple[float, float, float] | None = None
    payload: str = ""
    trajectory_id: str = ""
    period_s: float | None = None
    highest_harmonic_hz: float | None = None
    nominal_rate_hz: float | None = None
    time_kind: TimeKind = "device"
    source_format: str = ""
    source_sha256: str = ""
    assumed: tuple[str, ...] = ()


class Rows(NamedTuple):
    """Some rows of a recording: time (N,) in s, and one (N, n) array per channel, SI."""

    time: Array
    channels: dict[str, Array]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the source and its factor to SI (negative where its sign is turned)."""

    key: str
    factor: float = 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Recording:
    """A log whose rows are decoded on demand.

    Attributes
    ----------
    name : str
        Short name: the stem of the file.
    joints : tuple of str
        The robot's joint names, in the robot's order.
    columns : mapping of channel to tuple of Column
        Where each channel lies, joint by joint; only channels that every joint has.
    findings : tuple of Finding
        What reading found: assumptions, columns left aside.
    """

    name: str
    path: str
    joints: tuple[str, ...]
    facts: Facts
    source: Source = field(repr=False)
    time: Column
    columns: Mapping[str, tuple[Column, ...]] = field(repr=False)
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        """Check that there is something to read, and that it is numbers."""
        if not self.rows:
            raise LogError(self.path, "no rows", expected="one row a sample")
        self.source.require_numbers(self.time.key)
        for channel in self.columns.values():
            for column in channel:
                self.source.require_numbers(column.key)

    @property
    def channels(self) -> tuple[str, ...]:
        """Channels that are there for every joint."""
        return tuple(self.columns)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.source.rows

    @property
    def digest(self) -> str:
        """SHA-256 of the source file."""
        return self.source.digest

    def read(self, start: int, stop: int, channels: Sequence[str] = ()) -> Rows:
        """Rows ``start`` to ``stop``: time, and one array per channel; nothing else is decoded.

        Raises
        ------
        LogError
            The log has no such channel.
        """
        for channel in channels:
            if channel not in self.columns:
                raise LogError(
                    self.path, f"no {channel} channel", expected=f"one of {', '.join(self.columns)}"
                )
        wanted = [self.time, *(column for name in channels for column in self.columns[name])]
        start, stop = max(start, 0), min(stop, self.rows)
        arrays = self.source.read(start, stop, [column.key for column in wanted])
        scaled = [
            array if column.factor == 1.0 else locked(column.factor * array)
            for array, column in zip(arrays, wanted, strict=True)
        ]
        n = len(self.joints)
        return Rows(
            scaled[0],
            {
                # Each joint's values lie together, as filters and sums over time want them.
                name: locked(np.stack(scaled[1 + i * n : 1 + (i + 1) * n]).T)
                for i, name in enumerate(channels)
            },
        )


def recording_of_arrays(
    robot: Robot,
    time: ArrayLike,
    channels: Mapping[str, ArrayLike],
    *,
    facts: Facts | None = None,
    name: str = "memory",
) -> Recording:
    """Recording of arrays in memory, columns in the robot's joint order.

    Parameters
    ----------
    time : (N,) s
    channels : mapping of channel name to (N, n), SI
        NaN marks a missing value.

    Raises
    ------
    LogError
        An unknown channel, no position or effort, or a wrong shape.
    """
    t = frozen(time, (None,), where=f"{name}: time", error=LogError, finite=False)
    arrays = {"time": t}
    for channel, values in channels.items():
        if channel not in CHANNELS:
            raise LogError(name, f"channel '{channel}'", expected=f"one of {', '.join(CHANNELS)}")
        where = f"{name}: {channel}"
        arrays[channel] = frozen(
            values, (len(t), robot.n), where=where, error=LogError, finite=False
        )
    require_channels(name, channels)
    return Recording(
        name=name,
        path=name,
        joints=robot.joints,
        facts=facts or Facts(robot=robot.name),
        source=ArraySource(arrays, where=name),
        time=Column(key="time"),
        columns={
            channel: tuple(Column(key=f"{channel}[{j}]") for j in range(robot.n))
            for channel in channels
        },
    )


def require_channels(where: str, channels: Mapping[str, object]) -> None:
    """Raise LogError where position or effort is missing."""
    for channel, names in (("position", "q1 …"), ("effort", "tau1 … or current1 …")):
        if channel not in channels:
            raise LogError(
                where,
                f"no {channel} channel",
                expected=f"<joint>/{channel} or {names}",
                remedy="map foreign names with a profile",
            )
