"""Write canonical logs: parquet with units and facts, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ident.files import whole_file
from ident.logs.metadata import to_metadata
from ident.logs.recording import Facts, Recording, Rows, recording_of_arrays
from ident.logs.units import si_unit
from ident.model.robot import Robot

# Rows per group: half a second to decode an hour's worth, and a few MB while one is open.
ROW_GROUP = 65_536


def write_log(
    path: str | Path,
    robot: Robot,
    time: ArrayLike,
    channels: Mapping[str, ArrayLike],
    *,
    facts: Facts | None = None,
) -> None:
    """Write arrays as a canonical log.

    Parameters
    ----------
    time : (N,) s
    channels : mapping of channel name to (N, n)
        SI, columns in the robot's joint order; at least ``position`` and ``effort``.
    facts : Facts, optional
        What to say of the log; the robot's name is filled in.

    Raises
    ------
    LogError
        The arrays are not a log.
    UsageError
        The file cannot be written.
    """
    recording = recording_of_arrays(robot, time, channels, facts=facts, name=Path(path).stem)
    copy_log(path, robot, recording)


def copy_log(path: str | Path, robot: Robot, recording: Recording) -> None:
    """Write any recording as a canonical log, row group by row group.

    Raises
    ------
    UsageError
        The file cannot be written.
    """
    facts = replace(recording.facts, robot=recording.facts.robot or robot.name)
    if Path(recording.path).is_file() and not facts.source_sha256:
        facts = replace(facts, source_sha256=recording.digest)
    # Current that stands in for torque is written under its own name.
    channels = [
        name for name in recording.channels
        if name != "effort" or recording.columns.get("current") != recording.columns["effort"]
    ]  # fmt: skip
    starts = range(0, recording.rows, ROW_GROUP)
    groups = (recording.read(start, start + ROW_GROUP, channels) for start in starts)
    _write(Path(path), robot, channels, facts, groups)


def _write(
    path: Path, robot: Robot, channels: Sequence[str], facts: Facts, groups: Iterable[Rows]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [pa.field("time", pa.float64(), metadata={"unit": "s"})]
    for joint, turns in zip(robot.joints, robot.turns, strict=True):
        for channel in channels:
            unit = {"unit": si_unit(channel, turns)}
            fields.append(pa.field(f"{joint}/{channel}", pa.float64(), metadata=unit))
    metadata = {**to_metadata(facts), "joint_names": json.dumps(robot.joints)}
    schema = pa.schema(fields, metadata=metadata)
    with (
        whole_file(path) as sibling,
        pq.ParquetWriter(sibling, schema, compression="zstd", version="2.6") as writer,
    ):
        for rows in groups:
            writer.write_table(pa.table(_columns(rows, channels), schema=schema))


def _columns(rows: Rows, channels: Sequence[str]) -> list[np.ndarray]:
    joints = range(next(iter(rows.channels.values())).shape[1])
    return [
        rows.time,
        *(np.ascontiguousarray(rows.channels[name][:, j]) for j in joints for name in channels),
    ]
