"""From prepared motion to regression rows: regress, low-pass and decimate side by side.

Regressor columns and torque pass through the same linear filter, so what the filter does to the one
it does to the other (parallel filtering; Gautier 1997), and decimation to twice the cut-off leaves
noise nearly white, which the covariance relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ident.arrays import Array, Mask
from ident.base.basemap import BaseMap
from ident.leastsquares.factor import Factors, reduce_rows
from ident.logs.dataset import Block, Dataset
from ident.regressor.columns import Stack

Purpose = Literal["fit", "score"]
Regress = Callable[[Block], Array]


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


def base_columns(columns: Stack, base: BaseMap) -> Regress:
    """The regressor (n, b, N) of a block, in base columns."""
    return lambda block: columns.evaluate(block)[:, base.kept]


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
            Y=decimate(regress(block), block, mask.T[:, None]),
            tau=decimate(block.tau.T, block, mask.T),
            use=decimate.kept(block, mask).T,
        )


def factors_of(
    datasets: Iterable[Dataset], regress: Regress, joints: int, width: int, *, hold_out: bool
) -> Factors:
    """Factors of the rows of several logs, grouped by block of time.

    Parameters
    ----------
    regress : callable
        Gives ``width`` columns.
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

    return reduce_rows(pieces(), joints, width)
