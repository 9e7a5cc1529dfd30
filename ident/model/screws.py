"""Robots from screw axes: the product of exponentials.

Each joint has its axis in the base frame, drawn at the zero pose, and each link the placement of
its own frame there. A screw is ``[w, v]``, turning part first (Lynch, Park 2017, "Modern Robotics",
section 3.3.2; Murray, Li, Sastry 1994 write the same two parts the other way round): ``w`` a unit
vector and ``v = −w × point`` for a joint that turns, ``w = 0`` and ``v`` a unit vector for one that
slides.

The link frames of a Robot sit on their joint axes. A tabled frame off its axis is therefore carried
to the point of the axis that is nearest to its origin, without being turned, and the inertias of
the row with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model import inertia, rotation
from ident.model.joints import KINDS, Joint, JointKind
from ident.model.robot import Robot
from ident.model.tree import Edge, assemble

BASE = "base_link"
# Four digits of a direction cosine, as in 0.7071, are off by less than this.
_UNIT = 1e-3
_SQUARE = 1e-5  # m/rad per metre: five digits of w and v; a lead screw of 0.1 mm has more


@dataclass(frozen=True, eq=False, kw_only=True)
class ScrewRow:
    """One joint at the zero pose, and the link that it moves (m, rad, kg).

    ``axis`` and ``point``, or ``screw``, are in the base frame, as are ``xyz`` and ``rpy``, the
    placement of the link frame; ``xyz`` is the point of the axis where none is given. ``com`` and
    ``inertia_c = (Ixx, Ixy, Ixz, Iyy, Iyz, Izz)``, about the COM, are in the link frame. ``parent``
    is the link that carries the joint: the row before, or the base, where none is given.
    """

    link: str
    joint: str
    type: JointKind = "revolute"
    axis: Sequence[float] | None = None
    point: Sequence[float] | None = None
    screw: Sequence[float] | None = None
    parent: str = ""
    xyz: Sequence[float] | None = None
    rpy: Sequence[float] = (0.0, 0.0, 0.0)
    mass: float = 0.0
    com: Sequence[float] = (0.0, 0.0, 0.0)
    inertia_c: Sequence[float] = (0.0,) * 6
    position: tuple[float, float] = (-np.inf, np.inf)
    velocity: float = np.inf
    effort: float = np.inf

    def __post_init__(self) -> None:
        """Check the joint, the shapes, the mass, and that there is one screw, without pitch."""
        if self.type not in KINDS:
            raise ModelError(f"{self.where} type", f"'{self.type}'", expected=", ".join(KINDS))
        for name, shape in _SHAPES.items():
            given, finite = getattr(self, name), name not in {"position", "velocity", "effort"}
            if given is not None:
                frozen(given, shape, where=f"{self.where} {name}", finite=finite)
        inertia.checked_mass(self.mass, f"{self.where} mass")
        if (self.axis is None) == (self.screw is None):
            found = "both or neither of 'axis' and 'screw'"
            raise ModelError(self.where, found, expected="exactly one")
        if self.screw is not None and self.point is not None:
            raise ModelError(self.where, "'point' beside 'screw'", expected="'point' with 'axis'")
        if self.turns and self.screw is None and self.point is None:
            raise ModelError(self.where, "no 'point'", expected="a point of the axis")
        self.line()

    @property
    def where(self) -> str:
        """Name of the row in messages."""
        return f"screw row '{self.link}'"

    @property
    def turns(self) -> bool:
        """Whether the joint turns."""
        return self.type != "prismatic"

    def line(self) -> tuple[Array, Array]:
        """Unit direction (3,) of the axis and a point (3,) m of it, in the base frame."""
        if self.screw is None:
            point = np.zeros(3) if self.point is None else np.array(self.point, dtype=np.float64)
            return self._unit(self.axis, "axis"), point
        w, v = np.array(self.screw, dtype=np.float64).reshape(2, 3)
        if not self.turns:
            if w.any():
                found = "a turning part, for a joint that slides"
                raise ModelError(f"{self.where} screw", found, expected="[0, 0, 0, v]")
            return self._unit(v, "screw"), np.zeros(3)
        unit, length = self._unit(w, "screw"), np.linalg.norm(w)
        pitch = float(unit @ v / length)
        if abs(pitch) > _SQUARE * max(1.0, float(np.linalg.norm(v))):
            expected = "v at right angles to w: a joint that turns does not slide as well"
            raise ModelError(f"{self.where} screw", f"pitch {pitch:g} m/rad", expected=expected)
        return unit, np.cross(unit, v / length)

    def _unit(self, direction: Sequence[float] | Array | None, name: str) -> Array:
        given = np.array(direction, dtype=np.float64)
        length = float(np.linalg.norm(given))
        if abs(length - 1.0) > _UNIT:
            expected = "a unit vector along the axis"
            raise ModelError(f"{self.where} {name}", f"length {length:g}", expected=expected)
        return rotation.cleaned(given / length)

    @property
    def frame(self) -> tuple[Array, Array, Array]:
        """Placement R, p of the Robot's link frame at zero, and the tabled origin (3,) in it."""
        R = rotation.from_rpy(*self.rpy)
        axis, point = self.line()
        origin = point if self.xyz is None else np.array(self.xyz, dtype=np.float64)
        foot = point + axis * (axis @ (origin - point)) if self.turns else origin
        return R, foot, R.T @ (origin - foot)


