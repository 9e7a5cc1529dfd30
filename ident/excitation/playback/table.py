"""Set-points as a table: parquet and CSV."""

from __future__ import annotations

import io
import json
from csv import writer

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ident.arrays import Array
from ident.excitation.approach import Play
from ident.excitation.fourier import Trajectory
from ident.excitation.playback.options import PlaybackOptions
from ident.regressor.columns import States

SCHEMA = 1
_UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
}


def setpoints(trajectory: Trajectory, rate_hz: float | None = None) -> dict[str, Array]:
    """Columns of the canonical log: ``time``, then position, velocity, acceleration by joint.

    ``rate_hz`` is by default the trajectory's own; both ends are included.
    """
    t, motion = trajectory.sample(rate_hz)
    return {"time": t, **_columns(trajectory.joints, motion)}


def table(play: Play, rate_hz: float | None = None) -> pa.Table:
    """The whole play: ``time``, ``phase``, then the columns of ``setpoints``.

    Fields say their unit; the schema says of what and for what the set-points are.
    """
    t, motion, phases = play.sample(rate_hz)
    columns = _columns(play.joints, motion)
    fields = [
        pa.field("time", pa.float64(), metadata={"unit": "s"}),
        pa.field("phase", pa.dictionary(pa.int32(), pa.string())),
        *(pa.field(name, pa.float64(), metadata={"unit": unit(play, name)}) for name in columns),
    ]
    schema = pa.schema(fields, metadata=facts(play, rate_hz))
    arrays = [pa.array(t), pa.array(phases).dictionary_encode(), *map(pa.array, columns.values())]
    return pa.Table.from_arrays(arrays, schema=schema)


def facts(play: Play, rate_hz: float | None = None) -> dict[str, str]:
    """What the set-points are, as text; numbers and lists as JSON."""
    return {
        "schema": str(SCHEMA),
        "robot": play.robot,
        "trajectory_id": play.trajectory.id,
        "joint_names": json.dumps(play.joints),
        "nominal_rate_hz": json.dumps(float(rate_hz or play.rate_hz)),
        "period_s": json.dumps(play.trajectory.period_s),
        "highest_harmonic_hz": json.dumps(play.trajectory.highest_harmonic_hz),
        "phases_s": json.dumps(play.phase_bounds),
    }


def unit(play: Play, column: str) -> str:
    """Unit of a column ``<joint>/<quantity>``."""
    joint, _, quantity = column.rpartition("/")
    return _UNITS[quantity][not play.turns[play.joints.index(joint)]]


def parquet(play: Play, name: str, options: PlaybackOptions) -> dict[str, bytes]:
    """``<name>.parquet``."""
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table(play, options.rate_hz), sink, compression="zstd")
    return {f"{name}.parquet": bytes(sink.getvalue())}


def csv(play: Play, name: str, options: PlaybackOptions) -> dict[str, bytes]:
    """``<name>.csv``."""
    return {f"{name}.csv": csv_of(play, options.rate_hz)}


def csv_of(play: Play, rate_hz: float | None) -> bytes:
    """Lines ``# name: fact``, a header, and a row a set-point; numbers in full."""
    content = table(play, rate_hz)
    units = {f.name: f.metadata[b"unit"].decode() for f in content.schema if f.metadata}
    lines = {**facts(play, rate_hz), "units": json.dumps(units, ensure_ascii=False)}
    head = io.StringIO()
    head.writelines(f"# {name}: {' '.join(fact.split())}\n" for name, fact in lines.items())
    writer(head, lineterminator="\n").writerow(content.column_names)
    body = pa.BufferOutputStream()
    words = content.set_column(1, "phase", content["phase"].cast(pa.string()))
    style = pa.csv.WriteOptions(include_header=False, quoting_style="none")
    pa.csv.write_csv(words, body, style)
    return head.getvalue().encode() + bytes(body.getvalue())


def _columns(joints: tuple[str, ...], motion: States) -> dict[str, Array]:
    quantities = (("position", motion.q), ("velocity", motion.dq), ("acceleration", motion.ddq))
    return {
        f"{joint}/{quantity}": values[:, j]
        for quantity, values in quantities
        for j, joint in enumerate(joints)
    }
