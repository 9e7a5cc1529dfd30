"""From prepared motion to regression rows: regress, low-pass and decimate side by side.

Regressor columns and torque pass through the same linear filter, so what the filter does to the one
it does to the other (parallel filtering; Gautier 1997), and decimation to twice the cut-off leaves
noise nearly white, which the covariance relies on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, Mask
from ident.base.basemap import BaseMap
from ident.leastsquares.factor import Factors, reduce_rows
from ident.logs.dataset import Dataset
from ident.regressor.columns import Stack


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """Decimated rows of one block.

    Attributes
    ----------
    t : (M,) s
    q, dq : (M, n)
    Y : (n, b, M)
        Base columns.
    tau : (n, M)
    valid, scored : (n, M)
        Rows that may be fitted; rows that may be scored (near reversal included).
    """

    t: Array
    q: Array
    dq: Array
    Y: Array
    tau: Array
    valid: Mask
    scored: Mask
    segment: int


@dataclass(frozen=True, kw_only=True)
class Split:
    """Which rows of one log train and which are held out: every fifth contiguous block.

    Training rows within ``guard_s`` of a held-out block are left out, so that the filter carries
    nothing across.
    """

    length_s: float
    guard_s: float
    every: int = 5

    def group(self, t: Array) -> Array:
        """Number of the block that each time belongs to."""
        return np.floor(t / self.length_s)

    def held_out(self, t: Array) -> Mask:
        """Rows to score."""
        return np.asarray(self.group(t) % self.every == self.every - 1)

    def training(self, t: Array) -> Mask:
        """Rows to fit."""
        near = (self.held_out(t + shift) for shift in (-self.guard_s, 0.0, self.guard_s))
        return ~np.any(list(near), axis=0)


def split_for(dataset: Dataset) -> Split:
    """Split of a log: blocks of at least 2 s and four guards, sixty at most."""
    guard = dataset.filtering.trim_s
    length = max(2.0, 4.0 * guard, dataset.rows / dataset.rate_hz / 60.0)
    return Split(length_s=length, guard_s=guard)


def rows(dataset: Dataset, columns: Stack, base: BaseMap) -> Iterator[Rows]:
    """Regression rows of a dataset, block by block, in base columns."""
    decimate = dataset.decimator
    for block in dataset:
        Y = columns.evaluate(block)[:, base.kept]
        yield Rows(
            t=block.t[decimate.rows(block)],
            q=block.q[decimate.rows(block)],
            dq=block.dq[decimate.rows(block)],
            Y=decimate(Y, block),
            tau=decimate(block.tau.T, block),
            valid=decimate.valid(block).T,
            scored=decimate.scored(block).T,
            segment=block.segment,
        )


def factors_of(
    datasets: Iterable[Dataset], columns: Stack, base: BaseMap, *, hold_out: bool = False
) -> Factors:
    """Factors of the rows of several logs, grouped by block of time.

    With ``hold_out``, of the training part of each log only; see ``Split``.
    """

    def pieces() -> Iterator[tuple[int, Array, Array, Mask]]:
        first = 0
        for dataset in datasets:
            split = split_for(dataset)
            last = first
            for piece in rows(dataset, columns, base):
                valid = piece.valid & split.training(piece.t) if hold_out else piece.valid
                group = first + split.group(piece.t).astype(int)
                for g in np.unique(group):
                    here = group == g
                    last = max(last, int(g) + 1)
                    yield int(g), piece.Y[:, :, here], piece.tau[:, here], valid[:, here]
            first = last

    return reduce_rows(pieces(), columns.robot.n, base.rank)
