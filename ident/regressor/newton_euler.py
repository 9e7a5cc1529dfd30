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

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from ident.model.geometry import ExactJoint, Geometry, Matrix, Vector, exact_geometry
from ident.model.robot import Robot
from ident.regressor.program import Program, Tape

_ZERO: Vector = [sp.S.Zero] * 3


@dataclass(frozen=True)
class LinkMotion:
    """Motion of a link frame, in its own coordinates, and its placement in its parent's.

    ``U = S(alpha) + S(omega)²`` gives the acceleration of a point at p as ``acc + U p``; ``acc``
    holds −g at the base, so that gravity needs no terms of its own.
    """

    joint: ExactJoint | None
    R_ab: Matrix
    p_a_ab: Vector
    omega: Vector
    alpha: Vector
    acc: Vector
    U: Matrix
    squares: Matrix


def derive_program(robot: Robot) -> Program:
    """Program of the (n, 10·links) regressor.

    Its arguments are ``q, dq, ddq`` and, where some lengths are letters, ``lengths``.
    """
    tape, geometry = Tape(), exact_geometry(robot)
    q, dq, ddq = (sp.symbols(f"{s}1:{robot.n + 1}") for s in ("q", "dq", "ddq"))
    Y = regressor_matrix(tape, geometry, q, dq, ddq)
    arguments = {"q": q, "dq": dq, "ddq": ddq}
    if geometry.letters:
        arguments["lengths"] = geometry.letters
    return tape.finish(arguments, Y)


def regressor_matrix(
    tape: Tape,
    geometry: Geometry,
    q: Sequence[sp.Expr],
    dq: Sequence[sp.Expr],
    ddq: Sequence[sp.Expr],
) -> Matrix:
    """Regressor (n, 10·links) as operands of ``tape``."""
    motions = link_motions(tape, geometry, q, dq, ddq)
    Y = [[sp.S.Zero] * (10 * len(motions)) for _ in q]
    for b, motion in enumerate(motions):
        for k, (force, moment) in enumerate(_unit_wrenches(tape, motion)):
            _carry_back(tape, motions, b, force, moment, Y, 10 * b + k)
    return Y


def link_motions(
    tape: Tape,
    geometry: Geometry,
    q: Sequence[sp.Expr],
    dq: Sequence[sp.Expr],
    ddq: Sequence[sp.Expr],
) -> list[LinkMotion]:
    """Motion of every link, from base to tip."""
    motions: list[LinkMotion] = []
    for joint in geometry.joints:
        parent = motions[joint.parent] if joint.parent >= 0 else _base(geometry.gravity)
        i = joint.coordinate
        motions.append(_forward(tape, joint, parent, q[i], dq[i], ddq[i]))
    return motions


def _base(gravity: Vector) -> LinkMotion:
    zeros = [_ZERO] * 3
    return LinkMotion(None, zeros, _ZERO, _ZERO, _ZERO, [-g for g in gravity], zeros, zeros)


def _forward(
    tape: Tape, joint: ExactJoint, parent: LinkMotion, q: sp.Expr, dq: sp.Expr, ddq: sp.Expr
) -> LinkMotion:
    """Motion of a link from that of its parent."""
    gain = joint.gain
    q = tape.add(tape.times(gain, q), joint.offset)
    dq, ddq = tape.times(gain, dq), tape.times(gain, ddq)
    p = tape.plus(joint.p0, *(tape.scaled(length, d) for length, d in joint.letters))
    if joint.turns:
        R = _turned(tape, joint, q)
    else:
        R = joint.still
        p = tape.plus(p, tape.scaled(q, joint.slide))
    Rt = [list(column) for column in zip(*R, strict=True)]

    omega, alpha = tape.apply(Rt, parent.omega), tape.apply(Rt, parent.alpha)
    acc = tape.apply(Rt, tape.plus(parent.acc, tape.apply(parent.U, p)))
    rate, push = tape.scaled(dq, joint.axis), tape.scaled(ddq, joint.axis)
    if joint.turns:
        alpha = tape.plus(alpha, tape.cross(omega, rate), push)
        omega = tape.plus(omega, rate)
    else:
        coriolis = tape.cross(omega, rate)
        acc = tape.plus(acc, tape.scaled(sp.Integer(2), coriolis), push)
    squares = [[tape.times(a, b) for b in omega] for a in omega]
    return LinkMotion(joint, R, p, omega, alpha, acc, _angular(tape, alpha, squares), squares)


def _turned(tape: Tape, joint: ExactJoint, q: sp.Expr) -> Matrix:
    c, s = tape.cos(q), tape.sin(q)
    return [
        [tape.add(k, tape.times(a, c), tape.times(b, s)) for k, a, b in zip(*rows, strict=True)]
        for rows in zip(joint.still, joint.even, joint.odd, strict=True)
    ]


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


def _unit_wrenches(tape: Tape, motion: LinkMotion) -> list[tuple[Vector, Vector]]:
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
    motions: list[LinkMotion],
    b: int,
    force: Vector,
    moment: Vector,
    Y: Matrix,
    column: int,
) -> None:
    """Add to column ``column`` the torques that hold a wrench at the origin of link ``b``."""
    while b >= 0:
        motion = motions[b]
        joint = motion.joint
        assert joint is not None  # only the base has none
        torque = tape.dot(joint.axis, moment if joint.turns else force)
        row = joint.coordinate
        Y[row][column] = tape.add(Y[row][column], tape.times(joint.gain, torque))
        force = tape.apply(motion.R_ab, force)
        moment = tape.plus(tape.apply(motion.R_ab, moment), tape.cross(motion.p_a_ab, force))
        b = joint.parent
