"""From prepared motion to regression rows: regress, low-pass and decimate side by side.

Regressor columns and torque pass through the same linear filter, so what the filter does to the one
it does to the other (parallel filtering; Gautier 1997), and decimation to twice the cut-off leaves
noise nearly white, which the covariance relies on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np

from ident.arrays import Array, Indices, Mask
from ident.base.basemap import BaseMap
from ident.leastsquares.factor import Factors, reduce_rows
from ident.logs.dataset import Block, Dataset
from ident.logs.filters import Decimator
from ident.regressor.columns import Stack
from ident.regressor.selection import Selection

Purpose = Literal["fit", "score"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """Decimated rows of one block.

    Attributes
    ----------
    t : (M,) s
    q, dq : (M, n)
    Y : (n, b, M)
        Columns of the regression.
    tau : (n, M)
    use : (n, M)
        Rows that stand on samples fit for the purpose; in the others Y and tau mean nothing.
    """

    t: Array
    q: Array
    dq: Array
    Y: Array
    tau: Array
    use: Mask


class Regress(Protocol):
    """Columns of a regression, of which only what is no structural zero is computed."""

    @property
    def width(self) -> int:
        """Number of columns."""

    @property
    def entries(self) -> Indices:
        """Joint and column (e, 2) of each entry that comes in blocks, joint by joint."""

    def stream(self, motion: Block) -> Iterator[tuple[slice, Array]]:
        """Blocks of samples and the ``entries`` (e, samples), good until the next is asked for."""

    def others(self, motion: Block) -> tuple[Indices, Array]:
        """Joint and column (k, 2) of the other entries, and their values (k, N).

        Asked for when the stream has ended.
        """


def base_columns(columns: Stack, base: BaseMap) -> Selection:
    """The regressor in base columns."""
    return Selection(columns, base.kept)


@dataclass(frozen=True, kw_only=True)
class Split:
    """Which rows of one log train and which are held out: the middle one of every five blocks.

    Blocks are contiguous and counted from ``start_s``, the start of the log. Training rows within
    ``guard_s`` of a held-out block are left out, so that the filter carries nothing across.
    """

    length_s: float
    guard_s: float
    start_s: float = 0.0
    every: int = 5

    def group(self, t: Array) -> Array:
        """Number of the block that each time belongs to."""
        return np.floor((t - self.start_s) / self.length_s)

    def held_out(self, t: Array) -> Mask:
        """Rows to score."""
        return np.asarray(self.group(t) % self.every == self.every // 2)

    def training(self, t: Array) -> Mask:
        """Rows to fit."""
        near = (self.held_out(t + shift) for shift in (-self.guard_s, 0.0, self.guard_s))
        return np.asarray(~np.any(list(near), axis=0))


def split_for(dataset: Dataset) -> Split:
    """Split of a log: blocks of 2 s and four guards or more, shorter where five do not fit.

    The guard is the time that the low-pass takes to settle, and that in which two rows of the
    decimator share a sample.
    """
    rate = dataset.rate_hz
    guard = max(dataset.filtering.trim_s, 2.0 * dataset.decimator.reach / rate)
    duration = dataset.rows / rate
    length = max(1.0, min(max(2.0, 4.0 * guard), 0.2 * duration), duration / 60.0)
    start = min(segment.t0 for segment in dataset.segments)
    return Split(length_s=length, guard_s=guard, start_s=start)


def rows(dataset: Dataset, regress: Regress, purpose: Purpose) -> Iterator[Rows]:
    """Regression rows of a dataset, block by block.

    Samples that do not serve the purpose (near reversal for a fit; filled or unsettled ones for a
    score too) are zero in columns and torque before both are low-passed, so that none leaks into
    its neighbours and ``tau = Y theta`` holds on.
    """
    decimate = dataset.decimator
    for block in dataset:
        mask = block.valid if purpose == "fit" else block.scored
        here = decimate.rows(block)
        yield Rows(
            t=block.t[here],
            q=block.q[here],
            dq=block.dq[here],
            Y=_decimated(regress, block, mask, decimate),
            tau=decimate(block.tau.T, block, mask.T),
            use=decimate.kept(block, mask).T,
        )


def _decimated(regress: Regress, block: Block, mask: Mask, decimate: Decimator) -> Array:
    """Columns (n, width, M), low-passed and decimated as they are computed."""
    weight = np.ascontiguousarray(mask.T, dtype=np.float64)
    entries = regress.entries
    bounds = np.searchsorted(entries[:, 0], np.arange(len(weight) + 1)).tolist()

    def masked() -> Iterator[tuple[slice, Array]]:
        for here, values in regress.stream(block):
            for j, (first, last) in enumerate(pairwise(bounds)):
                if not (inside := weight[j, here]).all():
                    values[first:last] *= inside
            yield here, values

    streamed = decimate.gather(masked(), block, len(entries))
    places, values = regress.others(block)
    rest = decimate(values, block, mask.T[places[:, 0]])
    Y = np.zeros((len(weight), regress.width, streamed.shape[1]))
    Y[tuple(entries.T)], Y[tuple(places.T)] = streamed, rest
    return Y


def factors_of(
    datasets: Iterable[Dataset], regress: Regress, joints: int, *, hold_out: bool
) -> Factors:
    """Factors of the rows of several logs, grouped by block of time.

    Parameters
    ----------
    hold_out : bool
        Take the training part of each log only; see ``Split``.
    """

    def pieces() -> Iterator[tuple[int, Array, Array, Mask]]:
        first = 0
        for dataset in datasets:
            split = split_for(dataset)
            last = first
            for piece in rows(dataset, regress, "fit"):
                use = piece.use & split.training(piece.t) if hold_out else piece.use
                group = first + split.group(piece.t).astype(int)
                for g in np.unique(group):
                    here = group == g
                    last = max(last, int(g) + 1)
                    yield int(g), piece.Y[:, :, here], piece.tau[:, here], use[:, here]
            first = last

    return reduce_rows(pieces(), joints, regress.width)
