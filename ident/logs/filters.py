"""Filters without phase: low-pass, derivatives, and the decimation that both sides pass through."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol

import numpy as np

from ident.arrays import Array, Indices, Mask, frozen
from ident.errors import UsageError

# What is left of an edge's transient where a segment is trimmed: half a second at 10 Hz, order 4.
EDGE = 6e-6
# Samples that `gather` takes at once: their weights and some hundred signals stay in the cache.
_PART = 256
# What a block may differ by from its segment filtered whole.
HALO = 1e-13


def low_pass(x: Array, cutoff_hz: float, rate_hz: float, order: int = 4) -> Array:
    """Zero-phase Butterworth: forward and backward along the first axis, −6 dB at the cut-off."""
    from scipy.signal import sosfiltfilt

    sos = _sections(cutoff_hz, rate_hz, order)
    # The filter's own state spans a few rows; a short stretch takes a shorter pad.
    pad = min(3 * (2 * len(sos) + 1), len(x) - 1)
    return np.asarray(sosfiltfilt(sos, x, axis=0, padlen=pad))


@cache
def _sections(cutoff_hz: float, rate_hz: float, order: int) -> Array:
    from scipy.signal import butter

    return np.asarray(butter(order, cutoff_hz, fs=rate_hz, output="sos"))


def settling_time(cutoff_hz: float, rate_hz: float, order: int, tolerance: float) -> float:
    """Time in s in which the slowest pole of the low-pass falls to ``tolerance``.

    Near ``−ln(tolerance) / (2π·cutoff_hz·sin(π/(2·order)))``, the analog filter's, where the
    cut-off is far below the rate.
    """
    from scipy.signal import butter

    _, poles, _ = butter(order, cutoff_hz, fs=rate_hz, output="zpk")
    return math.log(tolerance) / math.log(np.abs(poles).max()) / rate_hz


def first_derivative(x: Array, rate_hz: float) -> Array:
    """Derivative along the first axis by five central points; the two rows at each end by fewer."""
    dx = np.empty_like(x)
    dx[1:-1] = 0.5 * (x[2:] - x[:-2])
    dx[0], dx[-1] = x[1] - x[0], x[-1] - x[-2]
    dx[2:-2] = (8.0 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) / 12.0
    return dx * rate_hz


def second_derivative(x: Array, rate_hz: float) -> Array:
    """Second derivative along the first axis by five central points; NaN-free at the ends."""
    ddx = np.empty_like(x)
    inner = 16.0 * (x[3:-1] + x[1:-3]) - (x[4:] + x[:-4]) - 30.0 * x[2:-2]
    ddx[2:-2] = inner / 12.0
    ddx[:2], ddx[-2:] = ddx[2], ddx[-3]
    return ddx * rate_hz**2


class Span(Protocol):
    """Rows of a segment with a halo, as a Decimator needs to know them."""

    @property
    def start(self) -> int:
        """Place of the first row in the segment's grid."""
        ...

    @property
    def core(self) -> slice:
        """Rows that this block owns."""
        ...

    @property
    def valid(self) -> Mask:
        """(N, n): this joint's row may enter a fit."""
        ...

    @property
    def scored(self) -> Mask:
        """(N, n): this joint's row was measured, and lies clear of edges."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Decimator:
    """A linear-phase low-pass (FIR) that keeps every ``factor``-th row of the segment's grid.

    The response is −6 dB at the new Nyquist frequency, so that white noise stays nearly white, and
    below −60 dB from 1.4 times it. Regressor columns and torque pass through the same taps.

    Rows that no column explains (a joint that sticks, a filled value, a settling edge) are set to
    zero on **both** sides before the filter: ``F(w·tau) = F(w·Y)·theta`` holds exactly, whereas
    leaving out decimated rows afterwards lets every reversal leak into its neighbours. On a
    pendulum that sticks this takes the error of the inertia from 5 % to 0.03 %.

    Attributes
    ----------
    taps : (2·reach + 1,)
        Symmetric, of unit sum, zero at both ends; ``reach`` is a multiple of ``factor``. A single
        one where nothing is decimated.
    """

    factor: int
    taps: Array

    def __post_init__(self) -> None:
        """Check and lock the taps."""
        object.__setattr__(self, "taps", frozen(self.taps, (None,), where="taps"))
        fits = len(self.taps) % (2 * self.factor) == 1 and self.taps[0] == self.taps[-1] == 0.0
        if not fits and not (self.factor == len(self.taps) == 1):
            raise UsageError(
                "decimator",
                f"factor {self.factor}, {len(self.taps)} taps",
                expected="2·k·factor + 1 taps, zero at the ends",
            )

    @property
    def reach(self) -> int:
        """Rows that the filter needs on either side."""
        return len(self.taps) // 2

    def rows(self, block: Span) -> Indices:
        """Indices of the block's rows that are kept: on the segment's grid, inside the core."""
        first = block.core.start + -(block.start + block.core.start) % self.factor
        return np.arange(first, block.core.stop, self.factor, dtype=np.intp)

    def __call__(self, x: Array, block: Span, mask: Mask | None = None) -> Array:
        """Decimate signals (…, N) of a block to (…, M), zero-phase; rows outside ``mask`` are zero.

        ``mask`` is broadcast to the signals: ``block.valid.T[:, None]`` for a regressor
        (n, columns, N), ``block.valid.T`` for torque (n, N).
        """
        rows = self.rows(block)
        if self.factor == 1 or not len(rows):
            kept = x[..., rows] if mask is None else x[..., rows] * mask[..., rows]
            return np.ascontiguousarray(kept)
        # One matrix product over whole frames of `factor` rows, then a sum along diagonals: the
        # work of a polyphase filter at the speed of BLAS.
        spans = 2 * self.reach // self.factor
        frames = len(rows) + spans - 1
        window = _window(x, mask, int(rows[0]) - self.reach, frames * self.factor)
        parts = window.reshape(-1, self.factor) @ self.taps[:-1].reshape(spans, self.factor).T
        products = parts.reshape(*x.shape[:-1], frames, spans)
        return np.asarray(sum(products[..., k : k + len(rows), k] for k in range(spans)))

    def gather(self, parts: Iterable[tuple[slice, Array]], block: Span, signals: int) -> Array:
        """Decimate signals (signals, N) that come in parts of the block's rows, as ``__call__``.

        What is decimated is never whole in memory. Rows outside a mask are zero already.
        """
        rows = self.rows(block)
        out = np.zeros((signals, len(rows)))
        for here, values in parts:
            for start in range(here.start, here.stop, _PART):
                span = slice(start, min(start + _PART, here.stop))
                inside = values[:, span.start - here.start : span.stop - here.start]
                self._add(inside, span, rows, out)
        return out

    def _add(self, values: Array, span: slice, rows: Indices, out: Array) -> None:
        """Add what the samples ``span`` contribute to the kept rows."""
        reach = self.reach
        low, high = np.searchsorted(rows, [span.start - reach, span.stop + reach])
        if low == high:
            return
        if reach == 0:
            out[:, low:high] = values[:, rows[low:high] - span.start]
            return
        # Row i, column k: the tap of sample span.start + i in kept row low + k.
        first = len(self._padded) // 2 + span.start - int(rows[low])
        taps = np.subtract.outer(np.arange(values.shape[1]), self.factor * np.arange(high - low))
        out[:, low:high] += values @ self._padded[first + taps]

    @cached_property
    def _padded(self) -> Array:
        """Taps amid zeros for as many samples as a part and its neighbours have."""
        return np.pad(self.taps, _PART + 2 * self.reach)

    def valid(self, block: Span) -> Mask:
        """Return which kept rows (M, n) may enter a fit, of signals masked by ``block.valid``."""
        return self.kept(block, block.valid)

    def scored(self, block: Span) -> Mask:
        """Return which kept rows (M, n) were measured, of signals masked by ``block.scored``."""
        return self.kept(block, block.scored)

    def kept(self, block: Span, mask: Mask) -> Mask:
        """Return which kept rows (M, n) have most of their weight on rows of ``mask`` (N, n)."""
        weight = self(mask.T.astype(np.float64), block)
        return np.asarray(weight.T > 0.5)


def decimator(rate_hz: float, cutoff_hz: float, lobes: int = 6) -> Decimator:
    """Decimator by the largest factor whose new Nyquist frequency is at least ``cutoff_hz``.

    ``lobes`` zero crossings of the sinc on either side, under a Kaiser window of 60 dB.
    """
    # A clock that runs slow by a thousandth does not halve the rows.
    factor = max(int(rate_hz / (2.0 * cutoff_hz) * (1.0 + 1e-3)), 1)
    if factor == 1:
        return Decimator(factor=1, taps=np.ones(1))
    k = np.arange(-lobes * factor, lobes * factor + 1)
    # β for 60 dB: Kaiser (1974), 0.1102·(A − 8.7).
    taps = np.sinc(k / factor) * np.kaiser(len(k), 0.1102 * (60.0 - 8.7))
    taps[[0, -1]] = 0.0  # the sinc's own zeros, but for roundoff
    return Decimator(factor=factor, taps=taps / taps.sum())


def _window(x: Array, mask: Mask | None, start: int, length: int) -> Array:
    """Rows ``start`` to ``start + length`` of masked (…, N), zero where there are none."""
    have = slice(max(start, 0), min(start + length, x.shape[-1]))
    there = slice(have.start - start, have.stop - start)
    out = np.empty((*x.shape[:-1], length))
    out[..., : there.start] = out[..., there.stop :] = 0.0
    np.multiply(x[..., have], 1.0 if mask is None else mask[..., have], out=out[..., there])
    return out
