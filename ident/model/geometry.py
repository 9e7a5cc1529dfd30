"""Exact geometry: what a robot's figures were before they became floating-point numbers.

A length of 0.0825 m is 33/400, a quarter turn consists of zeros and ones, and a length may be a
letter. Derivations work with these, so that what cancels does so exactly. A rotation that is no
matrix of rational numbers (a twist of 30°) stays in floating point, and so does what rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import sympy as sp

from ident.arrays import Array
from ident.model.inertia import skew
from ident.model.joints import Joint
from ident.model.robot import Robot

Vector = list[sp.Expr]
Matrix = list[list[sp.Expr]]


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactJoint:
    """A ``Joint`` in exact numbers; see there for what they mean.

    Attributes
    ----------
    slide : (3,)
        Direction of the axis in the parent frame.
    still, even, odd : (3, 3)
        ``R_ab = still + even cos q + odd sin q`` of a turning joint; ``R_ab = still`` of another.
    letters : tuple of (symbol, direction)
        The origin is ``p0 + Σ symbol · direction``.
    """

    turns: bool
    coordinate: int
    parent: int
    gain: sp.Expr
    offset: sp.Expr
    axis: Vector
    slide: Vector
    still: Matrix
    even: Matrix
    odd: Matrix
    p0: Vector
    letters: tuple[tuple[sp.Symbol, Vector], ...]

    @property
    def origin(self) -> Vector:
        """Origin of the link frame in the parent frame at zero, as expressions."""
        return [
            sp.Add(p, *(symbol * d[i] for symbol, d in self.letters)) for i, p in enumerate(self.p0)
        ]

    @cached_property
    def reference(self) -> Matrix:
        """``R_ab`` at some position of the joint: rational where any is.

        A turn about the joint's own axis only shifts its zero, so an offset of π/4 leaves what does
        not depend on the position exact.
        """
        start = [
            [a + b for a, b in zip(*rows, strict=True)]
            for rows in zip(self.still, self.even, strict=True)
        ]
        if not self.turns or is_exact(start) or not is_exact([self.axis, self.slide]):
            return start
        return _taking(self.axis, self.slide)

    @property
    def turns_exactly(self) -> bool:
        """Whether the joint's rotation is rational wherever its cosine and sine are."""
        return is_exact([*self.still, *self.even, *self.odd, self.axis])


@dataclass(frozen=True, eq=False, kw_only=True)
class Geometry:
    """Joints and gravity of a robot in exact numbers."""

    joints: tuple[ExactJoint, ...]
    gravity: Vector
    letters: tuple[sp.Symbol, ...]

    @property
    def exact(self) -> bool:
        """Whether no floating-point number is left, but in how joints are turned at zero."""
        placed = (row for joint in self.joints for row in (*joint.reference, joint.axis, joint.p0))
        return is_exact(placed)


def exact_geometry(robot: Robot) -> Geometry:
    """Geometry of ``robot`` in exact numbers, where its figures have them."""
    return Geometry(
        joints=tuple(_joint(link.joint, link.parent) for link in robot.links),
        gravity=decimals(robot.gravity),
        letters=tuple(sp.Symbol(name) for name in robot.letters),
    )


def decimals(values: Array) -> Vector:
    """Numbers as they are written: 0.0825 is 33/400."""
    return [_decimal(v) for v in np.asarray(values).tolist()]


def rational_rotation(R: Array) -> Matrix | None:
    """The rotation matrix of rational numbers that ``R`` was written as, or None."""
    rows = [decimals(row) for row in R]
    products = [sum(a * b for a, b in zip(u, v, strict=True)) for u in rows for v in rows]
    return rows if products == [1, 0, 0, 0, 1, 0, 0, 0, 1] else None


def rational_direction(v: Array) -> Vector | None:
    """The unit vector of rational numbers that ``v`` was written as, or None."""
    exact = decimals(v)
    return exact if sum(x * x for x in exact) == 1 else None


def product(A: Matrix, B: Matrix) -> Matrix:
    """Matrix product."""
    columns = list(zip(*B, strict=True))
    return [[sum(a * b for a, b in zip(row, c, strict=True)) for c in columns] for row in A]


def is_exact(rows: Iterable[Vector]) -> bool:
    """Whether none of the numbers is in floating point."""
    return not any(x.is_Float for row in rows for x in row)


def _taking(u: Vector, v: Vector) -> Matrix:
    """A rational rotation that takes the unit vector u to v: a half turn about ``u + v``.

    Where v is −u, a half turn about an axis square to u.
    """
    w = [a + b for a, b in zip(u, v, strict=True)]
    if not any(w):
        k = min(range(3), key=lambda i: abs(u[i]))
        w = [int(i == k) - u[k] * x for i, x in enumerate(u)]
    scale = 2 / sum(x * x for x in w)
    return [[scale * a * b - int(i == j) for j, b in enumerate(w)] for i, a in enumerate(w)]


def _joint(joint: Joint, parent: int) -> ExactJoint:
    R0, axis = rational_rotation(joint.R0), rational_direction(joint.axis)
    if R0 is None or axis is None:
        still, even, odd, slide, axis = _in_floats(joint)
    else:
        still, even, odd = _turning(R0, axis) if joint.turns else (R0, *_ZEROS)
        slide = [sum(r * a for r, a in zip(row, axis, strict=True)) for row in R0]
    return ExactJoint(
        turns=joint.turns,
        coordinate=joint.coordinate,
        parent=parent,
        gain=_decimal(joint.multiplier),
        offset=_decimal(joint.offset),
        axis=axis,
        slide=slide,
        still=still,
        even=even,
        odd=odd,
        p0=decimals(joint.p0),
        letters=tuple((sp.Symbol(name), decimals(d)) for name, d in joint.letters),
    )


def _turning(R0: Matrix, axis: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """Parts of ``R0 · rot(axis, q)``, with ``rot = a aᵀ + cos q (1 − a aᵀ) + sin q S(a)``."""
    x, y, z = axis
    still = product(R0, [[a * b for b in axis] for a in axis])
    even = [[r - s for r, s in zip(*rows, strict=True)] for rows in zip(R0, still, strict=True)]
    zero = sp.S.Zero
    return still, even, product(R0, [[zero, -z, y], [z, zero, -x], [-y, x, zero]])


def _in_floats(joint: Joint) -> tuple[Matrix, Matrix, Matrix, Vector, Vector]:
    R0, axis = joint.R0, joint.axis
    slide, direction = _floats((R0 @ axis)[None])[0], _floats(axis[None])[0]
    if not joint.turns:
        return _floats(R0), *_ZEROS, slide, direction
    still = R0 @ np.outer(axis, axis)
    return _floats(still), _floats(R0 - still), _floats(R0 @ skew(axis)), slide, direction


def _floats(rows: Array) -> Matrix:
    """Floating-point numbers, but for zeros and ones, from which rounding residue is removed."""
    nearest = np.round(rows)
    tidy = np.where(np.abs(rows - nearest) < 1e-15, nearest, rows)
    return [
        [sp.Integer(int(x)) if x == int(x) else sp.Float(x, 17) for x in row]
        for row in tidy.tolist()
    ]


def _decimal(value: float) -> sp.Expr:
    # With 15 digits: a sum of figures carries residue in the sixteenth, as 0.1 + 0.2 does.
    return sp.Rational(Fraction(f"{value:.15g}"))


_ZEROS: tuple[Matrix, Matrix] = ([[sp.S.Zero] * 3] * 3, [[sp.S.Zero] * 3] * 3)
