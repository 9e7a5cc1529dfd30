"""Replace the inertias in a URDF text and leave every other byte as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from ident.arrays import Array
from ident.errors import ModelError
from ident.export.bodies import inertial_elements, tag

# A tag that expat has found well-formed; a quoted value may hold '>'.
_TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")

Edit = tuple[int, int, bytes]  # start, end, replacement


@dataclass(eq=False)
class _Element:
    """Where an element stands: its start tag ends at ``inside``, its end tag at ``end``."""

    start: int
    inside: int
    end: int = -1
    children: dict[str, _Element] = field(default_factory=dict)


def with_inertias(text: str, bodies: Mapping[str, Array]) -> str:
    """``text`` with the inertias of some links replaced, added, or (all zero) taken out.

    Raises
    ------
    ModelError
        ``text`` has no such link.
    """
    data = text.encode("utf-8")
    links = _links(data)
    edits: list[Edit] = []
    for name, pi in bodies.items():
        if name not in links:
            raise ModelError("description", f"no link '{name}'", expected="the robot's own URDF")
        edits += _edits(data, links[name], pi)
    for start, end, replacement in sorted(edits, reverse=True):
        data = data[:start] + replacement + data[end:]
    return data.decode("utf-8")


def _links(data: bytes) -> dict[str, _Element]:
    """Elements of all links by name, with ``<inertial>`` and what is in it; the first of each."""
    parser = expat.ParserCreate("utf-8")  # the text is decoded, whatever its declaration says
    links: dict[str, _Element] = {}
    path: list[tuple[str, _Element]] = []

    def open_(name: str, attributes: dict[str, str]) -> None:
        start = parser.CurrentByteIndex
        match = _TAG.match(data, start)
        assert match, data[start : start + 40]
        element = _Element(start=start, inside=match.end())
        if len(path) == 1 and name == "link":
            links[attributes["name"]] = element
        elif path:
            path[-1][1].children.setdefault(name, element)
        path.append((name, element))

    def close(_: str) -> None:
        _, element = path.pop()
        if data[: element.inside].endswith(b"/>"):
            element.end = element.inside
        else:
            match = _TAG.match(data, parser.CurrentByteIndex)
            assert match
            element.end = match.end()

    parser.StartElementHandler = open_
    parser.EndElementHandler = close
    parser.Parse(data, True)
    return links


def _edits(data: bytes, link: _Element, pi: Array) -> list[Edit]:
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    inertial = link.children.get("inertial")
    if not pi.any():
        return [] if inertial is None else [_removal(data, inertial)]
    tags = {name: tag(name, facts).encode() for name, facts in inertial_elements(pi).items()}
    if inertial is None:
        return [_addition(data, link, tags, newline)]
    if not inertial.children:
        indent = newline + _indent(data, inertial.start)
        return [(inertial.start, inertial.end, _block(tags, indent))]
    first = _indent(data, min(child.start for child in inertial.children.values()))
    indent = newline + first if first else b""  # all on one line, or one to a line
    edits = []
    for name, fresh in tags.items():
        if (old := inertial.children.get(name)) is not None:
            edits.append((old.start, old.end, fresh))
        else:
            edits.append((inertial.inside, inertial.inside, indent + fresh))
    return edits


def _addition(data: bytes, link: _Element, tags: Mapping[str, bytes], newline: bytes) -> Edit:
    """A whole ``<inertial>`` at the start of a link that had none."""
    outer = newline + _indent(data, link.start)
    added = outer + b"  " + _block(tags, outer + b"  ")
    if link.end > link.inside:
        return link.inside, link.inside, added
    opened = data[link.start : link.inside].removesuffix(b"/>").rstrip() + b">"  # <link name="…"/>
    return link.start, link.end, opened + added + outer + b"</link>"


def _block(tags: Mapping[str, bytes], indent: bytes) -> bytes:
    inside = b"".join(indent + b"  " + fresh for fresh in tags.values())
    return b"<inertial>" + inside + indent + b"</inertial>"


def _removal(data: bytes, element: _Element) -> Edit:
    """Take an element out, with the line that it leaves empty."""
    start = element.start - len(_indent(data, element.start))
    before = data[:start]
    for ending in (b"\r\n", b"\n"):
        if before.endswith(ending):
            return start - len(ending), element.end, b""
    return element.start, element.end, b""


def _indent(data: bytes, position: int) -> bytes:
    """Blanks between the start of the line and ``position``, if there is nothing else."""
    line = data[data.rfind(b"\n", 0, position) + 1 : position]
    return line if not line.strip(b" \t") else b""
