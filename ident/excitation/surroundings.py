"""What stands around a robot: floor, walls, obstacles, and the box that it works in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import Field, FiniteFloat

from ident.arrays import Array, frozen
from ident.errors import UsageError
from ident.model.robot_file import Table, Triple, read_table


@dataclass(frozen=True, eq=False, kw_only=True)
class Plane:
    """A plane whose normal points to the side on which the arm must stay.

    Attributes
    ----------
    point, normal : (3,) m, (3,)
        In the base frame; the normal is made a unit vector.
    """

    name: str
    point: Array
    normal: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        for key in ("point", "normal"):
            array = frozen(getattr(self, key), (3,), where=f"{self.name} {key}", error=UsageError)
            object.__setattr__(self, key, array)
        length = float(np.linalg.norm(self.normal))
        if length < 1e-9:
            expected = "a direction, to the side of the arm"
            raise UsageError(f"{self.name} normal", "length zero", expected=expected)
        object.__setattr__(self, "normal", frozen(self.normal / length, (3,), where=self.name))

    @property
    def height(self) -> float:
        """``normal · point`` in m: the plane is where ``normal · x`` equals it."""
        return float(self.normal @ self.point)


@dataclass(frozen=True, eq=False, kw_only=True)
class Box:
    """A box along the axes of the base frame.

    Attributes
    ----------
    lower, upper : (3,) m
        Opposite corners.
    """

    name: str
    lower: Array
    upper: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        for key in ("lower", "upper"):
            array = frozen(getattr(self, key), (3,), where=f"{self.name} {key}", error=UsageError)
            object.__setattr__(self, key, array)
        for axis, low, high in zip("xyz", self.lower, self.upper, strict=True):
            if not low < high:
                found = f"{axis} from {low:g} to {high:g} m"
                raise UsageError(self.name, found, expected="lower below upper")

    @property
    def faces(self) -> tuple[Plane, ...]:
        """Its six faces, with normals that point inwards."""
        normals = (np.eye(3), -np.eye(3))
        return tuple(
            Plane(name=self.name, point=corner, normal=normal)
            for corner, axes in zip((self.lower, self.upper), normals, strict=True)
            for normal in axes
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Surroundings:
    """What the arm must keep away from, in its base frame.

    Attributes
    ----------
    walls : tuple of Plane
        Planes that bound the arm's side; the floor is one of them.
    obstacles : tuple of Box
        Boxes to stay out of.
    workspace : Box, optional
        A box to stay in.
    """

    walls: tuple[Plane, ...] = ()
    obstacles: tuple[Box, ...] = ()
    workspace: Box | None = None

    def __post_init__(self) -> None:
        """Check that names tell everything apart."""
        several = (*self.walls, *self.obstacles, *((self.workspace,) if self.workspace else ()))
        names = [each.name for each in several]
        if twice := {name for name in names if names.count(name) > 1}:
            found = f"two things named '{min(twice)}'"
            raise UsageError("surroundings", found, expected="one of each name")


def floor(z: float = 0.0) -> Plane:
    """Floor at height ``z`` m of the base frame, below a robot that stands upright."""
    return Plane(name="floor", point=np.array([0.0, 0.0, z]), normal=np.eye(3)[2])


class _Floor(Table):
    z: FiniteFloat = 0.0


class _Wall(Table):
    name: str = ""
    point: Triple
    normal: Triple


class _Box(Table):
    name: str = ""
    lower: Triple
    upper: Triple


class _File(Table):
    floor: _Floor | None = None
    walls: list[_Wall] = Field(default_factory=list)
    obstacles: list[_Box] = Field(default_factory=list)
    workspace: _Box | None = None


_EXPECTED = "[floor] z, [[walls]] point and normal, [[obstacles]] and [workspace] lower and upper"


def read_surroundings(path: Path) -> Surroundings:
    """Surroundings of a TOML file.

    ``[floor]`` has ``z``; ``[[walls]]`` have ``point`` and ``normal``, which points to the side of
    the arm; ``[[obstacles]]`` and ``[workspace]`` have ``lower`` and ``upper``. All are in the base
    frame, in m; what may stand several times may have a ``name``.

    Raises
    ------
    UsageError
        It cannot be read, or a key is not as it should be: the first such key is named.
    """
    file = read_table(path, _File, expected=_EXPECTED, error=UsageError)
    try:
        return Surroundings(
            walls=tuple(_walls(file)),
            obstacles=tuple(
                _box(table, f"obstacle {i}") for i, table in enumerate(file.obstacles, start=1)
            ),
            workspace=_box(file.workspace, "workspace") if file.workspace else None,
        )
    except UsageError as e:
        raise UsageError(f"{path}: {e.where}", e.found, expected=e.expected) from e


def _walls(file: _File) -> Iterator[Plane]:
    if file.floor:
        yield floor(file.floor.z)
    for i, wall in enumerate(file.walls, start=1):
        point, normal = np.array(wall.point), np.array(wall.normal)
        yield Plane(name=wall.name or f"wall {i}", point=point, normal=normal)


def _box(table: _Box, name: str) -> Box:
    lower, upper = np.array(table.lower), np.array(table.upper)
    return Box(name=table.name or name, lower=lower, upper=upper)
