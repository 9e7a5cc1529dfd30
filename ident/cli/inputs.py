"""From paths to prepared datasets, with every finding on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ident.errors import Finding, LogError, UsageError
from ident.logs.checks import check
from ident.logs.dataset import Dataset, prepare
from ident.logs.preparation import Preparation
from ident.logs.readers import read_log
from ident.logs.recording import Recording
from ident.model.robot import Robot

_SAME_GRAVITY = 0.05  # m/s², more than places on earth differ by


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Logs of one robot, ready to fit or to score."""

    robot: Robot
    training: tuple[Dataset, ...]
    validation: tuple[Dataset, ...]
    findings: tuple[Finding, ...]


def load_inputs(
    robot: Robot,
    logs: Sequence[str],
    validate: Sequence[str],
    preparation: Preparation,
    *,
    profile: str | None = None,
    keep_gravity: bool = False,
) -> Inputs:
    """Read, check and prepare logs.

    The robot comes back in the gravity that applies: its own where ``keep_gravity`` says so, else
    what the logs say, else its own.

    Raises
    ------
    LogError
        A log cannot be used; the first error that its check found.
    """
    preparation = _for_every_joint(preparation, robot)
    training = [read_log(path, robot, profile=profile) for path in logs]
    validation = [read_log(path, robot, profile=profile) for path in validate]
    recordings = [*training, *validation]
    robot, findings = settled_gravity(robot, recordings, keep_gravity)
    for recording in recordings:
        for finding in check(recording, robot):
            if finding.severity == "error":
                finding.raise_as(LogError)
            findings.append(finding)
    sets = [prepare(recording, robot, preparation) for recording in recordings]
    # Preparing reports what reading and the clock found; a check may have said it already.
    findings += [f for dataset in sets for f in dataset.findings if f not in findings]
    return Inputs(
        robot=robot,
        training=tuple(sets[: len(training)]),
        validation=tuple(sets[len(training) :]),
        findings=tuple(dict.fromkeys([*robot.findings, *findings])),
    )


def _for_every_joint(preparation: Preparation, robot: Robot) -> Preparation:
    """One delay given is that of every joint."""
    delays = preparation.torque_delay_s
    if len(delays) not in (0, 1, robot.n):
        raise UsageError(
            "--delay-ms",
            f"{len(delays)} numbers",
            expected=f"one, or {robot.n}: one per joint of '{robot.name}'",
        )
    return (
        replace(preparation, torque_delay_s=delays * robot.n) if len(delays) == 1 else preparation
    )


def settled_gravity(
    robot: Robot, recordings: Sequence[Recording], keep: bool
) -> tuple[Robot, list[Finding]]:
    """Robot in the gravity that applies, and a finding where the logs change it.

    Where ``keep`` is given the robot's own applies, and a log's check says where it differs.

    Raises
    ------
    LogError
        The logs contradict each other.
    """
    stated = [(r.path, r.facts.gravity) for r in recordings if r.facts.gravity is not None]
    if keep or not stated:
        return robot, []
    (path, logged), *others = stated
    for other, gravity in others:
        if not np.allclose(gravity, logged, atol=_SAME_GRAVITY):
            raise LogError(
                f"{other}: gravity",
                f"{_vector(gravity)} m/s²",
                expected=f"{_vector(logged)} m/s², as in {path}",
                remedy="logs of one mounting at a time, or --gravity for what holds of all",
            )
    if np.allclose(logged, robot.gravity, atol=1e-6):
        return robot, []
    finding = Finding(
        name="gravity_conflict",
        severity="warning",
        where=f"{path}: gravity",
        found=f"the log says {_vector(logged)} m/s²",
        expected=f"{_vector(robot.gravity)} m/s²",
        remedy="the log's is used",
    )
    return robot.with_gravity(logged), [finding]


def _vector(values: Iterable[float]) -> str:
    return "(" + " ".join(f"{value:g}" for value in values) + ")"
