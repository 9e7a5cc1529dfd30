from dataclasses import dataclass

import numpy as np
import pytest
from scipy import signal

from ident.errors import UsageError
from ident.logs.filters import (
    EDGE,
    Decimator,
    decimator,
    first_derivative,
    low_pass,
    second_derivative,
    settling_time,
)
from tests.tolerances import ROUNDOFF


@dataclass
class Rows:
    start: int
    core: slice
    valid: np.ndarray
    scored: np.ndarray


def whole(samples: int, n: int = 1) -> Rows:
    everywhere = np.ones((samples, n), dtype=bool)
    return Rows(0, slice(0, samples), everywhere, everywhere)


def test_low_pass_is_scipys_zero_phase_filter(rng: np.random.Generator) -> None:
    x = rng.normal(size=(3000, 3))
    expected = signal.sosfiltfilt(signal.butter(4, 20.0, fs=1000.0, output="sos"), x, axis=0)
    np.testing.assert_allclose(low_pass(x, 20.0, 1000.0), expected, rtol=0, atol=ROUNDOFF)


def test_low_pass_takes_six_decibels_at_its_cut_off() -> None:
    t = np.arange(0.0, 10.0, 1e-3)
    y = low_pass(np.sin(2 * np.pi * 10.0 * t), 10.0, 1000.0)
    assert np.abs(y[4000:6000]).max() == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("cutoff", [5.0, 20.0])
def test_settling_follows_the_slowest_analog_pole(order: int, cutoff: float) -> None:
    analog = -np.log(EDGE) / (2 * np.pi * cutoff * np.sin(np.pi / (2 * order)))
    assert settling_time(cutoff, 1000.0, order, EDGE) == pytest.approx(analog, rel=0.01)


def test_d3_half_a_second_settles_ten_hertz() -> None:
    assert settling_time(10.0, 1000.0, 4, EDGE) == pytest.approx(0.5, rel=0.01)
    t = np.arange(0.0, 10.0, 1e-3)
    truth = -0.8 * np.pi**2 * np.sin(np.pi * t + 0.7)
    ddq = second_derivative(low_pass(0.8 * np.sin(np.pi * t + 0.7), 10.0, 1000.0), 1000.0)
    error = np.abs(ddq - truth) / np.abs(truth).max()
    assert error.max() > 3.0
    assert error[250:-250].max() == pytest.approx(0.02, abs=0.01)
    assert error[500:-500].max() < 1e-4


@pytest.mark.parametrize(("derivative", "order"), [(first_derivative, 1), (second_derivative, 2)])
def test_derivatives_are_of_fourth_order(derivative, order: int) -> None:
    def error(rate: float) -> float:
        t = np.arange(0.0, 4.0, 1.0 / rate)
        truth = [np.cos(3.0 * t) * 3.0, -np.sin(3.0 * t) * 9.0][order - 1]
        return np.abs(derivative(np.sin(3.0 * t), rate) - truth)[5:-5].max()

    assert error(20.0) / error(40.0) == pytest.approx(16.0, rel=0.1)


def test_decimator_halves_at_the_new_nyquist_frequency_and_stops_above() -> None:
    fir = decimator(1000.0, 20.0)
    assert fir.factor == 25
    f, H = signal.freqz(fir.taps, worN=1 << 15, fs=1000.0)
    gain = np.abs(H)
    assert gain[0] == pytest.approx(1.0, abs=ROUNDOFF)
    assert np.interp(20.0, f, gain) == pytest.approx(0.5, rel=1e-3)
    assert gain[f > 28.0].max() < 1e-3
    assert np.abs(gain[f < 13.0] - 1.0).max() < 2e-3


def test_decimated_white_noise_stays_nearly_white(rng: np.random.Generator) -> None:
    fir = decimator(1000.0, 20.0)
    y = fir(rng.normal(size=400_000), whole(400_000))[20:-20]
    lags = [y[k:] @ y[: len(y) - k] / (y @ y) for k in (1, 2, 3)]
    assert np.abs(lags).max() < 0.1


@pytest.mark.parametrize("factor", [1, 2, 7, 25])
@pytest.mark.parametrize("samples", [30, 997, 1000])
def test_decimator_equals_convolution(rng: np.random.Generator, factor: int, samples: int) -> None:
    fir = decimator(1000.0, 500.0 / factor)
    assert fir.factor == factor
    x = rng.normal(size=(2, 3, samples))
    full = signal.convolve(x, fir.taps[None, None], mode="full")
    expected = full[..., fir.reach : fir.reach + samples][..., ::factor]
    np.testing.assert_allclose(fir(x, whole(samples)), expected, rtol=0, atol=ROUNDOFF)


def test_masked_rows_count_for_nothing_and_leave_too_little_weight(
    rng: np.random.Generator,
) -> None:
    fir = decimator(1000.0, 50.0)
    block = whole(2000, 2)
    block.valid = block.valid.copy()
    block.valid[500:600, 1] = False
    x = rng.normal(size=(2, 2000))
    spoilt = np.where(block.valid.T, x, 1e9)
    masked = fir(spoilt, block, block.valid.T)
    np.testing.assert_array_equal(masked, fir(x * block.valid.T, block))
    kept = fir.valid(block)
    assert kept[:, 0].all() == kept[fir.reach // fir.factor : -fir.reach // fir.factor, 0].all()
    gone = fir.rows(block)[~kept[:, 1]]
    assert set(range(510, 600, 10)) <= set(gone.tolist()) <= set(range(490, 611, 10))


@pytest.mark.parametrize("taps", [np.ones(4), np.ones(5), np.ones(3)])
def test_decimator_refuses_taps_that_do_not_fit(taps: np.ndarray) -> None:
    with pytest.raises(UsageError, match="expected"):
        Decimator(factor=2, taps=taps)
