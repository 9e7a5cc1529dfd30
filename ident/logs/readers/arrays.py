"""NumPy archives of one- and two-dimensional arrays."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import numpy as np

from ident.errors import LogError
from ident.logs.readers.naming import WORDS
from ident.logs.sources import ArraySource

_NAMES = ("joint_names", "joints", "names")


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
            str(path), f"not a NumPy archive of plain arrays: {e}", expected="numpy.savez(…)"
        ) from e
    names = next((arrays.pop(key) for key in _NAMES if key in arrays), None)
    if names is not None:
        arrays = _named(arrays, [str(name) for name in np.atleast_1d(names)])
    rows = max((len(array) for array in arrays.values() if array.ndim), default=0)
    columns = {key: array for key, array in arrays.items() if array.ndim and len(array) == rows}
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return ArraySource(columns, where=str(path), sha256=sha256)


def _named(arrays: dict[str, np.ndarray], names: list[str]) -> dict[str, np.ndarray]:
    channel_of = {word: channel for channel, words in WORDS.items() for word in words}
    columns: dict[str, np.ndarray] = {}
    for key, array in arrays.items():
        channel = channel_of.get(key.lower().removesuffix("s"))
        if channel is None or array.ndim != 2 or array.shape[1] != len(names):
            columns[key] = array
        else:
            columns |= {f"{name}/{channel}": array[:, j] for j, name in enumerate(names)}
    return columns
