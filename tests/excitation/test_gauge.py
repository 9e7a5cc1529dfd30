import numpy as np
import pytest

from ident.excitation.envelope import bounds
from ident.excitation.fourier import RestToRest
from ident.excitation.gauge import Gauge
from ident.excitation.limits import KINEMATIC, Limits
from tests.tolerances import FINITE_DIFFERENCE

JOINTS = ("one", "two", "three")
LIMITS = Limits(
    joints=JOINTS,
    turns=(True,) * 3,
    position=np.array([[-1.0, 2.0], [0.2, 0.9], [-3.0, 3.0]]),
    velocity=np.array([1.0, np.inf, 2.0]),
    acceleration=np.array([5.0, 1.0, 10.0]),
    jerk=np.array([np.inf, 20.0, 30.0]),
    torque=np.full(3, np.inf),
)
START = np.array([0.0, 0.3, 2.9])


def rest(shifts: bool) -> RestToRest:
    return RestToRest(JOINTS, 2 * np.pi * 0.2, 4, START, shifts)


@pytest.mark.parametrize("shifts", [False, True])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_whatever_is_tried_keeps_the_limits_between_the_samples_too(
    shifts: bool, size: float
) -> None:
    gauge = Gauge(rest(shifts), LIMITS, 160)
    for seed in range(50):
        z = size * np.random.default_rng(seed).normal(size=(3, rest(shifts).free))
        x, _ = gauge.inside(z, 16.0)
        reached = bounds(rest(shifts).series(x), LIMITS.middle, points=2000)
        allowed = np.array([LIMITS.largest(kind) for kind in KINEMATIC])
        assert (reached <= allowed * (1.0 + 1e-9)).all()


def test_the_limits_are_reached_as_it_gets_sharper() -> None:
    gauge = Gauge(rest(False), LIMITS, 160)
    z = 1e3 * np.random.default_rng(0).normal(size=(3, rest(False).free))
    sizes = [gauge.size(gauge.inside(z, sharpness)[0]) for sharpness in (8.0, 32.0, 512.0)]
    assert (np.diff(sizes, axis=0) > 0.0).all()
    np.testing.assert_allclose(sizes[-1], 1.0, rtol=0, atol=0.02)


def test_what_is_well_inside_is_left_as_it_is() -> None:
    gauge = Gauge(rest(True), LIMITS, 160)
    z = np.random.default_rng(0).normal(size=(3, rest(True).free))
    z *= 0.5 / gauge.size(z)[:, None]
    np.testing.assert_allclose(gauge.inside(z, 128.0)[0], z, rtol=1e-12)


@pytest.mark.parametrize("size", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("sharpness", [4.0, 64.0])
def test_slopes_are_finite_differences(size: float, sharpness: float) -> None:
    gauge, rng, h = Gauge(rest(True), LIMITS, 160), np.random.default_rng(1), 1e-6
    z = rng.normal(size=(3, rest(True).free))
    z *= size / gauge.size(z)[:, None]
    slopes, direction = rng.normal(size=(2, *z.shape))
    found = (gauge.inside(z, sharpness)[1](slopes) * direction).sum()
    ends = [(slopes * gauge.inside(z + s * h * direction, sharpness)[0]).sum() for s in (1, -1)]
    scale = max(abs(found), 1.0)
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(found, abs=FINITE_DIFFERENCE * scale)
