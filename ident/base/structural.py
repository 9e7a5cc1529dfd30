"""What motion can show of a mechanism, from its geometry alone.

Inertial parameters move the torque only through the mass matrix and the gravity torque, so a
combination of parameters is observable iff it enters an entry of one of these. All entries have one
form, ``φᵀ I v``: I is the inertia of a link with all that it carries, φ its joint axis, and v the
velocity that the joint of an ancestor, or a base that moves along gravity, gives to the link. What
is needed of a link is therefore only

- the velocities v that it can have, over all motions of its ancestors, and
- the functionals of I that follow: ``φᵀ I v`` for these velocities, and those of its parent as the
  joint carries them over; where the joint's motion changes one of these, the change shows alone.

Both pass from link to link, from the base to the tips. The functionals of all links, taken in one
configuration, are the observable combinations, and their number is that of the base parameters. No
state is sampled, and no trajectory can be unlucky.

References
----------
    Wensing, Niemeyer, Slotine (2024), "A geometric characterization of observability in inertial
    parameter identification", Int. J. Robotics Research 43: the recursive parameter null-space
    algorithm, whose complement this is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import sympy as sp

from ident.base.fields import Field, Rows
from ident.conventions import INERTIAL
from ident.model.geometry import ExactJoint, Geometry, Matrix

_GRAVITY = -1  # stands for the base among a link's ancestors
_TENSOR = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Link:
    """A joint as linear maps on row vectors, and what is known of the link behind it.

    Attributes
    ----------
    velocity, velocity_rate : (6, 6)
        Twist (ω, v) of the parent to that of the link, and its change as the joint moves.
    inertia, inertia_rate : (10, 10)
        Functional of the parent's inertia to that of the link's, and its change.
    axis : (1, 6)
        Twist of the link per unit rate of its joint.
    """

    joint: ExactJoint
    velocity: Rows
    velocity_rate: Rows
    inertia: Rows
    inertia_rate: Rows
    axis: Rows

    @property
    def orders(self) -> int:
        """Derivatives that span all changes: cos q to sin 2q of a tensor that turns, q and q²."""
        return 4 if self.joint.turns else 2

    def changes(self, rows: Rows, rate: Rows) -> Rows:
        """What rows change by as the joint moves, over all its positions."""
        several = []
        for _ in range(self.orders):
            rows = rows @ rate
            several.append(rows)
        return np.vstack(several)


def observable_rows(
    geometry: Geometry,
    field: Field,
    coupling: Matrix,
    *,
    armature: bool = False,
    offset: bool = False,
) -> Rows:
    """Independent observable combinations, one a row, of 10·links columns and those of drives.

    Parameters
    ----------
    coupling : (n, n)
        Joint-motor coupling of the drives.
    armature, offset : bool
        Whether rotor inertias, and constant efforts, of the drives are n more columns each.
    """
    C = field.array(coupling)
    drives = C if armature else C[:0], C if offset else C[:0]
    links = [_link(joint, field) for joint in geometry.joints]
    velocities: list[dict[int, tuple[Rows, Rows]]] = []
    acting: list[Rows] = []  # functionals (k, 10) of what each link carries, its ancestors' too
    shown: list[Rows] = []  # those among them that leave the ancestors out
    for i, link in enumerate(links):
        parent = link.joint.parent
        above = velocities[parent] if parent >= 0 else _base(geometry, field)
        velocities.append(_velocities(i, link, above, field))
        own = _functionals(link, velocities[i], links, drives, field)
        carried = acting[parent] @ link.inertia if parent >= 0 else own[:0, :10]
        changes = link.changes(carried, link.inertia_rate)
        shown.append(field.span(np.vstack([own, _widened(changes, own.shape[1], field)])))
        acting.append(field.span(np.vstack([shown[i][:, :10], carried])))
    return _assembled(links, shown, _apart(links, velocities, drives[0]), field)


def _base(geometry: Geometry, field: Field) -> dict[int, tuple[Rows, Rows]]:
    still = field.array([[sp.S.Zero] * 3 + geometry.gravity])
    return {_GRAVITY: (still, still[:0])}


def _velocities(
    i: int, link: _Link, above: dict[int, tuple[Rows, Rows]], field: Field
) -> dict[int, tuple[Rows, Rows]]:
    """By ancestor: the link's velocity in one configuration, and what it can change by."""
    here = {}
    for source, (still, varied) in above.items():
        still, varied = still @ link.velocity, varied @ link.velocity
        changed = link.changes(np.vstack([still, varied]), link.velocity_rate)
        here[source] = (still, field.span(np.vstack([varied, changed])))
    here[i] = (link.axis, link.axis[:0])
    return here


def _functionals(
    link: _Link,
    velocities: dict[int, tuple[Rows, Rows]],
    links: Sequence[_Link],
    drives: tuple[Rows, Rows],
    field: Field,
) -> Rows:
    """``φᵀ I v``, with what drives add to that entry of the mass matrix or the gravity torque."""
    here, rows = link.joint.coordinate, []
    armature, offset = drives
    first = 10 + len(armature)
    for source, (still, varied) in velocities.items():
        entry = _widened(_bilinear(link.axis, still), first + len(offset), field)
        if source == _GRAVITY:
            entry[:, first:] = -offset[:, here]  # a base that falls: the entry is −∂U/∂q
        else:
            entry[:, 10:first] = armature[:, here] * armature[:, links[source].joint.coordinate]
        rows += [entry, _widened(_bilinear(link.axis, varied), first + len(offset), field)]
    return np.vstack(rows)


