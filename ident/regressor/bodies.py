"""Rigid bodies as operands of a tape: inertia, wrenches, and both in the frame of a parent."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import sympy as sp

from ident.model.geometry import Matrix, Vector
from ident.regressor.newton_euler import LinkMotion
from ident.regressor.program import Tape

_CYCLES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
_TWO = sp.Integer(2)


@dataclass(frozen=True)
class Body:
    """Mass, mass moments and tensor about the origin of a link frame."""

    m: sp.Expr
    h: Vector
    I: Matrix

    @classmethod
    def of(cls, pi: list[sp.Expr]) -> Body:
        """Body of ten inertial parameters."""
        m, x, y, z, xx, xy, xz, yy, yz, zz = pi
        return cls(m, [x, y, z], [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def together(tape: Tape, a: Body, b: Body) -> Body:
    """Two bodies of one frame as one."""
    rows = zip(a.I, b.I, strict=True)
    I = [tape.plus(*pair) for pair in rows]
    return Body(tape.add(a.m, b.m), tape.plus(a.h, b.h), I)


def at_parent(tape: Tape, motion: LinkMotion, body: Body) -> Body:
    """A body in the frame and about the origin of its link's parent."""
    p, h = motion.p_a_ab, tape.apply(motion.R_ab, body.h)
    I = _turned(tape, motion.R_ab, body.I)
    # mS(p)ᵀS(p) + S(p)ᵀS(h) + S(h)ᵀS(p) = S(p)ᵀS(k) + S(k)ᵀS(p) with k = h + ½ m p
    k = tape.plus(h, tape.scaled(tape.times(sp.Rational(1, 2), body.m), p))
    across = [tape.times(tape.times(_TWO, x), y) for x, y in zip(p, k, strict=True)]
    for a, b, c in _CYCLES:
        I[a][a] = tape.add(I[a][a], across[b], across[c])
        product = tape.add(tape.times(p[a], k[b]), tape.times(p[b], k[a]))
        I[a][b] = I[b][a] = tape.add(I[a][b], -product)
    return Body(body.m, tape.plus(h, tape.scaled(body.m, p)), I)


def wrench(tape: Tape, motion: LinkMotion, body: Body) -> tuple[Vector, Vector]:
    """Force and moment at the origin that move a link: ``m acc + U h``, and Euler's equation."""
    h, I, alpha, U, w = body.h, body.I, motion.alpha, motion.U, motion.squares
    force = tape.plus(tape.scaled(body.m, motion.acc), tape.apply(U, h))
    moment = tape.cross(h, motion.acc)
    for i, j, k in _CYCLES:
        # I alpha + omega × I omega in the sums that U holds already: five products an axis.
        moment[i] = tape.add(
            moment[i],
            tape.times(I[i][i], alpha[i]),
            tape.times(tape.add(I[k][k], -I[j][j]), w[j][k]),
            -tape.times(I[i][j], U[k][i]),
            tape.times(I[i][k], U[j][i]),
            tape.times(I[j][k], tape.add(w[j][j], -w[k][k])),
        )
    return force, moment


def wrench_at_parent(
    tape: Tape, motion: LinkMotion, force: Vector, moment: Vector
) -> tuple[Vector, Vector]:
    """A wrench in the frame and about the origin of its link's parent."""
    force = tape.apply(motion.R_ab, force)
    moment = tape.apply(motion.R_ab, moment)
    return force, tape.plus(moment, tape.cross(motion.p_a_ab, force))


def _turned(tape: Tape, R: Matrix, I: Matrix) -> Matrix:
    """``R I Rᵀ``."""
    for (i, j, k), (a, b, d) in itertools.product(_CYCLES, repeat=2):
        if R[i][a].is_Number and abs(R[i][a]) == 1 and not R[j][b].is_Number:
            return _turned_about_axis(tape, R, I, (i, j, k), (a, b, d))
    half = [[tape.dot(row, column) for column in I] for row in R]
    J = [[tape.dot(half[i], R[j]) if i <= j else sp.S.Zero for j in range(3)] for i in range(3)]
    return [[J[min(i, j)][max(i, j)] for j in range(3)] for i in range(3)]


def _turned_about_axis(
    tape: Tape, R: Matrix, I: Matrix, rows: tuple[int, int, int], columns: tuple[int, int, int]
) -> Matrix:
    """``R I Rᵀ`` of an R that takes one axis to another: 16 operations in place of 27.

    With u, v the first row of what turns: the trace of its plane stays, and ``u² + v² = 1`` leaves
    one combination of the plane's entries to be formed.
    """
    (i, j, k), (a, b, d) = rows, columns
    sign, u, v = R[i][a], R[j][b], R[j][d]
    t = tape.add(
        tape.times(v, tape.add(I[b][b], -I[d][d])), -tape.times(u, tape.times(_TWO, I[b][d]))
    )
    J = [[sp.S.Zero] * 3 for _ in range(3)]
    J[i][i] = I[a][a]
    J[j][j] = tape.add(I[b][b], -tape.times(v, t))
    J[k][k] = tape.add(I[d][d], tape.times(v, t))
    J[j][k] = J[k][j] = tape.times(-sign, tape.add(tape.times(u, t), I[b][d]))
    for row in (j, k):
        across = tape.add(tape.times(R[row][b], I[a][b]), tape.times(R[row][d], I[a][d]))
        J[i][row] = J[row][i] = tape.times(sign, across)
    return J
