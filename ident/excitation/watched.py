"""What of a robot could meet what: the rows of a clearance, and findings about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from ident.arrays import Array, Mask
from ident.errors import Finding
from ident.excitation.surroundings import Box, Plane, Surroundings
from ident.model.robot import Robot

_REMEDY = "give links [[capsules]] in robot.toml, or simple collision shapes in a URDF"


@dataclass(frozen=True, kw_only=True)
class Row:
    """Two things whose distance is watched, capsule by capsule; all contacts are of one kind.

    Attributes
    ----------
    links : (int, int)
        Moving links of both; −1 for what does not move.
    pairs, planes, boxes : tuple of pairs
        Index of a capsule of the first, and of one of the second, or a plane, or a box.
    """

    name: str
    links: tuple[int, int]
    pairs: tuple[tuple[int, int], ...] = ()
    planes: tuple[tuple[int, Plane], ...] = ()
    boxes: tuple[tuple[int, Box], ...] = ()

    @property
    def count(self) -> int:
        """Number of contacts."""
        return len(self.pairs) + len(self.planes) + len(self.boxes)


def between_parts(robot: Robot) -> Iterator[Row]:
    """Parts of every two links that no joint connects, the one farther from the base first.

    Those that are said never to meet are left out.
    """
    apart = {frozenset(pair) for pair in robot.never_meet}
    for ((i, far), these), ((j, near), those) in combinations(reversed(_parts(robot)), 2):
        if i != j and robot.links[i].parent != j and frozenset((far, near)) not in apart:
            pairs = tuple(product(these, those))
            yield Row(name=f"{far} – {near}", links=(i, j), pairs=pairs)


def to_surroundings(robot: Robot, surroundings: Surroundings) -> Iterator[Row]:
    """Every part with every wall and the workspace, then with every obstacle."""
    bounds: list[tuple[str, tuple[Plane, ...]]]
    bounds = [(wall.name, (wall,)) for wall in surroundings.walls]
    if surroundings.workspace:
        bounds.append((surroundings.workspace.name, surroundings.workspace.faces))
    for ((i, part), these), (name, planes) in product(_parts(robot), bounds):
        yield Row(name=f"{part} – {name}", links=(i, -1), planes=tuple(product(these, planes)))
    for ((i, part), these), box in product(_parts(robot), surroundings.obstacles):
        boxes = tuple((k, box) for k in these)
        yield Row(name=f"{part} – {box.name}", links=(i, -1), boxes=boxes)


def _parts(robot: Robot) -> list[tuple[tuple[int, str], list[int]]]:
    """Link and name of every part that has capsules, and their indices, from base to tip."""
    parts: dict[tuple[int, str], list[int]] = defaultdict(list)
    for k, capsule in enumerate(robot.capsules):
        parts[capsule.link, capsule.part].append(k)
    return sorted(parts.items(), key=lambda item: item[0][0])


def uncovered(robot: Robot) -> Iterator[Finding]:
    """Say which links with mass have no capsule."""
    covered = {capsule.link for capsule in robot.capsules}
    bare = [link.name for i, link in enumerate(robot.links) if i not in covered and link.pi[0]]
    if bare:
        yield Finding(
            name="no_capsule",
            severity="info" if covered else "warning",
            where=f"{robot.name}: {', '.join(bare)}",
            found="no shape: collisions are not looked for there",
            remedy=_REMEDY,
        )


def left_out(
    robot: Robot, rows: Sequence[Row], constant: Mask, overlapping: Mask, distance: Array
) -> Iterator[Finding]:
    """Say which rows no motion changes, and which overlap in every pose."""
    if constant.any():
        names = [
            f"{row.name} ({d:.3g} m)"
            for row, d, yes in zip(rows, distance, constant, strict=True)
            if yes
        ]
        yield Finding(
            name="constant_distance",
            severity="info",
            where=f"{robot.name}: {', '.join(names)}",
            found="no motion changes it: not watched",
        )
    if overlapping.any():
        names = [row.name for row, yes in zip(rows, overlapping, strict=True) if yes]
        yield Finding(
            name="always_overlapping",
            severity="info",
            where=f"{robot.name}: {', '.join(names)}",
            found="capsules overlap in every pose: not watched",
            remedy="slimmer capsules would tell, if these can meet at all",
        )
