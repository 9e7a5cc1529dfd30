"""Dataset: a log as uniform, filtered blocks, ready to regress."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property

import numpy as np

from ident.arrays import Array, Mask, digest, locked
from ident.errors import Finding, LogError, UsageError
from ident.logs.clock import Segment, read_clock
from ident.logs.filters import (
    HALO,
    Decimator,
    decimator,
    first_derivative,
    low_pass,
    second_derivative,
)
from ident.logs.grid import read_grid
from ident.logs.preparation import Filtering, Preparation
from ident.logs.recording import Recording
from ident.logs.survey import Survey, survey
from ident.model.robot import Robot

_REST_S = 0.25  # the arm rests where no joint has moved for this long, and will not
# Motion filled over this long is exact to what encoders resolve (a cubic at 3 Hz); over longer, the
# low-pass carries an error to rows beside it.
_FILLED_S = 0.005


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """Consecutive samples of one segment, SI, on a uniform grid; rows around the core are halo.

    Attributes
    ----------
    t : (N,) s
    q, dq, ddq : (N, n)
        Position, velocity and acceleration, low-passed.
    tau : (N, n)
        Torque (current where the log has only that) at the time of position, not low-passed: the
        decimator filters it as it filters regressor columns.
    valid : (N, n)
        The joint's row may enter a fit: scored, and no drive of that joint is near a reversal.
    scored : (N, n)
        The joint's row was measured, not filled, and lies in the span that is neither skipped nor
        at an edge, and where the arm moves: at rest, friction is anywhere in its band.
    settled : (N,)
        The row lies where the transients of the segment's edges have died.
    segment : int
        Number of the segment.
    start : int
        Place of row 0 in the segment's grid.
    core : slice
        Rows that this block owns. Each sample of a segment is in the core of exactly one block.
    """

    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array
    valid: Mask
    scored: Mask
    settled: Mask
    segment: int
    start: int
    core: slice

    def __post_init__(self) -> None:
        """Lock the arrays."""
        for name in ("t", "q", "dq", "ddq", "tau", "valid", "scored", "settled"):
            object.__setattr__(self, name, locked(getattr(self, name)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """A re-iterable source of blocks; no more than one is in memory at a time.

    Attributes
    ----------
    filtering : Filtering
        The cut-offs that apply, after the rules of `Preparation`.
    decimator : Decimator
        What regressor columns and torque both pass.
    findings : tuple of Finding
        Of reading and of preparing.
    """

    recording: Recording = field(repr=False)
    robot: Robot = field(repr=False)
    preparation: Preparation
    filtering: Filtering
    decimator: Decimator = field(repr=False)
    segments: tuple[Segment, ...] = field(repr=False)
    findings: tuple[Finding, ...] = field(repr=False)

    @property
    def rate_hz(self) -> float:
        """Samples per second of the uniform grid."""
        return self.filtering.rate_hz

    @property
    def rows(self) -> int:
        """Samples of all segments."""
        return sum(segment.samples for segment in self.segments)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the log and of how it was prepared."""
        options = repr(astuple(replace(self.preparation, block_rows=1, halo_s=0.0)))
        return digest([self.recording.digest, options, " ".join(self.robot.joints)])

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Segment and first core sample of every block, in order."""
        return tuple(
            (i, start)
            for i, segment in enumerate(self.segments)
            for start in range(0, segment.samples, self.preparation.block_rows)
        )

    def __iter__(self) -> Iterator[Block]:
        """All blocks, in order of time within each segment."""
        return (self.block(*place) for place in self.places)

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.places)

    def block(self, segment: int, start: int) -> Block:
        """Block of one segment whose core starts at sample ``start``."""
        samples = self.segments[segment].samples
        stop = min(start + self.preparation.block_rows, samples)
        halo = max(self.decimator.reach, round(self.preparation.halo_s * self.rate_hz))
        outer = range(max(start - halo, 0), min(stop + halo, samples))
        # Filters run over more rows than the block shows, so that their start is forgotten.
        more = self._settle_rows
        wide = range(max(outer.start - more, 0), min(outer.stop + more, samples))
        inside = slice(outer.start - wide.start, outer.stop - wide.start)
        t, signals, gone = self._signals(segment, wide)
        settled = self._settled(segment, wide)
        moves = self.robot.drives.coupling
        reversing = np.abs(signals[1] @ moves.T) < self.preparation.reversal_speed
        slow = np.asarray(reversing @ (moves != 0.0))  # any drive that moves the joint
        moving = np.asarray(~reversing.all(axis=1, keepdims=True))
        resting = ~_dilated(moving, round(_REST_S * self.rate_hz))
        there = (settled & self._kept(t))[:, None] & ~resting
        scored = there & ~gone & ~_dilated(_runs_of(gone, self._filled_rows), self._reversal_rows)
        valid = scored & ~_dilated(slow, self._reversal_rows)
        q, dq, ddq, tau = (x[inside].copy(order="K") for x in signals)
        return Block(
            t=t[inside].copy(),
            q=q,
            dq=dq,
            ddq=ddq,
            tau=tau,
            valid=valid[inside].copy(order="K"),
            scored=scored[inside].copy(order="K"),
            settled=settled[inside].copy(),
            segment=segment,
            start=outer.start,
            core=slice(start - outer.start, stop - outer.start),
        )

    def _signals(
        self, segment: int, wide: range
    ) -> tuple[Array, tuple[Array, Array, Array, Array], Mask]:
        """Time, motion (q, dq, ddq) filtered, torque as it is, and where a value was filled.

        Torque is left to the decimator, which regressor columns pass too: a filter on one side
        alone would smear the jump of Coulomb friction across the mask around a reversal.
        """
        options, rate = self.preparation, self.rate_hz
        measured = options.velocity == "measured"
        grid = read_grid(
            self.recording,
            self.segments[segment],
            1.0 / rate,
            wide,
            ("position", "effort", *(("velocity",) if measured else ())),
            delay_s=np.array(options.torque_delay_s or [0.0] * self.robot.n),
        )
        n, tau = self.robot.n, grid.channels["effort"]
        moved = np.hstack([values for name, values in grid.channels.items() if name != "effort"])
        smooth = low_pass(moved, self.filtering.cutoff_hz, rate, self.filtering.order)
        q = smooth[:, :n]
        if measured:
            dq = smooth[:, n:]
            return grid.t, (q, dq, first_derivative(dq, rate), tau), grid.filled
        return grid.t, (q, first_derivative(q, rate), second_derivative(q, rate), tau), grid.filled

    def _settled(self, segment: int, rows: range) -> Mask:
        trim = round(self.filtering.trim_s * self.rate_hz)
        k = np.arange(rows.start, rows.stop)
        return (k >= trim) & (k < self.segments[segment].samples - trim)

    def _kept(self, t: Array) -> Mask:
        """Where the log is not skipped."""
        before, after = self.preparation.skip_s
        last = self.segments[-1]
        end = last.t0 + (last.samples - 1) / self.rate_hz
        slack = 1e-6 / self.rate_hz
        inside = (t >= self.segments[0].t0 + before - slack) & (t <= end - after + slack)
        return np.asarray(inside)

    @cached_property
    def _settle_rows(self) -> int:
        return round(self.filtering.settling(HALO) * self.rate_hz) + self._mask_rows + 2

    @property
    def _mask_rows(self) -> int:
        """Rows by which any mask is widened at most."""
        return max(self._reversal_rows, round(_REST_S * self.rate_hz))

    @cached_property
    def _filled_rows(self) -> int:
        return round(_FILLED_S * self.rate_hz) + 1

    @cached_property
    def _reversal_rows(self) -> int:
        return int(np.ceil(self.preparation.reversal_s * self.rate_hz - 1e-9))


def prepare(recording: Recording, robot: Robot, preparation: Preparation | None = None) -> Dataset:
    """Dataset of a recording.

    Raises
    ------
    LogError
        The log cannot be used: no rate, no stretch long enough, a channel without values, nothing
        that moves.
    UsageError
        The options do not fit the robot or the log.
    """
    options = preparation or Preparation()
    _require_fit(recording, robot, options)
    channels = ["position", "effort"] + ["velocity"] * (options.velocity == "measured")
    found = survey(recording, channels)
    for finding in unusable(recording, found):
        finding.raise_as(LogError)
    filtering = options.resolved(recording.facts, 1.0 / found.period)
    lowpass = decimator(filtering.rate_hz, filtering.decimation_hz)
    # What is left between the edges should give a few rows after decimation.
    shortest = 2.0 * filtering.trim_s + 4.0 * lowpass.factor * found.period
    clock = read_clock(recording, found, shortest)
    return Dataset(
        recording=recording,
        robot=robot,
        preparation=options,
        filtering=filtering,
        decimator=lowpass,
        segments=clock.segments,
        findings=(*recording.findings, *clock.findings),
    )


def unusable(recording: Recording, found: Survey) -> Iterator[Finding]:
    """Findings, all errors, of channels that hold nothing."""
    for channel, span in found.spans.items():
        for joint, missing in zip(recording.joints, span.missing.tolist(), strict=True):
            if missing == recording.rows:
                yield Finding(
                    name="all_missing",
                    severity="error",
                    where=f"{recording.path}: {channel} of joint '{joint}'",
                    found="no value at all: every row is NaN",
                    expected="measured values",
                    remedy="log this channel",
                )
    position = found.spans["position"]
    if (position.high - position.low <= 0.0).all():
        yield Finding(
            name="nothing_moves",
            severity="error",
            where=f"{recording.path}: position",
            found="every joint stands still",
            expected="an excitation trajectory",
            remedy="log while the robot moves",
        )


def _require_fit(recording: Recording, robot: Robot, options: Preparation) -> None:
    if recording.joints != robot.joints:
        raise UsageError(
            recording.path,
            f"a recording of joints {', '.join(recording.joints)}",
            expected=f"those of robot '{robot.name}'",
        )
    if len(options.torque_delay_s) not in (0, robot.n):
        raise UsageError(
            "option torque_delay_s",
            f"{len(options.torque_delay_s)} values",
            expected=f"{robot.n}, one per joint",
        )
    if options.velocity == "measured" and "velocity" not in recording.channels:
        raise LogError(
            recording.path, "no velocity channel", remedy="derive it from position instead"
        )


def _runs_of(mask: Mask, rows: int) -> Mask:
    """Return the true rows of runs of ``rows`` and more, column by column."""
    if rows <= 1 or not mask.any():
        return mask
    out = np.zeros_like(mask)
    count = np.cumsum(np.vstack([np.zeros((1, mask.shape[1]), dtype=np.int32), mask]), axis=0)
    full = count[rows:] - count[:-rows] == rows  # a run starts here and fills `rows`
    for k in range(rows):
        out[k : len(mask) - rows + 1 + k] |= full
    return out


def _dilated(mask: Mask, rows: int) -> Mask:
    """Rows within ``rows`` of a true one, column by column."""
    if not rows or not mask.any():
        return mask
    count = np.zeros((len(mask) + 1, mask.shape[1]), dtype=np.int32)
    np.cumsum(mask, axis=0, out=count[1:])
    k = np.arange(len(mask))
    high, low = np.minimum(k + rows + 1, len(mask)), np.maximum(k - rows, 0)
    return np.asarray(count[high] > count[low])
