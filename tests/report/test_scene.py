from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ident.arrays import Array
from ident.errors import UsageError
from ident.excitation.surroundings import Box, Surroundings, floor
from ident.model.capsules import Capsule
from ident.model.kinematics import frames
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.report import scene
from ident.report.scene import scene_page
from tests.report.browser import PROGRAM, Browser
from tests.report.conftest import lift

pytest.importorskip("k3d", reason="K3D is not installed (extra viz)")
SINGLE = 2e-6
"""Poses are kept as float32: seven digits of numbers of order one."""

T = np.linspace(0.0, 6.0, 301)
PHASES = (("approach", 0.0, 1.0), ("excitation", 1.0, 5.0), ("return", 5.0, 6.0))
CELL = Surroundings(
    walls=(floor(-0.1),),
    obstacles=(Box(name="table", lower=np.array([0.5, -0.3, 0.0]), upper=np.ones(3)),),
    workspace=Box(name="cell", lower=np.full(3, -2.0), upper=np.full(3, 2.0)),
)


def motion(robot: Robot) -> Array:
    """Every joint swings at a rate of its own."""
    return robot.home + 0.5 * np.sin(np.outer(T, np.linspace(1.0, 2.0, robot.n)))


def with_capsules(robot: Robot) -> Robot:
    """A capsule from joint to joint for every link and the base."""
    shapes = []
    for i, name in enumerate(("base", *(link.name for link in robot.links)), start=-1):
        ends = [link.joint.p0 for link in robot.links if link.parent == i]
        for end in ends or [robot.links[i].parts[-1].p_a_ab]:
            shapes.append(Capsule(link=i, part=name, a=np.zeros(3), b=end, radius=0.04))
    return replace(robot, capsules=tuple(shapes))


@cache
def robot_of(name: str) -> Robot:
    if name == "lift":
        return lift()
    bare = load_robot(name.removesuffix(" shaped"))
    return with_capsules(bare) if name.endswith("shaped") else bare


@cache
def page_of(name: str) -> bytes:
    robot = robot_of(name)
    surroundings = CELL if name.endswith("shaped") else None
    return scene_page(
        robot, T, motion(robot), title=f"{name} & co", phases=PHASES, surroundings=surroundings
    )


def held(page: bytes, key: str) -> str:
    found = re.search(rf'id="{key}">(.*?)</script>', page.decode())
    assert found is not None
    return found[1]


def unpacked(page: bytes, key: str) -> bytes:
    return gzip.decompress(base64.b64decode(held(page, key)))


def film_of(page: bytes, robot: Robot) -> tuple[Array, Array, Array, Array, Array]:
    """Times, configurations, rotations, origins, and nearest distances that a page holds."""
    n, links = robot.n, len(robot.links)
    rows = np.frombuffer(unpacked(page, "film"), "<f4").reshape(-1, 3 + n + 7 * links)
    poses = rows[:, 1 + n : -2].reshape(len(rows), links, 7).astype(float)
    R = Rotation.from_quat(poses[..., 3:].reshape(-1, 4)).as_matrix().reshape(-1, links, 3, 3)
    return rows[:, 0], rows[:, 1 : 1 + n], R, poses[..., :3], rows[:, -2]


NAMES = ["planar2r", "ur5", "panda shaped", "lift"]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_moves(name: str) -> None:
    page, robot = page_of(name), robot_of(name)
    assert f"<title>{name} &amp; co</title>".encode() in page
    facts = json.loads(held(page, "facts"))
    assert [joint["name"] for joint in facts["joints"]] == list(robot.joints)
    assert facts["links"] == [link.name for link in robot.links]
    assert [phase["name"] for phase in facts["phases"]] == ["approach", "excitation", "return"]
    assert len(page) < 6_000_000


