"""Whether a recorded motion follows a planned one, wherever its clock starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.signal import correlate

from ident.arrays import Array, Indices, Mask
from ident.excitation.approach import Play
from ident.excitation.course import Course

# Finer than any motion of an arm needs; shifts are refined between the points.
_RATE_HZ = 50.0
_REFINE = 10
# Off the plan by more than this, a joint is elsewhere: arms stray from set-points by hundredths of
# a radian, another path is off by a good part of the range.
_ABSOLUTE, _RELATIVE = 0.03, 0.05
# A part of the plan shorter than this share of it proves nothing.
_LEAST = 0.2


@dataclass(frozen=True, eq=False, kw_only=True)
class Following:
    """How a log lies on a plan.

    Attributes
    ----------
    shift_s : float
        Time of the log at which the plan begins.
    covered_s : (float, float)
        The part of the plan, in its own time, that the log holds.
    off : (n,) rad or m
        Largest distance of each joint from the plan there.
    allowed : (n,) rad or m
        Three hundredths, and a twentieth of what the joint moves through.
    """

    shift_s: float
    covered_s: tuple[float, float]
    off: Array
    allowed: Array

    @property
    def astray(self) -> Mask:
        """Which joints are not where they were planned (n,)."""
        return np.asarray(self.off > self.allowed)

    @property
    def follows(self) -> bool:
        """Whether all joints are where they were planned."""
        return not self.astray.any()


def follow(t: Array, q: Array, plan: Play | Course) -> Following:
    """Best position of a log on a plan: with all of it in the log, else with a part of it.

    Parameters
    ----------
    t, q : (N,) s, (N, n) rad or m
        Times that increase, and positions in the order of the plan's joints.
    """
    path = _Path.of(plan)
    log = _Log.of(t, q)
    cost, count = _costs(log, path)
    most = count.max()
    whole = _placed(log, path, _least(cost, count, 0.98 * most), t, q)
    if whole.follows:
        return whole
    part = _placed(log, path, _least(cost, count, _LEAST * len(path.q)), t, q)
    return part if part.follows else whole


def order_of(t: Array, q: Array, plan: Play | Course) -> Indices | None:
    """Order (n,) of the log's columns in which it follows the plan; None where there is none.

    Column ``order[j]`` moves as joint j should.
    """
    path, log = _Path.of(plan), _Log.of(t, q)
    n = q.shape[1]
    pairs = np.array(
        [[_costs(log.of_joint(i), path.of_joint(j))[0] for j in range(n)] for i in range(n)]
    )
    _, count = _costs(log, path)
    able = count >= 0.98 * count.max()
    bound = np.where(able, pairs.min(axis=0).sum(axis=0) / np.maximum(count, 1.0), np.inf)
    at = int(np.argmin(bound))
    columns, joints = linear_sum_assignment(pairs[:, :, at])
    order = np.empty(n, dtype=np.intp)
    order[joints] = columns
    return order if follow(t, q[:, order], plan).follows else None


@dataclass(frozen=True, eq=False, kw_only=True)
class _Path:
    """A plan on the grid."""

    q: Array
    duration_s: float

    @classmethod
    def of(cls, plan: Play | Course) -> _Path:
        t = np.arange(int(plan.duration_s * _RATE_HZ) + 1) / _RATE_HZ
        return cls(q=plan.states(t).q, duration_s=plan.duration_s)

    def of_joint(self, j: int) -> _Path:
        return _Path(q=self.q[:, [j]], duration_s=self.duration_s)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Log:
    """A log on the grid; its first sample is at ``begin`` s."""

    q: Array
    begin: float

    @classmethod
    def of(cls, t: Array, q: Array) -> _Log:
        grid = np.arange(t[0], t[-1], 1.0 / _RATE_HZ)
        return cls(q=_interpolated(grid, t, q), begin=float(t[0]))

    def of_joint(self, i: int) -> _Log:
        return _Log(q=self.q[:, [i]], begin=self.begin)


def _costs(log: _Log, path: _Path) -> tuple[Array, Array]:
    """Squared distance and number of common samples for every shift of the log on the plan.

    Shift k puts the log's sample ``k − (M − 1)`` on the plan's first, M samples in all.
    """
    centre = path.q.mean(axis=0)
    x, p = log.q - centre, path.q - centre
    one_x, one_p = np.ones(len(x)), np.ones(len(p))
    cost = np.zeros(len(x) + len(p) - 1)
    for a, b in zip(x.T, p.T, strict=True):
        cost += correlate(a**2, one_p, method="fft") + correlate(one_x, b**2, method="fft")
        cost -= 2.0 * correlate(a, b, method="fft")
    count = np.round(correlate(one_x, one_p, method="fft"))
    return np.maximum(cost, 0.0), count


def _least(cost: Array, count: Array, least: float) -> int:
    """Shift of the smallest mean cost among those with enough in common."""
    able = count >= min(least, count.max())
    mean = np.where(able, cost / np.maximum(count, 1.0), np.inf)
    return int(np.argmin(mean))


def _placed(log: _Log, path: _Path, at: int, t: Array, q: Array) -> Following:
    """The log at a shift, refined between the points of the grid."""
    coarse = log.begin + (at - (len(path.q) - 1)) / _RATE_HZ
    shifts = coarse + np.linspace(-1.0, 1.0, 2 * _REFINE + 1) / _RATE_HZ
    fits = [_distances(t, q, path, shift) for shift in shifts]
    best = min(range(len(fits)), key=lambda k: float(np.mean(fits[k] ** 2)))
    span = np.ptp(path.q, axis=0)
    return Following(
        shift_s=float(shifts[best]),
        covered_s=(
            float(max(0.0, t[0] - shifts[best])),
            float(min(path.duration_s, t[-1] - shifts[best])),
        ),
        off=fits[best].max(axis=0),
        allowed=_ABSOLUTE + _RELATIVE * span,
    )


def _distances(t: Array, q: Array, path: _Path, shift: float) -> Array:
    """Distance (M', n) of the log from the part of the plan that it holds."""
    at = shift + np.arange(len(path.q)) / _RATE_HZ
    held = (at >= t[0]) & (at <= t[-1])
    if not held.any():
        return np.full((1, q.shape[1]), np.inf)
    return np.asarray(np.abs(_interpolated(at[held], t, q) - path.q[held]))


def _interpolated(at: Array, t: Array, q: Array) -> Array:
    return np.stack([np.interp(at, t, column) for column in q.T], axis=1)
