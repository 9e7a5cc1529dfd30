"""Designed trajectories as files: set-points, and the certificate that comes with them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ident.excitation.design import Design
from ident.excitation.playback import setpoints
from ident.files import write_together


def write_design(folder: Path, name: str, design: Design) -> None:
    """Write ``<name>.parquet`` (time, q, dq, ddq by joint) and ``<name>.json``, both or neither.

    Raises
    ------
    UsageError
        The folder cannot be written.
    """
    table = pa.table(dict(setpoints(design.trajectory)))
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd")
    text = json.dumps(design.to_dict(), indent=1, ensure_ascii=False) + "\n"
    files = {f"{name}.parquet": buffer.getvalue().to_pybytes(), f"{name}.json": text.encode()}
    write_together(folder, files)
