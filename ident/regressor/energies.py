"""Kinetic and potential energy of a robot, from the placements of its links and their derivatives.

References
----------
    Uicker (1965), "On the dynamic analysis of spatial linkages using 4×4 matrices":
    ``M_ij = Σ tr(∂_i T J ∂_j Tᵀ)`` over links with placement T and pseudo-inertia J.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from ident.conventions import INERTIAL
from ident.model.geometry import ExactJoint, Geometry
from ident.regressor.harmonics import Harmonics, Number, Space, number

Rows = list[list[Harmonics]]

_HALF = Fraction(1, 2)
_ZERO = Harmonics({})
# Floating-point numbers this small next to the largest of their parameter are what rounding left.
_RESIDUE = 1e-12

# Entries of the pseudo-inertia, (row, column, factor), that a unit inertial parameter makes.
_PSEUDO_INERTIA: dict[str, tuple[tuple[int, int, Number], ...]] = {
    "m": ((3, 3, 1),),
    **{f"m{a}": ((i, 3, 1), (3, i, 1)) for i, a in enumerate("xyz")},
    **{
        f"I{a}{a}": tuple((j, j, -_HALF if i == j else _HALF) for j in range(3))
        for i, a in enumerate("xyz")
    },
    **{
        f"I{a}{b}": ((i, j, -1), (j, i, -1))
        for i, j, a, b in ((0, 1, "x", "y"), (0, 2, "x", "z"), (1, 2, "y", "z"))
    },
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Share:
    """What a unit of one inertial parameter adds to ``½ dqᵀ M dq`` and to U.

    Attributes
    ----------
    M : (n, n)
        Mass matrix.
    U : sum
        Potential energy; zero for a mass in the origin of the base.
    """

    M: Rows
    U: Harmonics

    def christoffel(self, i: int, j: int, k: int) -> Harmonics:
        """Symbol ``½ (∂_k M_ij + ∂_j M_ik − ∂_i M_jk)``."""
        M = self.M
        total = M[i][j].derivative(k) + M[i][k].derivative(j) + M[j][k].derivative(i).scaled(-1)
        return _tidy(total.scaled(_HALF), M)


def shares(
    space: Space, geometry: Geometry, gravity: list[Harmonics], names: Collection[str]
) -> dict[str, Share]:
    """Share of each inertial parameter of ``names`` in the energies.

    Parameters
    ----------
    gravity : (3,)
        Vector in the base frame, m/s².
    """
    found = {}
    for i, link in enumerate(_placements(space, geometry), start=1):
        for kind in INERTIAL:
            if (name := f"{kind}{i}") in names:
                found[name] = _share(space.coordinates, link, gravity, _PSEUDO_INERTIA[kind])
    return found


@dataclass(frozen=True)
class _Placement:
    """Placement of a link: R and p side by side, (3, 4), in base axes.

    ``slopes`` are its derivatives by the coordinates that move it, turned into link axes: such a
    derivative does not depend on where the base is, and so is short.
    """

    T: Rows
    slopes: dict[int, Rows]


def _share(
    n: int, link: _Placement, gravity: list[Harmonics], J: tuple[tuple[int, int, Number], ...]
) -> Share:
    M = [[_ZERO] * n for _ in range(n)]
    for i, left in link.slopes.items():
        for j, right in link.slopes.items():
            if i <= j:
                traces = (_dot(_column(left, u), _column(right, v)).scaled(x) for u, v, x in J)
                M[i][j] = M[j][i] = _total(traces)
    # The last column of T J is the body's mass moment about the origin of the base.
    U = _total(_dot(gravity, _column(link.T, u)).scaled(-x) for u, v, x in J if v == 3)
    return Share(M=[[_tidy(entry, M) for entry in row] for row in M], U=_tidy(U, [[U]]))


def _placements(space: Space, geometry: Geometry) -> list[_Placement]:
    one = space.constant(sp.S.One)
    last = [_ZERO, _ZERO, _ZERO, one]
    still = _Placement([[one if i == j else _ZERO for j in range(4)] for i in range(3)], {})
    links: list[_Placement] = []
    for joint in geometry.joints:
        parent = links[joint.parent] if joint.parent >= 0 else still
        A, i = _in_parent(space, geometry, joint), joint.coordinate
        back = [_column(A, axis) for axis in range(3)]
        slopes = {k: _product(back, _product(D, [*A, last])) for k, D in parent.slopes.items()}
        own = _product(back, [[entry.derivative(i) for entry in row] for row in A])
        slopes[i] = _sum(slopes[i], own) if i in slopes else own  # a mimic of what moves its parent
        slopes = {k: _tidy_columns(D) for k, D in slopes.items()}
        links.append(_Placement(_product(parent.T, [*A, last]), slopes))
    return links


def _in_parent(space: Space, geometry: Geometry, joint: ExactJoint) -> Rows:
    """R and p side by side, (3, 4), of a link frame in its parent's."""
    i, gain = joint.coordinate, joint.gain
    p = [space.constant(x) for x in joint.p0]
    for letter, direction in joint.letters:
        length = space.symbol(space.coordinates + geometry.letters.index(letter))
        p = [x + length.scaled(number(d)) for x, d in zip(p, direction, strict=True)]
    if not joint.turns:
        travel = space.symbol(i).scaled(number(gain)) + space.constant(joint.offset)
        p = [x + travel.scaled(number(a)) for x, a in zip(p, joint.slide, strict=True)]
        return [[*map(space.constant, row), x] for row, x in zip(joint.still, p, strict=True)]
    c, s = space.wave(False, i, gain), space.wave(True, i, gain)
    if joint.offset:
        c0, s0 = math.cos(joint.offset), math.sin(joint.offset)
        c, s = c.scaled(c0) + s.scaled(-s0), s.scaled(c0) + c.scaled(s0)
    return [
        [
            *(
                space.constant(k) + c.scaled(number(a)) + s.scaled(number(b))
                for k, a, b in zip(*rows, strict=True)
            ),
            x,
        ]
        for *rows, x in zip(joint.still, joint.even, joint.odd, p, strict=True)
    ]


def _tidy(entry: Harmonics, matrix: Rows) -> Harmonics:
    """An entry without what rounding left, next to the largest number of its matrix."""
    return entry.without_residue(_RESIDUE * max(e.size for row in matrix for e in row))


def _tidy_columns(D: Rows) -> Rows:
    """The same for each column, since the last is a length."""
    columns = [[[e] for e in _column(D, j)] for j in range(len(D[0]))]
    return [[_tidy(D[i][j], columns[j]) for j in range(len(columns))] for i in range(len(D))]


def _total(terms: Iterable[Harmonics]) -> Harmonics:
    return functools.reduce(operator.add, terms, _ZERO)


def _dot(u: list[Harmonics], v: list[Harmonics]) -> Harmonics:
    return _total(a * b for a, b in zip(u, v, strict=True))


def _product(X: Rows, Y: Rows) -> Rows:
    columns = [_column(Y, j) for j in range(len(Y[0]))]
    return [[_dot(row, column) for column in columns] for row in X]


def _sum(X: Rows, Y: Rows) -> Rows:
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(X, Y, strict=True)]


def _column(X: Rows, j: int) -> list[Harmonics]:
    return [row[j] for row in X]
