"""How late torque is, measured through the model.

A torque that lags by d reads ``tau(t) ≈ Y theta − d·dtau/dt``: the delay of each joint is one more
column, the negative rate of the predicted torque. Fitted together with all parameters, it takes
nothing that a parameter could explain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, Indices, Mask, frozen
from ident.base.basemap import BaseMap
from ident.fit.rows import Regress, base_columns, factors_of
from ident.leastsquares.factor import merge_tree, triangular
from ident.leastsquares.solve import Solution
from ident.logs.dataset import Block, Dataset
from ident.regressor.columns import Stack


@dataclass(frozen=True, eq=False, kw_only=True)
class Delay:
    """Lag of torque behind position per joint.

    Attributes
    ----------
    seconds, std : (n,) s
        Lag and its standard error.
    explained : (n,)
        Share of the joint's squared residual that goes when the delays are fitted too.
    """

    seconds: Array
    std: Array
    explained: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        for name in ("seconds", "std", "explained"):
            array = frozen(getattr(self, name), (None,), where=f"delay {name}", finite=False)
            object.__setattr__(self, name, array)

    @property
    def clear(self) -> Mask:
        """Joints whose delay is beyond doubt.

        Five standard errors, between half a millisecond and a tenth of a second (the first order
        in which it is measured goes no further), and most of what the model left unexplained:
        friction that the model lacks looks like a delay too, but explains little.
        """
        size = np.abs(self.seconds)
        plain = (size > 5.0 * self.std) & (size > 5e-4) & (size < 0.1)
        return np.asarray(plain & (self.explained > 0.5))


def estimate_delay(
    datasets: Sequence[Dataset],
    columns: Stack,
    base: BaseMap,
    solution: Solution,
    *,
    hold_out: bool = False,
) -> Delay:
    """Delay of each joint, in one pass; infinite standard error where torque never changes."""
    rates = _WithRates(base_columns(columns, base), solution.theta)
    n, b = columns.robot.n, base.rank
    whole = factors_of(datasets, rates, n, hold_out=hold_out).merged()
    spread = []
    for j, sigma in enumerate(solution.sigma):
        R = np.zeros((b + 2, b + n + 1))
        R[:, [*range(b), b + j, b + n]] = whole.R[0, j] / sigma
        spread.append(R)
    factor = merge_tree([triangular(R) for R in spread])
    seconds, std = _delays(factor, b, n)
    delayed = _solved(factor[:, :-1], factor[:, -1], seconds)
    before = [np.linalg.norm(R[:, :b] @ solution.theta - R[:, -1]) for R in spread]
    after = [np.linalg.norm(R[:, :-1] @ delayed - R[:, -1]) for R in spread]
    share = 1.0 - (np.array(after) / np.maximum(before, 1e-300)) ** 2
    return Delay(seconds=seconds, std=std, explained=share)


class _WithRates:
    """Columns of a regression, and behind them torque per unit delay: minus its rate."""

    def __init__(self, regress: Regress, theta: Array) -> None:
        self._regress, self._theta = regress, theta
        self.width, self.entries = regress.width + 1, regress.entries
        self._predicted = np.empty(0)

    def stream(self, motion: Block) -> Iterator[tuple[slice, Array]]:
        self._predicted = np.zeros(motion.tau.T.shape)
        for here, values in self._regress.stream(motion):
            self._predict(self.entries, values, here)
            yield here, values

    def others(self, motion: Block) -> tuple[Indices, Array]:
        places, values = self._regress.others(motion)
        self._predict(places, values, slice(None))
        # Where the sign of a velocity jumps the row is masked.
        rate = np.gradient(self._predicted, motion.t, axis=1)
        joints = np.arange(len(rate))
        delays = np.column_stack([joints, np.full_like(joints, self.width - 1)])
        return np.concatenate([places, delays]), np.concatenate([values, -rate])

    def _predict(self, places: Indices, values: Array, here: slice) -> None:
        """Add the torque of some entries."""
        parts = np.zeros((len(self._predicted), len(places)))
        parts[places[:, 0], np.arange(len(places))] = self._theta[places[:, 1]]
        self._predicted[:, here] += parts @ values


def _delays(factor: Array, b: int, n: int) -> tuple[Array, Array]:
    """Delays and their standard errors from the factor of ``[Y | delays | tau]``.

    The columns of the delays come after all others, so their part of the factor is what no
    parameter explains.
    """
    R, z = factor[b : b + n, b : b + n], factor[b : b + n, b + n]
    U, s, Vt = np.linalg.svd(R)
    if s[0] == 0.0:
        return np.zeros(n), np.full(n, np.inf)
    seen = s > 1e-9 * s[0]
    half = Vt[seen].T / s[seen]
    std = np.where(np.linalg.norm(Vt[~seen], axis=0) > 1e-6, np.inf, np.linalg.norm(half, axis=1))
    return half @ (U.T @ z)[seen], std


def _solved(A: Array, z: Array, delays: Array) -> Array:
    """Parameters and delays together, the delays given."""
    b = A.shape[1] - len(delays)
    theta = np.linalg.lstsq(A[:, :b], z - A[:, b:] @ delays, rcond=1e-12)[0]
    return np.concatenate([theta, delays])
