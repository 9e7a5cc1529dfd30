"""Check a log before it is believed: each problem a named finding.

Some checks look at the log alone; with the CAD model of the robot others ask how well that model
plus friction explains the torque, as it stands and under the usual mistakes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ident.errors import Finding, LogError
from ident.logs.dataset import Dataset, prepare, unusable
from ident.logs.explain import explained, sample
from ident.logs.preparation import Preparation
from ident.logs.recording import Recording
from ident.logs.survey import Span, Survey, survey
from ident.logs.units import si_unit
from ident.model.robot import Robot
from ident.regressor.rigid import Regressor, derive

# Drives and sensors overshoot a rated torque; no drive gives ten times its own.
_OVERLOAD, _NO_DRIVE = 1.5, 10.0
_SHORT_S = 5.0  # less than half a period of the usual excitation


def check(
    recording: Recording, robot: Robot, regressor: Regressor | None = None
) -> tuple[Finding, ...]:
    """All findings of a log: those of reading and preparing, then those of what it says.

    Parameters
    ----------
    regressor : Regressor, optional
        Of the robot in the gravity of the log; derived where it is not given.
    """
    try:
        found = survey(recording)
    except LogError as e:
        return (*recording.findings, as_finding(e))
    findings = [*recording.findings, *_of_values(recording, robot, found)]
    try:
        dataset = prepare(recording, robot, Preparation())
    except LogError as e:
        known = {finding.where for finding in findings if finding.severity == "error"}
        return (*findings, *([] if e.where in known else [as_finding(e)]))
    findings += dataset.findings[len(recording.findings) :]
    findings += _of_facts(recording, robot)
    if not any(finding.severity == "error" for finding in findings if finding.name != "degrees"):
        findings += _of_model(dataset, robot, regressor or derive(robot), findings)
    return tuple(findings)


def as_finding(error: LogError) -> Finding:
    """Return an error that makes a log unusable as a finding."""
    return Finding(
        name="unusable",
        severity="error",
        where=error.where,
        found=error.found,
        expected=error.expected,
        remedy=error.remedy,
    )


def _of_facts(recording: Recording, robot: Robot) -> Iterator[Finding]:
    """Findings of what the log declares beside what the robot is."""
    gravity = recording.facts.gravity
    if gravity is not None and np.abs(robot.gravity - gravity).max() > 0.05:
        yield Finding(
            name="gravity_differs",
            severity="warning",
            where=recording.path,
            found=f"the log was made in gravity {_vector(gravity)}",
            expected=f"{_vector(robot.gravity)}, as the robot is described",
            remedy="the robot's is used; state the mounting or the gravity if the log is right",
        )
    payload = recording.facts.payload
    if payload and payload.lower() not in ("none", "0"):
        yield Finding(
            name="payload",
            severity="warning",
            where=recording.path,
            found=f"the log was made with the payload '{payload}'",
            expected="the bare robot",
            remedy="what is identified as the last link carries it",
        )


def _vector(values: Iterable[float]) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"


def _of_values(recording: Recording, robot: Robot, found: Survey) -> Iterator[Finding]:
    """Findings of the ranges of position and effort alone."""
    errors = list(unusable(recording, found))
    yield from errors
    if found.period * recording.rows < _SHORT_S:
        yield Finding(
            name="short_log",
            severity="warning",
            where=recording.path,
            found=f"{found.period * recording.rows:.3g} s",
            expected=f"{_SHORT_S:g} s or more",
            remedy="log a whole period of the excitation",
        )
    dead = {error.where for error in errors}
    position, effort = found.spans["position"], found.spans["effort"]
    turns = np.array(robot.turns)
    degrees = _degrees_by_range(robot, position.low, position.high)
    if degrees.any():
        yield _degrees_finding(recording, f"positions up to {_largest(position):.0f} rad")
    for j, joint in enumerate(recording.joints):
        at = {name: f"{recording.path}: {name} of joint '{joint}'" for name in found.spans}
        if f"{recording.path}: position" not in dead and position.high[j] <= position.low[j]:
            yield Finding(
                name="joint_still",
                severity="warning",
                where=at["position"],
                found="never moves",
                remedy="friction and inertia of this joint have no data",
            )
        if at["effort"] not in dead and effort.high[j] <= effort.low[j]:
            yield Finding(
                name="effort_constant",
                severity="warning",
                where=at["effort"],
                found=f"{effort.low[j]:g} in every row",
                expected="a torque that follows the motion",
                remedy="check that the channel was logged",
            )
        if turns[j] and np.pi < position.step[j] and not degrees.any():
            yield Finding(
                name="position_jumps",
                severity="error",
                where=at["position"],
                found=f"a step of {position.step[j]:.3g} rad between two rows",
                expected="a continuous angle",
                remedy="unwrap the encoder before logging",
            )
    if not degrees.any():
        yield from _beyond_limits(recording, robot, found)
    if recording.facts.effort_kind in ("joint_torque", "link_torque_sensor"):
        yield from _beyond_effort(recording, robot, found)


def _beyond_effort(recording: Recording, robot: Robot, found: Survey) -> Iterator[Finding]:
    """Findings of torque that no drive of this robot gives: another unit, or a broken value."""
    effort = found.spans["effort"]
    largest = np.maximum(np.abs(effort.low), np.abs(effort.high))
    # Descriptions write 0 where they know no limit.
    limit = np.where(robot.effort > 0.0, robot.effort, np.inf)
    for j in np.flatnonzero(np.isfinite(largest) & (largest > _OVERLOAD * limit)):
        impossible = largest[j] > _NO_DRIVE * limit[j]
        unit = si_unit("effort", robot.turns[j])
        yield Finding(
            name="effort_beyond_limits",
            severity="error" if impossible else "warning",
            where=f"{recording.path}: effort of joint '{robot.joints[j]}'",
            found=f"up to {largest[j]:.4g} {unit}",
            expected=f"within the limit {limit[j]:.4g} {unit}",
            remedy="check the unit, and for single values that are wrong",
        )


def _beyond_limits(recording: Recording, robot: Robot, found: Survey) -> Iterator[Finding]:
    position = found.spans["position"]
    low, high = robot.position.T
    # Controllers overshoot a limit by little; the description rounds it.
    slack = np.where(np.isfinite(high - low), 0.01 * np.abs(high - low), 0.0)
    for j in np.flatnonzero((position.low < low - slack) | (position.high > high + slack)):
        yield Finding(
            name="beyond_limits",
            severity="warning",
            where=f"{recording.path}: position of joint '{robot.joints[j]}'",
            found=f"{position.low[j]:.4g} to {position.high[j]:.4g}",
            expected=f"within the limits {low[j]:.4g} to {high[j]:.4g}",
            remedy="check unit, zero and order of the joints",
        )


def _degrees_by_range(robot: Robot, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which turning joints lie far outside of what radians can be, but not degrees."""
    largest = np.maximum(np.abs(low), np.abs(high))
    limit = np.abs(robot.position).max(axis=1)
    limit = np.where(np.isfinite(limit), limit, 4.0 * np.pi)
    far = np.isfinite(largest) & (largest > 2.0 * limit)
    return np.asarray(np.array(robot.turns) & far & (np.radians(largest) <= 1.05 * limit))


