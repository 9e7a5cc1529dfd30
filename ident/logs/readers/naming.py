"""Which column is which channel of which joint: by name, never by place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ident.errors import Finding, LogError
from ident.logs.recording import CHANNELS
from ident.model.robot import Robot

# Time columns and their factors to seconds.
TIMES = {
    "time": 1.0, "t": 1.0, "timestamp": 1.0, "time_s": 1.0, "t_s": 1.0,
    "time_ms": 1e-3, "time_us": 1e-6, "time_ns": 1e-9,
}  # fmt: skip

WORDS: dict[str, tuple[str, ...]] = {
    "position": ("position", "q", "pos"),
    "velocity": ("velocity", "dq", "qd", "vel"),
    "acceleration": ("acceleration", "ddq", "qdd", "acc"),
    "effort": ("effort", "tau", "torque"),
    "current": ("current", "i"),
    "temperature": ("temperature", "temp"),
    "position_cmd": ("position_cmd", "q_cmd"),
    "velocity_cmd": ("velocity_cmd", "dq_cmd"),
    "effort_cmd": ("effort_cmd", "tau_cmd"),
}


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """Columns of a file by meaning.

    Attributes
    ----------
    time : str
        Key of the time column.
    channels : mapping of channel to tuple of str
        Keys joint by joint, only of channels that every joint has.
    """

    time: str
    channels: Mapping[str, tuple[str, ...]]
    findings: tuple[Finding, ...]


def assign(keys: Sequence[str], robot: Robot, *, where: str) -> Assignment:
    """Find time and every channel of every joint among the columns ``keys``.

    Raises
    ------
    LogError
        No time, no joint of this robot, or a position that is missing for some joint.
    """
    clean = {_plain(key): key for key in reversed(keys)}
    time = next((clean[name] for name in TIMES if name in clean), None)
    if time is None:
        raise LogError(
            where, f"no time column among {_listed(keys)}", expected="time or t, in seconds"
        )
    found: dict[tuple[str, int], str] = {}
    findings: list[Finding] = []
    for (channel, joint), name in _candidates(robot, clean):
        if name not in clean:
            continue
        if (channel, joint) in found:
            place = f"{where}: joint '{robot.joints[joint]}'"
            findings.append(_twice(place, found[channel, joint], clean[name]))
        else:
            found[channel, joint] = clean[name]
    _require_joints(robot, keys, clean, found, where)
    channels: dict[str, tuple[str, ...]] = {}
    for channel in CHANNELS:
        per_joint = [found.get((channel, j)) for j in range(robot.n)]
        present = tuple(key for key in per_joint if key is not None)
        if len(present) == robot.n:
            channels[channel] = present
        elif present:
            partial = _partial(where, channel, robot, per_joint)
            if partial.severity == "error":
                partial.raise_as(LogError)
            findings.append(partial)
    used = {time, *(key for channel in channels.values() for key in channel)}
    aside = [key for key in keys if key not in used]
    findings += _alike(where, used, aside)
    findings += _aside(where, aside)
    return Assignment(time=time, channels=channels, findings=tuple(findings))


def _candidates(robot: Robot, clean: Mapping[str, str]) -> Iterator[tuple[tuple[str, int], str]]:
    """Every accepted lower-case name of every channel and joint, the canonical one first."""
    base = _first_number(clean)
    for j, (joint, alias) in enumerate(zip(robot.joints, robot.log_names, strict=True)):
        labels = dict.fromkeys((joint.lower(), alias.lower()))
        number = str(j + base)
        for channel, words in WORDS.items():
            for word in words:
                for label, sep in product(labels, "/._"):
                    yield (channel, j), f"{label}{sep}{word}"
                    yield (channel, j), f"{word}{sep}{label}"
                yield from (((channel, j), f"{word}{sep}{number}") for sep in ("", "_"))
                yield (channel, j), f"{word}[{number}]"


def _first_number(clean: Mapping[str, str]) -> int:
    """Return 0 for a log that numbers its joints from 0, else 1."""
    words = (word for words in WORDS.values() for word in words)
    zeroth = {f"{word}{number}" for word, number in product(words, ("0", "_0", "[0]"))}
    return 0 if zeroth & clean.keys() else 1


def _require_joints(
    robot: Robot,
    keys: Sequence[str],
    clean: Mapping[str, str],
    found: Mapping[tuple[str, int], str],
    where: str,
) -> None:
    base = _first_number(clean)
    beyond = str(robot.n + base)
    if extra := [clean[n] for n in (f"q{beyond}", f"q_{beyond}", f"q[{beyond}]") if n in clean]:
        raise LogError(
            where,
            f"column '{extra[0]}': a log of more joints",
            expected=f"{robot.n} joints of '{robot.name}'",
            remedy="name the robot that was logged",
        )
    missing = [robot.joints[j] for j in range(robot.n) if ("position", j) not in found]
    if not any(joint in range(robot.n) for _, joint in found):
        raise LogError(
            where,
            f"no joint of robot '{robot.name}' among {_listed(keys)}",
            expected=f"names like '{robot.joints[0]}/position' or 'q1'",
            remedy="name the robot that was logged, or map foreign names with a profile",
        )
    if missing:
        raise LogError(
            where,
            f"position of {robot.n - len(missing)} joints",
            expected=f"all {robot.n} joints of '{robot.name}'",
            remedy=f"missing: {', '.join(missing)}",
        )


def _plain(key: str) -> str:
    """A column's name as it is compared: without blanks around it, in lower case."""
    return key.strip().strip("\ufeff").lower()


def _alike(where: str, used: Iterable[str], aside: Sequence[str]) -> Iterator[Finding]:
    """Findings of columns left aside whose names differ from a used one in case or blanks only."""
    by_name = {_plain(key): key for key in used}
    for key in aside:
        if _plain(key) in by_name:
            yield _twice(where, by_name[_plain(key)], key)


def _twice(where: str, first: str, second: str) -> Finding:
    return Finding(
        name="column_twice",
        severity="warning",
        where=where,
        found=f"columns '{first}' and '{second}' mean the same",
        remedy=f"'{first}' is used",
    )


def _partial(where: str, channel: str, robot: Robot, per_joint: Sequence[str | None]) -> Finding:
    absent = [name for name, key in zip(robot.joints, per_joint, strict=True) if key is None]
    needed = channel == "effort"
    return Finding(
        name="channel_incomplete",
        severity="error" if needed else "warning",
        where=f"{where}: {channel}",
        found=f"no column for {', '.join(absent)}",
        expected="all joints or none",
        remedy="map foreign names with a profile" if needed else "the channel is left aside",
    )


def _aside(where: str, keys: Sequence[str]) -> list[Finding]:
    if not keys:
        return []
    return [
        Finding(
            name="columns_aside", severity="info", where=where,
            found=f"columns that were not used: {_listed(keys)}",
        )
    ]  # fmt: skip


def _listed(keys: Sequence[str]) -> str:
    shown = ", ".join(f"'{key}'" for key in keys[:8])
    return f"{shown} and {len(keys) - 8} more" if len(keys) > 8 else shown or "no columns"
