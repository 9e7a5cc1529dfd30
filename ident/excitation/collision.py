"""How far a robot's links stay from each other and from what surrounds them, with exact slopes.

Links are capsules. Watched are the parts (links of the description) of every two moving links that
no joint connects, and every part with each thing around the robot. Of those, what no motion changes
(the base on its floor, a first link that turns about the vertical) is left out, and so is what
overlaps in every pose, since capsules are then too coarse to tell; findings name both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, Indices, Mask, frozen, locked
from ident.errors import Finding, UsageError
from ident.excitation.contacts import (
    Contact,
    segment_to_box,
    segment_to_plane,
    segment_to_segment,
)
from ident.excitation.surroundings import Surroundings
from ident.excitation.watched import Row, between_parts, left_out, to_surroundings, uncovered
from ident.model.kinematics import frames_and_base
from ident.model.robot import Robot

# Poses that decide what can be told apart, and the change in m that counts as none.
_POSES, _SEED, _UNCHANGED = 300, 0, 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Distances:
    """Distances at N configurations, and what their slopes follow from.

    Attributes
    ----------
    values : (rows, N) m
        Negative by how deep things overlap.
    points, gradients : (3, rows, N) m, (3, rows, N)
        Closest point on the axis of the first thing's capsule, in the base frame, and the unit
        gradient of the distance with respect to it.
    axes, origins : (3, links, N), (3, links, N) m
        Of the joints, in the base frame.
    """

    values: Array
    points: Array = field(repr=False)
    gradients: Array = field(repr=False)
    axes: Array = field(repr=False)
    origins: Array = field(repr=False)
    chain: Chain = field(repr=False)

    def pullback(self, slopes: ArrayLike) -> Array:
        """Gradient (N, n) by q of a function whose slopes by ``values`` are ``slopes`` (rows, N).

        Forces ``slope · gradient`` at the closest points pull on everything beyond a joint, and
        its axis feels their sum. Where two capsules or two points tie, one of them is taken.
        """
        slopes = frozen(slopes, self.values.shape, where="slopes", error=UsageError)
        forces = slopes * self.gradients
        force = self.chain.beyond @ forces
        # Gradients lie along the line of both closest points: moments about either are the same.
        moment = self.chain.beyond @ np.cross(self.points, forces, axis=0)
        moment -= np.cross(self.origins, force, axis=0)
        felt = np.where(self.chain.turns[:, None], moment, force)
        return np.asarray((self.axes * felt).sum(axis=0).T @ self.chain.gain)


@dataclass(frozen=True, eq=False, kw_only=True)
class Chain:
    """What joints move.

    Attributes
    ----------
    beyond : (links, rows)
        1 where only the first thing of a row is beyond the joint of a link, −1 where only the
        second is, else 0.
    turns, axes, gain : (links,), (links, 3), (links, n)
        Whether a joint turns, its axis in its link frame, and its motion per coordinate.
    """

    beyond: Array
    turns: Mask
    axes: Array
    gain: Array

    @classmethod
    def of(cls, robot: Robot, rows: tuple[Row, ...]) -> Chain:
        """The joints of ``robot``."""
        links = len(robot.links)
        carried, gain = np.zeros((links + 1, links)), np.zeros((links, robot.n))
        for i, link in enumerate(robot.links):
            carried[i] = carried[link.parent]
            carried[i, i] = 1.0
            gain[i, link.joint.coordinate] = link.joint.multiplier
        first, second = np.array([row.links for row in rows], dtype=np.intp).reshape(-1, 2).T
        return cls(
            beyond=(carried[first] - carried[second]).T,
            turns=np.array([link.joint.turns for link in robot.links]),
            axes=np.array([link.joint.axis for link in robot.links]),
            gain=gain,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Clearance:
    """Distances of a robot's parts from each other and from its surroundings.

    Attributes
    ----------
    rows : tuple of Row
        What is watched: parts with parts, then with planes, then with boxes.
    findings : tuple of Finding
        Links without a capsule, and what is left out for another reason than a common joint.
    """

    robot: Robot
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, robot: Robot, surroundings: Surroundings | None = None) -> Clearance:
        """Everything of ``robot`` that is worth watching.

        Three hundred random poses within the limits of the joints (half a turn or a metre about
        home where there are none) show what no motion changes and what always overlaps.
        """
        rows = (*between_parts(robot), *to_surroundings(robot, surroundings or Surroundings()))
        values = cls(robot=robot, rows=rows)(_poses(robot))
        constant = np.ptp(values, axis=1) <= _UNCHANGED
        overlapping = ~constant & (values < 0.0).all(axis=1)
        watched = np.flatnonzero(~constant & ~overlapping)
        return cls(
            robot=robot,
            rows=tuple(rows[i] for i in watched),
            findings=(
                *uncovered(robot),
                *left_out(robot, rows, constant, overlapping, values[:, 0]),
            ),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What each row is the distance of: ``forearm_link – base_link``, ``hand – floor``."""
        return tuple(row.name for row in self.rows)

    def required(self, distance: float, home: Array | None = None) -> Array:
        """What each row has to keep (rows,) m where ``distance`` is asked for.

        Links whose joints lie side by side are close in every pose: half of what they leave at
        ``home`` (n,), by default the robot's, is kept where that is less.
        """
        at_home = self((self.robot.home if home is None else home)[None])[:, 0]
        return np.asarray(np.minimum(distance, 0.5 * np.maximum(at_home, 0.0)))

    def __call__(self, q: ArrayLike) -> Array:
        """Signed distances (rows, N) m at configurations q (N, n)."""
        return self.measure(q).values

    def measure(self, q: ArrayLike, within: float = np.inf) -> Distances:
        """Signed distances at configurations q (N, n), with their slopes.

        The distance of two parts is the least of those of their capsules. What is farther apart
        than ``within`` m may be given as something between that and its distance, with no slope.
        """
        R, p = frames_and_base(self.robot, q)
        distance, points, gradients = self._contacts(R, p, within)
        nearest = distance[self._members].argmin(axis=1)
        chosen = np.take_along_axis(self._members, nearest, axis=1)
        return Distances(
            values=locked(np.take_along_axis(distance, chosen, axis=0)),
            points=np.take_along_axis(points, chosen[None], axis=1),
            gradients=np.take_along_axis(gradients, chosen[None], axis=1),
            axes=np.einsum("klij,lj->ilk", R[:, :-1], self._chain.axes),
            origins=p[:, :-1].T,
            chain=self._chain,
        )

    def _contacts(self, R: Array, p: Array, within: float) -> Contact:
        """Distances (contacts, N) of single capsules, with points and gradients, by frames."""
        capsules = self.robot.capsules
        links = [capsule.link for capsule in capsules]
        R, p = R[:, links], p[:, links].T
        a, b = (
            np.einsum("kcij,cj->ick", R, np.reshape(ends, (-1, 3))) + p
            for ends in ([c.a for c in capsules], [c.b for c in capsules])
        )
        (i, j), (k, normal, height), (m, centre, half) = self._pairs, self._planes, self._boxes
        radii = np.array([capsule.radius for capsule in capsules])
        several = (
            _near(a, b, i, j, within + radii[i] + radii[j]),
            segment_to_plane(a[:, k], b[:, k], normal, height),
            segment_to_box(a[:, m], b[:, m], centre, half),
        )
        distance, points, gradients = (
            np.concatenate(arrays, axis=-2) for arrays in zip(*several, strict=True)
        )
        both = np.concatenate([radii[i] + radii[j], radii[k], radii[m]])
        return distance - both[:, None], points, gradients

    @cached_property
    def _chain(self) -> Chain:
        return Chain.of(self.robot, self.rows)

    @cached_property
    def _members(self) -> Indices:
        """Contacts (rows, most) of each row, the last one repeated where there are fewer."""
        counts = np.array([row.count for row in self.rows], dtype=np.intp)
        start = np.cumsum(counts) - counts
        return start[:, None] + np.minimum(np.arange(counts.max(initial=1)), counts[:, None] - 1)

    @cached_property
    def _pairs(self) -> Indices:
        """Capsules (2, contacts) of pairs."""
        pairs = [pair for row in self.rows for pair in row.pairs]
        return np.array(pairs, dtype=np.intp).reshape(-1, 2).T

    @cached_property
    def _planes(self) -> tuple[Indices, Array, Array]:
        """Capsules (contacts,), normals (3, contacts) and heights (contacts,) m."""
        several = [(k, plane) for row in self.rows for k, plane in row.planes]
        normals = np.reshape([plane.normal for _, plane in several], (-1, 3))
        heights = np.array([plane.height for _, plane in several])
        return np.array([k for k, _ in several], dtype=np.intp), normals.T, heights

    @cached_property
    def _boxes(self) -> tuple[Indices, Array, Array]:
        """Capsules (contacts,), and middles and half sides (3, contacts) m."""
        several = [(k, box) for row in self.rows for k, box in row.boxes]
        lower = np.reshape([box.lower for _, box in several], (-1, 3)).T
        upper = np.reshape([box.upper for _, box in several], (-1, 3)).T
        indices = np.array([k for k, _ in several], dtype=np.intp)
        return indices, 0.5 * (lower + upper), 0.5 * (upper - lower)