def _largest(span: Span) -> float:
    return float(np.maximum(np.abs(span.low), np.abs(span.high)).max())


def _degrees_finding(recording: Recording, found: str) -> Finding:
    return Finding(
        name="degrees",
        severity="error",
        where=f"{recording.path}: position",
        found=found,
        expected="radians",
        remedy="these look like degrees: declare the unit 'deg' in the file or in a profile",
    )


def _of_model(
    dataset: Dataset, robot: Robot, regressor: Regressor, findings: list[Finding]
) -> Iterator[Finding]:
    """Findings of how well CAD plus friction explains the torque."""
    states = sample(dataset)
    if states is None:
        return
    result = explained(states, robot, regressor)
    path = dataset.recording.path
    if result.degrees and not any(finding.name == "degrees" for finding in findings):
        yield _degrees_finding(
            dataset.recording,
            f"CAD and friction leave {result.error:.0%} of the torque unexplained, "
            f"and {result.error_degrees:.0%} when positions are read as degrees",
        )
        return
    if result.degrees:
        return
    if result.exchanged:
        names = " and ".join(f"'{robot.joints[j]}'" for j in result.exchanged)
        gain = "over 100" if result.gain > 100.0 else f"{result.gain:.1f}"
        yield Finding(
            name="swapped_joints",
            severity="warning",
            where=f"{path}: joints {names}",
            found=f"the model explains the log {gain} times better with their "
            f"{'torques' if result.torque_only else 'columns'} exchanged",
            remedy="check the order of the joints in the recorder",
        )
        return
    for j in result.flipped:
        yield Finding(
            name="flipped_sign",
            severity="warning",
            where=f"{path}: effort of joint '{robot.joints[j]}' (joint {j + 1})",
            found="torque opposes what the model asks for, friction included",
            remedy="check the sign of this joint's torque or drive gain",
        )