@pytest.mark.parametrize("name", NAMES)
def test_poses_are_those_of_the_kinematics(name: str) -> None:
    robot = robot_of(name)
    t, q, R, p, _ = film_of(page_of(name), robot)
    np.testing.assert_allclose(t, T, atol=SINGLE)
    np.testing.assert_allclose(q, motion(robot), atol=SINGLE)
    wanted = frames(robot, motion(robot))
    np.testing.assert_allclose(R, wanted[0], atol=SINGLE)
    np.testing.assert_allclose(p, wanted[1], atol=SINGLE)


def test_it_asks_for_nothing_from_a_network() -> None:
    page = page_of("ur5").decode()
    assert not re.search(r"https?:|//[\w-]+\.\w", re.sub(r">[A-Za-z0-9+/=]{200,}<", "><", page))
    assert not re.search(r"<(link|img|iframe|object)\b|\bsrc=", page)
    assert "default-src 'none'" in page


def test_the_same_motion_gives_the_same_page() -> None:
    robot = robot_of("planar2r")
    first, second = (scene_page(robot, T, motion(robot), title="twice") for _ in range(2))
    assert first == second


def test_long_motions_are_thinned_and_keep_both_ends() -> None:
    robot = robot_of("planar2r")
    t = np.arange(0.0, 60.0, 1e-3)
    q = 0.1 * np.sin(np.outer(t, [1.0, 2.0]))
    kept, *_ = film_of(scene_page(robot, t, q, title="long"), robot)
    assert (kept[0], len(kept)) == (0.0, 3001)
    np.testing.assert_allclose(kept[-1], t[-1], rtol=1e-6)


def test_the_nearest_pair_is_told_where_there_are_shapes() -> None:
    page, robot = page_of("panda shaped"), robot_of("panda shaped")
    *_, distance = film_of(page, robot)
    nearest = scene._nearest(robot, motion(robot), CELL)
    np.testing.assert_allclose(distance, nearest.distance, atol=SINGLE)
    names = [pair["name"] for pair in json.loads(held(page, "facts"))["pairs"]]
    assert any(name.endswith("– table") for name in names)
    assert json.loads(held(page_of("planar2r"), "facts"))["pairs"] == []


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "{{ 7 * 7 }}", "a & <b>"])
def test_names_are_text(name: str) -> None:
    robot = replace(robot_of("planar2r"), title=name)
    page = scene_page(robot, T, motion(robot), title=name, phases=[(name, 0.0, 6.0)]).decode()
    assert "<script>alert" not in page
    assert unescape(re.findall("<title>(.*)</title>", page)[0]) == name
    assert json.loads(held(page.encode(), "facts"))["phases"][0]["name"] == name


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "k3d", None)
    with pytest.raises(UsageError, match=r"K3D is not installed .*ident-robot\[viz\]"):
        scene_page(robot_of("planar2r"), T, motion(robot_of("planar2r")), title="")


def test_shapes_are_checked() -> None:
    with pytest.raises(UsageError, match="q: shape 301×3"):
        scene_page(robot_of("planar2r"), T, np.zeros((301, 3)), title="")


