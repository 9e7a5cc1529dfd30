"""How an arm looks: links as their capsules, or as sticks between joints where there are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array
from ident.model.robot import Robot
from ident.report.preview import JOINT_COLOURS, colour
from ident.report.solids import Solid, capsule, joined

_BASE, _TOOL = 0x7C838C, 0xD4A017
_STICK = 0.03  # radius of a link without a shape, as a share of the arm's length
_THINNER = 2e-3  # of a radius, per link, so that ends which two links share do not flicker


@dataclass(frozen=True, eq=False, kw_only=True)
class Tool:
    """The point whose path is drawn: ``point`` (3,) m of a moving link, by index."""

    name: str
    link: int
    point: Array


def tool_of(robot: Robot) -> Tool:
    """Frame of the last part of the last link, or its centre of mass where it has one part only."""
    last = len(robot.links) - 1
    link = robot.links[last]
    if len(link.parts) > 1:
        return Tool(name=link.parts[-1].link, link=last, point=link.parts[-1].p_a_ab)
    mass = link.pi[0]
    point = link.pi[1:4] / mass if mass > 0.0 else np.zeros(3)
    return Tool(name=f"the centre of mass of {link.name}", link=last, point=point)


def link_solids(robot: Robot, tool: Tool) -> Iterator[Solid]:
    """Every moving link in its own frame, in the colour of its joint, lightened."""
    thick = _thickness(robot, tool)
    for i, link in enumerate(robot.links):
        own = colour(JOINT_COLOURS, link.joint.coordinate)
        shade, bodies = _light(own), []
        for shape in robot.capsules:
            if shape.link == i:
                radius = (1.0 - _THINNER * (i % 8 + 1)) * shape.radius
                bodies.append(capsule(shape.a, shape.b, radius, shade))
        if not bodies:
            ends = _ends(robot, i, tool)
            bodies = [capsule(np.zeros(3), end, thick, shade) for end in ends]
            half = 1.3 * thick * link.joint.axis
            bodies.append(capsule(-half, half, 1.35 * thick, rgb(own)))
        if i == tool.link:
            bodies.append(capsule(tool.point, tool.point, 0.6 * thick, _TOOL))
        yield joined(bodies)


def base_solid(robot: Robot) -> Solid | None:
    """What does not move of the robot; none where nothing is known of it."""
    shapes = [shape for shape in robot.capsules if shape.link < 0]
    bodies = [capsule(shape.a, shape.b, shape.radius, _BASE) for shape in shapes]
    if not bodies:
        thick, tool = _thickness(robot, tool_of(robot)), tool_of(robot)
        bodies = [capsule(np.zeros(3), end, 1.2 * thick, _BASE) for end in _ends(robot, -1, tool)]
    return joined(bodies) if bodies else None


def _ends(robot: Robot, index: int, tool: Tool) -> list[Array]:
    """Points (3,) m of a link's frame that sticks lead to: joints, rails, and the tool."""
    ends = []
    for joint in (link.joint for link in robot.links if link.parent == index):
        ends.append(joint.p0)
        if not joint.turns:
            stops = [stop for stop in (joint.lower, joint.upper) if np.isfinite(stop)]
            ends += [joint.p0 + joint.R0 @ joint.axis * stop for stop in stops]
    return [*ends, tool.point] if index == tool.link else ends


def _thickness(robot: Robot, tool: Tool) -> float:
    """Radius in m of a stick."""
    lengths = [float(np.linalg.norm(link.joint.p0)) for link in robot.links]
    return _STICK * (sum(lengths) + float(np.linalg.norm(tool.point)) or 1.0)


def _light(shade: str) -> int:
    """The colour half way to white."""
    return (rgb(shade) >> 1 & 0x7F7F7F) + 0x787878


def rgb(shade: str) -> int:
    """``#rrggbb`` as a number."""
    return int(shade.removeprefix("#"), 16)
