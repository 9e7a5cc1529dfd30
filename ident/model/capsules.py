"""Capsules: the shape of a robot's links as collision checks see it.

A capsule is everything within a radius of a straight segment: a cylinder with a half ball on each
end. Distances between capsules are those of their segments less their radii.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError

if TYPE_CHECKING:
    from ident.model.robot import Part, Robot


@dataclass(frozen=True, eq=False, kw_only=True)
class Capsule:
    """A capsule fixed to a link.

    Attributes
    ----------
    link : int
        Index of the moving link that carries it; −1 for the base.
    part : str
        Name of the link of the description that it belongs to.
    a, b : (3,) m
        Ends of its segment in the frame of the moving link, or in the base frame; equal for a ball.
    radius : float
        In m, above zero.
    """

    link: int
    part: str
    a: Array
    b: Array
    radius: float

    def __post_init__(self) -> None:
        """Check and lock the figures."""
        where = f"capsule of link '{self.part}'"
        for name in ("a", "b"):
            array = frozen(getattr(self, name), (3,), where=f"{where} end {name}")
            object.__setattr__(self, name, array)
        if not 0.0 < self.radius < np.inf:
            raise ModelError(where, f"radius {self.radius:g} m", expected="above zero")


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape:
    """A capsule in the frame of the described link that it belongs to; see ``Capsule``."""

    part: str
    a: Array
    b: Array
    radius: float


def carriers(robot: Robot) -> dict[str, tuple[int, Part]]:
    """Every part by its name, with the moving link that carries it; −1 for the base."""
    parts = {part.link: (-1, part) for part in robot.base_parts}
    for i, link in enumerate(robot.links):
        parts.update((part.link, (i, part)) for part in link.parts)
    return parts


def placed(shapes: Iterable[Shape], robot: Robot) -> tuple[Capsule, ...]:
    """Capsules in the frames of the moving links that carry them.

    Those whose place depends on a length that is a letter still are left out.

    Raises
    ------
    ModelError
        A shape belongs to no link of the description.
    """
    known, capsules = carriers(robot), []
    for shape in shapes:
        if shape.part not in known:
            raise ModelError("capsules", f"no link '{shape.part}'", expected=", ".join(known))
        i, part = known[shape.part]
        if not part.letters:
            a, b = (part.p_a_ab + part.R_ab @ end for end in (shape.a, shape.b))
            capsules.append(Capsule(link=i, part=shape.part, a=a, b=b, radius=shape.radius))
    return tuple(capsules)


def along_z(part: str, R: Array, p: Array, *, length: float, radius: float) -> Shape:
    """Capsule about a segment of ``length`` m along z, centred in a frame (R, p) of the part."""
    half = 0.5 * length * R[:, 2]
    return Shape(part=part, a=p - half, b=p + half, radius=radius)


def around_box(part: str, R: Array, p: Array, sides: Array) -> Shape:
    """Capsule along the longest of ``sides`` (3,) m of a box that is centred in a frame (R, p)."""
    k = int(np.argmax(sides))
    half = 0.5 * sides[k] * R[:, k]
    radius = 0.5 * float(np.hypot(*np.delete(sides, k)))
    return Shape(part=part, a=p - half, b=p + half, radius=radius)
