"""Parquet files, read row group by row group."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ident.arrays import Array, locked
from ident.errors import LogError
from ident.logs.sources import repeated_error, text_error

# Row groups kept decoded: a block and its halo touch two at most, where groups are longer than it.
_KEPT = 2


class ParquetSource:
    """Columns of a parquet file. Only row groups that a range touches are decoded."""

    def __init__(self, path: Path) -> None:
        """Open the file and read its schema.

        Raises
        ------
        LogError
            The file is not parquet.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path = path
        try:
            self._file = pq.ParquetFile(opened(path))
        except (pa.ArrowException, OSError) as e:
            raise _not_parquet(path) from e
        sizes = [
            self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)
        ]
        self._starts = [0, *accumulate(sizes)]
        self._decoded: dict[tuple[int, str], Array] = {}

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the file."""
        return tuple(dict.fromkeys(self._file.schema_arrow.names))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self._starts[-1])

    @cached_property
    def metadata(self) -> Mapping[str, str]:
        """Metadata of the schema."""
        return _text(self._file.schema_arrow.metadata)

    @cached_property
    def units(self) -> Mapping[str, str]:
        """The ``unit`` of each field that gives one; timestamps are nanoseconds once read."""
        import pyarrow.types as types

        units = {}
        for field in self._file.schema_arrow:
            if unit := _text(field.metadata).get("unit"):
                units[field.name] = unit
            elif types.is_timestamp(field.type):
                units[field.name] = "ns"
        return units

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def require_numbers(self, key: str) -> None:
        """Raise LogError where a column's type is no number, or its name is there twice."""
        import pyarrow.types as types

        schema = self._file.schema_arrow
        if len(schema.get_all_field_indices(key)) > 1:
            raise repeated_error(str(self.path), key)
        kind = schema.field(key).type
        numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_timestamp)
        if any(test(kind) for test in (*numeric, types.is_null)):
            return
        if types.is_nested(kind):
            where = f"{self.path}: column '{key}'"
            raise LogError(where, f"values of type {kind}", expected="one number in each row")
        sample = self._file.read_row_group(0, columns=[key])[key] if self.rows else []
        raise text_error(str(self.path), key, [value.as_py() for value in sample])

    def read(self, start: int, stop: int, keys: Sequence[str]) -> list[Array]:
        """Rows of some columns."""
        if stop <= start:
            return [locked(np.empty(0)) for _ in keys]
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, stop - 1) - 1
        groups = range(first, last + 1)
        for group in groups:
            self._decode(group, keys)
        offset = self._starts[first]
        parts = {key: [self._decoded[group, key] for group in groups] for key in keys}
        self._forget(last)
        return [
            locked(np.concatenate(parts[key])[start - offset : stop - offset])
            if len(groups) > 1
            else parts[key][0][start - offset : stop - offset]
            for key in keys
        ]

    def _decode(self, group: int, keys: Sequence[str]) -> None:
        import pyarrow as pa

        missing = [key for key in dict.fromkeys(keys) if (group, key) not in self._decoded]
        if not missing:
            return
        try:
            table = self._file.read_row_group(group, columns=missing, use_threads=False)
        except (pa.ArrowException, OSError) as e:
            raise LogError(
                str(self.path),
                f"row group {group} cannot be read: {_first_line(e)}",
                remedy="the file is damaged; export the log again",
            ) from e
        for key in missing:
            self._decoded[group, key] = as_floats(table[key])

    def _forget(self, last: int) -> None:
        for group, key in list(self._decoded):
            if not last - _KEPT < group <= last:
                del self._decoded[group, key]


def opened(path: Path) -> Any:
    """What Arrow opens: the path, or the open file where its name is no text."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return path.open("rb")
    return path


def _not_parquet(path: Path) -> LogError:
    with path.open("rb") as file:
        begun = file.read(4) == b"PAR1"
    if begun:
        return LogError(
            str(path),
            "parquet that is damaged or cut short",
            expected="a file with its end",
            remedy="close the recorder before copying, or export the log again",
        )
    return LogError(
        str(path),
        "not a parquet file",
        expected="parquet, as the suffix says",
        remedy="a CSV file is read by the suffix .csv, arrays by .npz",
    )


def as_floats(column: Any) -> Array:
    """Return a pyarrow column as locked float64, missing values as NaN, timestamps in ns."""
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_timestamp(column.type):
        # As a float, nanoseconds since 1970 are good to 0.3 µs, which is below any robot's clock.
        column = column.cast(pa.timestamp("ns")).cast(pa.int64())
    values = column.cast(pa.float64(), safe=False).to_numpy()
    return locked(np.ascontiguousarray(values, dtype=np.float64))


def _text(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    pairs = (metadata or {}).items()
    return {k.decode("utf-8", "replace"): v.decode("utf-8", "replace") for k, v in pairs}


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
