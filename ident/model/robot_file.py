"""What a ``robot.toml`` may hold, read strictly; ``data/robots/README.md`` describes the keys."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError
from pydantic_core import ErrorDetails

from ident.errors import IdentError, ModelError
from ident.model.joints import JointKind

Name = Annotated[str, Field(min_length=1)]
# Limits may be infinite, which is none; of quantities, only what can exist passes.
Limit = Annotated[float, Field(ge=0.0)]
Positive = Annotated[FiniteFloat, Field(gt=0.0)]
NotNegative = Annotated[FiniteFloat, Field(ge=0.0)]
Triple = Annotated[list[FiniteFloat], Field(min_length=3, max_length=3)]
Six = Annotated[list[FiniteFloat], Field(min_length=6, max_length=6)]


class Table(BaseModel):
    """A table of a file that a person writes."""

    # Strict: a number in quotes and a truth value are no numbers.
    model_config = ConfigDict(extra="forbid", strict=True)


AnyTable = TypeVar("AnyTable", bound=Table)


class Limits(Table):
    """``[limits]``."""

    acceleration: list[Annotated[float, Field(gt=0.0)]] = []
    jerk: list[Annotated[float, Field(gt=0.0)]] = []


class LinearSpringTable(Table):
    """``[[drives.springs]]`` of ``type = "linear"``; see ``LinearSpring``."""

    type: Literal["linear"]
    joint: Name
    rest: FiniteFloat = 0.0
    stiffness: NotNegative | None = None


class GasSpringTable(Table):
    """``[[drives.springs]]`` of ``type = "gas"``; see ``GasSpring``."""

    type: Literal["gas"]
    joint: Name
    anchor: Positive
    crank: Positive
    angle: FiniteFloat
    area: Positive
    volume: Positive
    charge: Positive
    scale: NotNegative = 1.0


class DrivesTable(Table):
    """``[drives]``."""

    gear_ratio: list[FiniteFloat] | None = None
    coupling: list[list[FiniteFloat]] | None = None
    armature: list[NotNegative] | None = None
    effort_rated: list[float] | None = None
    springs: list[Annotated[LinearSpringTable | GasSpringTable, Field(discriminator="type")]] = []


class Friction(Table):
    """``[friction]``."""

    viscous: list[NotNegative] | None = None
    coulomb: list[NotNegative] | None = None


class CapsuleTable(Table):
    """``[[capsules]]``: ends (m) in the frame of a link of the description; equal for a ball."""

    link: Name
    start: Triple = Field(alias="from")
    end: Triple = Field(alias="to")
    radius: Positive


class _Row(Table):
    """What rows of both kinds of table hold."""

    link: Name
    joint: Name
    type: JointKind = "revolute"
    mass: FiniteFloat = 0.0
    com: Triple = [0.0] * 3
    inertia_c: Six = [0.0] * 6
    position: list[float] = Field(default=[-np.inf, np.inf], min_length=2, max_length=2)
    velocity: Limit = np.inf
    effort: Limit = np.inf


class DHRowTable(_Row):
    """A row of ``[[dh.links]]``; see ``DHRow``."""

    a: FiniteFloat | str
    alpha: FiniteFloat
    d: FiniteFloat | str
    theta: FiniteFloat


class ScrewRowTable(_Row):
    """A row of ``[[screws.links]]``; see ``ScrewRow``."""

    axis: Triple | None = None
    point: Triple | None = None
    screw: Six | None = None
    parent: str = ""
    xyz: Triple | None = None
    rpy: Triple = [0.0] * 3


class PlacementTable(Table):
    """A frame in another: origin (m) and fixed-axis angles (rad)."""

    xyz: Triple = [0.0] * 3
    rpy: Triple = [0.0] * 3


class DHTable(Table):
    """``[dh]``."""

    convention: Literal["standard", "modified"]
    base: PlacementTable = PlacementTable()
    lengths: dict[str, FiniteFloat] = {}
    links: list[DHRowTable]


class ScrewTable(Table):
    """``[screws]``."""

    links: list[ScrewRowTable]


class Source(Table):
    """``[[sources]]``."""

    what: str
    origin: str = Field(alias="from")
    note: str = ""


class Flag(Table):
    """``[[flags]]``."""

    where: str
    what: str


class RobotFile(Table):
    """What a ``robot.toml`` holds."""

    schema_: Literal[1] = Field(alias="schema")
    name: Name
    title: str = ""
    aliases: list[str] = []
    description: str = ""
    dh: DHTable | None = None
    screws: ScrewTable | None = None
    gravity: list[FiniteFloat] | None = None
    home: list[FiniteFloat] = []
    log_names: list[Name] = []
    capsules: list[CapsuleTable] = []
    never_meet: list[Annotated[list[Name], Field(min_length=2, max_length=2)]] = []
    limits: Limits = Limits()
    drives: DrivesTable = DrivesTable()
    friction: Friction = Friction()
    sources: list[Source] = []
    flags: list[Flag] = []


def read_robot_file(path: Path) -> RobotFile:
    """Content of a ``robot.toml``.

    Raises
    ------
    ModelError
        It cannot be read, or a key is not as it should be: the first such key is named.
    """
    file = read_table(path, RobotFile, expected="what data/robots/README.md describes")
    ways = (
        "'description'" * bool(file.description),
        "[dh]" * bool(file.dh),
        "[screws]" * bool(file.screws),
    )
    if len(given := [way for way in ways if way]) != 1:
        found = " beside ".join(given) or "none of 'description', [dh] and [screws]"
        raise ModelError(str(path), found, expected="exactly one of 'description', [dh], [screws]")
    return file


def read_table(
    path: Path, kind: type[AnyTable], *, expected: str, error: type[IdentError] = ModelError
) -> AnyTable:
    """Content of a TOML file, checked.

    Raises
    ------
    IdentError
        Of kind ``error``: it cannot be read, or a key is not as it should be: the first such key is
        named, and what is ``expected`` there.
    """
    try:
        return kind.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as e:
        raise error(str(path), f"cannot be read: {e.strerror}") from e
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise error(str(path), f"not TOML: {e}") from e
    except ValidationError as e:
        # Of a misspelt key, both the wrong and the missing one are found: the wrong one says more.
        first = min(e.errors(), key=lambda each: each["type"] != "extra_forbidden")
        raise error(f"{path}: {_key(first)}", _misfit(first), expected=expected) from e


def _key(error: ErrorDetails) -> str:
    """Where it is; people count rows from one."""
    return ".".join(str(part + 1 if isinstance(part, int) else part) for part in error["loc"])


def _misfit(error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown key"
    return (
        "missing" if error["type"] == "missing" else f"{error['input']!r}: {error['msg'].lower()}"
    )
