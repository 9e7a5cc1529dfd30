"""Inverse dynamics, gravity torque and mass matrix, as straight-line programs of the parameters.

The inertial parameters are an argument: all of them, ``pi``, or the base parameters ``beta`` alone.
Of the latter, each stands in its own column's place and all others are zero: bodies which cannot
exist, and which need the same torque at every motion with a seventh fewer operations.

References
----------
    Luh, Walker, Paul (1980), "On-line computational scheme for mechanical manipulators": wrenches
    from tip to base.
    Walker, Orin (1982), "Efficient dynamic computer simulation of robotic mechanisms", method 3:
    column j of M bears a unit acceleration of joint j, of all links beyond it as one body.
    Khalil, Kleinfinger (1987), "Minimum operations and minimum parameters of the dynamic models of
    tree structure robots": base parameters in place of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike

from ident.arrays import Array, Indices, frozen
from ident.cache import cached, key_of
from ident.errors import ModelError
from ident.model.geometry import ExactJoint, Matrix, Vector, decimals, exact_geometry
from ident.model.joints import letters_left
from ident.model.robot import Robot
from ident.regressor.bodies import Body, at_parent, together, wrench, wrench_at_parent
from ident.regressor.engine import Engine, engine_of
from ident.regressor.newton_euler import LinkMotion, link_motions
from ident.regressor.program import Program, Tape

Quantity = Literal["inverse_dynamics", "gravity_torque", "mass_matrix"]

_BLOCK = 2**14  # samples for which the parameters are repeated: 10 MB for seven links


def dynamics_program(
    robot: Robot, quantity: Quantity, kept: Indices | None = None, *, armature: bool = False
) -> Program:
    """Program of a torque, (n, 1), or of the mass matrix, (n, n).

    Its arguments are ``q`` and, for inverse dynamics, ``dq, ddq``; then ``pi`` (10·links) or
    ``beta`` (b); then ``armature`` (n) and ``lengths``, where there are any.

    Parameters
    ----------
    kept : (b,) indices, optional
        Places of the base parameters in ``pi``, ascending: ``kept`` of a ``BaseMap`` of inertial
        parameters. Without it, all parameters are an argument.
    armature : bool
        Whether rotor inertias are an argument; each acts through the coupling of the drives. They
        have no part in the gravity torque.

    Raises
    ------
    ModelError
        Places that are not those of inertial parameters.
    """
    tape, geometry = Tape(), exact_geometry(robot)
    moving = ("q", "dq", "ddq") if quantity == "inverse_dynamics" else ("q",)
    motion = {s: _numbered(s, robot.n) for s in moving}
    still = [sp.S.Zero] * robot.n
    q, dq, ddq = (motion.get(s, still) for s in ("q", "dq", "ddq"))
    symbols = _chosen(robot, kept)
    arguments = {**motion, "pi" if kept is None else "beta": list(symbols.values())}

    motions = link_motions(tape, geometry, q, dq, ddq)
    outputs = _DERIVED[quantity](tape, motions, _bodies(robot, symbols), robot.n)
    if armature and quantity != "gravity_torque":
        arguments["armature"] = _numbered("armature", robot.n)
        rotors = _rotors(tape, robot, arguments["armature"])
        if quantity == "inverse_dynamics":
            rotors = [[tape.dot(row, ddq)] for row in rotors]
        outputs = [tape.plus(*rows) for rows in zip(outputs, rotors, strict=True)]
    if geometry.letters:
        arguments["lengths"] = list(geometry.letters)
    return tape.finish(arguments, outputs)


def inverse_dynamics(
    robot: Robot, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, *, armature: bool = False
) -> Array:
    """Torque (N, n) that a motion (N, n) needs, by the inertial parameters of ``robot``.

    One state (n,) gives (n,). With ``armature``, the description's rotor inertias take part;
    friction and springs are terms of their own.

    Raises
    ------
    ModelError
        States of another shape, or so large that the torque overflows; or a length that is a
        letter still.

    Examples
    --------
    >>> import ident
    >>> robot = ident.load_robot("planar2r")
    >>> ident.inverse_dynamics(robot, [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]).round(9).tolist()
    [12.457, 2.122]
    """
    tau = _evaluated(robot, "inverse_dynamics", armature, q, dq, ddq)
    return tau[..., 0]


def gravity_torque(robot: Robot, q: ArrayLike) -> Array:
    """Torque g (N, n) that holds the weight of ``robot`` at q (N, n), +∂U/∂q; springs are apart.

    One state (n,) gives (n,).

    Raises
    ------
    ModelError
        Positions of another shape, or a length that is a letter still.

    Examples
    --------
    >>> import ident
    >>> ident.gravity_torque(ident.load_robot("planar2r"), [0.0, 0.0]).round(9).tolist()
    [11.772, 1.962]
    """
    return _evaluated(robot, "gravity_torque", False, q)[..., 0]


def mass_matrix(robot: Robot, q: ArrayLike, *, armature: bool = False) -> Array:
    """Mass matrix M (N, n, n) of ``robot`` at q (N, n); one state (n,) gives (n, n).

    With ``armature``, the description's rotor inertias take part.

    Raises
    ------
    ModelError
        Positions of another shape, or a length that is a letter still.

    Examples
    --------
    >>> import ident
    >>> ident.mass_matrix(ident.load_robot("planar2r"), [0.0, 0.0]).round(9).tolist()
    [[0.685, 0.16], [0.16, 0.06]]
    """
    return _evaluated(robot, "mass_matrix", armature, q)


def _evaluated(robot: Robot, quantity: Quantity, armature: bool, *states: ArrayLike) -> Array:
    """Outputs (…, rows, columns) of a program at states (…, n)."""
    if robot.letters:
        raise letters_left(robot.letters, f"robot '{robot.name}'")
    one = np.ndim(states[0]) == 1
    first = frozen(states[0], (robot.n,) if one else (None, robot.n), where="q")
    named = zip(states[1:], ("dq", "ddq"), strict=False)
    rest = [frozen(x, first.shape, where=name) for x, name in named]
    motion = [np.atleast_2d(x) for x in (first, *rest)]
    fixed = np.concatenate([robot.pi, robot.drives.armature] if armature else [robot.pi])
    run, rows, width = _runner(robot, quantity, armature)
    values = np.empty((len(motion[0]), rows, width))
    for start in range(0, len(values), _BLOCK):
        moving = np.hstack([x[start : start + _BLOCK] for x in motion]).T
        constant = np.broadcast_to(fixed[:, None], (len(fixed), moving.shape[1]))
        out = np.zeros((rows, width, moving.shape[1]))
        with np.errstate(over="ignore", invalid="ignore"):  # the check below names the sample
            run(np.concatenate([moving, constant]), out)
        if len(overflown := np.flatnonzero(~np.isfinite(out).all(axis=(0, 1)))):
            found = f"not finite at sample {start + overflown[0]}"
            raise ModelError(quantity, found, expected="a motion whose squares are finite numbers")
        values[start : start + _BLOCK] = out.transpose(2, 0, 1)
    return values[0] if one else values


@lru_cache(maxsize=64)
def _runner(robot: Robot, quantity: Quantity, armature: bool) -> tuple[Engine, int, int]:
    """A program of all parameters, ready to run, and the shape of its outputs."""
    coupling = [robot.drives.coupling] if armature else []
    program = cached(
        f"{key_of(quantity, [robot.kinematic_digest, *coupling])}.json",
        lambda: dynamics_program(robot, quantity, armature=armature),
        Program.dumps,
        Program.loads,
    )
    rows, columns = program.outputs.shape
    return engine_of(program), rows, columns


def _inverse_dynamics(tape: Tape, motions: list[LinkMotion], bodies: list[Body], n: int) -> Matrix:
    """Recursive Newton-Euler: a joint bears the wrench of its link and of all that hangs on it."""
    tau = _zeros(n, 1)
    wrenches = [wrench(tape, *pair) for pair in zip(motions, bodies, strict=True)]
    for b in reversed(range(len(motions))):
        force, moment = wrenches[b]
        joint = _joint(motions[b])
        torque = tape.dot(joint.axis, moment if joint.turns else force)
        _add(tape, tau, joint.coordinate, 0, tape.times(joint.gain, torque))
        if joint.parent >= 0:
            force, moment = wrench_at_parent(tape, motions[b], force, moment)
            others = wrenches[joint.parent]
            wrenches[joint.parent] = tape.plus(others[0], force), tape.plus(others[1], moment)
    return tau


def _gravity_torque(tape: Tape, motions: list[LinkMotion], bodies: list[Body], n: int) -> Matrix:
    """Moment of what a joint carries, as one body, in gravity."""
    tau = _zeros(n, 1)
    for b, body in _composites(tape, motions, bodies):
        joint, acc = _joint(motions[b]), motions[b].acc
        load = tape.cross(body.h, acc) if joint.turns else tape.scaled(body.m, acc)
        torque = tape.times(joint.gain, tape.dot(joint.axis, load))
        _add(tape, tau, joint.coordinate, 0, torque)
    return tau


def _mass_matrix(tape: Tape, motions: list[LinkMotion], bodies: list[Body], n: int) -> Matrix:
    """Torque at b and each joint before it while b accelerates by one all that it carries."""
    M = _zeros(n, n)
    for b, body in _composites(tape, motions, bodies):
        joint, at = _joint(motions[b]), b
        force, moment = _push(tape, joint, body)
        while at >= 0:
            bearing = _joint(motions[at])
            torque = tape.dot(bearing.axis, moment if bearing.turns else force)
            entry = tape.times(tape.times(bearing.gain, joint.gain), torque)
            _add(tape, M, bearing.coordinate, joint.coordinate, entry)
            if at != b:
                _add(tape, M, joint.coordinate, bearing.coordinate, entry)
            force, moment = wrench_at_parent(tape, motions[at], force, moment)
            at = bearing.parent
    return M


def _push(tape: Tape, joint: ExactJoint, body: Body) -> tuple[Vector, Vector]:
    """Wrench at the origin that accelerates a body at rest by one along or about a joint's axis."""
    a = joint.axis
    if joint.turns:
        return tape.cross(a, body.h), tape.apply(body.I, a)
    return tape.scaled(body.m, a), tape.cross(body.h, a)


