from dataclasses import replace

import numpy as np
import pytest

from ident.errors import InfeasibleError, UsageError
from ident.excitation.envelope import Envelope, Load, Payload, bounds, require_home
from ident.excitation.fourier import FourierSeries, RestToRest
from ident.excitation.limits import Limits
from ident.model.registry import load_robot
from ident.regressor.rigid import derive

ROBOT = load_robot("planar2r")
LOAD = Load(derive(ROBOT))
LIMITS = Limits.of(ROBOT)
ENVELOPE = Envelope(limits=LIMITS, load=LOAD)
OMEGA = 2 * np.pi * 0.1


def random_series(seed: int, harmonics: int) -> FourierSeries:
    rng = np.random.default_rng(seed)
    rest = RestToRest(ROBOT.joints, OMEGA, harmonics, rng.uniform(-1, 1, size=2))
    return rest.series(rng.normal(size=(2, rest.free)))


@pytest.mark.parametrize("harmonics", [2, 5, 9])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_holds_between_the_samples_and_is_tight(seed: int, harmonics: int) -> None:
    series = random_series(seed, harmonics)
    certificate = ENVELOPE.certify(series)
    dense = np.linspace(0.0, series.period_s, 100 * 200 * harmonics)
    for kind, order in (("position", 0), ("velocity", 1), ("acceleration", 2), ("jerk", 3)):
        values = series.derivative(dense, order) - (LIMITS.middle if order == 0 else 0.0)
        true, bound = np.abs(values).max(axis=0), getattr(certificate, kind)
        assert (bound >= true * (1.0 - 1e-12)).all(), kind
        assert (bound <= true * 1.00015).all(), kind


def test_a_thousand_bounds_are_never_broken_and_one_percent_wide_at_fifty_samples() -> None:
    # Fifty samples per period of the highest harmonic; the truth from a hundred times as many.
    zero = np.zeros(2)
    for seed in range(1000):
        series = random_series(seed, 2 + seed % 7)
        bound = bounds(series, zero, points=50)
        dense = bounds(series, zero, points=5000) * np.cos(np.pi / 5000)
        assert (bound >= dense * (1.0 - 1e-12)).all()
        assert (bound <= dense * 1.01).all()


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
    assert ENVELOPE.certify(series).velocity == pytest.approx([1.0, 1.0], abs=1e-12)


def test_torque_is_that_of_the_arm_by_hand() -> None:
    # Both links horizontal, at rest: g(0) = (11.772, 1.962) N·m, and Coulomb friction on top.
    still = FourierSeries(
        joints=ROBOT.joints, omega=OMEGA, a=np.zeros((2, 2)), b=np.zeros((2, 2)), q0=np.zeros(2)
    )
    torque = ENVELOPE.certify(still).torque
    np.testing.assert_allclose(torque, [11.772 + 2.0, 1.962 + 0.9], rtol=0, atol=1e-9)


def test_a_broken_limit_is_named_with_joint_and_amount() -> None:
    limits = replace(LIMITS, velocity=np.array([np.inf, 0.5]))
    certificate = Envelope(limits=limits, load=LOAD).certify(random_series(0, 5))
    (finding,) = (f for f in certificate.findings if f.where.startswith("velocity"))
    assert ROBOT.joints[1] in finding.where
    assert f"up to {certificate.velocity[1]:.6g} rad/s" in finding.message
    assert "at most 0.5 rad/s" in finding.message
    with pytest.raises(InfeasibleError):
        certificate.require()


def test_what_is_not_limited_has_no_margin() -> None:
    free = np.full(2, np.inf)
    limits = replace(LIMITS, jerk=free, torque=free)
    margins = Envelope(limits=limits, load=LOAD).certify(random_series(1, 3)).margins
    assert margins["jerk"] is None
    assert margins["torque"] is None
    assert margins["velocity"] is not None


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
        require_home(np.array(start), replace(ENVELOPE, limits=replace(LIMITS, **change)))


def test_a_payload_adds_its_weight_at_the_flange() -> None:
    still = FourierSeries(
        joints=ROBOT.joints, omega=OMEGA, a=np.zeros((2, 2)), b=np.zeros((2, 2)), q0=np.zeros(2)
    )
    # 0.5 kg at the tip of the outstretched arm, 0.9 m and 0.4 m from the joints.
    loaded = Load(derive(ROBOT), Payload(mass=0.5, com=(0.4, 0.0, 0.0)))
    more = replace(ENVELOPE, load=loaded).certify(still).torque - ENVELOPE.certify(still).torque
    np.testing.assert_allclose(more, [0.5 * 9.81 * 0.9, 0.5 * 9.81 * 0.4], rtol=0, atol=1e-9)
    none = replace(ENVELOPE, load=Load(derive(ROBOT), Payload(mass=0.0))).certify(still)
    np.testing.assert_array_equal(none.torque, ENVELOPE.certify(still).torque)


@pytest.mark.parametrize(
    "payload", [Payload(mass=-1.0), Payload(mass=np.inf), Payload(mass=1.0, com=(0.0, 0.0))]
)
def test_an_impossible_payload_is_refused(payload: Payload) -> None:
    with pytest.raises(UsageError, match="payload"):
        Load(derive(ROBOT), payload)
