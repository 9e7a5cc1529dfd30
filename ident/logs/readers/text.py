"""Text tables: comma, semicolon or tab, decimal point or comma, with or without byte order mark."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ident.errors import LogError
from ident.logs.readers.parquet import as_floats
from ident.logs.sources import ArraySource

_SNIFFED = 1 << 16  # bytes of the file that tell its dialect


def text_source(path: Path) -> ArraySource:
    """Columns of a text table with one header line.

    Raises
    ------
    LogError
        No header, rows of different length, or not text.
    """
    import pyarrow as pa
    from pyarrow import csv

    delimiter, decimal, skipped = _dialect(path)
    try:
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(skip_rows=skipped),
            parse_options=csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=True),
            convert_options=csv.ConvertOptions(decimal_point=decimal, strings_can_be_null=True),
        )
    except pa.ArrowException as e:
        raise LogError(
            str(path),
            f"not a table: {str(e).splitlines()[0]}",
            expected="a header line and as many values in every row",
        ) from e
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_timestamp, pa.types.is_null)
    arrays = {
        name.strip().strip("\ufeff"): as_floats(table[name])
        if any(test(table[name].type) for test in numbers)
        else table[name].to_numpy(zero_copy_only=False).astype(object)
        for name in table.column_names
    }
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    source = ArraySource(arrays, where=str(path), sha256=sha256)
    source.units = {
        name: "ns" for name in table.column_names if pa.types.is_timestamp(table[name].type)
    }
    return source


def _dialect(path: Path) -> tuple[str, str, int]:
    """Delimiter, decimal sign, and how many comment lines stand before the header."""
    with path.open("rb") as file:
        head = file.read(_SNIFFED)
    if b"\0" in head:
        raise LogError(str(path), "binary content", expected="text, as the suffix says")
    lines = head.decode("utf-8-sig", "replace").splitlines()
    skipped = next((i for i, line in enumerate(lines) if not line.startswith(("#", "%"))), 0)
    header, *body = [line for line in lines[skipped:] if line.strip()] or [""]
    delimiter = max(";\t,", key=header.count)
    names = header.split(delimiter)
    if all(re.fullmatch(r"\s*[-+]?[\d.,]+([eE][-+]?\d+)?\s*", name) for name in names):
        raise LogError(
            str(path),
            "the first line holds numbers",
            expected="a header line with column names",
            remedy="add one, such as t,q1,…,tau1,…",
        )
    if not body:
        raise LogError(str(path), "no rows", expected="one row a sample below the header")
    comma = delimiter != "," and any(re.search(r"\d,\d", line) for line in body[:100])
    return delimiter, "," if comma else ".", skipped
