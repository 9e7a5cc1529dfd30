"""Robots from Denavit-Hartenberg tables, standard (distal) and modified (proximal, Craig).

A modified row i reads ``Rx(α) Tx(a) Rz(θ) Tz(d)``, with ``a, α`` of link i − 1: joint axis i is
the z axis of frame i. A standard row reads ``Rz(θ) Tz(d) Tx(a) Rx(α)``: frame i sits at the far end
of link i, off its own joint axis. A standard table is therefore read as a modified one, with
``a, α`` handed on to the next row, and the inertias of row i, which the table gives in frame i, are
carried by ``Tx(a) Rx(α)`` into the frame on the joint axis. Link frames of the Robot are always the
latter. Where ``a`` is a letter, the inertias wait for its number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model import inertia, rotation
from ident.model.joints import KINDS, Joint, JointKind, Letters
from ident.model.robot import Link, Part, Robot
from ident.model.tree import Edge, assemble

Convention = Literal["standard", "modified"]


@dataclass(frozen=True, eq=False, kw_only=True)
class DHRow:
    """One row of a table: geometry (m, rad), limits and inertia of the link that it moves.

    ``theta`` (``d`` for a sliding joint) is added to the joint variable. A length ``a`` or ``d``
    may be a letter, ``"L1"`` or ``"-L1"``: the robot can then be derived, not evaluated. ``com``
    and ``inertia_c = (Ixx, Ixy, Ixz, Iyy, Iyz, Izz)``, about the COM, are in the table's link
    frame.
    """

    link: str
    joint: str
    type: JointKind = "revolute"
    a: float | str
    alpha: float
    d: float | str
    theta: float
    mass: float = 0.0
    com: Sequence[float] = (0.0, 0.0, 0.0)
    inertia_c: Sequence[float] = (0.0,) * 6
    position: tuple[float, float] = (-np.inf, np.inf)
    velocity: float = np.inf
    effort: float = np.inf

    def __post_init__(self) -> None:
        """Check the kind of joint, the shapes and the mass."""
        where = f"DH row '{self.link}'"
        if self.type not in KINDS:
            raise ModelError(f"{where} type", f"'{self.type}'", expected=", ".join(KINDS))
        for name in ("a", "d"):
            if isinstance(length := getattr(self, name), str) and not _LETTER.fullmatch(length):
                found, expected = f"'{length}'", "a number, or a name such as L1 or -L1"
                raise ModelError(f"{where} {name}", found, expected=expected)
        for name, shape in _SHAPES.items():
            if isinstance(getattr(self, name), str):
                continue
            finite = name not in {"position", "velocity", "effort"}
            frozen(getattr(self, name), shape, where=f"{where} {name}", finite=finite)
        inertia.checked_mass(self.mass, f"{where} mass")


_LETTER = re.compile(r"[+-]?[A-Za-z]\w*", re.ASCII)
_SHAPES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("a", "alpha", "d", "theta", "mass", "velocity", "effort"), ()),
    "com": (3,),
    "inertia_c": (6,),
    "position": (2,),
}


def robot_of_table(
    name: str,
    convention: Convention,
    rows: Sequence[DHRow],
    *,
    base: tuple[Array, Array] | None = None,
    where: str = "DH table",
) -> Robot:
    """Robot of a table with one row per moving link, base first.

    Parameters
    ----------
    base : ((3, 3), (3,) m)
        Placement of the table's frame 0 in the base frame, in which gravity is given; the two
        coincide where it is left out.

    Raises
    ------
    ModelError
        No row, or two links or joints of one name.

    Examples
    --------
    >>> import ident
    >>> links = [("l1", "j1", 0.0), ("l2", "j2", "L1")]
    >>> rows = [
    ...     ident.DHRow(link=link, joint=joint, a=a, alpha=0.0, d=0.0, theta=0.0)
    ...     for link, joint, a in links
    ... ]
    >>> arm = ident.robot_of_table("arm", "modified", rows).with_gravity([0.0, -9.81, 0.0])
    >>> ident.reduce_exact(arm).khalil[2]
    'ZZ1R = ZZ1 + L1²·M2'
    >>> arm.with_lengths(L1=0.5).letters
    ()
    """
    if not rows:
        raise ModelError(where, "no row", expected="one row per moving link")
    for kind in ("link", "joint"):
        names = [getattr(row, kind) for row in rows]
        if kind == "link":
            names.append("base_link")  # what the first joint hangs on
        if twice := {name for name in names if names.count(name) > 1}:
            raise ModelError(where, f"two {kind}s named '{min(twice)}'", expected="unique names")
    ends = [_end(row) for row in rows]
    still = _Placement(np.eye(3), np.zeros(3))
    # Where the joint of each row sits in its parent, and where its tabled frame sits in its link.
    standard = convention == "standard"
    before, after = ([still, *ends[:-1]], ends) if standard else (ends, [still] * len(rows))
    if base is not None:
        before = [before[0].seen_from(*base), *before[1:]]
    inertials = {"base_link": np.zeros(10)}
    tabled = {row.link: end.part(row) for row, end in zip(rows, after, strict=True)}
    for part in tabled.values():
        if part.letters:
            inertials[part.link] = np.zeros(10)
        else:
            inertials[part.link] = part.pi_carrier if standard else part.pi
    parents = ["base_link", *(row.link for row in rows)]
    edges = [
        Edge(parent=parent, child=row.link, joint=_joint(row, placement), fixed=False)
        for parent, row, placement in zip(parents, rows, before, strict=False)
    ]
    robot = assemble(name, inertials, edges, where=where)
    return replace(robot, links=tuple(_waiting(link, tabled[link.name]) for link in robot.links))


def _waiting(link: Link, tabled: Part) -> Link:
    """The link with its inertia in the tabled frame, if a letter parts that from its own."""
    return replace(link, parts=(tabled,)) if tabled.letters else link


def lettered(rows: Sequence[DHRow]) -> list[DHRow]:
    """The same table with a letter for every length that is not zero: ``a2``, ``d3``, by row.

    Letters of the table stay, and none of them is given to another length.
    """
    own = _letters(rows)

    def letter(length: float | str, kind: str, number: int) -> float | str:
        if isinstance(length, str) or length == 0.0:
            return length
        name = f"{kind}{number}"
        while name in own:
            name += "_"
        return name

    return [
        replace(row, a=letter(row.a, "a", i), d=letter(row.d, "d", i))
        for i, row in enumerate(rows, start=1)
    ]


def _letters(rows: Sequence[DHRow]) -> set[str]:
    """Names of the lengths of a table that are letters."""
    return {x.lstrip("+-") for row in rows for x in (row.a, row.d) if isinstance(x, str)}


def with_lengths(rows: Sequence[DHRow], lengths: Mapping[str, float], where: str) -> list[DHRow]:
    """The same table with numbers (m) for its letters.

    Raises
    ------
    ModelError
        A name that is no letter of the table.
    """
    letters = _letters(rows)
    if unknown := sorted(lengths.keys() - letters):
        expected = ", ".join(sorted(letters)) or "a table with letters"
        raise ModelError(where, f"no length '{unknown[0]}'", expected=expected)

    def number(length: float | str) -> float | str:
        if not isinstance(length, str) or (name := length.lstrip("+-")) not in lengths:
            return length
        return -lengths[name] if length.startswith("-") else lengths[name]

    return [replace(row, a=number(row.a), d=number(row.d)) for row in rows]


@dataclass(frozen=True, eq=False)
class _Placement:
    """A fixed placement whose lengths may be letters; see ``Joint.letters``."""

    R: Array
    p: Array
    letters: Letters = ()

    def part(self, row: DHRow) -> Part:
        """The body of a row in the placed frame, which does not matter where it has no inertia."""
        pi = inertia.pi_from_com(row.mass, row.com, inertia.tensor(row.inertia_c))
        letters = self.letters if pi.any() else ()
        return Part(link=row.link, R_ab=self.R, p_a_ab=self.p, pi=pi, letters=letters)

    def seen_from(self, R: Array, p: Array) -> _Placement:
        """The same placement in a frame where the outer one sits at (R, p)."""
        letters = tuple((name, R @ d) for name, d in self.letters)
        return _Placement(R @ self.R, p + R @ self.p, letters)

    def along(self, length: float | str, direction: Array) -> _Placement:
        """Moved by a length in a direction of the outer frame."""
        if not isinstance(length, str):
            return replace(self, p=self.p + length * direction)
        sign = -1.0 if length.startswith("-") else 1.0
        name = length.lstrip("+-")
        known = dict(self.letters)
        known[name] = known.get(name, 0.0) + sign * direction
        return replace(self, letters=tuple(known.items()))


def _end(row: DHRow) -> _Placement:
    """Placement ``Tx(a) Rx(α)``."""
    R = rotation.cleaned(rotation.about_x(row.alpha))
    return _Placement(R, np.zeros(3)).along(row.a, np.array([1.0, 0.0, 0.0]))


def _joint(row: DHRow, placement: _Placement) -> Joint:
    """Joint of a row behind a placement: ``Rz(θ + q) Tz(d)`` or ``Rz(θ) Tz(d + q)``."""
    z = np.array([0.0, 0.0, 1.0])
    lower, upper = row.position
    placed = placement.along(row.d, placement.R @ z)
    return Joint(
        name=row.joint,
        kind=row.type,
        R0=placed.R @ rotation.about_z(row.theta),
        p0=placed.p,
        letters=placed.letters,
        axis=z,
        lower=lower,
        upper=upper,
        velocity=row.velocity,
        effort=row.effort,
    )
