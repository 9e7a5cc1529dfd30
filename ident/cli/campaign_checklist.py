"""The checklist of a campaign: what a person does at the robot, in order."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from ident.excitation.campaign import Campaign, Step
from ident.model.robot import Robot

# What it takes to start a motion and a recorder, and to stop and name them, s.
_HANDLING_S = 60.0
_MOUNTING_S = 300.0

_STREAMED = ("urscript", "servoj")


def checklist(campaign: Campaign, out: Path, formats: Sequence[str]) -> str:
    """Text in Markdown with a box to tick for everything that is to be done."""
    lines = [
        *_head(campaign),
        *_before(campaign.robot),
        *_recording(),
        *_playing(formats),
        *_steps(campaign),
        *_after(campaign, out),
    ]
    return "\n".join(lines) + "\n"


def clock(seconds: float) -> str:
    """A duration as minutes and seconds: ``12:05``."""
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes}:{left:02d}"


def _head(campaign: Campaign) -> Iterator[str]:
    steps = len(campaign.steps)
    total = campaign.duration_s + steps * _HANDLING_S
    total += _MOUNTING_S * _changes(campaign.steps)
    yield f"# Campaign for {campaign.robot.title or campaign.robot.name}"
    yield ""
    yield (
        f"{steps} steps, {clock(campaign.duration_s)} min of motion; with what stands between "
        f"them count on {round(total / 60.0)} min. Do them in this order, in one session: "
        "friction depends on temperature."
    )
    yield ""


def _before(robot: Robot) -> Iterator[str]:
    yield "## Before you start"
    yield ""
    yield from _boxes(
        "A person stands at the emergency stop during every motion, and has tried it today.",
        "Nobody is within reach of the arm, and the space that it sweeps is free. Collisions were "
        "looked at only for the shapes of the description and the surroundings that were given: "
        "cables, hoses, tools and people are not among them.",
        "The flange is bare: no tool, no cable that pulls.",
        "The controller's payload, tool and centre of mass are set to none, whatever hangs there "
        "later: identification needs the torque of the arm as it is.",
        f"The base is mounted so that gravity in its frame is {_vector(robot)} m/s².",
        f"The arm is at home ({_home(robot)}): every motion starts and ends there.",
        "Speed override is at 100 %, force and collision limits let the motion pass, and nothing "
        "else (force control, hand guiding) is active.",
        "The first motion has been looked at in simulation, or once at reduced speed without a "
        "log.",
    )
    yield ""


def _recording() -> Iterator[str]:
    yield "## What to log"
    yield ""
    yield from _boxes(
        "Each step into a file of its own, `logs/<step>.parquet`, `.csv` or `.npz`: from about a "
        "second before the motion until a second after it, at rest at both ends.",
        "Device time in s, and for every joint measured position and torque (or motor current), as "
        "the controller has them: unfiltered, uncompensated for gravity.",
        "1000 Hz, or what the controller gives; 250 Hz at least.",
        "If there are any: set-points, drive temperatures, measured velocity.",
        "Columns `time`, `<joint>/position`, `<joint>/effort` (or `q1 …`, `tau1 …`); other names "
        "need a profile.",
    )
    yield ""


def _playing(formats: Sequence[str]) -> Iterator[str]:
    yield "## What to play"
    yield ""
    yield (
        f"Each step has a folder with its motion ({', '.join(formats)}) and its certificate "
        "(JSON), which says what it reaches of limits, torque and distance. Set-points must be "
        "played in the time that they state."
    )
    if any(kind in _STREAMED for kind in formats):
        yield (
            "URScript evaluates a series on the controller; static poses and friction sweeps are "
            "no series and are streamed (`_servoj`)."
        )
    yield ""


def _steps(campaign: Campaign) -> Iterator[str]:
    yield "## Steps"
    yield ""
    previous = False
    for step in campaign.steps:
        if step.loaded != previous:
            yield from _boxes(_mounting(campaign, step.loaded))
            yield ""
        previous = step.loaded
        yield f"- [ ] **{step.name}**, {clock(step.duration_s)} min → `{step.log}`"
        yield f"  {step.purpose}"
        for line in _demands(step):
            yield f"  - {line}"
        yield ""


def _mounting(campaign: Campaign, loaded: bool) -> str:
    payload = campaign.options.payload
    if not loaded or payload is None:
        return "Take the payload off. Touch nothing else."
    x, y, z = payload.com
    return (
        f"Mount the payload: {payload.mass:g} kg, centre of mass at ({x:g}, {y:g}, {z:g}) m in the "
        "flange's frame. Its shape is not part of the collision check: see that it has room. Leave "
        "the controller's payload at none; where it stops the arm for that, set the true payload, "
        "and log motor currents or joint torques, never an estimate of external torque."
    )


def _demands(step: Step) -> Iterator[str]:
    """What is special about a step, and what the check asks of its log."""
    if step.kind == "warmup":
        yield (
            "Warm is when the torque of each joint over one period no longer changes: less than "
            "2 % over the last quarter. The check says so; if it is not, play it again."
        )
        yield "Go on at once: an arm cools within minutes."
    if step.loaded:
        yield "Log metadata, if any: `payload` says what hangs there."
    elif step.kind == "payload":
        yield "Log metadata, if any: `payload` is empty or `none`."
    asked = "half of it" if step.share < 1.0 else "all of it"
    yield f"The log must follow the planned path over {asked}, and pass `ident check`."


def _after(campaign: Campaign, out: Path) -> Iterator[str]:
    folder, robot = shlex.quote(str(out)), campaign.robot.name
    train = [s.name for s in campaign.steps if s.kind == "excitation"]
    score = [s.name for s in campaign.steps if s.kind == "validation"]
    yield "## After each step, and in the end"
    yield ""
    yield from _boxes(
        f"`ident plan --check {folder}` says which logs are missing or unusable, and what to do "
        "next. Run it before the arm is put away.",
        f"`ident identify {robot} {folder}/logs/{train[0]}.* --validate "
        f"{folder}/logs/{score[0]}.*` makes the model.",
    )


def _boxes(*items: str) -> Iterator[str]:
    return (f"- [ ] {item}" for item in items)


def _vector(robot: Robot) -> str:
    return "(" + ", ".join(f"{value:g}" for value in robot.gravity) + ")"


def _home(robot: Robot) -> str:
    units = ("rad" if turns else "m" for turns in robot.turns)
    named = zip(robot.joints, robot.home, units, strict=True)
    return ", ".join(f"{joint} {value:.4g} {unit}" for joint, value, unit in named)


def _changes(steps: Sequence[Step]) -> int:
    """How often the payload is mounted or taken off."""
    return len(list(groupby(steps, key=lambda step: step.loaded))) - 1