_SHAPES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("axis", "point", "xyz", "rpy", "com"), (3,)),
    **dict.fromkeys(("screw", "inertia_c"), (6,)),
    **dict.fromkeys(("mass", "velocity", "effort"), ()),
    "position": (2,),
}


def robot_of_screws(name: str, rows: Sequence[ScrewRow], *, where: str = "screw table") -> Robot:
    """Robot of a table with one row per moving link.

    Raises
    ------
    ModelError
        No row, two links or joints of one name, an unknown parent, or rows that form a loop.
    """
    if not rows:
        raise ModelError(where, "no row", expected="one row per moving link")
    for kind, names in (
        ("link", [BASE, *(row.link for row in rows)]),
        ("joint", [row.joint for row in rows]),
    ):
        if twice := {name for name in names if names.count(name) > 1}:
            raise ModelError(where, f"two {kind}s named '{min(twice)}'", expected="unique names")
    frames = {BASE: (np.eye(3), np.zeros(3)), **{row.link: row.frame[:2] for row in rows}}
    inertials, edges, before = {BASE: np.zeros(10)}, [], BASE
    for row in rows:
        parent = row.parent or before
        if parent not in frames:
            found, expected = f"unknown parent '{parent}'", f"'{BASE}' or the link of a row"
            raise ModelError(row.where, found, expected=expected)
        edges.append(
            Edge(parent=parent, child=row.link, joint=_joint(row, *frames[parent]), fixed=False)
        )
        pi = inertia.pi_from_com(row.mass, row.com, inertia.tensor(row.inertia_c))
        inertials[row.link] = inertia.transformed(pi, np.eye(3), row.frame[2])
        before = row.link
    return assemble(name, inertials, edges, where=where)


def _joint(row: ScrewRow, R_0a: Array, p_0_0a: Array) -> Joint:
    """Joint of a row whose parent frame a sits at (R_0a, p_0_0a) at zero."""
    R_0b, p_0_0b, _ = row.frame
    lower, upper = row.position
    return Joint(
        name=row.joint,
        kind=row.type,
        R0=R_0a.T @ R_0b,
        # Differences of decimals, without what the subtraction leaves in the sixteenth digit.
        p0=np.round(R_0a.T @ (p_0_0b - p_0_0a), 14),
        axis=R_0b.T @ row.line()[0],
        lower=lower,
        upper=upper,
        velocity=row.velocity,
        effort=row.effort,
    )
