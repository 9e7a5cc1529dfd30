"""Find a robot: by registry name or alias, by file, or by the folder of an earlier run."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError
from pydantic_core import ErrorDetails

from ident.arrays import frozen
from ident.errors import Finding, ModelError, UsageError
from ident.model.dh import DHRow, lettered, robot_of_table, with_lengths
from ident.model.drives import Drives
from ident.model.joints import JointKind
from ident.model.robot import Robot
from ident.model.urdf import read_urdf

Name = Annotated[str, Field(min_length=1)]
# Limits may be infinite, which is none; of quantities, only what can exist passes.
Limit = Annotated[float, Field(ge=0.0)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[FiniteFloat, Field(ge=0.0)]


class _Table(BaseModel):
    # Strict: a number in quotes and a truth value are no numbers.
    model_config = ConfigDict(extra="forbid", strict=True)


class _Limits(_Table):
    acceleration: list[Positive] = []
    jerk: list[Positive] = []


class _Drives(_Table):
    gear_ratio: list[FiniteFloat] | None = None
    coupling: list[list[FiniteFloat]] | None = None
    armature: list[NotNegative] | None = None
    effort_rated: list[float] | None = None


class _Friction(_Table):
    viscous: list[NotNegative] | None = None
    coulomb: list[NotNegative] | None = None


class _Row(_Table):
    """A row of ``[[dh.links]]``; see ``DHRow``."""

    link: Name
    joint: Name
    type: JointKind = "revolute"
    a: FiniteFloat | str
    alpha: FiniteFloat
    d: FiniteFloat | str
    theta: FiniteFloat
    mass: NotNegative = 0.0
    com: list[FiniteFloat] = Field(default=[0.0] * 3, min_length=3, max_length=3)
    inertia_c: list[FiniteFloat] = Field(default=[0.0] * 6, min_length=6, max_length=6)
    position: list[float] = Field(default=[-np.inf, np.inf], min_length=2, max_length=2)
    velocity: Limit = np.inf
    effort: Limit = np.inf


class _DH(_Table):
    convention: Literal["standard", "modified"]
    lengths: dict[str, FiniteFloat] = {}
    links: list[_Row]


class _Source(_Table):
    what: str
    origin: str = Field(alias="from")
    note: str = ""


class _Flag(_Table):
    where: str
    what: str


class RobotFile(_Table):
    """What a ``robot.toml`` holds; the keys are described in ``data/robots/README.md``."""

    schema_: Literal[1] = Field(alias="schema")
    name: Name
    title: str = ""
    aliases: list[str] = []
    description: str = ""
    dh: _DH | None = None
    gravity: list[FiniteFloat] = [0.0, 0.0, -9.81]
    home: list[FiniteFloat] = []
    log_names: list[Name] = []
    limits: _Limits = _Limits()
    drives: _Drives = _Drives()
    friction: _Friction = _Friction()
    sources: list[_Source] = []
    flags: list[_Flag] = []


def load_robot(reference: str | Path, lengths: Mapping[str, float] | None = None) -> Robot:
    """Robot of a registry name or alias, a URDF file, a TOML file, or a folder with ``robot.toml``.

    Parameters
    ----------
    lengths : mapping, optional
        Numbers (m) for letters of a DH table, before those of its ``[dh.lengths]``.

    Raises
    ------
    UsageError
        No such robot.
    ModelError
        Its description cannot be used.
    """
    path = Path(reference)
    # A folder without a description, such as the results of an earlier run, does not hide a name.
    if (path / "robot.toml").is_file():
        return _from_toml(path / "robot.toml", lengths)
    if path.suffix == ".toml" and path.exists():
        return _from_toml(path, lengths)
    if path.is_file() or (path.suffix in {".urdf", ".xml"} and path.exists()):
        return read_urdf(path)
    return _from_toml(_find(str(reference)), lengths)


def load_symbolic(reference: str | Path) -> Robot:
    """Robot of a DH table with a letter for every length that is not zero: ``a2``, ``d3``, by row.

    Letters of the table itself stay. Such a robot can be derived and reduced, not evaluated; a
    standard table leaves its inertias behind, since they sit off the joint axes by such a length.

    Raises
    ------
    UsageError
        The robot is not described by a table.
    """
    file = robot_file(reference)
    if file is None or file.dh is None:
        found = f"'{reference}' is not described by a Denavit-Hartenberg table"
        raise UsageError("symbolic lengths", found, expected="a TOML file with [dh]")
    bare = file.dh.convention == "standard"
    rows = [replace(row, mass=0.0, inertia_c=(0.0,) * 6) if bare else row for row in _rows(file.dh)]
    robot = robot_of_table(file.name, file.dh.convention, lettered(rows))
    return replace(robot, title=file.title, gravity=np.asarray(file.gravity, dtype=np.float64))


def robot_names() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Registry names, each with its title and aliases."""
    return {name: (file.title, tuple(file.aliases)) for name, file in sorted(_registry().items())}


