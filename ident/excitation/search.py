"""Search for the best motion: gradient descent from many starts, within all limits.

Kinematic limits are kept by the parametrisation (``gauge``), so that they cost no constraint.
Torque and distance enter as a penalty that grows from stage to stage; only iterates without any
count. A start goes through stages: at first the goal is smooth and far from the limits, in the end
it is the condition number itself at the limits.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from ident.arrays import Array, Indices
from ident.excitation.criteria import POINTS, Criterion
from ident.excitation.envelope import Certificate, Envelope
from ident.excitation.fourier import RestToRest
from ident.excitation.gauge import Gauge
from ident.regressor.columns import Motion, States

Ending = Literal["converged", "time", "interrupted"]
_SHRINK, _SHRINKS = 0.97, 120
_TORQUE_SLACK = 0.01  # of a limit: what the coarse grid may miss
_DISTANCE_SLACK = 0.003  # m, likewise
_POSES, _SHALLOW = 1000, 0.01  # random poses that show how deep pairs can be, and the least, m


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of a search.

    Attributes
    ----------
    limits, goal : float
        How sharp the kinematic limits and the goal are: see ``Gauge`` and ``Criterion``.
    penalty : float
        Weight of torque and distance beyond their limits.
    every : int
        Distances are looked at in every so many samples: they cost more than all the rest.
    """

    limits: float
    goal: float
    penalty: float
    every: int
    iterations: int


