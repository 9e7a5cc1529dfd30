"""The minimal set of a robot: structural where its mechanism allows it, sampled where not.

The inertial parameters and armatures of a tree are reduced from its geometry alone, in rational
numbers, where its figures have them. Other geometry is sampled: what is zero but for rounding
cannot be told there from the structure alone. Mimic joints lie outside the method too: their
regressor is sampled, and its rank is decided at random rational states where the geometry allows
it. All other columns of a stack (friction, springs)
are sampled; they come last and take no column away from those before them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import sympy as sp

from ident.arrays import Array, Indices
from ident.base import grouping, sampled
from ident.base.basemap import BaseMap, ExactBaseMap
from ident.base.fields import Field, Rows, echelon, rational
from ident.base.rational_states import independent_columns
from ident.base.structural import observable_rows
from ident.cache import cached, key_of
from ident.errors import ModelError
from ident.model.geometry import Geometry, Matrix, decimals, exact_geometry
from ident.model.robot import Robot
from ident.regressor.columns import Stack


def reduce(robot: Robot) -> BaseMap:
    """Minimal set of the inertial parameters of ``robot`` in its gravity.

    Raises
    ------
    ModelError
        Some of its lengths are letters; ``reduce_exact`` takes them.

    Examples
    --------
    >>> import ident
    >>> base = ident.reduce(ident.load_robot("planar2r"))
    >>> base.rank
    6
    >>> base.names
    ('mx1R', 'my1', 'Izz1R', 'mx2', 'my2', 'Izz2')
    >>> base.expressions[2]
    'Izz1 + 0.25·m2'
    >>> base.standing["m2"], base.standing["Izz2"], base.standing["m1"]
    ('combination', 'alone', 'none')
    """
    return _reduce(robot, armature=False)


def reduce_stack(columns: Stack) -> BaseMap:
    """Minimal set of all columns of a stack: what armature and friction merge with is grouped."""
    robot, names = columns.robot, columns.names
    armature = "armature1" in names
    base = _reduce(robot, armature=armature)
    if base.columns == names:
        return base
    sizes = grouping.sizes(robot, len(names))
    W = sampled.sampled_rows(columns) / sizes
    kept = grouping.keep(W, robot, base.kept)
    P = grouping.coefficients(W, robot, kept) * sizes / sizes[kept][:, None]
    P[:, : len(base.columns)] = 0.0
    P[: base.rank, : len(base.columns)] = base.grouping
    return BaseMap(columns=names, kept=kept, grouping=P)


def reduce_exact(robot: Robot, *, armature: bool = False, friction: bool = False) -> ExactBaseMap:
    """Minimal set in rational numbers, or in the lengths of the robot that are letters.

    Parameters
    ----------
    armature : bool
        Whether the rotor inertias of the drives are parameters too.
    friction : bool
        Whether viscous and Coulomb friction and the offsets of the drives are.

    Raises
    ------
    ModelError
        The geometry is not rational: a twist that is no quarter turn, or a figure so small that
        only rounding explains it; or a joint mimics another.

    Examples
    --------
    >>> import ident
    >>> base = ident.reduce_exact(ident.load_symbolic("puma560"))
    >>> base.khalil[1]
    'MX2R = MX2 + a3·(M3 + M4 + M5 + M6)'
    >>> panda = ident.reduce_exact(ident.load_robot("panda"))
    >>> panda.coefficients[2][panda.columns.index("m3")]  # 0.316 m
    -79/250
    """
    geometry = exact_geometry(robot)
    if _mimics(robot) or not _is_clean(geometry, robot):
        raise ModelError(
            f"robot '{robot.name}'",
            "mimic joints" if _mimics(robot) else _unclean(geometry, robot),
            expected="twists in quarter turns, and no figure that only rounding explains",
            remedy="reduce it in floating point, with numbers for all lengths",
        )
    field = rational(geometry.letters)
    coupling = _coupling(robot)
    rows = observable_rows(geometry, field, coupling, armature=armature, offset=friction)
    preferred = grouping.keep(_in_floats(rows, field, robot), robot)
    rows, pivots = echelon(rows, _preference(robot, rows.shape[1], preferred))
    names = _names(robot, armature, ("viscous", "coulomb", "offset") if friction else ())
    place = [names.index(name) for name in _names(robot, armature, ("offset",) if friction else ())]
    # What changes sign with the velocity is seen apart from all that depends on its squares.
    groups = {k: {k: sp.S.One} for k in set(range(len(names))).difference(place)}
    for k, row in zip(pivots, rows, strict=True):
        groups[place[k]] = {place[i]: field.expression(row[i]) for i in np.flatnonzero(row != 0)}
    return ExactBaseMap(
        columns=names,
        kept=np.array(sorted(groups), dtype=np.intp),
        coefficients=tuple(groups[k] for k in sorted(groups)),
        letters=geometry.letters,
    )


def _reduce(robot: Robot, *, armature: bool) -> BaseMap:
    coupling = robot.drives.coupling if armature else ""
    return cached(
        f"{key_of('base', [robot.kinematic_digest, coupling])}.json",
        lambda: _made(robot, armature),
        _dump,
        lambda content: _load(content, _names(robot, armature)),
    )


def _made(robot: Robot, armature: bool) -> BaseMap:
    geometry = exact_geometry(robot)
    clean = _is_clean(geometry, robot)
    if robot.letters or (clean and not _mimics(robot)):
        return reduce_exact(robot, armature=armature).numbers()
    W = _sampled_rows(robot, armature)
    kept = grouping.keep(W, robot)
    if clean and all(joint.turns_exactly for joint in geometry.joints):
        order = _preference(robot, W.shape[1], kept)
        coupling = _coupling(robot) if armature else None
        kept = np.sort(independent_columns(geometry, order, coupling))
    sizes = grouping.sizes(robot, W.shape[1])
    P = grouping.coefficients(W, robot, kept) * sizes / sizes[kept][:, None]
    return BaseMap(columns=_names(robot, armature), kept=kept, grouping=P)


def _in_floats(rows: Rows, field: Field, robot: Robot) -> Array:
    """Exact rows as orthonormal ones, in units of the robot's own length."""
    filled = _with_some_lengths(robot)
    values = dict(zip(robot.letters, _some_lengths(robot), strict=True))
    W: Array = np.zeros((len(rows), rows.shape[1]))
    for i, j in np.argwhere(rows != 0).tolist():
        W[i, j] = float(field.expression(rows[i, j]).subs(values))
    W = W / grouping.sizes(filled, rows.shape[1])
    return np.asarray(np.linalg.qr(W.T)[0].T)


