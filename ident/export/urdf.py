"""Write URDF: the user's own file with other inertias, or a whole new one.

URDF holds neither gravity nor armature nor Coulomb friction; they stand in the parameter table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array
from ident.errors import Finding, ModelError
from ident.export.bodies import changed_bodies, inertial_elements, number, numbers
from ident.export.splice import with_inertias
from ident.model import rotation
from ident.model.joints import Joint, letters_left
from ident.model.robot import Part, Robot
from ident.model.urdf import NO_LIMIT


@dataclass(frozen=True, kw_only=True)
class UrdfText:
    """A URDF and what was decided in writing it."""

    text: str
    findings: tuple[Finding, ...]


def patch_urdf(robot: Robot, pi: ArrayLike) -> UrdfText:
    """The robot's own description with the inertias ``pi`` (10·links,), all else byte for byte.

    Raises
    ------
    ModelError
        The robot was not read from a URDF, or a body cannot exist.
    """
    if not robot.description:
        raise ModelError(robot.name, "no URDF to patch", remedy="write a new one: write_urdf")
    bodies, findings = changed_bodies(robot, pi)
    return UrdfText(text=with_inertias(robot.description, bodies), findings=findings)


def write_urdf(robot: Robot) -> str:
    """A new URDF of ``robot``: every link of its description, joints, limits and inertias.

    Raises
    ------
    ModelError
        A body cannot exist, or a length is a letter still.
    """
    if robot.letters:
        raise letters_left(robot.letters, f"robot '{robot.name}'")
    changed, _ = changed_bodies(robot, robot.pi)
    root = Element("robot", name=robot.name)
    taken = {link.joint.name for link in robot.links}
    _add_links(root, robot.base_parts, changed, taken)
    for link in robot.links:
        carrier = robot.links[link.parent].name if link.parent >= 0 else robot.base_parts[0].link
        _add_links(root, link.parts, changed, taken)
        _add_joint(root, link.joint, carrier, link.name)
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_links(
    root: Element, parts: tuple[Part, ...], changed: Mapping[str, Array], taken: set[str]
) -> None:
    """A link and, by fixed joints, the links that are fixed to it."""
    for part in parts:
        link = SubElement(root, "link", name=part.link)
        pi = changed.get(part.link, part.pi)
        if pi.any():
            inertial = SubElement(link, "inertial")
            for name, facts in inertial_elements(pi).items():
                SubElement(inertial, name, dict(facts))
        if part is not parts[0]:
            name = f"{part.link}_fixed"
            while name in taken:
                name += "_"
            taken.add(name)
            joint = SubElement(root, "joint", name=name, type="fixed")
            _add_frames(joint, part.R_ab, part.p_a_ab, parts[0].link, part.link)


def _add_joint(root: Element, joint: Joint, parent: str, child: str) -> None:
    element = SubElement(root, "joint", name=joint.name, type=joint.kind)
    _add_frames(element, joint.R0, joint.p0, parent, child)
    SubElement(element, "axis", xyz=numbers(joint.axis))
    limits = {"effort": joint.effort, "velocity": joint.velocity}
    if joint.kind != "continuous":
        limits |= {"lower": joint.lower, "upper": joint.upper}
    finite = {key: number(np.clip(v, -NO_LIMIT, NO_LIMIT)) for key, v in limits.items()}
    SubElement(element, "limit", finite)
    if joint.mimics:
        facts = {"multiplier": number(joint.multiplier), "offset": number(joint.offset)}
        SubElement(element, "mimic", {"joint": joint.mimics, **facts})


def _add_frames(joint: Element, R: Array, p: Array, parent: str, child: str) -> None:
    SubElement(joint, "parent", link=parent)
    SubElement(joint, "child", link=child)
    SubElement(joint, "origin", xyz=numbers(p), rpy=numbers(rotation.to_rpy(R)))