@pytest.fixture
def browser(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("no Chromium is installed")
    browser = Browser(tmp_path, *getattr(request, "param", ()))
    yield browser
    browser.close()


READY = "window.stage || document.getElementById('trouble')?.hidden === false"
# Moves the slider as a hand does, and says what the page then shows.
MOVE = """((t) => {
  $("time").value = t;
  $("time").dispatchEvent(new Event("input"));
  const poses = stage.bodies.map(({ matrixWorld }) => [...matrixWorld.elements]);
  return { poses, phase: $("phase").textContent, nearest: $("nearest").textContent };
})(%r)"""


@pytest.mark.parametrize("name", ["planar2r", "panda shaped", "lift"])
def test_the_slider_moves_the_arm(browser: Browser, name: str) -> None:
    robot = robot_of(name)
    browser.open(page_of(name), READY)
    for k, phase in ((0, "approach"), (40, "approach"), (127, "excitation"), (300, "return")):
        shown = browser.run(MOVE % float(T[k]))
        R, p = frames(robot, motion(robot)[[k]])
        poses = np.array(shown["poses"]).reshape(-1, 4, 4).transpose(0, 2, 1)
        np.testing.assert_allclose(poses[:, :3, :3], R[0], atol=SINGLE)
        np.testing.assert_allclose(poses[:, :3, 3], p[0], atol=SINGLE)
        assert shown["phase"] == phase
        assert bool(shown["nearest"]) == name.endswith("shaped")
    rows = browser.run("[...document.querySelectorAll('#joints tr')].map((row) => row.textContent)")
    for joint, x, row in zip(robot.joints, motion(robot)[-1], rows, strict=True):
        assert row.startswith(joint)
        assert f"{abs(x):.3f} rad" in row or f"{abs(x):.4f} m" in row
    assert browser.troubles == []
    assert {url.split(":")[0] for url in browser.asked_for} <= {"file", "data", "blob"}
    assert sum(url.startswith("file:") for url in browser.asked_for) == 1


def test_play_runs_to_the_end_and_pause_stops(browser: Browser) -> None:
    browser.open(page_of("planar2r"), READY)
    browser.run("$('play').click()")
    browser.wait_for("stage.time > 0.2")
    browser.run("$('play').click()")
    paused = browser.run("stage.time")
    assert 0.2 < paused < T[-1]
    assert browser.run("new Promise((done) => setTimeout(() => done(stage.time), 200))") == paused
    browser.run("$('speed').value = '4', $('play').click()")
    browser.wait_for("!stage.playing")
    assert browser.run("[stage.time, $('play').textContent]") == [T[-1], "Play"]
    assert browser.troubles == []


def test_blends_between_samples_lie_on_the_motion(browser: Browser) -> None:
    robot = robot_of("ur5")
    browser.open(page_of("ur5"), READY)
    t = 0.5 * (T[100] + T[101])
    shown = browser.run(MOVE % float(t))
    q = robot.home + 0.5 * np.sin(t * np.linspace(1.0, 2.0, robot.n))
    R, p = frames(robot, q[None])
    poses = np.array(shown["poses"]).reshape(-1, 4, 4).transpose(0, 2, 1)
    # A chord of 20 ms at some rad/s leaves its arc by some 10⁻⁴.
    np.testing.assert_allclose(poses[:, :3, :3], R[0], atol=1e-3)
    np.testing.assert_allclose(poses[:, :3, 3], p[0], atol=1e-3)


@pytest.mark.parametrize("name", ["planar2r", "ur5", "panda shaped"])
def test_the_arm_is_in_the_picture_and_the_mouse_turns_it(browser: Browser, name: str) -> None:
    browser.open(page_of(name), READY)
    start = view(browser)
    assert (np.abs(start - start[0, 0]).max(axis=2) > 0.05).mean() > 0.02
    assert (np.ptp(start, axis=2) > 0.2).mean() > 0.005
    browser.run(MOVE % 2.5)
    moved = view(browser)
    assert (np.abs(start - moved).max(axis=2) > 0.1).mean() > 0.005
    browser.drag((450, 300), (520, 280))
    turned = view(browser)
    assert (np.abs(moved - turned).max(axis=2) > 0.1).mean() > 0.02
    browser.run("$('home').click()")
    assert (np.abs(view(browser) - moved).max(axis=2) > 0.1).mean() < 0.005


@pytest.mark.parametrize("browser", [["--disable-3d-apis"]], indirect=True)
def test_a_browser_that_cannot_draw_says_so(browser: Browser) -> None:
    browser.open(page_of("planar2r"), READY)
    said = browser.run("$('trouble').textContent")
    assert re.fullmatch(r"The arm cannot be drawn: .*WebGL context\. This page needs .*", said)


def view(browser: Browser) -> Array:
    """Pixels between the panels, when they have come to rest."""
    browser.run("new Promise((done) => setTimeout(done, 300))")
    return browser.picture()[150:500, 50:850]
