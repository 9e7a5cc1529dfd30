"""Joints: how a moving link hangs on its parent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from ident.arrays import Array, frozen
from ident.conventions import INERTIAL
from ident.errors import ModelError
from ident.model import rotation

JointKind = Literal["revolute", "continuous", "prismatic"]
Letters = tuple[tuple[str, Array], ...]
_KHALIL = ("M", "MX", "MY", "MZ", "XX", "XY", "XZ", "YY", "YZ", "ZZ", "IA")
# Names that derivations give to motion, to intermediate values and to parameters.
_TAKEN = re.compile(rf"({'|'.join((*INERTIAL, *_KHALIL, 'q', 'dq', 'ddq', 't', 'armature'))})\d+")
KINDS: tuple[JointKind, ...] = get_args(JointKind)


def letters_left(names: Iterable[str], where: str) -> ModelError:
    """Error for a robot that is to be evaluated while some of its lengths are letters."""
    return ModelError(
        where,
        f"no value for length {', '.join(names)}",
        expected="numbers",
        remedy="give them in [dh.lengths] or by Robot.with_lengths",
    )


def checked_letters(letters: Letters, where: str) -> Iterator[tuple[str, Array]]:
    """Letters with locked directions, none called like what derivations name."""
    for name, direction in letters:
        if not name.isidentifier() or _TAKEN.fullmatch(name):
            expected = "a name such as L1, not that of a motion or an inertial parameter"
            raise ModelError(where, f"length '{name}'", expected=expected)
        yield name, frozen(direction, (3,), where=f"{where} direction of {name}")


def filled(p: Array, letters: Letters, lengths: Mapping[str, float]) -> tuple[Array, Letters]:
    """An origin ``p + Σ length · direction`` with numbers for some of its letters (m)."""
    known = sum((lengths[name] * d for name, d in letters if name in lengths), np.zeros(3))
    return p + known, tuple((name, d) for name, d in letters if name not in lengths)


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint:
    """A one-degree-of-freedom joint between a parent frame a and its link frame b.

    ``R_ab(q) = R0 · rot(axis, q)`` and ``p_a_ab = p0`` for a turning joint; for a sliding one
    ``R_ab = R0`` and ``p_a_ab = p0 + R0 axis q``. A mimic joint moves by
    ``multiplier · q[coordinate] + offset``; an ordinary one by ``q[coordinate]`` itself.

    Attributes
    ----------
    R0, p0 : (3, 3), (3,) m
        Placement of the link frame in the parent link frame at zero.
    axis : (3,)
        Unit vector in the link frame.
    coordinate : int
        Index of the joint coordinate that moves this joint.
    mimics : str
        Name of the joint whose coordinate this one follows; empty for an ordinary joint.
    letters : tuple of (name, direction)
        Lengths that are letters still: the origin is ``p0 + Σ length · direction``, with directions
        (3,) in the parent frame. Such a joint can be derived from, but not evaluated.
    lower, upper, velocity, effort : float
        Limits in rad or m, rad/s or m/s, N·m or N; infinite where none is given.
    """

    name: str
    kind: JointKind
    R0: Array
    p0: Array
    axis: Array
    coordinate: int = 0
    mimics: str = ""
    multiplier: float = 1.0
    offset: float = 0.0
    letters: Letters = ()
    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf

    def __post_init__(self) -> None:
        """Check and lock the arrays; make the axis a unit vector."""
        where = f"joint '{self.name}'"
        R0 = frozen(rotation.cleaned(self.R0), (3, 3), where=f"{where} rotation")
        if np.abs(R0 @ R0.T - np.eye(3)).max() > 1e-9 or np.linalg.det(R0) < 0:
            raise ModelError(f"{where} rotation", "not a rotation matrix")
        axis = frozen(self.axis, (3,), where=f"{where} axis")
        length = float(np.linalg.norm(axis))
        if length < 1e-9:
            raise ModelError(f"{where} axis", "length zero", expected="a direction")
        for name in ("multiplier", "offset"):
            frozen(getattr(self, name), (), where=f"{where} {name}")
        if not self.lower <= self.upper:
            raise ModelError(f"{where} limits", f"lower {self.lower:g} above upper {self.upper:g}")
        for name in ("velocity", "effort"):
            limit = getattr(self, name)
            if not limit >= 0.0:
                raise ModelError(f"{where} limits", f"{name} {limit:g}", expected="a magnitude")
        object.__setattr__(self, "R0", R0)
        object.__setattr__(self, "p0", frozen(self.p0, (3,), where=f"{where} origin"))
        object.__setattr__(self, "letters", tuple(checked_letters(self.letters, where)))
        unit = rotation.cleaned(axis / length)
        object.__setattr__(self, "axis", frozen(unit, (3,), where=where))

    @property
    def turns(self) -> bool:
        """Whether the coordinate is an angle."""
        return self.kind != "prismatic"

    def with_lengths(self, lengths: Mapping[str, float]) -> Joint:
        """The same joint with numbers for some of its letters (m)."""
        p0, letters = filled(self.p0, self.letters, lengths)
        return replace(self, p0=p0, letters=letters)

    def placement(self, coordinate: float) -> tuple[Array, Array]:
        """``R_ab`` (3, 3) and ``p_a_ab`` (3,) at one value of the joint coordinate.

        Raises
        ------
        ModelError
            A length is a letter still.
        """
        if self.letters:
            raise letters_left([name for name, _ in self.letters], f"joint '{self.name}'")
        q = self.multiplier * coordinate + self.offset
        if self.turns:
            return self.R0 @ rotation.about(self.axis, q), np.asarray(self.p0)
        return np.asarray(self.R0), self.p0 + self.R0 @ self.axis * q
