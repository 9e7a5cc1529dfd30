from dataclasses import replace

import numpy as np
import pytest

from ident.errors import InfeasibleError, UsageError
from ident.excitation.fourier import FourierSeries, RestToRest
from ident.excitation.limits import KINDS, Limits, Load, certify, largest_scale, require_start
from ident.model.registry import load_robot
from ident.regressor.rigid import derive

ROBOT = load_robot("planar2r")
LOAD = Load(derive(ROBOT))
LIMITS = Limits.of(ROBOT)
OMEGA = 2 * np.pi * 0.1


def random_series(seed: int, harmonics: int) -> FourierSeries:
    rng = np.random.default_rng(seed)
    rest = RestToRest(ROBOT.joints, OMEGA, harmonics, rng.uniform(-1, 1, size=2))
    return rest.series(rng.normal(size=(2, rest.free)))


@pytest.mark.parametrize("harmonics", [2, 5, 9])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_holds_between_the_samples_and_is_tight(seed: int, harmonics: int) -> None:
    series = random_series(seed, harmonics)
    certificate = certify(series, LIMITS, LOAD)
    dense = np.linspace(0.0, series.period_s, 100 * 200 * harmonics)
    for kind, order in (("position", 0), ("velocity", 1), ("acceleration", 2), ("jerk", 3)):
        values = series.derivative(dense, order) - (LIMITS.middle if order == 0 else 0.0)
        true, bound = np.abs(values).max(axis=0), getattr(certificate, kind)
        assert (bound >= true * (1.0 - 1e-12)).all(), kind
        assert (bound <= true * 1.00015).all(), kind


def test_a_peak_that_falls_between_samples_is_still_bounded() -> None:
    # The worst case of the bound: all of the motion in the highest harmonic, its peaks as far from
    # the samples as they can be.
    K, points = 5, 1000
    phase = np.pi * K / points
    a, b = np.zeros((2, 2, K))
    a[:, -1], b[:, -1] = np.cos(phase), np.sin(phase)
    series = FourierSeries(joints=ROBOT.joints, omega=OMEGA, a=a, b=b, q0=np.zeros(2))
    sampled = np.abs(series.states(np.arange(points) * series.period_s / points).dq).max()
    assert sampled < 1.0 - 1e-5
    assert certify(series, LIMITS, LOAD).velocity == pytest.approx([1.0, 1.0], abs=1e-12)


def test_torque_is_that_of_the_arm_by_hand() -> None:
    # Both links horizontal, at rest: g(0) = (11.772, 1.962) N·m, and Coulomb friction on top.
    still = FourierSeries(
        joints=ROBOT.joints, omega=OMEGA, a=np.zeros((2, 2)), b=np.zeros((2, 2)), q0=np.zeros(2)
    )
    torque = certify(still, LIMITS, LOAD).torque
    np.testing.assert_allclose(torque, [11.772 + 2.0, 1.962 + 0.9], rtol=0, atol=1e-9)


def test_scaling_to_the_limits_reaches_them_and_no_more() -> None:
    rest = RestToRest(ROBOT.joints, OMEGA, 5, np.array([0.4, -0.3]))
    free = np.random.default_rng(0).normal(size=(2, rest.free))
    room = largest_scale(rest.series(free), rest.start, LIMITS)
    for k, kind in enumerate(KINDS[:4]):
        certificate = certify(rest.series(free * room[k][:, None]), LIMITS, LOAD)
        np.testing.assert_allclose(certificate.used(kind), 1.0, rtol=0, atol=1e-9)


def test_a_broken_limit_is_named_with_joint_and_amount() -> None:
    limits = replace(LIMITS, velocity=np.array([np.inf, 0.5]))
    certificate = certify(random_series(0, 5), limits, LOAD)
    (finding,) = (f for f in certificate.findings if f.where.startswith("velocity"))
    assert ROBOT.joints[1] in finding.where
    assert f"up to {certificate.velocity[1]:.6g} rad/s" in finding.message
    assert "at most 0.5 rad/s" in finding.message
    with pytest.raises(InfeasibleError):
        certificate.require()


def test_what_is_not_limited_has_no_margin() -> None:
    free = np.full(2, np.inf)
    limits = replace(LIMITS, jerk=free, torque=free)
    margins = certify(random_series(1, 3), limits, LOAD).margins
    assert margins["jerk"] is None
    assert margins["torque"] is None
    assert margins["velocity"] is not None


def test_the_workspace_is_half_a_turn_around_home_within_the_joint_range() -> None:
    ur5, panda = load_robot("ur5"), load_robot("panda")
    middle = Limits.of(ur5).middle
    # The elbow's own range ends at π; the other joints turn further than a workspace needs.
    np.testing.assert_allclose(np.delete(middle, 2), np.delete(ur5.home, 2), rtol=0, atol=1e-12)
    np.testing.assert_allclose(Limits.of(ur5).position[2, 1], np.pi, rtol=0, atol=1e-12)
    assert (Limits.of(panda).position[:, 0] >= panda.position[:, 0]).all()
    assert (Limits.of(panda).position[:, 1] <= panda.position[:, 1]).all()


def test_a_margin_shrinks_every_limit_about_its_middle() -> None:
    whole, less = Limits.of(ROBOT), Limits.of(ROBOT, margin=0.8)
    np.testing.assert_allclose(less.middle, whole.middle, rtol=0, atol=1e-12)
    for kind in KINDS:
        np.testing.assert_allclose(less.largest(kind), 0.8 * whole.largest(kind), rtol=1e-12)
    with pytest.raises(UsageError, match="margin"):
        Limits.of(ROBOT, margin=1.2)


@pytest.mark.parametrize(
    ("change", "start", "named"),
    [
        ({}, [4.0, 0.0], "position of joint"),
        ({"velocity": np.array([1.0, 0.0])}, [0.0, 0.0], "velocity of joint"),
        ({"acceleration": np.array([0.0, 1.0])}, [0.0, 0.0], "acceleration of joint"),
        ({"torque": np.array([13.0, 50.0])}, [0.0, 0.0], "torque of joint"),
    ],
)
def test_a_start_that_leaves_no_motion_is_refused_by_name(
    change: dict, start: list, named: str
) -> None:
    with pytest.raises(InfeasibleError, match=named):
        require_start(np.array(start), replace(LIMITS, **change), LOAD)


def test_limits_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="jerk limits"):
        replace(LIMITS, jerk=np.array([np.nan, 1.0]))
