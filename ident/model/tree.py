"""From described links and joints to a Robot: order the tree, lump what is fixed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ident.arrays import Array
from ident.errors import Finding, ModelError
from ident.model.drives import Drives
from ident.model.joints import Joint
from ident.model.robot import Link, Part, Robot


@dataclass(frozen=True, eq=False, kw_only=True)
class Edge:
    """A joint of a description: ``joint`` places ``child`` in ``parent`` and may be fixed."""

    parent: str
    child: str
    joint: Joint
    fixed: bool


def assemble(
    name: str,
    inertials: Mapping[str, Array],
    edges: Sequence[Edge],
    *,
    where: str,
    description: str = "",
    notes: Sequence[Finding] = (),
) -> Robot:
    """Build the Robot of the described links (name → ``pi``) and joints.

    Coordinates are numbered depth first, children in the order of the description.

    Raises
    ------
    ModelError
        A joint names an unknown link, a link has two parents, there is no single root, the joints
        form a loop, or a mimic joint follows nothing.
    """
    root = _root(inertials, edges, where)
    children: dict[str, list[Edge]] = defaultdict(list)
    for described in edges:
        children[described.parent].append(described)

    joints: list[Joint] = []
    parents: list[int] = []
    parts: dict[int, list[Part]] = defaultdict(list)

    # A stack, not a recursion: descriptions chain more fixed links than Python nests calls.
    ahead: list[tuple[str, int, Edge | None, Array, Array]]
    ahead = [(root, -1, None, np.eye(3), np.zeros(3))]
    while ahead:
        link, carrier, edge, R_ab, p_a_ab = ahead.pop()
        if edge is not None:
            R0, p0 = R_ab @ edge.joint.R0, p_a_ab + R_ab @ edge.joint.p0
            if edge.fixed:
                R_ab, p_a_ab = R0, p0
            else:
                letters = tuple((name, R_ab @ d) for name, d in edge.joint.letters)
                joints.append(replace(edge.joint, R0=R0, p0=p0, letters=letters))
                parents.append(carrier)
                carrier, R_ab, p_a_ab = len(joints) - 1, np.eye(3), np.zeros(3)
        parts[carrier].append(Part(link=link, R_ab=R_ab, p_a_ab=p_a_ab, pi=inertials[link]))
        ahead += [(e.child, carrier, e, R_ab, p_a_ab) for e in reversed(children[link])]

    _no_loop(inertials, parts, where)
    joints = _numbered(joints, where)
    return Robot(
        name=name,
        links=tuple(
            Link(
                name=parts[i][0].link,
                joint=joint,
                parent=parent,
                parts=tuple(parts[i]),
                pi=np.sum([part.pi_carrier for part in parts[i]], axis=0),
            )
            for i, (joint, parent) in enumerate(zip(joints, parents, strict=True))
        ),
        base_parts=tuple(parts[-1]),
        drives=Drives.plain(sum(not joint.mimics for joint in joints)),
        description=description,
        notes=tuple(notes),
    )


def _root(inertials: Mapping[str, Array], edges: Sequence[Edge], where: str) -> str:
    parents: dict[str, str] = {}
    for edge in edges:
        for link in (edge.parent, edge.child):
            if link not in inertials:
                raise ModelError(
                    f"{where}: joint '{edge.joint.name}'",
                    f"unknown link '{link}'",
                    expected="a link of the description",
                )
        if edge.child in parents:
            raise ModelError(f"{where}: link '{edge.child}'", "two parents", expected="one")
        parents[edge.child] = edge.parent
    roots = [link for link in inertials if link not in parents]
    if len(roots) != 1:
        found = f"{len(roots)} root links" + (f" ({', '.join(roots[:4])})" if roots else "")
        raise ModelError(where, found, expected="exactly one, and no loop of joints")
    return roots[0]


def _no_loop(inertials: Mapping[str, Array], parts: Mapping[int, list[Part]], where: str) -> None:
    reached = {part.link for several in parts.values() for part in several}
    if lost := [link for link in inertials if link not in reached]:
        raise ModelError(where, f"joints form a loop through link '{lost[0]}'", expected="a tree")


def _numbered(joints: Sequence[Joint], where: str) -> list[Joint]:
    names = [joint.name for joint in joints if not joint.mimics]
    for joint in joints:
        if joint.mimics and joint.mimics not in names:
            raise ModelError(
                f"{where}: joint '{joint.name}'",
                f"mimics '{joint.mimics}'",
                expected="a moving joint that is not itself a mimic",
            )
    return [replace(joint, coordinate=names.index(joint.mimics or joint.name)) for joint in joints]
