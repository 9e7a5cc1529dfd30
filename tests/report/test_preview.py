from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from ident.errors import UsageError
from ident.excitation.limits import Limits
from ident.model.registry import load_robot
from ident.regressor.columns import States
from ident.report.preview import joint_plots, used_shares

PHASES = (("approach", 0.0, 1.0), ("excitation", 1.0, 5.0), ("return", 5.0, 6.0))
T = np.linspace(0.0, 6.0, 601)


def limits_of(name: str) -> Limits:
    return Limits.of(load_robot(name))


def swing(limits: Limits, share: float) -> States:
    """Motion that uses ``share`` of the position limits; velocity and acceleration likewise."""
    wave = np.sin(T)[:, None]
    q = limits.middle + share * wave * limits.half_range
    finite = np.where(np.isfinite(limits.acceleration), limits.acceleration, 1.0)
    return States(q=q, dq=0.5 * wave * limits.velocity, ddq=0.25 * wave * finite)


def texts(svg: bytes) -> str:
    return " ".join(ElementTree.fromstring(svg).itertext())


@pytest.mark.parametrize("name", ["planar2r", "ur5", "panda"])
def test_joints_quantities_units_and_phases_are_named(name: str) -> None:
    limits = limits_of(name)
    motion = swing(limits, 0.8)
    svg = joint_plots(
        T, motion, limits, phases=PHASES, torque=np.sin(motion.q), title=f"Excitation of {name}"
    )
    shown = texts(svg)
    for word in (
        f"Excitation of {name}",
        *limits.joints,
        *("position, rad", "velocity, rad/s", "acceleration, rad/s²", "torque, N·m"),
        *("approach, 0.0 to 1.0 s", "excitation, 1.0 to 5.0 s", "return, 5.0 to 6.0 s", "limit"),
    ):
        assert word in shown
    assert len(svg) < 400_000


def test_it_is_offline_and_the_same_every_time() -> None:
    limits = limits_of("planar2r")
    first, second = (joint_plots(T, swing(limits, 0.8), limits) for _ in range(2))
    assert first == second
    assert {b"http://www.w3.org/2000/svg", b"http://www.w3.org/1999/xlink"} >= set(
        re.findall(rb"https?://[^\"' <]*", first)
    )


def test_used_shares_are_of_the_limits() -> None:
    limits = replace(limits_of("ur5"), torque=np.full(6, 20.0))
    shares = used_shares(swing(limits, 0.8), limits, np.full((len(T), 6), -15.0))
    peak = np.abs(np.sin(T)).max()
    np.testing.assert_allclose(shares["position"], 0.8 * peak)
    np.testing.assert_allclose(shares["velocity"], 0.5 * peak)
    np.testing.assert_allclose(shares["acceleration"], 0.25 * peak)
    np.testing.assert_allclose(shares["torque"], 0.75)


def test_what_has_no_limit_says_so_and_what_is_over_shows_its_share() -> None:
    limits = replace(limits_of("planar2r"), acceleration=np.full(2, np.inf))
    shown = texts(joint_plots(T, swing(limits, 1.3), limits))
    assert shown.count("no limit") == 2
    assert "130" in shown


def test_hostile_names_are_text() -> None:
    limits = replace(limits_of("planar2r"), joints=("$x_1$ & <b>", "</svg>"))
    shown = texts(joint_plots(T, swing(limits, 0.5), limits, title="<script>$"))
    for name in (*limits.joints, "<script>$"):
        assert name in shown


@pytest.mark.parametrize("times", [[0.0], [0.0, 0.0], [1.0, 0.5]])
def test_times_must_increase(times: list[float]) -> None:
    limits = limits_of("planar2r")
    still = np.zeros((len(times), 2))
    with pytest.raises(UsageError, match=r"times: .*strictly increasing"):
        joint_plots(times, States(q=still, dq=still, ddq=still), limits)


def test_shapes_are_checked() -> None:
    limits = limits_of("planar2r")
    motion = swing(limits, 0.5)
    with pytest.raises(UsageError, match="motion dq: shape 600×2"):
        joint_plots(T, replace(motion, dq=motion.dq[1:]), limits)
    with pytest.raises(UsageError, match="torque: shape 601×3"):
        joint_plots(T, motion, limits, torque=np.zeros((601, 3)))
