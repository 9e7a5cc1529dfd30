"""NumPy archives of one- and two-dimensional arrays."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import numpy as np

from ident.errors import LogError
from ident.logs.readers.naming import TIMES, WORDS
from ident.logs.sources import ArraySource

_NAMES = ("joint_names", "joints", "names")
_CHANNEL_OF = {word: channel for channel, words in WORDS.items() for word in words}


def npz_source(path: Path) -> ArraySource:
    """Columns of a NumPy archive.

    An array (N, n) named by a channel, beside ``joint_names`` (n,), becomes ``<joint>/<channel>``.

    Raises
    ------
    LogError
        Not an archive, or an array of Python objects.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (OSError, ValueError, zipfile.BadZipFile, AttributeError, TypeError) as e:
        raise LogError(
            str(path),
            f"not a NumPy archive of plain arrays: {e}",
            expected="numpy.savez(…) of numbers and texts",
            remedy="Python objects are not read: give arrays a dtype, such as float or str",
        ) from e
    names = next((arrays.pop(key) for key in _NAMES if key in arrays), None)
    columns = _of_equal_length(arrays, str(path))
    if names is not None:
        columns = _named(columns, [str(name) for name in np.ravel(names)])
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return ArraySource(columns, where=str(path), sha256=sha256)


def _named(arrays: dict[str, np.ndarray], names: list[str]) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    for key, array in arrays.items():
        channel = _CHANNEL_OF.get(key.lower().removesuffix("s"))
        if channel is None or array.ndim != 2 or array.shape[1] != len(names):
            columns[key] = array
        else:
            columns |= {f"{name}/{channel}": array[:, j] for j, name in enumerate(names)}
    return columns


def _of_equal_length(arrays: dict[str, np.ndarray], where: str) -> dict[str, np.ndarray]:
    """Arrays of one row a sample; others are left aside, unless they are named like a channel.

    Raises
    ------
    LogError
        A channel of another length than time, or of three dimensions.
    """
    rows = {key: array for key, array in arrays.items() if array.ndim}
    time = next((key for key in rows if key.lower() in TIMES), None)
    if time is not None:
        rows[time] = rows[time].reshape(-1) if rows[time].size == len(rows[time]) else rows[time]
    length = len(rows[time]) if time is not None else max(map(len, rows.values()), default=0)
    for key, array in rows.items():
        if _is_channel(key) and (len(array) != length or array.ndim > 2):
            shape = " × ".join(map(str, array.shape))
            transposed = array.ndim == 2 and array.shape[1] == length
            raise LogError(
                f"{where}: array '{key}'",
                f"shape {shape}",
                expected=f"{length} rows, one a sample",
                remedy="transpose it" if transposed else "save what belongs together",
            )
    return {key: array for key, array in rows.items() if len(array) == length}


def _is_channel(key: str) -> bool:
    word = key.lower().rpartition("/")[2]
    return any(w in _CHANNEL_OF for w in (word, word.rstrip("s"), word.rstrip("0123456789_[]")))