def _apart(
    links: Sequence[_Link], velocities: Sequence[dict[int, tuple[Rows, Rows]]], armature: Rows
) -> list[Rows]:
    """Armatures of entries that no inertia enters: of joints on different branches."""
    pairs = combinations(range(len(links)), 2) if armature.size else ()
    return [
        armature[:, links[i].joint.coordinate] * armature[:, links[j].joint.coordinate]
        for i, j in pairs
        if i not in velocities[j]
    ]


def _assembled(
    links: Sequence[_Link], shown: Sequence[Rows], apart: Sequence[Rows], field: Field
) -> Rows:
    """Functionals of each link with what it carries, as rows over all parameters."""
    first, blocks = 10 * len(links), []
    width = first + shown[0].shape[1] - 10
    for i, rows in enumerate(shown):
        whole = _widened(rows[:, :0], width, field)
        whole[:, first:] = rows[:, 10:]
        whole[:, 10 * i : 10 * i + 10] = rows[:, :10]
        inside = {i}
        for b in range(i + 1, len(links)):
            if (parent := links[b].joint.parent) in inside:
                inside.add(b)
                carried = whole[:, 10 * parent : 10 * parent + 10] @ links[b].inertia
                whole[:, 10 * b : 10 * b + 10] = carried
        blocks.append(whole)
    if apart:
        whole = _widened(np.array(apart)[:, :0], width, field)
        whole[:, first : first + len(apart[0])] = apart
        blocks.append(whole)
        return field.span(np.vstack(blocks))
    return np.vstack(blocks)


def _widened(rows: Rows, width: int, field: Field) -> Rows:
    """Rows with zeros behind."""
    count, have = rows.shape
    if have == width:
        return rows
    zeros = field.array([[sp.S.Zero] * (width - have)])
    return np.hstack([rows, np.repeat(zeros, count, axis=0)])


def _bilinear(axis: Rows, velocities: Rows) -> Rows:
    """Coefficients (k, 10) of ``pi`` in ``φᵀ I v`` for twists (ω, v): φ (1, 6) and v (k, 6)."""
    a, u, w, v = axis[:, :3].T, axis[:, 3:].T, velocities[:, :3].T, velocities[:, 3:].T
    mass = u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
    first = [p + q for p, q in zip(_cross(v, a), _cross(u, w), strict=True)]
    second = [a[i] * w[j] + (a[j] * w[i] if i != j else 0) for i, j in _TENSOR]
    return np.array([mass, *first, *second], dtype=velocities.dtype).T


def _cross(u: Any, v: Any) -> list[Any]:
    return [u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3] for i in range(3)]


def _link(joint: ExactJoint, field: Field) -> _Link:
    R, p, axis = field.array(joint.reference), field.array(joint.origin), field.array(joint.axis)
    zero = field.array([[sp.S.Zero] * 3] * 3)
    S, still = _skew(axis, zero), zero[0]
    rate = [[S, zero], [zero, S]] if joint.turns else [[zero, S], [zero, zero]]
    one, corner = field.array([sp.S.One]), field.array([[sp.S.Zero]])
    T = np.block([[R, p[:, None]], [still[None], one[None]]])
    K = np.block(
        [
            [S if joint.turns else zero, (still if joint.turns else axis)[:, None]],
            [still[None], corner],
        ]
    )
    half = field.array([sp.Rational(1, 2)])[0]
    return _Link(
        joint=joint,
        velocity=np.block([[R, _skew(p, zero) @ R], [zero, R]]),
        velocity_rate=np.block(rate),
        inertia=_on_inertia(lambda J: T @ J @ T.T, half),
        inertia_rate=_on_inertia(lambda J: K @ J + J @ K.T, half),
        axis=np.hstack([axis, still] if joint.turns else [still, axis])[None],
    )


def _skew(v: Rows, zero: Rows) -> Rows:
    S = zero.copy()
    S[0, 1], S[0, 2], S[1, 2] = -v[2], v[1], -v[0]
    S[1, 0], S[2, 0], S[2, 1] = v[2], -v[1], v[0]
    return S


def _on_inertia(change: Callable[[Rows], Rows], half: Any) -> Rows:
    """Matrix (10, 10) of a linear map of pseudo-inertias, on ``pi``; see ``model.inertia``."""
    columns = []
    for k in range(len(INERTIAL)):
        J = change(_pseudo_inertia(k, half))
        trace = J[0, 0] + J[1, 1] + J[2, 2]
        tensor = [(trace if i == j else 0) - J[i, j] for i, j in _TENSOR]
        columns.append([J[3, 3], *J[:3, 3], *tensor])
    return np.array(columns).T


def _pseudo_inertia(k: int, half: Any) -> Rows:
    """Pseudo-inertia (4, 4) of the k-th unit parameter."""
    J = np.full((4, 4), half - half)
    if k == 0:
        J[3, 3] = half + half
    elif k < 4:
        J[k - 1, 3] = J[3, k - 1] = half + half
    else:
        i, j = _TENSOR[k - 4]
        if i == j:
            J[0, 0] = J[1, 1] = J[2, 2] = half
            J[i, i] = -half
        else:
            J[i, j] = J[j, i] = -half - half
    return J
