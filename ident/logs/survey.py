"""Survey: one pass over a log that finds its rate, its breaks and the range of every channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, Indices
from ident.errors import LogError
from ident.logs.recording import Recording, Rows

CHUNK = 65_536  # rows in memory at once
GAP = 5.0  # periods; more is a gap, less was lost in transmission
_RATES_HZ = (5.0, 50_000.0)  # no robot is identified outside of these


@dataclass(frozen=True, eq=False, kw_only=True)
class Span:
    """Range of a channel: lowest, highest and largest step per joint, and how many are NaN."""

    low: Array
    high: Array
    step: Array
    missing: Indices


@dataclass(frozen=True, eq=False, kw_only=True)
class Survey:
    """What one pass over a log finds.

    Attributes
    ----------
    period : float
        s, the mean step, without repeats and without those in which a row was lost.
    cuts : (segments,)
        Rows at which a segment starts: the first, and each after a gap or a backward step.
    runs : (runs, 2)
        Rows ``start, stop`` of each run of rows in which some value is missing.
    duplicates, backward, gaps : int
        Rows whose stamp repeats; backward steps; gaps of more than five periods.
    spans : dict of channel to Span
    """

    period: float
    cuts: Indices
    runs: Indices
    duplicates: int
    backward: int
    gaps: int
    spans: dict[str, Span]


def survey(recording: Recording, channels: Sequence[str] = ("position", "effort")) -> Survey:
    """Survey a recording.

    Raises
    ------
    LogError
        No rate can be found, time stamps are no clock, or a value is infinite.
    """
    nominal = _nominal_period(recording)
    elapsed, steps = 0.0, 0
    cuts, runs = [np.zeros(1, dtype=np.intp)], [np.zeros((0, 2), dtype=np.intp)]
    zero = back = gaps = 0
    spans: dict[str, Span] = {}
    for start, rows in _chunks(recording, channels):
        dt = np.diff(rows.time)
        cut = (dt < 0.0) | (dt > GAP * nominal)
        # Jitter cancels in the mean, unless a tight bound cuts off more of one side of it.
        one = (dt > 0.0) & (dt < 1.9 * nominal)
        elapsed, steps = elapsed + float(dt[one].sum()), steps + int(one.sum())
        cuts.append(np.flatnonzero(cut) + start + 1)
        zero += int((dt == 0.0).sum())
        back += int((dt < 0.0).sum())
        gaps += int((dt > GAP * nominal).sum())
        spans = {name: _wider(spans.get(name), x) for name, x in rows.channels.items()}
        missing = np.any([np.isnan(x).any(axis=1) for x in rows.channels.values()], axis=0)
        runs.append(_runs(missing) + start)
    _require_clock(recording, sum(map(len, cuts)) - 1, back, zero)
    return Survey(
        period=elapsed / steps,
        cuts=np.concatenate(cuts),
        runs=_joined(np.concatenate(runs)),
        duplicates=zero,
        backward=back,
        gaps=gaps,
        spans=spans,
    )


def _chunks(recording: Recording, channels: Sequence[str]) -> Iterator[tuple[int, Rows]]:
    """Chunks that overlap by one row, so that every step between rows is seen once."""
    for start in range(0, recording.rows, CHUNK):
        rows = recording.read(start, start + CHUNK + 1, channels)
        for name, values in (("time", rows.time[:, None]), *rows.channels.items()):
            infinite = np.isinf(values) if name != "time" else ~np.isfinite(values)
            if infinite.any():
                k, j = np.argwhere(infinite)[0]
                joint = "" if name == "time" else f" of joint '{recording.joints[j]}'"
                raise LogError(
                    f"{recording.path}: {name}{joint}",
                    f"{values[k, j]} in row {start + k + 1}",
                    expected="finite values; NaN where one is missing",
                    remedy="correct or leave out the row",
                )
        yield start, rows


def _nominal_period(recording: Recording) -> float:
    """Median over chunks of the mean step among those within half of the median step.

    The mean, since stamps rounded to milliseconds have a median that no step has on average.
    """
    means, repeats = [], 0
    for _, rows in _chunks(recording, ()):
        dt = np.diff(rows.time)
        repeats += int((dt == 0.0).sum())
        if len(forward := dt[dt > 0.0]):
            middle = np.median(forward)
            means.append(float(forward[np.abs(forward - middle) <= 0.5 * middle].mean()))
    if not means or 2 * repeats > recording.rows:
        found = f"{repeats} of {recording.rows} stamps repeat" if repeats else "time never advances"
        raise LogError(
            f"{recording.path}: time", found,
            expected="a stamp for every row", remedy="log with the resolution of the controller",
        )  # fmt: skip
    period = float(np.median(means))
    low, high = _RATES_HZ
    if not low <= 1.0 / period <= high:
        raise LogError(
            f"{recording.path}: time", f"a rate of {1.0 / period:.4g} Hz",
            expected=f"{low:g} to {high:g} Hz",
            remedy="time is in seconds unless its column says time_ms, time_us or time_ns",
        )  # fmt: skip
    return period


def _require_clock(recording: Recording, breaks: int, backward: int, repeats: int) -> None:
    # Real logs break a few times; stamps of arrival in bursts break every few rows.
    if breaks > max(20, recording.rows // 100):
        raise LogError(
            f"{recording.path}: time",
            f"{breaks} gaps or backward steps ({backward} backward) in {recording.rows} rows",
            expected="the clock of the device",
            remedy="log the device's own stamps, not those of arrival, in order",
        )


def _wider(span: Span | None, x: Array) -> Span:
    gone = np.isnan(x)
    count = gone[: CHUNK if len(x) > CHUNK else len(x)].sum(axis=0)
    low = np.where(gone, np.inf, x).min(axis=0)
    high = np.where(gone, -np.inf, x).max(axis=0)
    steps = np.abs(np.diff(x, axis=0))
    step = np.where(np.isnan(steps), 0.0, steps).max(axis=0, initial=0.0)
    if span is None:
        return Span(low=low, high=high, step=step, missing=count)
    return Span(
        low=np.minimum(span.low, low),
        high=np.maximum(span.high, high),
        step=np.maximum(span.step, step),
        missing=span.missing + count,
    )


def _runs(flags: np.ndarray) -> Indices:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return edges.reshape(-1, 2)


def _joined(runs: Indices) -> Indices:
    """Join runs that touch or overlap, as those cut by a chunk's end do."""
    if not len(runs):
        return runs
    new = np.concatenate([[True], runs[1:, 0] > np.maximum.accumulate(runs[:, 1])[:-1]])
    firsts = np.flatnonzero(new)
    return np.column_stack([runs[firsts, 0], np.maximum.reduceat(runs[:, 1], firsts)])
