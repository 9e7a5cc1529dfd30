"""The inertial regressor by recursive Newton-Euler in sympy, as a straight-line program.

The column of one inertial parameter is the torque of the arm in which that parameter is one and all
others are zero: the wrench that this link needs, carried back to every joint before it.

References
----------
    Atkeson, An, Hollerbach (1986), "Estimation of inertial parameters of manipulator loads and
    links": torques are linear in the ten parameters about the link origin.
    Khalil, Dombre (2004), "Modeling, identification and control of robots", ch. 9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from ident.arrays import Array
from ident.model.inertia import skew
from ident.model.robot import Link, Robot
from ident.regressor.program import Program, Tape

Vector = list[sp.Expr]
Matrix = list[list[sp.Expr]]
_ZERO: Vector = [sp.S.Zero] * 3


@dataclass(frozen=True)
class _Motion:
    """Motion of a link frame, in its own coordinates.

    ``U = S(alpha) + S(omega)²`` gives the acceleration of a point at p as ``acc + U p``; ``acc``
    holds −g at the base, so that gravity needs no terms of its own.
    """

    R_ab: Matrix
    p_a_ab: Vector
    omega: Vector
    alpha: Vector
    acc: Vector
    U: Matrix
    squares: Matrix


def derive_program(robot: Robot) -> Program:
    """Program with inputs ``q1…, dq1…, ddq1…`` and outputs the (n, 10·links) regressor."""
    tape = Tape()
    q, dq, ddq = (sp.symbols(f"{s}1:{robot.n + 1}") for s in ("q", "dq", "ddq"))
    motions: list[_Motion] = []
    for link in robot.links:
        parent = motions[link.parent] if link.parent >= 0 else _base(robot.gravity)
        i = link.joint.coordinate
        motions.append(_forward(tape, link, parent, q[i], dq[i], ddq[i]))
    Y = [[sp.S.Zero] * (10 * len(robot.links)) for _ in range(robot.n)]
    for b, motion in enumerate(motions):
        for k, (force, moment) in enumerate(_unit_wrenches(tape, motion)):
            _carry_back(tape, robot, motions, b, force, moment, Y, 10 * b + k)
    return tape.finish({"q": q, "dq": dq, "ddq": ddq}, Y)


def _number(value: float) -> sp.Expr:
    """An exact integer where the value is one, so that sympy folds zeros and ones away."""
    return sp.Integer(int(value)) if value == int(value) else sp.Float(value, 17)


def _numbers(values: Array) -> Vector:
    return [_number(float(v)) for v in values]


def _base(gravity: Array) -> _Motion:
    zeros = [_ZERO] * 3
    return _Motion(zeros, _ZERO, _ZERO, _ZERO, [-g for g in _numbers(gravity)], zeros, zeros)


def _forward(
    tape: Tape, link: Link, parent: _Motion, q: sp.Symbol, dq: sp.Symbol, ddq: sp.Symbol
) -> _Motion:
    """Motion of a link from that of its parent."""
    joint = link.joint
    gain, offset = _number(joint.multiplier), _number(joint.offset)
    q, dq, ddq = tape.add(tape.times(gain, q), offset), tape.times(gain, dq), tape.times(gain, ddq)
    axis = _numbers(joint.axis)
    p = _numbers(joint.p0)
    if joint.turns:
        R = _turned(tape, joint.R0, joint.axis, q)
    else:
        R = [_numbers(row) for row in joint.R0]
        p = tape.plus(p, tape.scaled(q, _numbers(joint.R0 @ joint.axis)))
    Rt = [list(column) for column in zip(*R, strict=True)]

    omega, alpha = tape.apply(Rt, parent.omega), tape.apply(Rt, parent.alpha)
    acc = tape.apply(Rt, tape.plus(parent.acc, tape.apply(parent.U, p)))
    rate, push = tape.scaled(dq, axis), tape.scaled(ddq, axis)
    if joint.turns:
        alpha = tape.plus(alpha, tape.cross(omega, rate), push)
        omega = tape.plus(omega, rate)
    else:
        coriolis = tape.cross(omega, rate)
        acc = tape.plus(acc, tape.scaled(sp.Integer(2), coriolis), push)
    squares = [[tape.times(a, b) for b in omega] for a in omega]
    return _Motion(R, p, omega, alpha, acc, _angular(tape, alpha, squares), squares)


def _turned(tape: Tape, R0: Array, axis: Array, q: sp.Expr) -> Matrix:
    """``R0 · rot(axis, q)``, with ``rot = a aᵀ + cos q (1 − a aᵀ) + sin q S(a)`` (Rodrigues)."""
    still = _tidy(R0 @ np.outer(axis, axis))
    even, odd = _tidy(R0 - still), _tidy(R0 @ skew(axis))
    c, s = tape.cos(q), tape.sin(q)
    return [
        [
            tape.add(_number(k), tape.times(_number(a), c), tape.times(_number(b), s))
            for k, a, b in zip(*rows, strict=True)
        ]
        for rows in zip(still, even, odd, strict=True)
    ]


def _tidy(numbers: Array) -> Array:
    """Numbers with rounding residue around 0 and ±1 removed."""
    nearest = np.round(numbers)
    return np.where(np.abs(numbers - nearest) < 1e-15, nearest, numbers)


def _angular(tape: Tape, alpha: Vector, squares: Matrix) -> Matrix:
    """``S(alpha) + S(omega)²`` from the products of angular velocities."""
    x, y, z = alpha
    S = [[sp.S.Zero, -z, y], [z, sp.S.Zero, -x], [-y, x, sp.S.Zero]]
    return [
        [
            tape.add(squares[i][j], S[i][j])
            if i != j
            else -tape.add(*(squares[k][k] for k in range(3) if k != i))
            for j in range(3)
        ]
        for i in range(3)
    ]


def _unit_wrenches(tape: Tape, motion: _Motion) -> list[tuple[Vector, Vector]]:
    """Force and moment at the link origin for each unit parameter, in column order.

    ``f = m acc + U h`` and ``n = I alpha + omega × I omega + h × acc``.
    """
    acc, U, w = motion.acc, motion.U, motion.squares
    wrenches = [(acc, _ZERO)]
    for k in range(3):
        unit = [sp.Integer(int(i == k)) for i in range(3)]
        wrenches.append(([row[k] for row in U], tape.cross(unit, acc)))
    for i in range(3):
        for j in range(i, 3):
            wrenches.append((_ZERO, _tensor_moment(tape, motion.alpha, w, i, j)))
    return wrenches


def _tensor_moment(tape: Tape, alpha: Vector, w: Matrix, i: int, j: int) -> Vector:
    """``E alpha + omega × E omega`` for the symmetric unit tensor E of entries ij and ji."""
    moment = list(_ZERO)
    for a, b in {(i, j), (j, i)}:  # E = Σ e_a e_bᵀ: moment += alpha_b e_a + (omega × e_a) omega_b
        u, v = (a + 1) % 3, (a + 2) % 3
        moment[a] = tape.add(moment[a], alpha[b])
        moment[u] = tape.add(moment[u], w[v][b])
        moment[v] = tape.add(moment[v], -w[u][b])
    return moment


def _carry_back(
    tape: Tape,
    robot: Robot,
    motions: list[_Motion],
    b: int,
    force: Vector,
    moment: Vector,
    Y: Matrix,
    column: int,
) -> None:
    """Add to column ``column`` the torques that hold a wrench at the origin of link ``b``."""
    while b >= 0:
        link, motion = robot.links[b], motions[b]
        joint = link.joint
        torque = tape.dot(_numbers(joint.axis), moment if joint.turns else force)
        row, gain = joint.coordinate, _number(joint.multiplier)
        Y[row][column] = tape.add(Y[row][column], tape.times(gain, torque))
        force = tape.apply(motion.R_ab, force)
        moment = tape.plus(tape.apply(motion.R_ab, moment), tape.cross(motion.p_a_ab, force))
        b = link.parent
