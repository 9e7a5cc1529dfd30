"""Find a robot: by registry name or alias, by file, or by the folder of an earlier run."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ident.errors import Finding, ModelError, UsageError
from ident.model.dh import DHRow, robot_of_table
from ident.model.drives import Drives
from ident.model.robot import Robot
from ident.model.urdf import read_urdf


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Limits(_Table):
    acceleration: list[float] = []
    jerk: list[float] = []


class _Drives(_Table):
    gear_ratio: list[float] | None = None
    coupling: list[list[float]] | None = None
    armature: list[float] | None = None
    effort_rated: list[float] | None = None


class _Friction(_Table):
    viscous: list[float] | None = None
    coulomb: list[float] | None = None


class _DH(_Table):
    convention: Literal["standard", "modified"]
    links: list[dict[str, Any]]


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
    name: str
    title: str = ""
    aliases: list[str] = []
    description: str = ""
    dh: _DH | None = None
    gravity: list[float] = [0.0, 0.0, -9.81]
    home: list[float] = []
    log_names: list[str] = []
    limits: _Limits = _Limits()
    drives: _Drives = _Drives()
    friction: _Friction = _Friction()
    sources: list[_Source] = []
    flags: list[_Flag] = []


def load_robot(reference: str | Path) -> Robot:
    """Robot of a registry name or alias, a URDF file, a TOML file, or a folder with ``robot.toml``.

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
        return _from_toml(path / "robot.toml")
    if path.suffix == ".toml":
        return _from_toml(path)
    if path.suffix in {".urdf", ".xml"} or path.is_file():
        return read_urdf(path)
    return _from_toml(_find(str(reference)))


def robot_names() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Registry names, each with its title and aliases."""
    return {name: (file.title, tuple(file.aliases)) for name, file in sorted(_registry().items())}


def robot_file(reference: str | Path) -> RobotFile | None:
    """The ``robot.toml`` behind a reference, if there is one: aliases, sources, flags."""
    path = Path(reference)
    if (path / "robot.toml").is_file():
        return _parse(path / "robot.toml")
    if path.suffix == ".toml":
        return _parse(path)
    if path.suffix in {".urdf", ".xml"} or path.is_file():
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
        first = e.errors()[0]
        key = ".".join(map(str, first["loc"]))
        expected = "what data/robots/README.md describes"
        raise ModelError(f"{path}: {key}", first["msg"], expected=expected) from e


def _from_toml(path: Path) -> Robot:
    file = _parse(path)
    if bool(file.description) == bool(file.dh):
        raise ModelError(
            str(path), "both or neither of 'description' and [dh]", expected="exactly one"
        )
    robot = _from_dh(file, path) if file.dh else read_urdf(path.parent / file.description)
    notes = [
        Finding(
            name="flagged_figure", severity="info", where=f"{file.name}: {f.where}", found=f.what
        )
        for f in file.flags
    ]
    return replace(
        robot,
        name=file.name,
        title=file.title,
        gravity=np.asarray(file.gravity, dtype=np.float64),
        home=np.asarray(file.home, dtype=np.float64),
        acceleration=np.asarray(file.limits.acceleration, dtype=np.float64),
        jerk=np.asarray(file.limits.jerk, dtype=np.float64),
        log_names=tuple(file.log_names),
        drives=_drives(file, robot.n),
        notes=(*robot.notes, *notes),
    )


def _from_dh(file: RobotFile, path: Path) -> Robot:
    assert file.dh is not None
    try:
        rows = [DHRow(**row) for row in file.dh.links]
    except TypeError as e:
        expected = "the keys that data/robots/README.md describes"
        found = str(e).removeprefix("DHRow.__init__() ")
        raise ModelError(f"{path}: dh.links", found, expected=expected) from e
    except ModelError as e:
        where = f"{path}: {e.where}"
        raise ModelError(where, e.found, expected=e.expected, remedy=e.remedy) from None
    return robot_of_table(file.name, file.dh.convention, rows, where=str(path))


def _drives(file: RobotFile, n: int) -> Drives:
    plain = Drives.plain(n)
    given: dict[str, Sequence[Any] | None] = {
        **file.drives.model_dump(),
        **file.friction.model_dump(),
    }
    return replace(
        plain, **{name: np.asarray(value) for name, value in given.items() if value is not None}
    )
