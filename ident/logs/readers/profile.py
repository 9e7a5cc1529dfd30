"""Profiles: small TOML files that say what the columns of a foreign log mean.

::

    schema = 1
    title = "Logs of a certain recorder"
    format = "npz"                        # npz, csv or parquet
    joints = ["lwr_0", "lwr_1"]           # order of the columns of two-dimensional arrays
    recognise = ["times", "positions"]    # keys by which such a file is known; may be left out

    [time]
    key = "times"
    unit = "s"

    [channels.effort]
    key = "torques"                       # (N, n) array, or a pattern such as "tau_{joint}"
    unit = "N·m"
    sign = [1, -1]                        # per joint, in the order of `joints`
    scale = 1.0                           # one number or one per joint

    [facts]
    effort_kind = "link_torque_sensor"
    torque_timing = "instantaneous"

A pattern may hold ``{joint}`` (a name of ``joints``), ``{number}`` (from 1) and ``{index}``
(from 0).
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, field_validator

from ident.errors import LogError, UsageError
from ident.logs import units
from ident.logs.recording import Column, EffortKind, EffortOrigin, TimeKind, TorqueTiming
from ident.logs.sources import Source
from ident.model.robot import Robot

Channel = Literal[
    "position", "velocity", "acceleration", "effort", "current", "temperature",
    "position_cmd", "velocity_cmd", "effort_cmd",
]  # fmt: skip


# What a pattern may hold; any other brace is a mistake.
_PLACE = re.compile(r"\{(?:joint|number|index)\}")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Time(_Table):
    key: str
    unit: str = "s"


class _Channel(_Table):
    key: str
    unit: str = ""
    sign: list[Literal[-1, 1]] = []
    scale: FiniteFloat | list[FiniteFloat] = 1.0

    @field_validator("key")
    @classmethod
    def _is_pattern(cls, key: str) -> str:
        if set("{}") & set(_PLACE.sub("", key)):
            raise ValueError("a pattern may hold {joint}, {number} and {index}")
        return key

    @field_validator("scale")
    @classmethod
    def _is_factor(cls, scale: float | list[float]) -> float | list[float]:
        if 0.0 in (scale if isinstance(scale, list) else [scale]):
            raise ValueError("a factor other than zero is needed")
        return scale


class ProfileFacts(_Table):
    """Facts that a profile declares of every log of its kind."""

    effort_kind: EffortKind = "joint_torque"
    effort_origin: EffortOrigin = "measured"
    torque_timing: TorqueTiming = "instantaneous"
    time_kind: TimeKind = "device"
    gravity: tuple[FiniteFloat, FiniteFloat, FiniteFloat] | None = None
    nominal_rate_hz: Annotated[FiniteFloat, Field(gt=0.0)] | None = None


class Profile(_Table):
    """What the columns of a foreign log mean."""

    schema_: Literal[1] = Field(alias="schema")
    title: str = ""
    format: Literal["npz", "csv", "parquet"]
    joints: list[str]
    recognise: list[str] = []
    time: _Time
    channels: dict[Channel, _Channel]
    facts: ProfileFacts = ProfileFacts()

    def time_column(self, source: Source, where: str) -> Column:
        """Where time lies."""
        _require(self.time.key, source, where)
        return Column(key=self.time.key, factor=units.factor("time", self.time.unit, where=where))

    def columns(self, source: Source, robot: Robot, where: str) -> dict[str, tuple[Column, ...]]:
        """Where each channel lies, in the robot's joint order.

        Raises
        ------
        LogError
            The joints are not the robot's, or a key is missing.
        """
        order = self._order(robot, where)
        return {
            name: tuple(self._column(name, channel, j, source, where) for j in order)
            for name, channel in self.channels.items()
        }

    def _order(self, robot: Robot, where: str) -> list[int]:
        order = []
        for names in zip(robot.joints, robot.log_names, strict=True):
            places = [self.joints.index(name) for name in names if name in self.joints]
            if not places:
                raise LogError(
                    where,
                    f"the profile's joints are {', '.join(self.joints)}",
                    expected=f"joint '{names[0]}' of robot '{robot.name}'",
                    remedy="name the robot that was logged",
                )
            order.append(places[0])
        return order

    def _column(self, name: str, channel: _Channel, j: int, source: Source, where: str) -> Column:
        key = channel.key
        if "{" in key:
            here = {"{joint}": self.joints[j], "{number}": str(j + 1), "{index}": str(j)}
            key = _PLACE.sub(lambda place: here[place.group()], key)
        else:
            key = f"{key}[{j}]"
            _require_width(channel.key, len(self.joints), source, where)
        _require(key, source, where)
        factor = units.factor(name, channel.unit, where=f"{where}: profile channel '{name}'")
        scale = channel.scale[j] if isinstance(channel.scale, list) else channel.scale
        return Column(key=key, factor=factor * scale * (channel.sign[j] if channel.sign else 1))


def load_profile(reference: str | Path) -> Profile:
    """Profile of a shipped name or of a TOML file.

    Raises
    ------
    UsageError
        No such profile, or not a valid one.
    """
    path = Path(reference)
    if path.suffix == ".toml":
        return _parse(path)
    if str(reference) in shipped():
        return shipped()[str(reference)]
    raise UsageError(
        "profile",
        f"no profile '{reference}'",
        expected="a TOML file or a shipped name",
        remedy=f"shipped: {', '.join(shipped())}",
    )


@cache
def shipped() -> dict[str, Profile]:
    """Profiles inside the package, by name."""
    folder = Path(__file__).parents[1] / "profiles"
    return {path.stem: _parse(path) for path in sorted(folder.glob("*.toml"))}


def recognised(source: Source, kind: str) -> str | None:
    """Name of the shipped profile whose keys the file has, if there is one."""
    present = {key.partition("[")[0] for key in source.keys}
    for name, profile in shipped().items():
        if profile.format == kind and profile.recognise and present >= set(profile.recognise):
            return name
    return None


def _parse(path: Path) -> Profile:
    try:
        profile = Profile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as e:
        raise UsageError(f"profile {path}", f"cannot be read: {e.strerror}") from e
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise UsageError(f"profile {path}", f"not TOML: {e}") from e
    except ValidationError as e:
        first = e.errors()[0]
        raise UsageError(
            f"profile {path}: {'.'.join(map(str, first['loc']))}",
            first["msg"].removeprefix("Value error, "),
        ) from e
    for name, channel in profile.channels.items():
        per_joint = (channel.sign, channel.scale if isinstance(channel.scale, list) else [])
        if any(given and len(given) != len(profile.joints) for given in per_joint):
            raise UsageError(
                f"profile {path}: channels.{name}",
                "sign or scale of another length",
                expected=f"{len(profile.joints)} values, one per joint",
            )
    return profile


def _require(key: str, source: Source, where: str) -> None:
    if key not in source.keys:
        raise LogError(where, f"no column '{key}'", expected="every column that the profile names")


def _require_width(key: str, width: int, source: Source, where: str) -> None:
    found = sum(name.startswith(f"{key}[") for name in source.keys)
    if found not in (0, width):
        raise LogError(f"{where}: '{key}'", f"{found} columns", expected=f"{width}, one per joint")