def _composites(
    tape: Tape, motions: list[LinkMotion], bodies: list[Body]
) -> Iterator[tuple[int, Body]]:
    """Each link with all that it carries, as one body in its frame, from tips to base."""
    whole = list(bodies)
    for b, motion in reversed(list(enumerate(motions))):
        yield b, whole[b]
        if (parent := _joint(motion).parent) >= 0:
            whole[parent] = together(tape, whole[parent], at_parent(tape, motion, whole[b]))


def _joint(motion: LinkMotion) -> ExactJoint:
    assert motion.joint is not None  # only the base has none
    return motion.joint


def _chosen(robot: Robot, kept: Indices | None) -> dict[int, sp.Symbol]:
    """Symbols of the parameters that are an argument, by their places in ``pi``."""
    names = robot.inertial_names
    places = list(range(len(names))) if kept is None else [int(k) for k in kept]
    if not set(places) <= set(range(len(names))) or places != sorted(set(places)):
        found, expected = f"places {places}", f"ascending, from 0 to {len(names) - 1}"
        raise ModelError(f"robot '{robot.name}' base parameters", found, expected=expected)
    return {k: sp.Symbol(names[k]) for k in places}


def _bodies(robot: Robot, symbols: dict[int, sp.Symbol]) -> list[Body]:
    pi = [symbols.get(k, sp.S.Zero) for k in range(10 * len(robot.links))]
    return [Body.of(pi[i : i + 10]) for i in range(0, len(pi), 10)]


def _rotors(tape: Tape, robot: Robot, armature: list[sp.Expr]) -> Matrix:
    """``Cᵀ diag(armature) C``."""
    C = [decimals(row) for row in robot.drives.coupling]
    scaled = [tape.scaled(inertia, row) for inertia, row in zip(armature, C, strict=True)]
    return [
        [tape.dot(list(u), list(v)) for v in zip(*scaled, strict=True)]
        for u in zip(*C, strict=True)
    ]


def _zeros(rows: int, columns: int) -> Matrix:
    return [[sp.S.Zero] * columns for _ in range(rows)]


def _add(tape: Tape, matrix: Matrix, i: int, j: int, value: sp.Expr) -> None:
    matrix[i][j] = tape.add(matrix[i][j], value)


def _numbered(name: str, count: int) -> list[sp.Symbol]:
    return list(sp.symbols(f"{name}1:{count + 1}"))


_DERIVED: dict[Quantity, Callable[[Tape, list[LinkMotion], list[Body], int], Matrix]] = {
    "inverse_dynamics": _inverse_dynamics,
    "gravity_torque": _gravity_torque,
    "mass_matrix": _mass_matrix,
}
