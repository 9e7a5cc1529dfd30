import json

import numpy as np
import pytest

from ident.errors import UsageError
from ident.excitation.fourier import FourierSeries, RestToRest, Trajectory
from ident.excitation.playback import setpoints
from tests.tolerances import COMPLEX_STEP, FINITE_DIFFERENCE, ROUNDOFF

JOINTS = ("one", "two", "three")
OMEGA = 2 * np.pi * 0.1
START = np.array([0.3, -1.2, 2.0])


def rest(harmonics: int = 5) -> RestToRest:
    return RestToRest(JOINTS, OMEGA, harmonics, START)


def some_series(seed: int = 0, harmonics: int = 5) -> FourierSeries:
    rng = np.random.default_rng(seed)
    return rest(harmonics).series(rng.normal(size=(3, rest(harmonics).free)))


def trajectory(seed: int = 0) -> Trajectory:
    return Trajectory(series=some_series(seed), periods=2, rate_hz=1000.0, robot="toy")


def by_definition(series: FourierSeries, t: complex) -> np.ndarray:
    """Swevers et al. (1997), term by term."""
    q = series.q0.astype(complex)
    for k in range(1, series.harmonics + 1):
        rate = k * series.omega
        q = q + series.a[:, k - 1] / rate * np.sin(rate * t)
        q = q - series.b[:, k - 1] / rate * np.cos(rate * t)
    return q


def test_position_is_the_series_of_the_literature() -> None:
    series = some_series()
    t = np.random.default_rng(1).uniform(0.0, 30.0, size=20)
    expected = [by_definition(series, x).real for x in t]
    np.testing.assert_allclose(series.states(t).q, expected, rtol=0, atol=ROUNDOFF)


def test_velocity_is_the_complex_step_of_position() -> None:
    series, step = some_series(), 1e-30
    t = np.linspace(0.0, 10.0, 37)
    expected = [by_definition(series, x + 1j * step).imag / step for x in t]
    np.testing.assert_allclose(series.states(t).dq, expected, rtol=0, atol=COMPLEX_STEP)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_each_derivative_is_the_central_difference_of_the_one_before(order: int) -> None:
    series, h = some_series(), 1e-5
    t = np.linspace(0.0, 10.0, 41)
    before = [series.derivative(t + s * h, order - 1) for s in (-1, 1)]
    scale = np.abs(series.derivative(t, order)).max()
    np.testing.assert_allclose(
        series.derivative(t, order),
        (before[1] - before[0]) / (2 * h),
        rtol=0,
        atol=FINITE_DIFFERENCE * scale,
    )


@pytest.mark.parametrize("harmonics", [2, 3, 5, 8])
def test_every_period_starts_at_rest_where_it_should(harmonics: int) -> None:
    series = some_series(harmonics=harmonics)
    ends = series.period_s * np.arange(4)
    motion = series.states(ends)
    np.testing.assert_allclose(motion.q, np.tile(START, (4, 1)), rtol=0, atol=ROUNDOFF)
    np.testing.assert_allclose(motion.dq, 0.0, rtol=0, atol=ROUNDOFF)
    np.testing.assert_allclose(motion.ddq, 0.0, rtol=0, atol=ROUNDOFF)
    assert np.abs(series.states(np.linspace(0, series.period_s, 50)).dq).max() > 0.1


def test_nothing_admissible_is_lost_by_the_elimination() -> None:
    # 2K coefficients less two conditions: the null space has this dimension and no more.
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 3, 5))
    a -= a.mean(axis=1, keepdims=True)
    k = np.arange(1.0, 6.0)
    b -= np.outer(b @ k, k) / (k @ k)
    series = rest().series(rest().nearest(a, b))
    np.testing.assert_allclose(series.a, a, rtol=0, atol=ROUNDOFF)
    np.testing.assert_allclose(series.b, b, rtol=0, atol=ROUNDOFF)


def test_deviation_from_the_start_is_linear_in_what_is_free() -> None:
    free = np.random.default_rng(4).normal(size=(3, 8))
    t = np.linspace(0.0, 10.0, 23)
    once, twice = (rest().series(s * free).states(t).q - START for s in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2 * once, rtol=0, atol=ROUNDOFF)


def test_one_harmonic_alone_is_refused() -> None:
    with pytest.raises(UsageError, match=r"harmonics: 1 .*at least 2.*one harmonic alone"):
        rest(1)


def test_a_trajectory_survives_json_exactly() -> None:
    before = trajectory()
    after = Trajectory.from_dict(json.loads(json.dumps(before.to_dict())))
    assert after.id == before.id
    t = np.linspace(0.0, 20.0, 11)
    np.testing.assert_array_equal(after.states(t).ddq, before.states(t).ddq)


def test_the_id_names_the_content() -> None:
    assert trajectory(0).id == trajectory(0).id
    assert trajectory(0).id != trajectory(1).id
    facts = trajectory().to_dict()
    facts["q0"][0] += 1e-12
    with pytest.raises(UsageError, match="its id belongs to another content"):
        Trajectory.from_dict(facts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "schema 2"),
        ({"schema": None}, "schema None"),
        ({"omega": "fast"}, "not a trajectory"),
        ({"a": [[1.0]]}, "shape"),
        ({"periods": 0}, "at least one"),
        ({"rate_hz": 0.9}, "twice the highest harmonic"),
        ({"omega": 0.0}, "finite, above zero"),
    ],
)
def test_facts_that_are_no_trajectory_are_refused(change: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Trajectory.from_dict({**trajectory().to_dict(), **change})


def test_samples_run_from_start_to_end() -> None:
    t, motion = trajectory().sample(100.0)
    assert (t[0], t[-1], len(t)) == (0.0, 20.0, 2001)
    np.testing.assert_allclose(motion.q[[0, -1]], [START, START], rtol=0, atol=ROUNDOFF)
    assert trajectory().highest_harmonic_hz == pytest.approx(0.5)


def test_setpoints_have_canonical_names() -> None:
    columns = setpoints(trajectory(), 50.0)
    assert set(columns) == {
        "time",
        *(f"{j}/{what}" for j in JOINTS for what in ("position", "velocity", "acceleration")),
    }
    assert {len(values) for values in columns.values()} == {1001}
    np.testing.assert_array_equal(
        columns["two/velocity"], trajectory().states(columns["time"]).dq[:, 1]
    )
