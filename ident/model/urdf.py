"""Read URDF with the standard library's parser.

Collision geometry of simple shape becomes capsules, which enclose it. Meshes, visuals and tags that
we do not know are passed over here and kept in the robot's ``description``, so that an export
patches the user's own file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ident.arrays import Array
from ident.errors import Finding, ModelError
from ident.model import inertia, rotation
from ident.model.capsules import Shape, along_z, around_box, placed
from ident.model.joints import Joint, JointKind
from ident.model.robot import Robot
from ident.model.tree import Edge, assemble

_KINDS: dict[str, JointKind] = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "fixed": "revolute",  # a fixed joint is lumped; its motion is never looked at
}
# URDF cannot leave a limit out; this and more stands for "none", and is what an export writes.
NO_LIMIT = 1e30
_SIX = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_urdf(path: Path) -> Robot:
    """Robot of a URDF file.

    Raises
    ------
    ModelError
        The file cannot be read, is not URDF, or describes something that is not a tree of
        revolute, continuous, prismatic and fixed joints.
    """
    try:
        content = path.read_bytes()
    except OSError as e:
        raise ModelError(str(path), f"cannot be read: {e.strerror}", expected="a URDF file") from e
    return parse_urdf(_decoded(content, str(path)), where=str(path))


def _decoded(content: bytes, where: str) -> str:
    """Text of a file; one that is not in UTF-8, which exports write, declares it from here on.

    A text in UTF-8 stays as it is, line ends included: an export gives back every byte that it
    does not change.
    """
    encoding = _encoding(content)
    try:
        text = content.decode(encoding)
        kept = text.encode() == content
    except (UnicodeError, LookupError) as e:
        at = f"byte {e.start + 1}" if isinstance(e, UnicodeDecodeError) else "its text"
        why = f"{at} is not {encoding}"
        if isinstance(e, LookupError):
            why = f"it says that it is in '{encoding}', which is no encoding known here"
        found = f"cannot be read: {why}"
        remedy = "save it as UTF-8, if it is text"
        raise ModelError(where, found, expected="a URDF file", remedy=remedy) from e
    return text if kept else re.sub(_DECLARATION, r"\1UTF-8", text, count=1)


def _encoding(content: bytes) -> str:
    """Encoding of an XML file, from its first bytes or else its declaration (XML 1.0, F)."""
    for start, encoding in _STARTS.items():
        if content.startswith(start):
            return encoding
    declared = re.match(_DECLARATION.encode(), content)
    name = declared[2].decode() if declared else "UTF-8"
    # Where the declaration was legible, the file has one byte a character, whatever it says.
    return "UTF-8" if name.upper().startswith(("UTF-16", "UTF-32")) else name


_STARTS = {
    codecs.BOM_UTF8: "UTF-8",
    codecs.BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose mark this begins with
    codecs.BOM_UTF32_BE: "UTF-32",
    b"<\0\0\0": "UTF-32-LE",
    b"\0\0\0<": "UTF-32-BE",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
    b"<\0": "UTF-16-LE",
    b"\0<": "UTF-16-BE",
}
_DECLARATION = r"""^(\s*<\?xml[^>]*?\sencoding\s*=\s*["'])([A-Za-z][A-Za-z0-9._-]*)"""


def parse_urdf(text: str, *, where: str = "URDF") -> Robot:
    """Robot of a URDF text; see ``read_urdf``."""
    try:
        # The declaration may name an encoding that the decoded text no longer has.
        root = ElementTree.fromstring(text.encode("utf-8"), _utf8_parser())
    except ElementTree.ParseError as e:
        remedy = _EXPAND if "<xacro:" in text else ""
        raise ModelError(where, f"not XML: {e}", expected="a URDF file", remedy=remedy) from e
    _drop_namespace(root)
    if xacro := next((e.tag for e in root.iter() if "/xacro}" in str(e.tag)), None):
        found = f"<xacro:{xacro.rpartition('}')[2]}>"
        raise ModelError(where, found, expected="plain URDF", remedy=_EXPAND)
    if root.tag != "robot":
        raise ModelError(where, f"root element <{root.tag}>", expected="<robot>")
    notes: list[Finding] = []
    inertials = _inertials(root, where, notes)
    edges = [_edge(element, where) for element in root.findall("joint")]
    names = [edge.joint.name for edge in edges]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ModelError(where, f"two joints named '{min(repeated)}'", expected="unique names")
    robot = assemble(
        root.get("name") or "robot", inertials, edges, where=where, description=text, notes=notes
    )
    return replace(robot, capsules=placed(_shapes(root, where), robot))


_EXPAND = "expand it first: xacro FILE > robot.urdf"


def _utf8_parser() -> ElementTree.XMLParser:
    return ElementTree.XMLParser(encoding="utf-8")


def _drop_namespace(root: ElementTree.Element) -> None:
    """Take the default namespace, which some files declare, off the names of its elements."""
    namespace, found, _ = root.tag.rpartition("}")
    if found:
        for element in root.iter():
            element.tag = str(element.tag).removeprefix(namespace + found)


def _inertials(root: ElementTree.Element, where: str, notes: list[Finding]) -> dict[str, Array]:
    inertials: dict[str, Array] = {}
    for link in root.findall("link"):
        name = _name(link, where)
        if name in inertials:
            raise ModelError(where, f"two links named '{name}'", expected="unique names")
        inertials[name] = _pi(link, f"{where}: link '{name}'", notes)
    if not inertials:
        raise ModelError(where, "no <link>", expected="links and joints")
    return inertials


def _pi(link: ElementTree.Element, where: str, notes: list[Finding]) -> Array:
    """Parameters in the link frame; ``<inertial>`` gives them about the COM in its own axes."""
    element = link.find("inertial")
    if element is None:
        return np.zeros(10)
    mass = element.find("mass")
    if mass is None:
        raise ModelError(f"{where} <inertial>", "no <mass>", expected="a mass in kg")
    R, com = _origin(element, where)
    mass_kg = inertia.checked_mass(_number(mass, "value", where), f"{where} <mass value>")
    about_com = element.find("inertia")
    six = [0.0] * 6
    if about_com is not None:
        six = [_number(about_com, key, where, default="0") for key in _SIX]
    if mass_kg and not any(six):
        notes.append(
            Finding(
                name="no_tensor",
                severity="info",
                where=where,
                found="mass without a tensor, or with one of zeros",
                remedy="taken as a point mass at its centre",
            )
        )
    return inertia.pi_from_com(mass_kg, com, R @ inertia.tensor(six) @ R.T)


def _shapes(root: ElementTree.Element, where: str) -> Iterator[Shape]:
    """Capsules about the collision geometry of simple shape; those of no size are placeholders."""
    for link in root.findall("link"):
        name = _name(link, where)
        for element in link.findall("collision"):
            shape = _shape(element, name, f"{where}: link '{name}' <collision>")
            if shape is not None and shape.radius > 0.0:
                yield shape


def _shape(element: ElementTree.Element, part: str, where: str) -> Shape | None:
    """Capsule about a capsule, cylinder, sphere or box; a mesh has none."""
    geometry = element.find("geometry")
    solid = None if geometry is None else next(iter(geometry), None)
    if solid is None or solid.tag not in {"capsule", "cylinder", "sphere", "box"}:
        return None
    R, p = _origin(element, where)
    if solid.tag == "box":
        return around_box(part, R, p, _triple(solid, "size", where))
    length = 0.0 if solid.tag == "sphere" else _number(solid, "length", where)
    return along_z(part, R, p, length=length, radius=_number(solid, "radius", where))


def _edge(element: ElementTree.Element, where: str) -> Edge:
    name = _name(element, where)
    where = f"{where}: joint '{name}'"
    kind = element.get("type", "")
    if kind not in _KINDS:
        expected = "revolute, continuous, prismatic or fixed"
        raise ModelError(where, f"type '{kind}'", expected=expected)
    parent, child = (_link_of(element, tag, where) for tag in ("parent", "child"))
    R0, p0 = _origin(element, where)
    mimic = element.find("mimic")
    limits = {} if kind == "fixed" else _limits(element.find("limit"), kind, where)
    try:
        joint = Joint(
            name=name,
            kind=_KINDS[kind],
            R0=R0,
            p0=p0,
            axis=_axis(element.find("axis"), kind, where),
            mimics="" if mimic is None else _text(mimic, "joint", where),
            multiplier=1.0 if mimic is None else _number(mimic, "multiplier", where, default="1"),
            offset=0.0 if mimic is None else _number(mimic, "offset", where, default="0"),
            lower=limits.get("lower", -np.inf),
            upper=limits.get("upper", np.inf),
            velocity=limits.get("velocity", np.inf),
            effort=limits.get("effort", np.inf),
        )
    except ModelError as e:
        if e.where.startswith(where):
            raise
        # The joint knows its own name, not its file.
        within = where + e.where.removeprefix(f"joint '{name}'")
        raise ModelError(within, e.found, expected=e.expected, remedy=e.remedy) from None
    return Edge(parent=parent, child=child, joint=joint, fixed=kind == "fixed")


def _axis(element: ElementTree.Element | None, kind: str, where: str) -> Array:
    """Axis of a joint; URDF's default is x. A fixed joint may say anything."""
    if element is None or kind == "fixed":
        return np.array([1.0, 0.0, 0.0])
    return _triple(element, "xyz", where)


def _limits(element: ElementTree.Element | None, kind: str, where: str) -> dict[str, float]:
    """Limits of a joint; a missing one is no limit, and a continuous joint has no ends."""
    if element is None:
        return {}
    keys = ("velocity", "effort") if kind == "continuous" else _LIMITS
    given = {key: _limit(element, key, where) for key in keys if element.get(key) is not None}
    return {key: value for key, value in given.items() if abs(value) < NO_LIMIT}


_LIMITS = ("lower", "upper", "velocity", "effort")


def _limit(element: ElementTree.Element, key: str, where: str) -> float:
    """A limit, which may be infinite, unlike any other number."""
    infinite = _text(element, key, where).strip().lstrip("+-").lower() in {"inf", "infinity"}
    return np.inf if infinite else _number(element, key, where)


def _origin(element: ElementTree.Element, where: str) -> tuple[Array, Array]:
    origin = element.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    roll, pitch, yaw = _triple(origin, "rpy", where)
    return rotation.from_rpy(roll, pitch, yaw), _triple(origin, "xyz", where)


def _triple(element: ElementTree.Element, key: str, where: str) -> Array:
    text = element.get(key, "0 0 0")
    numbers = [_float(word, f"{where} <{element.tag} {key}>") for word in text.split()]
    if len(numbers) != 3:
        raise ModelError(
            f"{where} <{element.tag} {key}>", f"{len(numbers)} numbers in '{text}'", expected="3"
        )
    return np.array(numbers)


def _number(
    element: ElementTree.Element, key: str, where: str, default: str | None = None
) -> float:
    return _float(_text(element, key, where, default), f"{where} <{element.tag} {key}>")


def _text(element: ElementTree.Element, key: str, where: str, default: str | None = None) -> str:
    text = element.get(key, default)
    if text is None:
        raise ModelError(f"{where} <{element.tag}>", f"no '{key}'", expected=f'{key}="…"')
    return text


def _float(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError as e:
        raise ModelError(where, f"'{text}'", expected="a number") from e
    if not np.isfinite(value):
        raise ModelError(where, f"'{text}'", expected="a finite number")
    return value


def _name(element: ElementTree.Element, where: str) -> str:
    name = element.get("name")
    if not name:
        raise ModelError(where, f"<{element.tag}> without a name", expected='name="…"')
    return name


def _link_of(element: ElementTree.Element, tag: str, where: str) -> str:
    found = element.find(tag)
    if found is None or not found.get("link"):
        raise ModelError(where, f"no <{tag} link=…>", expected="a parent and a child")
    return str(found.get("link"))
