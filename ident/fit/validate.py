"""How well a model predicts torque that it was not fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ident.arrays import Array, Mask, frozen, locked
from ident.errors import LogError, UsageError
from ident.fit.estimate import Estimate, effort_kind, require_joints
from ident.fit.rows import Purpose, Rows, base_columns, rows, split_for
from ident.logs.dataset import Dataset

Kind = Literal["trajectory", "repeat", "blocks"]

# A held-out state counts as seen in training when every joint's position and velocity lie within
# this share of its own range; two runs of one trajectory differ by less, two trajectories by more.
_NEAR = 0.02
_SEEN = 0.9


@dataclass(frozen=True, eq=False, kw_only=True)
class Score:
    """Prediction error of one model on stated rows.

    Attributes
    ----------
    relative_error : float and (n,)
        ``100·‖e‖/‖tau‖`` in percent: ``total`` over all joints, ``per_joint``; ``moving`` over all
        joints where they move, as a fit would use them: without what friction does at reversals.
    rms : (n,) N·m
    r_squared : (n,)
        Share of the torque's variance that is explained.
    """

    total: float
    moving: float
    per_joint: Array
    rms: Array
    r_squared: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        for name in ("per_joint", "rms", "r_squared"):
            array = frozen(getattr(self, name), (None,), where=name, finite=False)
            object.__setattr__(self, name, array)


@dataclass(frozen=True, eq=False, kw_only=True)
class Validation:
    """Scores of the identified model, plain least squares and CAD, on the same rows.

    Attributes
    ----------
    kind : str
        ``trajectory``: a motion that was not trained on; ``repeat``: the same motion again, which
        measures repeatability; ``blocks``: parts of the training log that were held out.
    rows : (n,)
        Rows per joint.
    cutoff_hz : float
        Low-pass that torque and prediction both passed.
    """

    kind: Kind
    logs: tuple[str, ...]
    rows: Array
    cutoff_hz: float
    identified: Score
    least_squares: Score
    cad: Score


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """Measured and predicted torque (M, n) of part of a log, for figures."""

    t: Array
    dq: Array
    measured: Array
    identified: Array
    least_squares: Array
    cad: Array
    log: str


def evaluate_by_kind(
    estimate: Estimate, training: Sequence[Dataset], validation: Sequence[Dataset]
) -> tuple[Validation, ...]:
    """Score on held-out motions first, then on repeats of training motions, whichever there are.

    Without validation logs, on the held-out blocks of the training logs.
    """
    if not validation:
        return (evaluate(estimate, training, hold_out=True),)
    repeats = [dataset for dataset in validation if is_repeat([dataset], training)]
    fresh = [dataset for dataset in validation if dataset not in repeats]
    return tuple(
        evaluate(estimate, several, training=training) for several in (fresh, repeats) if several
    )


def evaluate(
    estimate: Estimate,
    held_out: Sequence[Dataset],
    *,
    training: Sequence[Dataset] = (),
    hold_out: bool = False,
) -> Validation:
    """Score an estimate on logs it was not fitted to, or with ``hold_out`` on their kept blocks.

    ``training`` logs serve to tell a repeat from a new motion.

    Raises
    ------
    UsageError
        A log of other joints than the estimate's.
    LogError
        A log of another kind of effort, or no row to score.
    """
    if not held_out:
        raise UsageError("validation", "no log", expected="one log or more")
    require_joints(held_out, estimate.robot)
    if effort_kind(held_out) != estimate.effort_kind:
        found = f"effort of kind {effort_kind(held_out)}"
        raise LogError("validation", found, expected=estimate.effort_kind)
    sums = _sums(estimate, held_out, "score", hold_out)
    moving = _sums(estimate, held_out, "fit", hold_out)
    if not sums[0].rows.any():
        raise LogError(
            "validation",
            "no row to score: filters, --skip and rest leave none",
            expected="a few seconds of motion",
            remedy="give a longer log, or one in which the arm moves",
        )
    identified, least_squares, cad = (
        every.score(moving=some.total) for every, some in zip(sums, moving, strict=True)
    )
    kind: Kind = "blocks" if hold_out else "trajectory"
    if not hold_out and training and is_repeat(held_out, training):
        kind = "repeat"
    return Validation(
        kind=kind,
        logs=tuple(dataset.recording.name for dataset in held_out),
        rows=sums[0].rows,
        cutoff_hz=held_out[0].filtering.decimation_hz,
        identified=identified,
        least_squares=least_squares,
        cad=cad,
    )


def trace(estimate: Estimate, dataset: Dataset, limit: int = 4000) -> Trace:
    """Torque of the first ``limit`` decimated rows of a log, measured and predicted.

    NaN where a sample was filled or not settled, so that figures show a gap.
    """
    pieces: list[Rows] = []
    for piece in rows(dataset, base_columns(estimate.columns, estimate.base), "score"):
        pieces.append(piece)
        if sum(len(piece.t) for piece in pieces) >= limit:
            break

    def gathered(values: Iterable[Array]) -> Array:
        return np.concatenate(list(values))[:limit]

    identified, least_squares, cad = (
        gathered(np.where(p.use, beta @ p.Y, np.nan).T for p in pieces)
        for beta in _models(estimate)
    )
    return Trace(
        t=gathered(p.t for p in pieces),
        dq=gathered(p.dq for p in pieces),
        measured=gathered(np.where(p.use, p.tau, np.nan).T for p in pieces),
        identified=identified,
        least_squares=least_squares,
        cad=cad,
        log=dataset.recording.name,
    )


def is_repeat(held_out: Sequence[Dataset], training: Sequence[Dataset]) -> bool:
    """Whether nearly all held-out states were already visited in training.

    Compared in position and velocity together, so that a shifted start or another number of periods
    makes no difference. States at rest are left aside: two motions from one home share them.
    """
    from scipy.spatial import cKDTree

    seen, asked = _states(training), _states(held_out)
    if not (len(seen) and len(asked)):
        return False
    span = np.ptp(np.vstack([seen, asked]), axis=0)
    still = span < 1e-9
    scale = np.where(still, 1.0, span)
    distance, _ = cKDTree(seen / scale).query(asked / scale, p=np.inf)
    return bool(np.mean(distance < _NEAR) > _SEEN)


def _models(estimate: Estimate) -> tuple[Array, Array, Array]:
    return estimate.beta, estimate.solution.theta, estimate.beta_cad


def _states(datasets: Sequence[Dataset]) -> Array:
    """Decimated states (M, 2n) of several logs while they move."""
    states = []
    for dataset in datasets:
        for block in dataset:
            here = dataset.decimator.rows(block)
            here = here[block.scored[here].any(axis=1)]
            states.append(np.hstack([block.q[here], block.dq[here]]))
    return np.concatenate(states)


def _sums(
    estimate: Estimate, datasets: Sequence[Dataset], purpose: Purpose, hold_out: bool
) -> list[_Sums]:
    """Sums of each model over the rows that serve the purpose, in one pass."""
    betas = _models(estimate)
    regress = base_columns(estimate.columns, estimate.base)
    sums = [_Sums(estimate.robot.n) for _ in betas]
    for dataset in datasets:
        split = split_for(dataset)
        for piece in rows(dataset, regress, purpose):
            use = piece.use & split.held_out(piece.t) if hold_out else piece.use
            for beta, total in zip(betas, sums, strict=True):
                total.add(piece, beta, use)
    return sums


class _Sums:
    """Running sums of torque and error per joint."""

    def __init__(self, n: int) -> None:
        self.rows = np.zeros(n)
        self._error, self._torque, self._square = np.zeros(n), np.zeros(n), np.zeros(n)

    def add(self, piece: Rows, beta: Array, use: Mask) -> None:
        tau = np.where(use, piece.tau, 0.0)
        error = np.where(use, piece.tau - beta @ piece.Y, 0.0)
        self.rows += use.sum(axis=1)
        self._torque += tau.sum(axis=1)
        self._square += (tau**2).sum(axis=1)
        self._error += (error**2).sum(axis=1)

    @property
    def total(self) -> float:
        """Relative error over all joints, %; NaN where there is no torque."""
        square = self._square.sum()
        return float(100.0 * np.sqrt(self._error.sum() / square)) if square else float("nan")

    def score(self, *, moving: float) -> Score:
        count = np.maximum(self.rows, 1.0)
        variance = self._square - self._torque**2 / count
        with np.errstate(divide="ignore", invalid="ignore"):
            return Score(
                total=self.total,
                moving=moving,
                per_joint=100.0 * np.sqrt(self._error / self._square),
                rms=locked(np.sqrt(self._error / count)),
                r_squared=1.0 - self._error / variance,
            )