STAGES = (
    Stage(limits=16.0, goal=2.0, penalty=1e2, every=4, iterations=100),
    Stage(limits=32.0, goal=6.0, penalty=1e3, every=2, iterations=150),
    Stage(limits=64.0, goal=12.0, penalty=1e3, every=2, iterations=200),
    Stage(limits=128.0, goal=40.0, penalty=1e4, every=1, iterations=200),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate:
    """What a search found.

    Attributes
    ----------
    value : float
        Logarithm of the goal; infinite where the limits are not kept.
    ended : str
        ``converged``, ``time`` or ``interrupted``.
    """

    free: Array
    value: float
    certificate: Certificate
    evaluations: int
    ended: Ending


@dataclass(frozen=True, eq=False, kw_only=True)
class Iterate:
    """What one evaluation tells.

    Attributes
    ----------
    value : float
        Logarithm of the goal.
    cost, slopes : float, (n, free)
        The smooth goal with the penalty, and its gradient.
    over : float
        How far the worst of torque and distance is over its limit; at most zero where all is kept.
    """

    value: float
    cost: float
    slopes: Array
    over: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Search:
    """The problem: what is free, what must be kept, and what is minimised.

    Attributes
    ----------
    samples : int
        How many are recorded: what counts beside the information of earlier runs.
    """

    rest: RestToRest
    envelope: Envelope
    criterion: Criterion
    samples: int

    def best_of(self, seed: np.random.SeedSequence, deadline: float = np.inf) -> Candidate:
        """The best iterate from one random start, certified.

        ``deadline`` is a time of ``time.monotonic``; what was found until then, or until Ctrl-C,
        counts.
        """
        self.criterion.selection.compile()
        z = self._random_start(np.random.default_rng(seed))
        trace = _Trace(self, z, deadline)
        ended: Ending = "converged"
        try:
            for stage in STAGES:
                trace.stage = stage
                found = minimize(
                    trace,
                    z.ravel(),
                    jac=True,
                    method="L-BFGS-B",
                    options={"maxiter": stage.iterations, "maxcor": 20},
                )
                # What the map makes of it is as good, and where the next stage's map moves least.
                z = self.gauge.inside(found.x.reshape(z.shape), stage.limits)[0]
        except _Late:
            ended = "time"
        except KeyboardInterrupt:
            ended = "interrupted"
        return self._certified(trace, ended)

    def evaluate(self, free: Array, stage: Stage) -> Iterate:
        """The goal at coefficients (n, free), the penalty, and their gradient by them."""
        maps = self.gauge.maps
        q, dq, ddq = (maps[order] @ free.T for order in range(3))
        motion = States(q=q + self.rest.start, dq=dq, ddq=ddq)
        selection, order = self.criterion.selection, self._layout.order
        values = selection.values(motion)[1][order]
        value, cost, by_entry = self._goal(values, stage.goal)
        torque, over_torque = self._torque_penalty(values, by_entry, stage.penalty)
        unsorted = np.empty_like(by_entry)
        unsorted[order] = by_entry
        slopes = selection.pullback(motion, unsorted)
        distance, over_distance = self._distance_penalty(motion, slopes, stage)
        return Iterate(
            value=value,
            cost=cost + torque + distance,
            slopes=(slopes @ maps[:3]).sum(axis=0),
            over=max(over_torque, over_distance),
        )

    @cached_property
    def gauge(self) -> Gauge:
        """The kinematic limits."""
        return Gauge(self.rest, self.envelope.limits, POINTS * self.rest.harmonics)

    def _goal(self, values: Array, sharpness: float) -> tuple[float, float, Array]:
        """The goal of entries (e, N): itself, smooth, and the slopes (e, N) of the latter."""
        share = self.samples / values.shape[1]
        weighted = values * self._layout.weights[:, None]
        G = self.criterion.known.copy()
        for joint in self._layout.joints:
            part = weighted[joint.judged]
            G[joint.block] += share * (part @ part.T)
        value, smooth, B = self.criterion.of_information(G, sharpness)
        B *= 2.0 * share
        slopes = np.zeros_like(values)
        for joint in self._layout.joints:
            np.matmul(B[joint.block], weighted[joint.judged], out=slopes[joint.judged])
        slopes *= self._layout.weights[:, None]
        return value, smooth, slopes

    def _torque_penalty(self, values: Array, slopes: Array, weight: float) -> tuple[float, float]:
        """Penalty of torque above its limit, and by how much; its slopes are added."""
        penalty, worst = 0.0, -np.inf
        limits, coulomb = self.envelope.limits.torque, self.envelope.load.coulomb
        for j, joint in enumerate(self._layout.joints):
            if not np.isfinite(limits[j]):
                continue
            tau = joint.load @ values[joint.all]
            over = (np.abs(tau) + coulomb[j]) / limits[j] - (1.0 - _TORQUE_SLACK)
            worst = max(worst, float(over.max()))
            if worst > 0.0:
                broken = np.maximum(over, 0.0) * (weight / len(tau))
                penalty += 0.5 * float(broken @ np.maximum(over, 0.0))
                slopes[joint.all] += np.outer(joint.load, broken * np.sign(tau) / limits[j])
        return penalty, worst

    def _distance_penalty(self, motion: Motion, slopes: Array, stage: Stage) -> tuple[float, float]:
        """Penalty of bodies too near to each other, and by how much; its slopes are added."""
        clearance, needed = self.envelope.clearance, self.envelope.distance
        if clearance is None or not clearance.names:
            return 0.0, -np.inf
        needed = needed + np.minimum(_DISTANCE_SLACK, 0.5 * needed)
        measured = clearance.measure(motion.q[:: stage.every], within=float(needed.max()))
        depth = self._depth[:, None]
        over = (needed[:, None] - measured.values) / depth
        broken = np.maximum(over, 0.0) * (stage.penalty / over.shape[1])
        if broken.any():
            slopes[0, :, :: stage.every] -= measured.pullback(broken / depth).T
        return 0.5 * float((broken * np.maximum(over, 0.0)).sum()), float(over.max())

    def _random_start(self, rng: np.random.Generator) -> Array:
        """Random coefficients at the kinematic limits; the start is near the given one."""
        z = rng.normal(size=(len(self.rest.joints), self.rest.free))
        if self.rest.shifts:
            z[:, 0] *= 0.5
        return np.asarray(z / self.gauge.size(z)[:, None])

    def _certified(self, trace: _Trace, ended: Ending) -> Candidate:
        """The best iterate of a trace, smaller where the dense grid asks for it."""
        free = trace.best if trace.best is not None else trace.last
        for _ in range(_SHRINKS):
            certificate = self.envelope.certify(self.rest.series(free))
            if not certificate.findings:
                break
            free = _SHRINK * free
        value = self.evaluate(free, STAGES[-1]).value if not certificate.findings else np.inf
        return Candidate(
            free=free,
            value=value,
            certificate=certificate,
            evaluations=trace.evaluations,
            ended=ended,
        )

    @cached_property
    def _depth(self) -> Array:
        """How deep (m) each pair can be in what it must keep, over random poses.

        Relative to it a shallow hill is as high as any, and pushes a swing to one side of it.
        """
        clearance, limits = self.envelope.clearance, self.envelope.limits
        assert clearance is not None
        lower, upper = limits.position.T
        poses = np.random.default_rng(0).uniform(lower, upper, size=(_POSES, len(lower)))
        deepest = np.maximum(self.envelope.distance - clearance(poses).min(axis=1), _SHALLOW)
        return np.asarray(deepest)

    @cached_property
    def _layout(self) -> _Layout:
        return _Layout.of(self.criterion, self.envelope)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Joint:
    """Where the entries of one joint stand, sorted: the judged ones first.

    ``block`` are the numbers of the judged columns, as a block of the information matrix; ``load``
    is what the load makes of all columns.
    """

    judged: slice
    all: slice
    block: tuple[Indices, Indices]
    load: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class _Layout:
    """An order of the entries of the base regressor in which those of a joint are together.

    ``order`` (e,) says where each comes from; ``weights`` (e,) is what it is multiplied by.
    """

    order: Indices
    weights: Array
    joints: tuple[_Joint, ...]

    @classmethod
    def of(cls, criterion: Criterion, envelope: Envelope) -> _Layout:
        n = len(criterion.noise)
        still = np.zeros((1, n))
        places = criterion.selection.values(States(q=still, dq=still, ddq=still))[0]
        unjudged = ~criterion.wanted[places[:, 1]]
        order = np.lexsort((unjudged, places[:, 0]))
        rows, columns = places[order].T
        bounds = np.searchsorted(2 * rows + unjudged[order], np.arange(2 * n + 1)).tolist()
        number = np.cumsum(criterion.wanted) - 1
        beta = envelope.load.base_parameters(criterion.base)
        weights = np.ones(criterion.base.rank)
        weights[criterion.wanted] = criterion.column_weights
        joints = []
        for j in range(n):
            first, middle, last = bounds[2 * j : 2 * j + 3]
            kept = number[columns[first:middle]]
            joints.append(
                _Joint(
                    judged=slice(first, middle),
                    all=slice(first, last),
                    block=(kept[:, None], kept[None, :]),
                    load=beta[columns[first:last]],
                )
            )
        return cls(
            order=order,
            weights=criterion.row_weights[rows] * weights[columns],
            joints=tuple(joints),
        )


class _Late(Exception):
    """The budget is spent."""


class _Trace:
    """The cost as scipy wants it; remembers the best iterate that keeps all limits."""

    def __init__(self, search: Search, z: Array, deadline: float) -> None:
        self._search, self._shape, self._deadline = search, z.shape, deadline
        self.stage = STAGES[0]
        self.best: Array | None = None
        self.last = search.gauge.inside(z, self.stage.limits)[0]
        self.evaluations = 0
        self._lowest = np.inf

    def __call__(self, z: Array) -> tuple[float, Array]:
        if time.monotonic() > self._deadline:
            raise _Late
        free, pullback = self._search.gauge.inside(z.reshape(self._shape), self.stage.limits)
        found = self._search.evaluate(free, self.stage)
        self.evaluations += 1
        self.last = free
        if found.over <= 0.0 and found.value < self._lowest:
            self.best, self._lowest = free, found.value
        return found.cost, pullback(found.slopes).ravel()