def _sampled_rows(robot: Robot, armature: bool) -> Array:
    W = sampled.sampled_rows(sampled.rigid_stack(robot, armature=armature))
    return np.asarray(W / grouping.sizes(robot, W.shape[1]))


def _preference(robot: Robot, columns: int, first: Indices) -> list[int]:
    """All columns: those that floats would keep, then the others as they are visited."""
    order = [i for link in grouping.visiting_order(robot, columns) for i in link]
    return [*first.tolist(), *(i for i in order if i not in first)]


def _with_some_lengths(robot: Robot) -> Robot:
    """The robot with generic numbers for its letters."""
    return robot.with_lengths(**dict(zip(robot.letters, _some_lengths(robot), strict=True)))


def _some_lengths(robot: Robot) -> list[float]:
    golden = 0.5 * (1.0 + 5.0**0.5)
    return [0.3 + 0.3 * (k * golden % 1.0) for k in range(len(robot.letters))]


def _is_clean(geometry: Geometry, robot: Robot) -> bool:
    """Whether the geometry is rational, and no figure so small that only rounding explains it."""
    return geometry.exact and not grouping.is_loose(_with_some_lengths(robot))


def _unclean(geometry: Geometry, robot: Robot) -> str:
    """What keeps the geometry from being clean."""
    if not geometry.exact:
        return "geometry that is not rational"
    where, size = grouping.rounded_figures(_with_some_lengths(robot))[0]
    return f"{where}: {size:.1e} of the robot's own size, which may be a rounded zero"


def _mimics(robot: Robot) -> bool:
    return len(robot.links) > robot.n


def _coupling(robot: Robot) -> Matrix:
    return [decimals(row) for row in robot.drives.coupling]


def _names(robot: Robot, armature: bool, friction: Sequence[str] = ()) -> tuple[str, ...]:
    kinds = (*(["armature"] if armature else []), *friction)
    drives = (f"{kind}{i + 1}" for kind in kinds for i in range(robot.n))
    return (*robot.inertial_names, *drives)


def _dump(base: BaseMap) -> bytes:
    return json.dumps([base.kept.tolist(), base.grouping.tolist()]).encode()


def _load(content: bytes, columns: tuple[str, ...]) -> BaseMap:
    kept, P = json.loads(content)
    base = BaseMap(columns=columns, kept=kept, grouping=P)
    if not np.array_equal(base.grouping[:, base.kept], np.eye(base.rank)):
        raise ValueError("no minimal set")
    return base
