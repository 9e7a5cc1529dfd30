"""Samples of a segment on its uniform grid, read from its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, Mask
from ident.logs.clock import FILL_S, Segment, cubic, filled
from ident.logs.recording import Recording

_AROUND = 4  # samples that interpolation looks at beyond those asked for


@dataclass(frozen=True, eq=False, kw_only=True)
class Grid:
    """Uniform samples: time (N,), channels (N, n), and where a value had to be filled (N, n)."""

    t: Array
    channels: dict[str, Array]
    filled: Mask


def read_grid(
    recording: Recording,
    segment: Segment,
    period: float,
    samples: range,
    channels: Sequence[str],
    *,
    delay_s: Array,
) -> Grid:
    """Samples of a segment: gaps filled, jitter resampled, torque brought to the time of position.

    Parameters
    ----------
    delay_s : (n,) s
        By which effort lags position.
    """
    held = recording.facts.torque_timing == "held"
    # Row k of a held torque is the mean from k to k + 1: sample k lies half a step before it.
    shift = delay_s / period
    reach = int(np.ceil(np.abs(shift).max(initial=0.0))) + held + 2
    wide = range(max(samples.start - reach, 0), min(samples.stop + reach, segment.samples))
    inside = slice(samples.start - wide.start, samples.stop - wide.start)
    values, gone = _aligned(recording, segment, period, wide, channels)
    if held:
        values["effort"] = _centred(values["effort"])
    if shift.any():
        values["effort"] = _advanced(values["effort"], shift)
    return Grid(
        t=segment.t0 + np.arange(samples.start, samples.stop, dtype=np.float64) * period,
        channels={name: x[inside] for name, x in values.items()},
        filled=gone[inside],
    )


def _aligned(
    recording: Recording, segment: Segment, period: float, samples: range, channels: Sequence[str]
) -> tuple[dict[str, Array], Mask]:
    """Channels on the grid without NaN, and where they had some."""
    margin = FILL_S + _AROUND * period
    at = np.arange(samples.start, samples.stop, dtype=np.float64) * period
    if segment.on_grid:
        rows = round(margin / period)
        start = max(segment.first + samples.start - rows, segment.first)
        stop = min(segment.first + samples.stop + rows, segment.stop)
    else:
        early, late = segment.t0 + at[0] - margin, segment.t0 + at[-1] + margin
        start, stop = segment.rows_between(early, late)
    time, raw = recording.read(start, stop, channels)
    new = np.diff(time, prepend=-np.inf) > 0.0
    t = time[new] - segment.t0
    whole = {name: filled(t, x[new], smooth=name == "position") for name, x in raw.items()}
    gone = _unusable({name: lost for name, (_, lost) in whole.items()})
    if segment.on_grid:
        offset = segment.first + samples.start - start
        cut = slice(offset, offset + len(samples))
        return {name: x[cut] for name, (x, _) in whole.items()}, gone[cut]
    return {name: cubic(t, x, at) for name, (x, _) in whole.items()}, _gone_at(t, gone, at, period)


def _unusable(lost: dict[str, Mask]) -> Mask:
    """Rows of each joint (N, n) that a filled value reaches: its own torque, or any joint's motion.

    Every joint's torque depends on the motion of all joints.
    """
    reached = lost["effort"]
    for name, mask in lost.items():
        if name != "effort":
            reached = reached | mask.any(axis=1, keepdims=True)
    return reached


def _gone_at(t: Array, gone: Mask, at: Array, period: float) -> Mask:
    """Where a sample lies beside a filled row, or where rows were lost."""
    i = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    lost = (t[i + 1] - t[i] > 1.5 * period)[:, None]
    return np.asarray(gone[i] | gone[i + 1] | lost)


def _centred(tau: Array) -> Array:
    """Held torque at the time of its sample: the mean of the steps before and after it."""
    out = tau.copy()
    out[1:] = 0.5 * (tau[1:] + tau[:-1])
    return out


def _advanced(tau: Array, shift: Array) -> Array:
    """Torque ``shift`` (n,) samples later, joint by joint, which undoes a lag."""
    k = np.arange(len(tau), dtype=np.float64)
    columns = [cubic(k, tau[:, j], k + by) for j, by in enumerate(shift)]
    return np.stack(columns, axis=1)
