"""A page on which the arm moves along a trajectory: one offline HTML file (extra ``viz``).

K3D-jupyter, and three.js within it, draw; the page holds them and the poses of every link, so that
it needs no network and no kinematics of its own.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import ModuleType
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from ident.arrays import Array, Indices, frozen
from ident.errors import UsageError
from ident.excitation.collision import Clearance
from ident.excitation.surroundings import Surroundings
from ident.model.kinematics import frames
from ident.model.robot import Robot
from ident.report.arm import base_solid, link_solids, rgb, tool_of
from ident.report.preview import JOINT_COLOURS, PHASE_COLOURS, Phase, checked_times, colour
from ident.report.solids import Solid, box, grid, patch

FRAMES_HZ, MOST_FRAMES = 50.0, 6000  # poses kept; the page blends between them
_GRID, _WALL, _OBSTACLE = 0x8A929B, 0x8FA3B5, 0xB08968
_FIELD_OF_VIEW = 40.0  # degrees


@dataclass(frozen=True, eq=False, kw_only=True)
class Nearest:
    """The two things that are nearest to each other, at every time.

    Attributes
    ----------
    names, links : tuple
        Of every pair that is watched.
    distance : (N,) m
    pair : (N,)
        Index of the nearest pair.
    """

    names: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    distance: Array
    pair: Indices


def scene_page(
    robot: Robot,
    t: ArrayLike,
    q: ArrayLike,
    *,
    title: str,
    phases: Sequence[Phase] = (),
    surroundings: Surroundings | None = None,
) -> bytes:
    """HTML page of the arm moving: play, time slider, orbit and zoom, joint values, path, phase.

    Links are their capsules; where a link has none, sticks between its joints. With capsules the
    page tells the nearest two things too, and reddens links that come near something.

    Parameters
    ----------
    t, q : (N,) s, (N, n) rad or m
        The motion; at most 50 poses a second, and 6000 in all, are kept of it.
    phases : sequence of (name, start s, end s)
        Marked along the slider.
    surroundings : Surroundings, optional
        Floor, walls and boxes to draw; without, a grid marks the plane z = 0 of the base.

    Raises
    ------
    UsageError
        K3D is not installed, times do not increase, or ``q`` has another shape.
    """
    k3d = viewer("3D preview")
    t = checked_times(t)
    q = frozen(q, (len(t), robot.n), where="q", error=UsageError)
    kept = _kept(t)
    t, q = t[kept], q[kept]
    R, p = frames(robot, q)
    tool = tool_of(robot)
    path = p[:, tool.link] + R[:, tool.link] @ tool.point
    places = np.concatenate([p.reshape(-1, 3), path, np.zeros((1, 3))])
    scene = _Scene(k3d)
    for i, solid in enumerate(link_solids(robot, tool)):
        scene.add(solid, key=i + 1)
    if (base := base_solid(robot)) is not None:
        scene.add(base)
    scene.surround(surroundings, places)
    for shade, points in _by_phase(t, path, phases):
        scene.trace(points, shade)
    camera = _camera(np.concatenate([places, *_corners(surroundings, places)]), robot.gravity)
    nearest = _nearest(robot, q, surroundings)
    facts = _facts(robot, phases, nearest) | {"tool": tool.name, "camera": camera}
    film = _film(t, q, R, p, nearest)
    return _render(title, facts, film, scene.snapshot(camera, robot.gravity))


def viewer(purpose: str) -> ModuleType:
    """Give the module ``k3d``, or say what is missing for ``purpose``."""
    try:
        import k3d
    except ImportError as e:
        raise UsageError(
            purpose,
            "K3D is not installed",
            expected="the extra viz",
            remedy="pip install 'ident-robot[viz]'",
        ) from e
    module: ModuleType = k3d
    return module


class _Scene:
    """Things to draw, with ids that are the same every time: links from 1 on, then the others."""

    def __init__(self, k3d: ModuleType) -> None:
        self._k3d = k3d
        self._objects: list[Any] = []

    def add(self, solid: Solid, *, key: int | None = None, opacity: float = 1.0) -> None:
        """Add a body; moving links give their ``key``."""
        mesh = self._k3d.mesh(
            solid.vertices.astype(np.float32),
            solid.triangles.astype(np.uint32),
            normals=solid.normals.astype(np.float32),
            colors=solid.colours.astype(np.uint32),
            flat_shading=False,
            opacity=opacity,
            side="double" if opacity < 1.0 else "front",
        )
        self._keep(mesh, key)

    def surround(self, surroundings: Surroundings | None, places: Array) -> None:
        """Add walls, obstacles and the workspace about the arm, which reaches ``places``."""
        around = surroundings or Surroundings()
        reach = max(1.1 * float(np.linalg.norm(places, axis=1).max()), 1e-3)
        step = _step(reach)
        half = step * float(np.ceil(reach / step))
        z = np.eye(3)[2]
        planes = [(wall.point, wall.normal) for wall in around.walls] or [(np.zeros(3), z)]
        for point, normal in planes:
            middle = normal * (normal @ point)
            self._lines(grid(middle, normal, half, step), _GRID)
            if around.walls:
                # A little behind, so that the grid on it stays in view.
                self.add(patch(middle - 2e-3 * half * normal, normal, half, _WALL), opacity=0.25)
        for obstacle in around.obstacles:
            self.add(box(obstacle.lower, obstacle.upper, _OBSTACLE), opacity=0.6)
        if around.workspace:
            self._lines(_edges(around.workspace.lower, around.workspace.upper), _OBSTACLE)

    def trace(self, points: Array, shade: str) -> None:
        """Add a path through ``points`` (N, 3) m."""
        line = self._k3d.line(points.astype(np.float32), shader="simple", color=rgb(shade))
        self._keep(line)

    def snapshot(self, camera: Sequence[float], gravity: Array) -> bytes:
        """All of it as K3D keeps it, in MessagePack."""
        plot = self._k3d.plot(
            name="ident",
            camera=camera,
            camera_auto_fit=False,
            camera_fov=_FIELD_OF_VIEW,
            camera_mode="orbit",
            camera_up_axis=_up_axis(gravity),
            grid_visible=False,
            menu_visibility=False,
            axes_helper=0.8,
        )
        for drawn in self._objects:
            plot += drawn
        return zlib.decompress(plot.get_binary_snapshot())

    def _lines(self, ends: Array, shade: int) -> None:
        """Add separate lines (lines, 2, 3) m."""
        vertices = ends.reshape(-1, 3).astype(np.float32)
        pairs = np.arange(len(vertices), dtype=np.uint32).reshape(-1, 2)
        lines = self._k3d.lines(
            vertices, pairs, indices_type="segment", shader="simple", color=shade
        )
        self._keep(lines)

    def _keep(self, drawn: Any, key: int | None = None) -> None:
        drawn.id = 10_000 + len(self._objects) if key is None else key
        self._objects.append(drawn)


def _kept(t: Array) -> Indices:
    """Indices of the samples whose poses the page holds; both ends are among them."""
    wanted = int(np.ceil((t[-1] - t[0]) * FRAMES_HZ)) + 1
    count = min(len(t), wanted, MOST_FRAMES)
    return np.unique(np.linspace(0, len(t) - 1, max(count, 2)).round().astype(np.intp))


def _film(t: Array, q: Array, R: Array, p: Array, nearest: Nearest) -> bytes:
    """Rows of little-endian float32: t, q, per link (p, quaternion x y z w), distance, pair."""
    turns = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat().reshape(len(t), -1, 4)
    poses = np.concatenate([p, turns], axis=2).reshape(len(t), -1)
    return np.column_stack([t, q, poses, nearest.distance, nearest.pair]).astype("<f4").tobytes()


def _nearest(robot: Robot, q: Array, surroundings: Surroundings | None) -> Nearest:
    """Nearest pair at each of ``q`` (N, n); none where nothing is watched."""
    clearance = Clearance.of(robot, surroundings)
    if not clearance.rows:
        none = np.full(len(q), -1)
        return Nearest(names=(), links=(), distance=np.zeros(len(q)), pair=none)
    # In pieces: all contacts of a long motion at once would fill the memory.
    values = np.concatenate(
        [clearance(part) for part in np.array_split(q, 1 + len(q) // 500)], axis=1
    )
    return Nearest(
        names=clearance.names,
        links=tuple(row.links for row in clearance.rows),
        distance=values.min(axis=0),
        pair=values.argmin(axis=0),
    )


def _by_phase(t: Array, path: Array, phases: Sequence[Phase]) -> Iterator[tuple[str, Array]]:
    """Colour and points of the path of each phase; all of them where there are no phases."""
    if not phases:
        yield JOINT_COLOURS[1], path
    for k, (_, start, end) in enumerate(phases):
        inside = path[(t >= start) & (t <= end)]
        if len(inside) > 1:
            yield colour(PHASE_COLOURS, k), inside


def _facts(robot: Robot, phases: Sequence[Phase], nearest: Nearest) -> dict[str, Any]:
    """What the page says in words; a joint without ends has no range."""
    return {
        "robot": robot.title or robot.name,
        "joints": [
            {
                "name": joint,
                "turns": turns,
                "range": limits.tolist() if np.isfinite(limits).all() else None,
                "colour": colour(JOINT_COLOURS, j),
            }
            for j, (joint, turns, limits) in enumerate(
                zip(robot.joints, robot.turns, robot.position, strict=True)
            )
        ],
        "links": [link.name for link in robot.links],
        "phases": [
            {"name": name, "start": start, "end": end, "colour": colour(PHASE_COLOURS, k)}
            for k, (name, start, end) in enumerate(phases)
        ],
        "pairs": [
            {"name": name, "links": links}
            for name, links in zip(nearest.names, nearest.links, strict=True)
        ],
    }


def _camera(places: Array, gravity: Array) -> list[float]:
    """Eye, target and upward direction (9,) that have all of ``places`` (K, 3) m in view.

    It looks, from a little above, along the horizontal axis in which the arm spreads least.
    """
    low, high = places.min(axis=0), places.max(axis=0)
    up = _upwards(gravity)
    level = np.argsort(np.abs(up), kind="stable")[:2]
    across = sorted(level, key=lambda k: high[k] - low[k])
    unit = np.eye(3)
    eye = unit[across[0]] + 0.55 * unit[across[1]] + 0.45 * up
    target = 0.5 * (low + high)
    radius = max(float(np.linalg.norm(places - target, axis=1).max()), 1e-3)
    away = 1.1 * radius / np.sin(np.radians(0.5 * _FIELD_OF_VIEW))
    return [*(target + away * eye / np.linalg.norm(eye)).tolist(), *target.tolist(), *up.tolist()]


def _corners(surroundings: Surroundings | None, places: Array) -> Iterator[Array]:
    """Opposite corners of obstacles (2, 3) m, as far as the arm reaches."""
    reach = float(np.linalg.norm(places, axis=1).max())
    for obstacle in surroundings.obstacles if surroundings else ():
        yield np.clip([obstacle.lower, obstacle.upper], -reach, reach)


def _upwards(gravity: Array) -> Array:
    """Unit vector against gravity; z where there is none."""
    strength = float(np.linalg.norm(gravity))
    return -gravity / strength if strength > 0.0 else np.eye(3)[2]


def _up_axis(gravity: Array) -> str:
    """Name of the base axis that points up, for orbits that keep the horizon."""
    up = _upwards(gravity)
    return "xyz"[int(np.argmax(up))] if up.max() > 0.999 else "none"


def _step(half: float) -> float:
    """Spacing in m of grid lines: about ten to either side at most."""
    return next((step for step in (0.05, 0.1, 0.25, 0.5, 1.0) if half / step <= 10.0), 2.0)


def _edges(lower: Array, upper: Array) -> Array:
    """The twelve edges (12, 2, 3) m of a box."""
    corners = np.array(np.meshgrid(*zip(lower, upper, strict=True), indexing="ij"))
    edges = [np.moveaxis(corners, k + 1, 1).reshape(3, 2, 4) for k in range(3)]
    return np.concatenate(edges, axis=2).transpose(2, 1, 0)


def _render(title: str, facts: dict[str, Any], film: bytes, drawing: bytes) -> bytes:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = resources.files("ident.report").joinpath("scene.html.j2").read_text("utf-8")
    page = environment.from_string(source).render(
        title=title,
        facts=_script_safe(facts),
        library=_library(),
        film=_packed(film),
        drawing=_packed(drawing),
    )
    return page.encode(errors="replace")


@cache
def _library() -> str:
    """K3D's own script, packed; its fonts are within, so what it says of font files is left out."""
    script = resources.files("k3d").joinpath("static", "standalone.js").read_bytes()
    return _packed(re.sub(rb',url\(fonts/[^)]*\) format\("\w+"\)', b"", script))


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


def _script_safe(value: dict[str, Any]) -> Markup:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))
