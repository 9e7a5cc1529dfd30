"""Find a robot: by registry name or alias, by file, or by the folder of an earlier run."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import Finding, ModelError, UsageError
from ident.model import rotation
from ident.model.capsules import Shape, carriers, placed
from ident.model.dh import DHRow, lettered, robot_of_table, with_lengths
from ident.model.drives import Drives
from ident.model.mjcf import read_mjcf
from ident.model.robot import Robot
from ident.model.robot_file import (
    DHTable,
    GasSpringTable,
    LinearSpringTable,
    RobotFile,
    read_robot_file,
)
from ident.model.screws import ScrewRow, robot_of_screws
from ident.model.springs import GasSpring, LinearSpring, Spring
from ident.model.urdf import read_urdf


def load_robot(reference: str | Path, lengths: Mapping[str, float] | None = None) -> Robot:
    """Robot of a registry name or alias, of a URDF, MJCF or TOML file, or of a robot's folder.

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
        return _described(path)
    return _from_toml(_find(str(reference)), lengths)


def _described(path: Path) -> Robot:
    """Robot of a URDF or MJCF file, whichever its root element says it is."""
    return read_mjcf(path) if _root_element(path) == "mujoco" else read_urdf(path)


def _root_element(path: Path) -> str:
    """Name of the root element; empty where there is none, which the URDF reader explains."""
    try:
        with path.open("rb") as stream:
            for _, element in ElementTree.iterparse(stream, events=("start",)):
                return str(element.tag)
    except (OSError, ValueError, LookupError, ElementTree.ParseError):
        return ""
    return ""


def load_symbolic(reference: str | Path) -> Robot:
    """Robot of a DH table with a letter for every length that is not zero: ``a2``, ``d3``, by row.

    Letters of the table itself stay. Such a robot can be derived and reduced, not evaluated; a
    standard table leaves its inertias behind, since they sit off the joint axes by such a length.

    Raises
    ------
    UsageError
        The robot is not described by a table.

    Examples
    --------
    >>> import ident
    >>> ident.load_symbolic("planar2r").letters
    ('a2',)
    """
    file = robot_file(reference)
    if file is None or file.dh is None:
        found = f"'{reference}' is not described by a Denavit-Hartenberg table"
        raise UsageError("symbolic lengths", found, expected="a TOML file with [dh]")
    rows = lettered(_rows(file.dh))
    robot = robot_of_table(file.name, file.dh.convention, rows, base=_base(file.dh))
    robot = replace(robot, title=file.title)
    return robot if file.gravity is None else robot.with_gravity(file.gravity)


def letter_values(reference: str | Path) -> dict[str, float]:
    """Lengths (m) behind the letters of a table, its own and those of ``load_symbolic``."""
    file = robot_file(reference)
    if file is None or file.dh is None:
        return {}
    rows = _rows(file.dh)
    values = dict(file.dh.lengths)
    for row, letters in zip(rows, lettered(rows), strict=True):
        for length, letter in ((row.a, letters.a), (row.d, letters.d)):
            if isinstance(letter, str) and not isinstance(length, str):
                values[letter] = length
    return values


