"""Read a log: pick the reader by the file, find joints and channels by name."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ident.errors import Finding, LogError
from ident.logs import units
from ident.logs.metadata import from_metadata
from ident.logs.readers.naming import TIMES, Assignment, assign
from ident.logs.readers.profile import Profile, load_profile, recognised
from ident.logs.recording import Column, Facts, Recording, require_channels
from ident.logs.sources import Source
from ident.model.registry import registry_name
from ident.model.robot import Robot

_KINDS = {
    ".parquet": "parquet", ".pq": "parquet",
    ".csv": "csv", ".tsv": "csv", ".txt": "csv",
    ".npz": "npz",
}  # fmt: skip
# First bytes of files: what we read whatever the suffix says, and what others may hand us.
_OURS = {b"PAR1": "parquet", b"PK\3\4": "npz"}
_FOREIGN = {
    b"\x1f\x8b": ("gzip data", "unpack it first"),
    b"\x93NUMPY": ("a single NumPy array", "numpy.savez keeps several by name"),
    b"\x89HDF": ("an HDF5 (or MATLAB 7.3) file", "export it as parquet or CSV"),
    b"MATLAB 5": ("a MATLAB file", "export it as parquet or CSV"),
    b"#ROSBAG": ("a ROS bag", "export it as parquet or CSV"),
    b"\x89MCAP": ("an MCAP file", "export it as parquet or CSV"),
    b"SQLite": ("a database, such as a ROS 2 bag", "export it as parquet or CSV"),
    b"ARROW1": ("an Arrow or Feather file", "save it as parquet"),
    b"\xff\xfe": ("UTF-16 text", "save it as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "save it as UTF-8"),
}


def read_log(path: str | Path, robot: Robot, *, profile: str | Path | None = None) -> Recording:
    """Recording of a log file: canonical or short-name parquet, CSV, NumPy archive, or by profile.

    Parameters
    ----------
    profile : str or Path, optional
        A shipped profile's name or a TOML file; some foreign files are recognised without.

    Raises
    ------
    LogError
        The file cannot be read, or is not a log of this robot.
    UsageError
        No such profile.
    """
    path = Path(path)
    kind = _kind(path)
    chosen = load_profile(profile) if profile is not None else None
    if chosen and chosen.format != kind:
        raise LogError(
            str(path), f"a {kind} file", expected=f"{chosen.format}, as the profile says"
        )
    source = _open(path, kind)
    findings: list[Finding] = []
    if chosen is None and (name := recognised(source, kind)):
        chosen = load_profile(name)
        findings.append(
            Finding(
                name="profile_recognised",
                severity="info",
                where=str(path),
                found=f"keys of profile '{name}' ({chosen.title})",
            )
        )
    if chosen:
        return _by_profile(path, source, robot, chosen, findings)
    return _by_names(path, source, robot, kind)


def _kind(path: Path) -> str:
    """Format of a file that can be opened, by its first bytes, else by its suffix."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise LogError(str(path), "a directory", expected="a log file")
        if not stat.S_ISREG(mode):
            # Logs are read several times; and a pipe that nobody fills would block.
            found = "a pipe or a device"
            raise LogError(str(path), found, expected="a file", remedy="save the log first")
        with path.open("rb") as file:
            head = file.read(8)
    except FileNotFoundError as e:
        raise LogError(str(path), "no such file") from e
    except OSError as e:
        raise LogError(str(path), f"cannot be read: {e.strerror}") from e
    if not head:
        raise LogError(str(path), "empty file", expected="a log")
    for start, (found, remedy) in _FOREIGN.items():
        if head.startswith(start):
            raise LogError(str(path), found, expected="parquet, CSV or npz", remedy=remedy)
    suffix = path.suffix.lower()
    return _OURS.get(head[:4]) or _KINDS.get(suffix, "csv")


def _open(path: Path, kind: str) -> Source:
    if kind == "parquet":
        from ident.logs.readers.parquet import ParquetSource

        return ParquetSource(path)
    if kind == "npz":
        from ident.logs.readers.arrays import npz_source

        return npz_source(path)
    from ident.logs.readers.text import text_source

    return text_source(path)


def _by_profile(
    path: Path, source: Source, robot: Robot, profile: Profile, findings: list[Finding]
) -> Recording:
    where = str(path)
    columns = profile.columns(source, robot, where)
    columns, facts, more = _choose_effort(
        where, columns, Facts(**profile.facts.model_dump(), source_format=profile.format)
    )
    return Recording(
        name=path.stem,
        path=where,
        joints=robot.joints,
        facts=facts,
        source=source,
        time=profile.time_column(source, where),
        columns=columns,
        findings=(*findings, *more),
    )


def _by_names(path: Path, source: Source, robot: Robot, kind: str) -> Recording:
    where = str(path)
    facts = replace(from_metadata(source.metadata, where=where))
    facts = replace(facts, source_format=facts.source_format or kind)
    assignment = assign(source.keys, robot, where=where)
    findings = [*assignment.findings]
    findings += _other_robot(where, facts.robot, robot)
    columns, facts, more = _choose_effort(where, _columns(where, source, assignment), facts)
    return Recording(
        name=path.stem,
        path=where,
        joints=robot.joints,
        facts=facts,
        source=source,
        time=_time(where, source, assignment.time),
        columns=columns,
        findings=(*findings, *more),
    )


def _other_robot(where: str, named: str, robot: Robot) -> list[Finding]:
    """A finding where the log names another robot: an error where both are well known."""
    known, ours = registry_name(named), registry_name(robot.name)
    if not named or named == robot.name or (known and known == ours):
        return []
    return [
        Finding(
            name="other_robot",
            severity="error" if known and ours else "warning",
            where=where,
            found=f"the log names robot '{named}'",
            expected=f"'{robot.name}'",
            remedy="name the robot that was logged, or correct 'robot' in the log's metadata",
        )
    ]


def _columns(where: str, source: Source, assignment: Assignment) -> dict[str, tuple[Column, ...]]:
    return {
        channel: tuple(
            Column(
                key=key,
                factor=units.factor(
                    channel, source.units.get(key, ""), where=f"{where}: column '{key}'"
                ),
            )
            for key in keys
        )
        for channel, keys in assignment.channels.items()
    }


def _time(where: str, source: Source, key: str) -> Column:
    if unit := source.units.get(key, ""):
        return Column(key=key, factor=units.factor("time", unit, where=f"{where}: column '{key}'"))
    return Column(key=key, factor=TIMES[key.strip().strip("\ufeff").lower()])


def _choose_effort(
    where: str, columns: Mapping[str, tuple[Column, ...]], facts: Facts
) -> tuple[dict[str, tuple[Column, ...]], Facts, list[Finding]]:
    """Let ``effort`` be what the log has: torque, else current; say what had to be assumed."""
    columns = dict(columns)
    if "effort" not in columns and "current" in columns:
        columns["effort"] = columns["current"]
        finding = Finding(
            name="effort_is_current",
            severity="warning",
            where=where,
            found="motor current and no torque",
            remedy="torque needs the gains of the drives",
        )
        return columns, replace(facts, effort_kind="motor_current"), [finding]
    require_channels(where, columns)
    if "effort_kind" not in facts.assumed:
        return columns, facts, []
    finding = Finding(
        name="undeclared_effort",
        severity="warning",
        where=where,
        found="the log does not say what its effort is",
        expected="metadata effort_kind",
        remedy="taken as joint torque in N·m",
    )
    return columns, facts, [finding]