def robot_file(reference: str | Path) -> RobotFile | None:
    """The ``robot.toml`` behind a reference, if there is one: aliases, sources, flags."""
    path = Path(reference)
    if (path / "robot.toml").is_file():
        return _parse(path / "robot.toml")
    if path.suffix == ".toml" and path.exists():
        return _parse(path)
    if path.exists() and (path.is_file() or path.suffix in {".urdf", ".xml"}):
        return None
    return _parse(_find(str(reference)))


def registry_folder() -> Path:
    """``data/robots`` of a checkout, or its copy in an installed package."""
    package = Path(__file__).parents[1]
    packed = package / "_robots"
    return packed if packed.is_dir() else package.parent / "data" / "robots"


@cache
def _registry() -> dict[str, RobotFile]:
    return {path.parent.name: _parse(path) for path in registry_folder().glob("*/robot.toml")}


def registry_name(name: str) -> str | None:
    """Registry name that a name or alias stands for, or None."""
    for folder, file in _registry().items():
        if name.lower() in {folder, *(alias.lower() for alias in file.aliases)}:
            return folder
    return None


def _find(name: str) -> Path:
    direct = registry_folder() / name / "robot.toml"
    if name and "/" not in name and direct.is_file():
        return direct
    if folder := registry_name(name):
        return registry_folder() / folder / "robot.toml"
    known = [alias for folder, file in _registry().items() for alias in (folder, *file.aliases)]
    close = difflib.get_close_matches(name.lower(), known, n=1)
    remedy = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(sorted(known))}"
    raise UsageError(
        "robot",
        f"no robot or file named '{name}'",
        expected="a registry name, a URDF or TOML file, or a run folder",
        remedy=remedy,
    )


def _parse(path: Path) -> RobotFile:
    try:
        return RobotFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as e:
        raise ModelError(str(path), f"cannot be read: {e.strerror}") from e
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise ModelError(str(path), f"not TOML: {e}") from e
    except ValidationError as e:
        # Of a misspelt key, both the wrong and the missing one are found: the wrong one says more.
        errors = sorted(e.errors(), key=lambda error: error["type"] != "extra_forbidden")
        raise _misfit(path, errors[0]) from e


def _misfit(path: Path, first: ErrorDetails) -> ModelError:
    """Error of the first key that is not as it should be."""
    # People count rows from one.
    key = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
    expected = "what data/robots/README.md describes"
    if first["type"] == "extra_forbidden":
        return ModelError(f"{path}: {key}", "unknown key", expected=expected)
    if first["type"] == "missing":
        return ModelError(f"{path}: {key}", "missing", expected=expected)
    found = f"{first['input']!r}: {first['msg'].lower()}"
    return ModelError(f"{path}: {key}", found, expected=expected)


def _from_toml(path: Path, lengths: Mapping[str, float] | None = None) -> Robot:
    file = _parse(path)
    if bool(file.description) == bool(file.dh):
        raise ModelError(
            str(path), "both or neither of 'description' and [dh]", expected="exactly one"
        )
    notes = [
        Finding(
            name="flagged_figure", severity="info", where=f"{file.name}: {f.where}", found=f.what
        )
        for f in file.flags
    ]
    with _named(path):
        robot = _from_dh(file, lengths) if file.dh else read_urdf(path.parent / file.description)
        robot = replace(
            robot,
            name=file.name,
            title=file.title,
            gravity=np.asarray(file.gravity, dtype=np.float64),
            acceleration=np.asarray(file.limits.acceleration, dtype=np.float64),
            jerk=np.asarray(file.limits.jerk, dtype=np.float64),
            log_names=tuple(file.log_names),
            drives=_drives(file, robot.n),
            notes=(*robot.notes, *notes),
        )
        return _at_home(robot, file.home) if file.home else robot


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in errors of what was made from it."""
    try:
        yield
    except ModelError as e:
        raise ModelError(f"{path}: {e.where}", e.found, expected=e.expected, remedy=e.remedy) from e


def _at_home(robot: Robot, home: list[float]) -> Robot:
    robot = replace(robot, home=np.asarray(home, dtype=np.float64))
    for j, (joint, value) in enumerate(zip(robot.joints, robot.home, strict=True)):
        low, high = robot.position[j]
        if not low <= value <= high:
            found, expected = f"{value:g} for joint '{joint}'", f"within {low:g} to {high:g}"
            raise ModelError("home", found, expected=expected)
    return robot


def _from_dh(file: RobotFile, lengths: Mapping[str, float] | None) -> Robot:
    assert file.dh is not None
    numbers = {**file.dh.lengths, **(lengths or {})}
    rows = with_lengths(_rows(file.dh), numbers, "dh.lengths")
    return robot_of_table(file.name, file.dh.convention, rows)


def _rows(table: _DH) -> list[DHRow]:
    return [DHRow(**row.model_dump()) for row in table.links]


def _drives(file: RobotFile, n: int) -> Drives:
    given: dict[str, list[Any] | None] = {**file.drives.model_dump(), **file.friction.model_dump()}
    if 0.0 in (file.drives.gear_ratio or []):
        raise ModelError("drives.gear_ratio", "0", expected="motor turns per joint turn")
    arrays = {
        name: frozen(
            value, (n, n) if name == "coupling" else (n,), where=f"drives.{name}", finite=False
        )
        for name, value in given.items()
        if value is not None
    }
    return replace(Drives.plain(n), **arrays)