def robot_names() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Registry names, each with its title and aliases.

    Examples
    --------
    >>> import ident
    >>> ident.robot_names()["panda"][1]
    ('fer', 'franka', 'franka_panda')
    """
    return {name: (file.title, tuple(file.aliases)) for name, file in sorted(_registry().items())}


def robot_file(reference: str | Path) -> RobotFile | None:
    """The ``robot.toml`` behind a reference, if there is one: aliases, sources, flags."""
    path = Path(reference)
    if (path / "robot.toml").is_file():
        return read_robot_file(path / "robot.toml")
    if path.suffix == ".toml" and path.exists():
        return read_robot_file(path)
    if path.exists() and (path.is_file() or path.suffix in {".urdf", ".xml"}):
        return None
    return read_robot_file(_find(str(reference)))


def registry_folder() -> Path:
    """``data/robots`` of a checkout, or its copy in an installed package."""
    package = Path(__file__).parents[1]
    packed = package / "_robots"
    return packed if packed.is_dir() else package.parent / "data" / "robots"


@cache
def _registry() -> dict[str, RobotFile]:
    return {
        path.parent.name: read_robot_file(path) for path in registry_folder().glob("*/robot.toml")
    }


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
        expected="a registry name, a URDF, MJCF or TOML file, or a run folder",
        remedy=remedy,
    )


def _from_toml(path: Path, lengths: Mapping[str, float] | None = None) -> Robot:
    file = read_robot_file(path)
    notes = [
        Finding(
            name="flagged_figure", severity="info", where=f"{file.name}: {f.where}", found=f.what
        )
        for f in file.flags
    ]
    with _named(path):
        robot = _geometry(file, path.parent, lengths)
        if file.gravity is not None:
            robot = robot.with_gravity(file.gravity)
        robot = replace(
            robot,
            name=file.name,
            title=file.title,
            acceleration=np.asarray(file.limits.acceleration, dtype=np.float64),
            jerk=np.asarray(file.limits.jerk, dtype=np.float64),
            log_names=tuple(file.log_names),
            **_shapes(file, robot),
            drives=_drives(file, robot),
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


def _shapes(file: RobotFile, robot: Robot) -> dict[str, Any]:
    """Capsules of the file, or those of the description, and which parts never meet."""
    shapes = (
        Shape(part=c.link, a=np.array(c.start), b=np.array(c.end), radius=c.radius)
        for c in file.capsules
    )
    known = carriers(robot)
    for name in (name for pair in file.never_meet for name in pair):
        if name not in known:
            raise ModelError("never_meet", f"no link '{name}'", expected=", ".join(known))
    return {
        "capsules": placed(shapes, robot) or robot.capsules,
        "never_meet": tuple((one, other) for one, other in file.never_meet),
    }


def _at_home(robot: Robot, home: list[float]) -> Robot:
    robot = replace(robot, home=np.asarray(home, dtype=np.float64))
    for j, (joint, value) in enumerate(zip(robot.joints, robot.home, strict=True)):
        low, high = robot.position[j]
        if not low <= value <= high:
            found, expected = f"{value:g} for joint '{joint}'", f"within {low:g} to {high:g}"
            raise ModelError("home", found, expected=expected)
    return robot


def _geometry(file: RobotFile, folder: Path, lengths: Mapping[str, float] | None) -> Robot:
    """Robot of the one form in which the file describes it."""
    if file.dh:
        numbers = {**file.dh.lengths, **(lengths or {})}
        rows = with_lengths(_rows(file.dh), numbers, "dh.lengths")
        return robot_of_table(file.name, file.dh.convention, rows, base=_base(file.dh))
    if file.screws:
        screws = [ScrewRow(**row.model_dump()) for row in file.screws.links]
        return robot_of_screws(file.name, screws)
    return _described(folder / file.description)


def _rows(table: DHTable) -> list[DHRow]:
    return [DHRow(**row.model_dump()) for row in table.links]


def _base(table: DHTable) -> tuple[Array, Array]:
    return rotation.from_rpy(*table.base.rpy), np.array(table.base.xyz)


def _drives(file: RobotFile, robot: Robot) -> Drives:
    """Drives of the description with what the file says of them."""
    n = robot.n
    given = {**file.drives.model_dump(exclude={"springs"}), **file.friction.model_dump()}
    known: dict[str, Any] = {
        name: frozen(
            value, (n, n) if name == "coupling" else (n,), where=f"drives.{name}", finite=False
        )
        for name, value in given.items()
        if value is not None
    }
    if file.drives.springs:
        known["springs"] = tuple(_spring(spring) for spring in file.drives.springs)
    return replace(robot.drives, **known)


def _spring(table: LinearSpringTable | GasSpringTable) -> Spring:
    kind = LinearSpring if isinstance(table, LinearSpringTable) else GasSpring
    return kind(**table.model_dump(exclude={"type"}, exclude_none=True))
