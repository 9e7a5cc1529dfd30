"""Robots from Denavit-Hartenberg tables, standard (distal) and modified (proximal, Craig).

A modified row i reads ``Rx(α) Tx(a) Rz(θ) Tz(d)``, with ``a, α`` of link i − 1: joint axis i is
the z axis of frame i. A standard row reads ``Rz(θ) Tz(d) Tx(a) Rx(α)``: frame i sits at the far end
of link i, off its own joint axis. A standard table is therefore read as a modified one, with
``a, α`` handed on to the next row, and the inertias of row i, which the table gives in frame i, are
carried by ``Tx(a) Rx(α)`` into the frame on the joint axis. Link frames of the Robot are always the
latter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model import inertia, rotation
from ident.model.joints import KINDS, Joint, JointKind
from ident.model.robot import Robot
from ident.model.tree import Edge, assemble

Convention = Literal["standard", "modified"]


@dataclass(frozen=True, eq=False, kw_only=True)
class DHRow:
    """One row of a table: geometry (m, rad), limits and inertia of the link that it moves.

    ``theta`` (``d`` for a sliding joint) is added to the joint variable. ``com`` and
    ``inertia_c = (Ixx, Ixy, Ixz, Iyy, Iyz, Izz)``, about the COM, are in the table's link frame.
    """

    link: str
    joint: str
    type: JointKind = "revolute"
    a: float
    alpha: float
    d: float
    theta: float
    mass: float = 0.0
    com: Sequence[float] = (0.0, 0.0, 0.0)
    inertia_c: Sequence[float] = (0.0,) * 6
    position: tuple[float, float] = (-np.inf, np.inf)
    velocity: float = np.inf
    effort: float = np.inf

    def __post_init__(self) -> None:
        """Check the kind of joint and the shapes."""
        where = f"DH row '{self.link}'"
        if self.type not in KINDS:
            raise ModelError(f"{where} type", f"'{self.type}'", expected=", ".join(KINDS))
        for name, shape in _SHAPES.items():
            finite = name not in {"position", "velocity", "effort"}
            frozen(getattr(self, name), shape, where=f"{where} {name}", finite=finite)


_SHAPES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("a", "alpha", "d", "theta", "mass", "velocity", "effort"), ()),
    "com": (3,),
    "inertia_c": (6,),
    "position": (2,),
}


def robot_of_table(
    name: str, convention: Convention, rows: Sequence[DHRow], *, where: str = "DH table"
) -> Robot:
    """Robot of a table with one row per moving link, base first.

    Raises
    ------
    ModelError
        No row, or two links or joints of one name.
    """
    if not rows:
        raise ModelError(where, "no row", expected="one row per moving link")
    for kind in ("link", "joint"):
        names = [getattr(row, kind) for row in rows]
        if kind == "link":
            names.append("base_link")  # what the first joint hangs on
        if twice := {name for name in names if names.count(name) > 1}:
            raise ModelError(where, f"two {kind}s named '{min(twice)}'", expected="unique names")
    parents = ["base_link", *(row.link for row in rows)]
    ends = [_end(row) for row in rows]
    still = (np.eye(3), np.zeros(3))
    # Where the joint of each row sits in its parent, and where its tabled frame sits in its link.
    before, after = ([still, *ends[:-1]], ends) if convention == "standard" else (ends, None)
    inertials = {"base_link": np.zeros(10)}
    for i, row in enumerate(rows):
        pi = inertia.pi_from_com(row.mass, row.com, inertia.tensor(row.inertia_c))
        inertials[row.link] = inertia.transformed(pi, *after[i]) if after else pi
    edges = [
        Edge(parent=parent, child=row.link, joint=_joint(row, *placement), fixed=False)
        for parent, row, placement in zip(parents, rows, before, strict=False)
    ]
    return assemble(name, inertials, edges, where=where)


def _end(row: DHRow) -> tuple[Array, Array]:
    """Placement ``Tx(a) Rx(α)``."""
    return rotation.cleaned(rotation.about_x(row.alpha)), np.array([row.a, 0.0, 0.0])


def _joint(row: DHRow, R: Array, p: Array) -> Joint:
    """Joint of a row behind the placement (R, p): ``Rz(θ + q) Tz(d)`` or ``Rz(θ) Tz(d + q)``."""
    z = np.array([0.0, 0.0, 1.0])
    lower, upper = row.position
    return Joint(
        name=row.joint,
        kind=row.type,
        R0=R @ rotation.about_z(row.theta),
        p0=p + R @ (row.d * z),
        axis=z,
        lower=lower,
        upper=upper,
        velocity=row.velocity,
        effort=row.effort,
    )
