"""Which logs of a campaign are there, and which of them may be used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ident.arrays import Array
from ident.cli.campaign_folder import LOGS, Planned, PlannedStep
from ident.cli.summary import finding
from ident.errors import Finding, LogError, UsageError
from ident.excitation.approach import Play
from ident.excitation.campaign import core_s
from ident.excitation.following import Following, follow, order_of
from ident.logs.checks import as_finding, check
from ident.logs.readers import read_log
from ident.logs.recording import Recording
from ident.model.robot import Robot
from ident.regressor.rigid import Regressor, derive

Status = Literal["usable", "unusable", "missing"]

# A motion starts and ends slowly: a recorder that starts this late has lost nothing, s.
_SLACK_S = 0.5
# Relative change of torque over the last quarter of a warm-up above which it still goes on.
_SETTLED = 0.02
_PERIODS = 4  # of the warm-up, at least, to tell
_BARE = ("none", "0", "")
# Times at which a plan is asked whether a joint moves, and the range in rad or m that is none.
_LOOKED_AT, _STILL = 1000, 1e-6
# Warnings that the plan makes errors: it is for one mounting.
_FATAL = ("gravity_differs",)


@dataclass(frozen=True, eq=False, kw_only=True)
class StepStatus:
    """What there is of a step.

    Attributes
    ----------
    log : Path or None
        The file, where there is one.
    reasons : tuple of str
        Why it is unusable.
    findings : tuple of Finding
        What is suspect about a log that may be used.
    """

    step: PlannedStep
    status: Status
    log: Path | None = None
    reasons: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """One object of the machine summary."""
        return {
            "name": self.step.name,
            "status": self.status,
            "log": self.log,
            "reasons": self.reasons,
            "findings": [finding(f) for f in self.findings],
        }


def require_model(planned: Planned, robot: Robot) -> None:
    """Refuse a robot that the campaign was not made for.

    Raises
    ------
    UsageError
        Its rigid-body model is another one.
    """
    if robot.digest != planned.model:
        raise UsageError(
            f"robot '{robot.name}'",
            "its model is not the one that the campaign was made for",
            expected=f"'{planned.reference}' as it was",
            remedy="name the robot that was planned for, or plan again",
        )


def check_campaign(
    planned: Planned, robot: Robot, *, profile: str | None = None
) -> Iterator[StepStatus]:
    """Status of each step, in order; one log is read at a time."""
    bare = derive(robot)
    carrying = planned.payload.carried_by(robot) if planned.payload else robot
    loaded = Regressor(robot=carrying, program=bare.program)
    for step in planned.steps:
        regressor = loaded if step.loaded else bare
        yield _status(planned, step, regressor, profile)


def _status(
    planned: Planned, step: PlannedStep, regressor: Regressor, profile: str | None
) -> StepStatus:
    files = sorted(p for p in (planned.folder / LOGS).glob(f"{step.name}.*") if p.is_file())
    if not files:
        return StepStatus(step=step, status="missing")
    if len(files) > 1:
        names = ", ".join(path.name for path in files)
        return _unusable(step, files[0], f"{len(files)} files: {names}; keep one")
    log = files[0]
    try:
        recording = read_log(log, regressor.robot, profile=profile)
        found = check(recording, regressor.robot, regressor)
        reasons = [_within(log, f) for f in found if f.severity == "error" or f.name in _FATAL]
        reasons = reasons or list(_contradictions(planned, step, recording))
    except LogError as e:
        reasons = [_within(log, as_finding(e))]
    if reasons:
        return _unusable(step, log, *reasons)
    return StepStatus(
        step=step,
        status="usable",
        log=log,
        findings=(
            *(f for f in found if f.severity == "warning" and not _planned(step, f)),
            *_warming(step, recording),
        ),
    )


def _planned(step: PlannedStep, found: Finding) -> bool:
    """Whether the plan explains a finding: a joint that should not move, a payload on its step."""
    if found.name == "payload":
        return step.loaded
    if found.name not in ("joint_still", "effort_constant"):
        return False
    t = np.linspace(0.0, step.duration_s, _LOOKED_AT)
    still = np.ptp(step.plan.states(t).q, axis=0) < _STILL
    joints = (joint for joint, s in zip(step.plan.joints, still, strict=True) if s)
    return any(found.where.endswith(f"joint '{joint}'") for joint in joints)


def _within(log: Path, found: Finding) -> str:
    """A finding on a log that is named beside it."""
    where = found.where.removeprefix(str(log)).removeprefix(": ")
    return f"{where}: {found.message}" if where else found.message


def _unusable(step: PlannedStep, log: Path, *reasons: str) -> StepStatus:
    return StepStatus(step=step, status="unusable", log=log, reasons=reasons)


def _contradictions(planned: Planned, step: PlannedStep, recording: Recording) -> Iterator[str]:
    """What a log that can be read says against the plan."""
    payload = recording.facts.payload.strip()
    carries = payload.lower() not in _BARE
    if carries and not step.loaded:
        yield f"the log says that it carries '{payload}'; this step is without payload"
    if step.loaded and payload and not carries:
        yield f"the log says that its payload is '{payload}'; this step is with the payload"
    t, q = _numbers(recording, "position")
    placed = follow(t, q, step.plan)
    if not placed.follows:
        yield _other_path(planned, step, t, q, placed)
    elif short := _cut_short(step, placed):
        yield short


def _other_path(planned: Planned, step: PlannedStep, t: Array, q: Array, placed: Following) -> str:
    """What the log follows instead, or where it is off."""
    order = order_of(t, q, step.plan)
    joints = step.plan.joints
    if order is not None:
        said = ", ".join(
            f"'{joints[order[j]]}' for '{joints[j]}'" for j in np.flatnonzero(placed.astray)
        )
        return f"joints in another order: it follows the plan with {said}; correct the columns"
    for other in planned.steps:
        if other.plan.trajectory.id != step.plan.trajectory.id and follow(t, q, other.plan).follows:
            return f"it follows {other.name} instead; files exchanged?"
    worst = int(np.argmax(placed.off / placed.allowed))
    unit = "rad" if step.plan.turns[worst] else "m"
    off, allowed = placed.off[worst], placed.allowed[worst]
    return (
        f"it does not follow the planned path: joint '{joints[worst]}' is up to "
        f"{off:.3g} {unit} off (expected {allowed:.2g} {unit} at most); "
        "play the files of this step, at full speed"
    )


def _cut_short(step: PlannedStep, placed: Following) -> str:
    """Say which part of the motion is missing; empty where none is."""
    begin, end = core_s(step.plan)
    first, last = placed.covered_s
    held = min(last, end) - max(first, begin)
    if held >= step.share * (end - begin) - _SLACK_S:
        return ""
    return (
        f"cut short: {max(held, 0.0):.1f} s of the {end - begin:.1f} s that are needed, from "
        f"{max(first, begin):.1f} s to {min(last, end):.1f} s of the plan; play and log it again"
    )


def _warming(step: PlannedStep, recording: Recording) -> Iterator[Finding]:
    """A warning where the torque of the warm-up still changes in the end."""
    if step.kind != "warmup" or not isinstance(step.plan, Play):
        return
    time, effort = _numbers(recording, "effort")
    placed = follow(*_numbers(recording, "position"), step.plan)
    begin, end = (x + placed.shift_s for x in core_s(step.plan))
    period = step.plan.trajectory.period_s
    count = int((min(end, time[-1]) - begin) / period + 1e-3)
    if count < _PERIODS or time[0] > begin:
        return
    # Of the last half, a quarter and the next, in whole periods.
    quarter = count // 4
    edges = begin + period * np.array([count - 2 * quarter, count - quarter, count])
    before, after = (
        np.abs(effort[(time >= low) & (time < high)]).mean(axis=0) for low, high in pairwise(edges)
    )
    change = after / np.maximum(before, 1e-12) - 1.0
    worst = int(np.argmax(np.abs(change)))
    if abs(change[worst]) > _SETTLED:
        yield Finding(
            name="still_warming",
            severity="warning",
            where=f"{recording.path}: joint '{recording.joints[worst]}'",
            found=f"torque changes by {100.0 * change[worst]:+.1f} % over the last quarter",
            expected=f"within {100.0 * _SETTLED:g} %",
            remedy="warm up longer: play it again before the next step",
        )


def _numbers(recording: Recording, channel: str) -> tuple[Array, Array]:
    """Times (N,) that increase, and a channel (N, n) then, without rows where some is missing."""
    rows = recording.read(0, recording.rows, [channel])
    values = rows.channels[channel]
    whole = np.isfinite(rows.time) & np.isfinite(values).all(axis=1)
    t, values = rows.time[whole], values[whole]
    if len(t):
        forward = np.concatenate([[True], t[1:] > np.maximum.accumulate(t)[:-1]])
        t, values = t[forward], values[forward]
    if len(t) < 2:
        raise LogError(f"{recording.path}: {channel}", "hardly any numbers", expected="a log")
    return t, values


def next_step(statuses: list[StepStatus]) -> str | None:
    """Name of the first step that is still to be done, or done again."""
    return next((s.step.name for s in statuses if s.status != "usable"), None)
