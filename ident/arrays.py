"""Frozen arrays: coerce, check shape and finiteness, lock."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ident.errors import IdentError, ModelError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
AnyArray = TypeVar("AnyArray", bound="np.ndarray[Any, Any]")


def frozen(
    values: ArrayLike,
    shape: tuple[int | None, ...],
    *,
    where: str,
    finite: bool = True,
    error: type[IdentError] = ModelError,
) -> Array:
    """Return a read-only float64 copy of ``values``, checked.

    Parameters
    ----------
    shape : tuple
        Expected length of each axis; ``None`` accepts any length.
    where : str
        What the values are, for the message.
    finite : bool
        Whether NaN and infinity are refused.

    Raises
    ------
    IdentError
        Of kind ``error``: not numbers, wrong shape, or not finite.
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind == "c":
            raise TypeError("their imaginary part would be lost")
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as e:
        raise error(where, f"not numbers: {e}", expected="real numbers") from e
    fits = array.ndim == len(shape) and all(
        want is None or have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = "×".join("any" if n is None else str(n) for n in shape) or "a number"
        found = "×".join(map(str, array.shape)) or "a number"
        raise error(where, f"shape {found}", expected=f"shape {wanted}")
    if finite and not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        raise error(where, f"not finite at index {tuple(map(int, bad))}", expected="finite numbers")
    return locked(array)


def locked(array: AnyArray) -> AnyArray:
    """Make ``array`` read-only in place and return it."""
    array.setflags(write=False)
    return array


def digest(parts: Iterable[str | bytes | np.ndarray[Any, Any]]) -> str:
    """SHA-256 of texts, bytes and arrays (dtype, shape and content), as hexadecimal."""
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            sha.update(f"{part.dtype.str}{part.shape}".encode())
            sha.update(np.ascontiguousarray(part).tobytes())
        else:
            sha.update(part.encode() if isinstance(part, str) else part)
        sha.update(b"\0")
    return sha.hexdigest()