def _near(a: Array, b: Array, i: Indices, j: Indices, within: Array) -> Contact:
    """Distances (pairs, N) of segments i and j of those with ends a, b (3, segments, N).

    Where the balls about two segments are farther apart than ``within`` (pairs,), theirs will do.
    """
    middle, half = 0.5 * (a + b), 0.5 * np.linalg.norm(b[:, :, 0] - a[:, :, 0], axis=0)
    gap = middle[:, i] - middle[:, j]
    distance = np.sqrt((gap * gap).sum(axis=0)) - (half[i] + half[j])[:, None]
    pair, at = np.nonzero(distance < within[:, None])
    points, gradients = middle[:, i], np.zeros_like(gap)
    one, other = i[pair], j[pair]
    exact = segment_to_segment(a[:, one, at], b[:, one, at], a[:, other, at], b[:, other, at])
    distance[pair, at], points[:, pair, at], gradients[:, pair, at] = exact
    return distance, points, gradients


def _poses(robot: Robot) -> Array:
    """Random configurations (300, n) within the limits."""
    reach = np.where(robot.turns, np.pi, 1.0)
    lower, upper = (
        np.where(np.isfinite(limit), limit, robot.home + sign * reach)
        for limit, sign in ((robot.position[:, 0], -1.0), (robot.position[:, 1], 1.0))
    )
    return np.random.default_rng(_SEED).uniform(lower, upper, size=(_POSES, robot.n))
