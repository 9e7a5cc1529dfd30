import numpy as np
import pytest

from ident.errors import UsageError
from ident.excitation.criteria import Criterion
from ident.excitation.fourier import FourierSeries, RestToRest
from ident.model.registry import load_robot
from ident.regressor.rigid import derive

ROBOT = load_robot("planar2r")
CRITERION = Criterion.of(derive(ROBOT), np.array([0.5, 0.2]))


def series(hz: float = 0.1, scale: float = 0.5) -> FourierSeries:
    rest = RestToRest(ROBOT.joints, 2 * np.pi * hz, 5, np.array([-0.5, 0.7]))
    return rest.series(scale * np.random.default_rng(0).normal(size=(2, rest.free)))


def by_hand(motion: FourierSeries) -> np.ndarray:
    """Base regressor of the planar arm from its equations of motion, gravity along −y."""
    l1, g = 0.5, 9.81
    t = np.arange(200) / 200 * motion.period_s
    s = motion.states(t)
    (q1, q2), (d1, d2), (a1, a2) = s.q.T, s.dq.T, s.ddq.T
    z = np.zeros_like(q1)
    c1, s1, c2, s2 = np.cos(q1), np.sin(q1), np.cos(q2), np.sin(q2)
    c12, s12 = np.cos(q1 + q2), np.sin(q1 + q2)
    first = [
        a1,
        g * c1,
        -g * s1,
        a1 + a2,
        l1 * (2 * c2 * a1 + c2 * a2 - 2 * s2 * d1 * d2 - s2 * d2**2) + g * c12,
        l1 * (-2 * s2 * a1 - s2 * a2 - 2 * c2 * d1 * d2 - c2 * d2**2) - g * s12,
    ]
    second = [
        z,
        z,
        z,
        a1 + a2,
        l1 * (c2 * a1 + s2 * d1**2) + g * c12,
        l1 * (-s2 * a1 + c2 * d1**2) - g * s12,
    ]
    return np.stack([np.stack(first, -1), np.stack(second, -1)], 1).reshape(-1, 6)


def test_raw_inertial_condition_is_that_of_the_equations_of_motion() -> None:
    expected = np.linalg.cond(by_hand(series()))
    found = CRITERION.quality(series(), 1000).condition.raw_inertial
    assert CRITERION.inertial.sum() == 6
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["planar2r", "ur5", "panda"])
def test_a_slow_path_looks_as_bad_as_its_inertia_errors_grow(name: str) -> None:
    robot = load_robot(name)
    criterion = Criterion.of(derive(robot))
    free = 0.5 * np.random.default_rng(0).normal(size=(robot.n, 8))
    fast, slow = (
        criterion.quality(
            RestToRest(robot.joints, 2 * np.pi * hz, 5, robot.home).series(hz / 0.1 * free), 20_000
        )
        for hz in (0.1, 0.01)
    )
    # The same path ten times slower, with as many samples: accelerations are a hundredth.
    growth = slow.standard_errors / fast.standard_errors
    weakest = int(np.argmax(slow.standard_errors / slow.magnitudes))
    assert growth[weakest] == pytest.approx(100.0, rel=0.1)
    share = slow.condition.scaled / fast.condition.scaled / growth[weakest]
    assert 0.5 < share < 1.1


def test_predicted_errors_are_those_of_least_squares_on_noisy_torque() -> None:
    rng = np.random.default_rng(5)
    motion, samples = series(), 200
    t = np.arange(samples) / samples * motion.period_s
    W = CRITERION.rows(motion.states(t)) / np.tile(CRITERION.noise, samples)[:, None]
    noise = rng.normal(size=(len(W), 400))
    estimates, *_ = np.linalg.lstsq(W, noise, rcond=None)
    predicted = CRITERION.quality(motion, samples).standard_errors
    np.testing.assert_allclose(estimates.std(axis=1), predicted, rtol=0.15)


def test_four_times_the_samples_halve_the_errors() -> None:
    few, many = (CRITERION.quality(series(), n) for n in (1000, 4000))
    np.testing.assert_allclose(many.standard_errors, few.standard_errors / 2, rtol=1e-9)
    assert many.log_det == pytest.approx(few.log_det + len(few.names) * np.log(4.0), rel=1e-9)
    assert many.condition.scaled == pytest.approx(few.condition.scaled, rel=1e-9)


def test_log_det_is_that_of_the_information_matrix() -> None:
    motion, samples = series(), 200
    t = np.arange(samples) / samples * motion.period_s
    W = CRITERION.rows(motion.states(t)) / np.tile(CRITERION.noise, samples)[:, None]
    W = W * CRITERION.magnitudes
    assert CRITERION.quality(motion, samples).log_det == pytest.approx(
        np.linalg.slogdet(W.T @ W)[1], rel=1e-9
    )


def test_a_motion_that_shows_nothing_says_so() -> None:
    quality = CRITERION.quality(series(scale=0.0), 1000)
    assert quality.level == "poor"
    assert quality.log_det == -np.inf
    assert np.isinf(quality.standard_errors).all()
    assert [f.name for f in quality.findings] == ["poor_condition"]


def test_noise_must_be_above_zero() -> None:
    with pytest.raises(UsageError, match="noise"):
        Criterion.of(derive(ROBOT), np.array([1.0, 0.0]))
