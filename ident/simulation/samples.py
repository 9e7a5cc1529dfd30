"""Sample logs: one true robot, two trajectories, so that one can be held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.model.robot import Robot
from ident.simulation.run import Reference, Settings, SimulatedRun, simulate
from ident.simulation.truth import Truth, perturb

SEED = 7  # of the logs in data/logs


@dataclass(frozen=True, eq=False, kw_only=True)
class Samples:
    """Two logs of one robot, and what is true of it."""

    truth: Truth
    run: SimulatedRun
    validate: SimulatedRun


def make_samples(
    robot: Robot,
    run: Reference,
    validate: Reference,
    *,
    seed: int = SEED,
    settings: Settings | None = None,
) -> Samples:
    """Perturb ``robot`` and play both trajectories; the same seed gives the same numbers."""
    of_truth, of_run, of_validate = np.random.default_rng(seed).spawn(3)
    truth = perturb(robot, of_truth)
    return Samples(
        truth=truth,
        run=simulate(robot, truth, run, of_run, settings),
        validate=simulate(robot, truth, validate, of_validate, settings),
    )
