"""Text tables: comma, semicolon or tab, decimal point or comma, with or without byte order mark."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections import Counter
from pathlib import Path

from ident.errors import LogError
from ident.logs.readers.parquet import as_floats, opened
from ident.logs.sources import ArraySource

_SNIFFED = 1 << 16  # bytes of the file that tell its dialect


def text_source(path: Path) -> ArraySource:
    """Columns of a text table with one header line, in UTF-8 or else Latin-1.

    Raises
    ------
    LogError
        No header, rows of different length, or not text.
    """
    import pyarrow as pa
    from pyarrow import csv

    delimiter, decimal, skipped, encoding = _dialect(path)
    try:
        table = csv.read_csv(
            opened(path),
            read_options=csv.ReadOptions(skip_rows=skipped, encoding=encoding),
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
    names = [name.strip().strip("\ufeff") for name in table.column_names]
    columns = dict(zip(reversed(names), reversed(table.columns), strict=True))  # the first of each
    arrays = {
        name: as_floats(columns[name])
        if any(test(columns[name].type) for test in numbers)
        else columns[name].to_numpy(zero_copy_only=False).astype(object)
        for name in dict.fromkeys(names)
    }
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    repeated = [name for name, count in Counter(names).items() if count > 1]
    source = ArraySource(arrays, where=str(path), sha256=sha256, repeated=repeated)
    source.units = {
        name: "ns" for name, column in columns.items() if pa.types.is_timestamp(column.type)
    }
    return source


def _dialect(path: Path) -> tuple[str, str, int, str]:
    """Delimiter, decimal sign, comment lines before the header, and encoding."""
    with path.open("rb") as file:
        head = file.read(_SNIFFED)
    if b"\0" in head:
        raise LogError(str(path), "binary content", expected="text, as the suffix says")
    try:
        # The end may cut a character in two, which an incremental decoder waits for.
        text, encoding = codecs.getincrementaldecoder("utf-8-sig")().decode(head), "utf8"
    except UnicodeDecodeError:
        text, encoding = head.decode("latin-1"), "latin-1"
    lines = text.splitlines()
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
    return delimiter, "," if comma else ".", skipped, encoding
