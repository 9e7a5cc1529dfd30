"""Clock: stretches of a log that time runs through evenly, and the uniform grid of each.

A gap, a backward step or a long run of missing values starts a new segment; nothing filters or
differentiates across. Rows are never sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, Indices, Mask
from ident.errors import Finding, LogError
from ident.logs.recording import Recording
from ident.logs.survey import CHUNK, Survey

FILL_S = 0.1  # the longest run of missing values that is filled, and then marked
JITTER = 0.02  # of a period; stamps that deviate more are resampled
_MARK = 1024  # rows between two marks of a segment's index


@dataclass(frozen=True, eq=False, kw_only=True)
class Segment:
    """A stretch of rows on a uniform grid ``t0 + k·period``.

    Attributes
    ----------
    first, stop : int
        Rows of the recording.
    t0 : float
        s, the stamp of the first row.
    samples : int
        Points of the grid.
    on_grid : bool
        Whether row ``first + k`` is sample k; else samples are interpolated between rows.
    mark_rows, mark_times : (marks,)
        Some rows and their stamps, to find rows by time.
    deviation : float
        s, the largest between a stamp and the grid.
    """

    first: int
    stop: int
    t0: float
    samples: int
    on_grid: bool
    mark_rows: Indices
    mark_times: Array
    deviation: float

    def rows_between(self, early: float, late: float) -> tuple[int, int]:
        """Rows that cover the time from ``early`` to ``late``, and some more."""
        low = int(np.searchsorted(self.mark_times, early, side="right")) - 1
        high = int(np.searchsorted(self.mark_times, late, side="left"))
        stop = self.stop if high >= len(self.mark_rows) else int(self.mark_rows[high]) + 1
        return int(self.mark_rows[max(low, 0)]), stop


@dataclass(frozen=True, eq=False, kw_only=True)
class Clock:
    """The common period (s) of a log, its segments, and what was found on the way."""

    period: float
    segments: tuple[Segment, ...]
    findings: tuple[Finding, ...]


def read_clock(recording: Recording, survey: Survey, shortest_s: float) -> Clock:
    """Segments of a surveyed recording that are at least ``shortest_s`` long.

    Raises
    ------
    LogError
        No segment is long enough.
    """
    pieces = [_segment(recording, *rows, survey.period) for rows in _pieces(survey, recording.rows)]
    shortest = int(np.ceil(shortest_s / survey.period))
    segments = tuple(s for s in pieces if s.samples >= shortest)
    if not segments:
        longest = max((s.samples for s in pieces), default=0) * survey.period
        raise LogError(
            recording.path,
            f"the longest stretch without a break is {longest:.3g} s ({len(pieces)} stretches)",
            expected=f"at least {shortest_s:.3g} s",
            remedy="log longer, or raise the cut-off frequency, so that edges settle sooner",
        )
    findings = [*_survey_findings(recording, survey), *_dropped(recording, pieces, segments)]
    worst = max(s.deviation for s in segments)
    if not all(s.on_grid for s in segments):
        findings.append(
            Finding(
                name="jitter",
                severity="info",
                where=f"{recording.path}: time",
                found=f"stamps deviate up to {worst * 1e3:.3g} ms from a uniform clock of "
                f"{1.0 / survey.period:.6g} Hz",
                remedy="resampled by cubic interpolation",
            )
        )
    return Clock(period=survey.period, segments=segments, findings=tuple(findings))


def cubic(t: Array, x: Array, at: Array) -> Array:
    """Interpolate x (N, …) from knots t (N,) to ``at`` by the cubic through four knots around."""
    if len(t) < 4:
        flat = x.reshape(len(t), -1)
        columns = [np.interp(at, t, column) for column in flat.T]
        return np.stack(columns, axis=1).reshape(len(at), *x.shape[1:])
    i = np.clip(np.searchsorted(t, at, side="right") - 1, 1, len(t) - 3)
    out = np.zeros((len(at), *x.shape[1:]))
    for a in range(-1, 3):
        weight = np.ones(len(at))
        for b in range(-1, 3):
            if a != b:
                weight *= (at - t[i + b]) / (t[i + a] - t[i + b])
        out += weight.reshape(-1, *(1,) * (x.ndim - 1)) * x[i + a]
    return out


def filled(t: Array, x: Array, smooth: bool) -> tuple[Array, Mask]:
    """Return x (N, n) without NaN, and where it had some; filled by cubics or by lines."""
    gone = np.isnan(x)
    if not gone.any():
        return x, gone
    x = x.copy()
    for j in np.flatnonzero(gone.any(axis=0)):
        lost = gone[:, j]
        knots, values = t[~lost], x[~lost, j]
        x[lost, j] = cubic(knots, values, t[lost]) if smooth else np.interp(t[lost], knots, values)
    return x, gone


def _pieces(survey: Survey, rows: int) -> Iterator[tuple[int, int]]:
    """Stretches between cuts, without long runs of missing values, ends on whole rows."""
    longest = FILL_S / survey.period
    stops = [*survey.cuts[1:].tolist(), rows]
    first = np.searchsorted(survey.runs[:, 1], survey.cuts, side="right")
    last = np.searchsorted(survey.runs[:, 0], stops, side="left")
    for start, stop, i, k in zip(survey.cuts.tolist(), stops, first, last, strict=True):
        for low, high in survey.runs[i:k].tolist():
            if low <= start:
                start = high
            elif high >= stop or high - low > longest:
                yield start, low
                start = high
        if start < stop:
            yield start, stop


def _segment(recording: Recording, first: int, stop: int, period: float) -> Segment:
    """Index one stretch: its grid, how far stamps stray from it, and marks."""
    t0 = previous = float(recording.read(first, first + 1).time[0])
    kept, deviation = 1, 0.0
    marks = [(first, t0)]
    for start in range(first + 1, stop, CHUNK):
        time = recording.read(start, min(start + CHUNK, stop)).time
        new = np.flatnonzero(np.diff(time, prepend=previous) > 0.0)
        if not len(new):
            continue
        stamps = time[new] - t0
        k = kept + np.arange(len(new))
        deviation = max(deviation, float(np.abs(stamps - k * period).max()))
        chosen = new[k % _MARK == 0]
        marks += zip((start + chosen).tolist(), time[chosen].tolist(), strict=True)
        kept, previous = kept + len(new), float(time[new[-1]])
    on_grid = deviation <= JITTER * period and kept == stop - first
    samples = kept if on_grid else int((previous - t0) / period * (1.0 + 1e-12)) + 1
    return Segment(
        first=first,
        stop=stop,
        t0=t0,
        samples=samples,
        on_grid=on_grid,
        mark_rows=np.array([row for row, _ in marks], dtype=np.intp),
        mark_times=np.array([time for _, time in marks]),
        deviation=deviation,
    )


def _survey_findings(recording: Recording, survey: Survey) -> Iterator[Finding]:
    where = f"{recording.path}: time"
    if survey.duplicates:
        yield Finding(
            name="duplicate_stamps",
            severity="warning" if survey.duplicates > recording.rows // 1000 else "info",
            where=where,
            found=f"{survey.duplicates} rows repeat the stamp before them",
            remedy="the first of each is kept",
        )
    if survey.backward or survey.gaps:
        yield Finding(
            name="clock_breaks",
            severity="warning",
            where=where,
            found=f"{survey.backward} backward steps and {survey.gaps} gaps",
            expected="time that runs on evenly",
            remedy="each starts a new segment",
        )
    if len(survey.runs):
        longest = float(np.diff(survey.runs, axis=1).max()) * survey.period
        yield Finding(
            name="missing_values",
            severity="warning",
            where=recording.path,
            found=f"{len(survey.runs)} runs of NaN, the longest {longest:.3g} s",
            remedy=f"up to {FILL_S:g} s are filled and kept out of the fit, longer ones split",
        )
    declared = recording.facts.nominal_rate_hz
    if declared and abs(declared * survey.period - 1.0) > 0.05:
        yield Finding(
            name="rate_differs",
            severity="warning",
            where=where,
            found=f"{1.0 / survey.period:.5g} Hz",
            expected=f"{declared:g} Hz, as the log declares",
            remedy="the stamps are believed",
        )


def _dropped(
    recording: Recording, pieces: list[Segment], segments: tuple[Segment, ...]
) -> Iterator[Finding]:
    if count := len(pieces) - len(segments):
        rows = sum(s.samples for s in pieces) - sum(s.samples for s in segments)
        yield Finding(
            name="short_segments",
            severity="warning",
            where=recording.path,
            found=f"{count} segments with {rows} samples are too short for the filter to settle",
            remedy="left out",
        )
