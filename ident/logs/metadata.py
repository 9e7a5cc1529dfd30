"""Facts of a log as text metadata, the way canonical parquet carries them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, get_args

from ident.errors import LogError
from ident.logs.recording import EffortKind, EffortOrigin, Facts, TimeKind, TorqueTiming

SCHEMA = 1

_CHOICES: dict[str, Any] = {
    "effort_kind": EffortKind,
    "effort_origin": EffortOrigin,
    "torque_timing": TorqueTiming,
    "time_kind": TimeKind,
}
_TEXTS = ("robot", "payload", "trajectory_id", "source_format", "source_sha256")
_NUMBERS = ("period_s", "highest_harmonic_hz", "nominal_rate_hz")


def to_metadata(facts: Facts) -> dict[str, str]:
    """Every fact that is known, as text; numbers and lists as JSON."""
    texts = {"schema": str(SCHEMA)}
    for name in (*_CHOICES, *_TEXTS):
        if value := getattr(facts, name):
            texts[name] = value
    for name in (*_NUMBERS, "gravity"):
        value = getattr(facts, name)
        if value is not None:
            texts[name] = json.dumps(value)
    return texts


def from_metadata(metadata: Mapping[str, str], *, where: str) -> Facts:
    """Facts of a file's metadata; what is absent is assumed, and named in ``assumed``.

    Raises
    ------
    LogError
        A value that is not allowed, or a file newer than this reader.
    """
    given: dict[str, Any] = {name: metadata[name] for name in _TEXTS if name in metadata}
    for name, choice in _CHOICES.items():
        if name in metadata:
            if metadata[name] not in get_args(choice):
                raise LogError(
                    f"{where}: metadata '{name}'",
                    f"'{metadata[name]}'",
                    expected=f"one of {', '.join(get_args(choice))}",
                )
            given[name] = metadata[name]
    for name in (*_NUMBERS, "gravity"):
        if name in metadata:
            given[name] = _number(metadata[name], 3 if name == "gravity" else 0, name, where)
    _require_readable(metadata.get("schema", "1"), where)
    assumed = tuple(name for name in ("effort_kind", "torque_timing") if name not in metadata)
    return Facts(**given, assumed=assumed)


def _require_readable(schema: str, where: str) -> None:
    if schema.isdigit() and int(schema) > SCHEMA:
        raise LogError(
            f"{where}: metadata 'schema'",
            schema,
            expected=f"at most {SCHEMA}",
            remedy="read it with a newer ident",
        )


def _number(text: str, length: int, name: str, where: str) -> float | tuple[float, ...]:
    try:
        value = json.loads(text)
        numbers = tuple(map(float, value)) if length else (float(value),)
    except (ValueError, TypeError):
        numbers = ()
    fits = len(numbers) == (length or 1) and all(map(math.isfinite, numbers))
    if not fits or not (length or numbers[0] > 0.0):
        expected = f"a list of {length} numbers" if length else "a number above zero"
        raise LogError(f"{where}: metadata '{name}'", f"'{text}'", expected=expected)
    return numbers if length else numbers[0]
