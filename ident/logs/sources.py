"""Source: the columns of one log file, read row by row range, whatever the file format."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ident.arrays import Array, digest, locked
from ident.errors import LogError


class Source(Protocol):
    """Named columns of equal length, as the file holds them.

    Attributes
    ----------
    metadata : mapping
        What the file says of itself.
    units : mapping
        Units that the file gives, by column.
    """

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the file."""
        ...

    @property
    def rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def metadata(self) -> Mapping[str, str]:
        """What the file says of itself."""
        ...

    @property
    def units(self) -> Mapping[str, str]:
        """Units that the file gives, by column."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 of the file."""
        ...

    def require_numbers(self, key: str) -> None:
        """Raise LogError, naming column and row, where a column holds anything but numbers."""
        ...

    def read(self, start: int, stop: int, keys: Sequence[str]) -> list[Array]:
        """Rows ``start`` to ``stop`` of some columns, one (stop − start,) array each."""
        ...


class ArraySource:
    """Columns in memory: of a simulation, or of a file that cannot be read in parts.

    A two-dimensional array ``key`` becomes the columns ``key[0], key[1], …``.
    """

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray[Any, Any]],
        *,
        where: str,
        metadata: Mapping[str, str] | None = None,
        sha256: str = "",
        repeated: Collection[str] = (),
    ) -> None:
        """Flatten and check the arrays; ``repeated`` names columns that the file has twice."""
        self.where = where
        self._repeated = frozenset(repeated)
        self.metadata: Mapping[str, str] = dict(metadata or {})
        self.units: Mapping[str, str] = {}
        self._columns = _flat(arrays)
        self._digest = sha256
        lengths = {len(column) for column in self._columns.values()}
        if len(lengths) > 1:
            raise LogError(where, f"columns of {sorted(lengths)} rows", expected="equal lengths")
        self.rows = lengths.pop() if lengths else 0

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._columns)

    @property
    def digest(self) -> str:
        """SHA-256 of the file, or of the arrays where there is none."""
        if not self._digest:
            self._digest = digest(part for item in self._columns.items() for part in item)
        return self._digest

    def require_numbers(self, key: str) -> None:
        """Raise LogError where a column is neither integer nor real, or is there twice."""
        if key in self._repeated:
            raise repeated_error(self.where, key)
        column = self._columns[key]
        if column.dtype.kind in "iuf":
            return
        raise text_error(self.where, key, column)

    def read(self, start: int, stop: int, keys: Sequence[str]) -> list[Array]:
        """Rows of some columns."""
        return [locked(np.array(self._columns[key][start:stop], dtype=np.float64)) for key in keys]


def text_error(where: str, key: str, values: Sequence[Any] | np.ndarray[Any, Any]) -> LogError:
    """Return the error that names the first value of a column that is no number."""
    for row, value in enumerate(values):
        if value is not None and not _is_number(value):
            return LogError(
                f"{where}: column '{key}'",
                f"'{value}' in row {row + 1}",
                expected="a number",
                remedy="correct or leave out the row",
            )
    return LogError(f"{where}: column '{key}'", "numbers stored as text", expected="numbers")


def repeated_error(where: str, key: str) -> LogError:
    """Return the error of a column whose name another one has too."""
    return LogError(
        f"{where}: column '{key}'",
        "two columns of this name",
        expected="one",
        remedy="rename or leave out the other",
    )


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | np.bool_ | complex | np.complexfloating):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _flat(arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    columns: dict[str, np.ndarray[Any, Any]] = {}
    for key, array in arrays.items():
        if array.ndim == 1:
            columns[key] = array
        elif array.ndim == 2:
            columns.update({f"{key}[{i}]": array[:, i] for i in range(array.shape[1])})
    return columns
