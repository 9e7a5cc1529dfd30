"""How well CAD plus friction explains a log: as it stands, in degrees, exchanged, turned round."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ident.arrays import Array
from ident.logs.dataset import Dataset
from ident.model.robot import Robot
from ident.regressor.rigid import Regressor

_BLOCKS = 12  # looked at, spread evenly over the log
_ROWS = 150  # states of each
_SLOW = 0.05  # rad/s; friction is nobody's column below
# CAD models are wrong by up to a half, and order and units must not be doubted for that.
_BETTER = 2.0
_WRONG = 0.2  # a model that leaves less than this of the spread is not asked what is wrong


@dataclass(frozen=True, eq=False, kw_only=True)
class States:
    """Some states of a log: position, velocity, acceleration and torque, (N, n) each."""

    q: Array
    dq: Array
    ddq: Array
    tau: Array

    def scaled(self, unit: Array) -> States:
        """The same states with motion in another unit, (n,) factors."""
        return States(q=self.q * unit, dq=self.dq * unit, ddq=self.ddq * unit, tau=self.tau)

    def relabelled(self, order: list[int]) -> States:
        """The same states with columns in another order."""
        return States(**{name: getattr(self, name)[:, order] for name in vars(self)})


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation:
    """What CAD and friction leave of the torque, and which mistakes would explain the rest.

    Attributes
    ----------
    error, error_degrees : float
        Root of the mean over joints of the share of torque variance left unexplained: as the log
        stands, and with positions read as degrees.
    degrees : bool
        Whether degrees explain the log and radians do not.
    exchanged : tuple of int
        Joints that explain the log ``gain`` times better in each other's place, of all channels or
        of ``torque_only``; empty where none do.
    flipped : tuple of int
        Joints whose torque has the wrong sign.
    """

    error: float
    error_degrees: float
    degrees: bool
    exchanged: tuple[int, ...]
    torque_only: bool
    gain: float
    flipped: tuple[int, ...]


def sample(dataset: Dataset) -> States | None:
    """Some hundred states of a dataset, from blocks spread over it; None where there are few."""
    places = dataset.places
    step = max(len(places) // _BLOCKS, 1)
    parts = []
    for place in places[::step][:_BLOCKS]:
        block = dataset.block(*place)
        rows = np.flatnonzero(block.scored[block.core].all(axis=1)) + block.core.start
        rows = rows[:: max(len(rows) // _ROWS, 1)]
        parts.append(np.stack([block.q[rows], block.dq[rows], block.ddq[rows], block.tau[rows]]))
    q, dq, ddq, tau = np.concatenate(parts, axis=1)
    return States(q=q, dq=dq, ddq=ddq, tau=tau) if len(q) >= 50 else None


def explained(states: States, robot: Robot, regressor: Regressor) -> Explanation:
    """Explain the torque of some states.

    Each torque is fitted by its joint's CAD torque, viscous and Coulomb friction, none of them
    negative, and an offset.
    """
    as_is = _shares(states, regressor)
    unit = np.where(robot.turns, np.pi / 180.0, 1.0)
    by_degrees = _total(_shares(states.scaled(unit), regressor))
    total = _total(as_is)
    degrees = total > 0.5 and total > 1.5 * by_degrees
    joints, torque_only, gain = _exchanged(states, regressor, as_is)
    turned = np.diag(as_is) > _BETTER**2 * np.diag(_shares(states, regressor, sign=-1.0))
    return Explanation(
        error=total,
        error_degrees=by_degrees,
        degrees=degrees,
        exchanged=joints,
        torque_only=torque_only,
        gain=gain,
        flipped=tuple(np.flatnonzero(turned & (np.diag(as_is) > _WRONG**2)).tolist()),
    )


def _shares(states: States, regressor: Regressor, sign: float = 1.0) -> Array:
    """Share (n, n) of the variance of torque j that joint i's CAD torque and friction leave."""
    cad = regressor.inverse_dynamics(states.q, states.dq, states.ddq)
    n = cad.shape[1]
    return np.array(
        [
            [_left(sign * states.tau[:, j], cad[:, i], states.dq[:, i]) for i in range(n)]
            for j in range(n)
        ]
    )


def _left(tau: Array, cad: Array, dq: Array) -> float:
    from scipy.optimize import nnls

    speed = np.abs(dq)
    fast = speed > min(_SLOW, 0.1 * speed.max()) if speed.any() else speed == 0.0
    spread = float(np.var(tau[fast]))
    if spread == 0.0:
        return 0.0
    one = np.ones(int(fast.sum()))
    X = np.stack([cad[fast], dq[fast], np.sign(dq[fast]), one, -one], axis=1)
    # A triangular factor of five rows asks nnls the same question as all rows do.
    scale = np.maximum(np.linalg.norm(X, axis=0), 1e-12)
    _, R = np.linalg.qr(np.column_stack([X / scale, tau[fast]]))
    _, residual = nnls(R[:, :-1], R[:, -1])
    return float(residual) ** 2 / (len(one) * spread)


def _total(shares: Array) -> float:
    return float(np.sqrt(np.mean(np.diag(shares))))


def _exchanged(
    states: States, regressor: Regressor, as_is: Array
) -> tuple[tuple[int, ...], bool, float]:
    """Joints that want to change places, whether only their torques, and how much better."""
    from scipy.optimize import linear_sum_assignment

    best: tuple[tuple[int, ...], bool, float] = ((), False, _BETTER)
    n, total = len(as_is), _total(as_is)
    if total < _WRONG:
        return best
    torques, places = linear_sum_assignment(as_is)
    moved = np.flatnonzero(places != torques)
    if len(moved):
        gain = _gain(np.diag(as_is)[moved], as_is[moved, places[moved]])
        if gain > best[2]:
            best = (tuple(moved.tolist()), True, gain)
    for pair in combinations(range(n), 2):
        order = list(range(n))
        order[pair[0]], order[pair[1]] = pair[1], pair[0]
        other = _shares(states.relabelled(order), regressor)
        gain = _gain(np.diag(as_is)[[*pair]], np.diag(other)[[*pair]])
        if gain > 1.1 * best[2] and _total(other) < total:
            best = (pair, False, gain)
    return best


def _gain(before: Array, after: Array) -> float:
    return float(np.sqrt(before.sum() / max(after.sum(), 1e-12)))
