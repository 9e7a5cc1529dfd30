"""Save and load values as JSON: versioned, exact, never pickled.

A value is a frozen dataclass of numbers, texts, arrays, tuples and other such values. It is written
field by field under the name of its class, and read back through the same constructor, so that
every check of the class runs again. Floats keep all their digits. A digest of the content stands
beside it: a file that was changed by hand or cut short is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ident.errors import IdentError, ModelError
from ident.files import write_whole
from ident.model.registry import load_robot as load_described
from ident.model.robot import Robot

SCHEMA = 1


def save(value: Any, path: Path) -> None:
    """Write a value whole, or not at all."""
    write_whole(path, dumps(value).encode())


def dumps(value: Any) -> str:
    """A value as JSON text."""
    content = _encode(value)
    facts = {"schema": SCHEMA, "sha256": _sha256(content), **content}
    return json.dumps(facts, indent=1, allow_nan=False)


def load(path: Path) -> Any:
    """Read a value that ``save`` wrote.

    Raises
    ------
    ModelError
        The file cannot be read, is damaged, or was written by a newer version.
    """
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as e:
        raise ModelError(str(path), f"cannot be read: {e}", expected="a saved value") from e
    schema = facts.pop("schema", None) if isinstance(facts, dict) else None
    if type(schema) is not int or schema < 1:
        raise ModelError(str(path), "no schema", expected="a saved value")
    if schema > SCHEMA:
        raise ModelError(
            str(path), f"schema {schema}", expected=f"{SCHEMA} at most", remedy="update ident"
        )
    stated, found = facts.pop("sha256", None), _sha256(facts)
    if stated != found:
        raise ModelError(
            str(path),
            "damaged: the content does not match its digest",
            expected="a file as it was saved",
            remedy="identify again",
        )
    try:
        return _decode(facts)
    except IdentError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as e:
        raise ModelError(str(path), f"damaged: {e!r}", expected="a saved value") from e


def load_robot(reference: str | Path, lengths: Mapping[str, float] | None = None) -> Robot:
    """Robot of a registry name, a URDF, MJCF or TOML file, or a run folder (the identified model).

    Parameters
    ----------
    lengths : mapping, optional
        Numbers (m) for letters of a DH table.

    Raises
    ------
    UsageError
        No such robot.
    ModelError
        Its description cannot be used.

    Examples
    --------
    >>> import ident
    >>> robot = ident.load_robot("ur5")
    >>> robot.n
    6
    >>> robot.with_gravity([0.0, 0.0, 0.0]).gravity.tolist()
    [0.0, 0.0, 0.0]
    """
    saved = Path(reference) / "estimate.json"
    if saved.is_file():
        estimate = load(saved)
        if type(estimate).__name__ != "Estimate":
            raise ModelError(str(saved), f"a {type(estimate).__name__}", expected="an Estimate")
        robot: Robot = estimate.identified
        return robot
    return load_described(reference, lengths)


def _sha256(content: Any) -> str:
    """Digest of JSON content, whatever its layout."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _encode(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        kept = {f.name: _encode(getattr(value, f.name)) for f in fields(value) if f.init}
        return {"kind": type(value).__name__, "value": kept}
    if isinstance(value, np.ndarray):
        flat = [_number(x) for x in value.ravel().tolist()]
        return {"kind": "array", "dtype": value.dtype.str, "shape": value.shape, "value": flat}
    if isinstance(value, tuple | list):
        return [_encode(item) for item in value]
    if isinstance(value, np.generic):
        return _number(value.item())
    if isinstance(value, float):
        return _number(value)
    if value is None or isinstance(value, str | int | bool):
        return value
    raise TypeError(f"{type(value).__name__} cannot be saved")


def _number(x: Any) -> Any:
    """JSON knows no infinity and no NaN: those are words."""
    return x if not isinstance(x, float) or math.isfinite(x) else {"kind": "float", "value": str(x)}


def _decode(facts: Any) -> Any:
    if isinstance(facts, list):
        return tuple(_decode(item) for item in facts)
    if not isinstance(facts, dict):
        return facts
    kind, value = facts["kind"], facts["value"]
    if kind == "float":
        return float(value)
    if kind == "array":
        flat = [_decode(x) for x in value]
        return np.array(flat, dtype=np.dtype(facts["dtype"])).reshape(facts["shape"])
    return _classes()[kind](**{name: _decode(item) for name, item in value.items()})


@cache
def _classes() -> dict[str, type]:
    """Every class that may stand in a file. Imported here, so that ``load_robot`` stays light."""
    from ident.base.basemap import BaseMap
    from ident.errors import Finding
    from ident.fit.consistent import PhysicalFit
    from ident.fit.delay import Delay
    from ident.fit.estimate import Estimate
    from ident.fit.options import FitOptions
    from ident.fit.prior import Prior
    from ident.fit.validate import Score, Validation
    from ident.leastsquares.solve import Solution
    from ident.logs.preparation import Preparation
    from ident.model.drives import Drives
    from ident.model.joints import Joint
    from ident.model.robot import Link, Part
    from ident.model.springs import GasSpring, LinearSpring

    kinds = (BaseMap, Delay, Drives, Estimate, Finding, FitOptions, Joint, Link, Part, PhysicalFit)
    more = (GasSpring, LinearSpring, Preparation, Prior, Robot, Score, Solution, Validation)
    return {cls.__name__: cls for cls in (*kinds, *more)}
