"""Campaign folders: what is played, in order, and how it is found again.

A folder holds ``plan.json``, ``CHECKLIST.md``, a folder for each step with its motion (JSON) and
what robots play, and ``logs/``, into which the logs go under the names of the steps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from ident import __version__
from ident.cli.campaign_checklist import checklist
from ident.cli.trajectories import PREVIEWS
from ident.errors import UsageError
from ident.excitation.approach import Play, Quintic, play_of
from ident.excitation.campaign import Campaign, Kind, Step, core_s
from ident.excitation.course import Course
from ident.excitation.envelope import Load, Payload
from ident.excitation.fourier import FourierSeries, Trajectory
from ident.excitation.playback import FORMATS, playback_files
from ident.excitation.playback.urscript import require_ur
from ident.files import whole_folder
from ident.model.robot import Robot
from ident.regressor.rigid import derive
from ident.report.preview import joint_plots
from ident.report.scene import scene_page, viewer

SCHEMA = 1
MARKER, CHECKLIST, LOGS = "plan.json", "CHECKLIST.md", "logs"
_UNIVERSAL = ("urscript", "servoj")
# What previews keep of a motion; more is not seen.
_PREVIEW_HZ, _PREVIEW_SAMPLES = 50.0, 5000.0


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedStep:
    """A step as the folder holds it.

    Attributes
    ----------
    share : float
        How much of the motion itself a log must hold.
    """

    name: str
    kind: Kind
    loaded: bool
    share: float
    duration_s: float
    plan: Play | Course


@dataclass(frozen=True, eq=False, kw_only=True)
class Planned:
    """A campaign as its folder holds it.

    Attributes
    ----------
    robot, reference, model : str
        Name of the robot, what it was loaded by, and the digest of its model.
    gravity : three floats, m/s²
    """

    folder: Path
    robot: str
    reference: str
    model: str
    gravity: tuple[float, float, float]
    payload: Payload | None
    steps: tuple[PlannedStep, ...]


def open_folder(out: Path) -> AbstractContextManager[Path]:
    """A sibling to write into, which becomes ``out``; logs that lie in ``out`` stay."""
    return whole_folder(out, MARKER)


def require_formats(formats: Sequence[str], robot: Robot) -> None:
    """Refuse formats that do not exist, or that cannot hold a play of this robot.

    Raises
    ------
    UsageError
        Before anything is searched for.
    """
    known = (*FORMATS, *PREVIEWS)
    for kind in formats:
        if kind not in known:
            raise UsageError("--format", f"'{kind}'", expected=f"one of {', '.join(known)}")
        if kind == "page":
            viewer("3D preview")
        if kind in _UNIVERSAL:
            require_ur(_standing(robot))


def write_campaign(
    fresh: Path,
    out: Path,
    campaign: Campaign,
    *,
    reference: str,
    command: str,
    formats: Sequence[str],
) -> None:
    """Write a campaign into ``fresh``, which becomes ``out``.

    Raises
    ------
    UsageError
        A format does not exist or cannot hold a motion.
    """
    digests: dict[str, str] = {}
    for step in campaign.steps:
        (fresh / step.name).mkdir()
        files = {
            f"{step.name}.json": _json(step_facts(step)),
            **played(step, campaign.robot, [kind for kind in formats if kind in FORMATS]),
            **shown(step, campaign, [kind for kind in formats if kind in PREVIEWS]),
        }
        for name, content in files.items():
            (fresh / step.name / name).write_bytes(content)
        digests[step.name] = _sha256(files[f"{step.name}.json"])
    text = checklist(campaign, out, formats).encode()
    (fresh / CHECKLIST).write_bytes(text)
    facts = _facts(campaign, reference, command, formats)
    facts["files"] = {CHECKLIST: _sha256(text), **digests}
    (fresh / MARKER).write_bytes(_json(facts))
    if not (out / LOGS).exists():
        (fresh / LOGS).mkdir()


def played(step: Step, robot: Robot, formats: Sequence[str]) -> dict[str, bytes]:
    """Files that robots play, by name.

    A program that evaluates a series cannot hold a course: its set-points are streamed instead.
    """
    plan = step.plan
    if isinstance(plan, Play):
        return playback_files(plan, step.name, formats)
    files: dict[str, bytes] = {}
    for kind in dict.fromkeys("servoj" if kind == "urscript" else kind for kind in formats):
        # A course has all that sampled formats read of a play; streaming asks for its approach.
        whole = play_of(cast(Trajectory, plan), robot) if kind == "servoj" else cast(Play, plan)
        files |= playback_files(whole, step.name, [kind])
    return files


def shown(step: Step, campaign: Campaign, formats: Sequence[str]) -> dict[str, bytes]:
    """Previews, by name: plots of every joint, and a page of the arm moving."""
    robot, files = campaign.robot, dict[str, bytes]()
    if not formats:
        return files
    t, motion, _ = step.plan.sample(min(_PREVIEW_HZ, _PREVIEW_SAMPLES / step.duration_s))
    phases = [(name, *span) for name, span in step.plan.phase_bounds.items()]
    title = f"{robot.name} {step.name}"
    if "plots" in formats:
        payload = campaign.options.payload if step.loaded else None
        files[f"{step.name}{PREVIEWS['plots']}"] = joint_plots(
            t,
            motion,
            step.certificate.limits,
            phases=phases if isinstance(step.plan, Play) else (),
            torque=Load(derive(robot), payload).torque(motion),
            title=title,
        )
    if "page" in formats:
        files[f"{step.name}{PREVIEWS['page']}"] = scene_page(
            robot, t, motion.q, title=title, phases=phases, surroundings=campaign.surroundings
        )
    return files


def step_facts(step: Step) -> dict[str, Any]:
    """A step for JSON: its motion, so that it can be made again, and its certificate."""
    certificate: dict[str, Any] = {"limits": step.certificate.to_dict()}
    if step.design:
        certificate = {**step.design.to_dict()["certificate"], **certificate}
    plan = step.plan
    about = {"step": step.name, "phases_s": plan.phase_bounds, "certificate": certificate}
    if isinstance(plan, Course):
        return {"schema": SCHEMA, **plan.to_dict(), **about}
    approach = {
        "home": plan.home.tolist(),
        "duration_s": plan.approach.duration_s,
        "dwell_s": plan.dwell_s,
    }
    return {**plan.trajectory.to_dict(), "turns": plan.turns, "approach": approach, **about}


def read_campaign(folder: Path) -> Planned:
    """The campaign of a folder that ``ident plan`` wrote.

    Raises
    ------
    UsageError
        It is no such folder, newer than this ident, or damaged.
    """
    facts, where = _read(folder / MARKER), str(folder / MARKER)
    if facts["schema"] > SCHEMA:
        found = f"schema {facts['schema']}"
        raise UsageError(where, found, expected=f"{SCHEMA} at most", remedy="update ident")
    try:
        robot, payload = facts["robot"], facts["payload"]
        x, y, z = map(float, robot["gravity"])
        return Planned(
            folder=folder,
            robot=robot["name"],
            reference=robot["reference"],
            model=robot["sha256"],
            gravity=(x, y, z),
            payload=Payload(mass=payload["mass"], com=tuple(payload["com"])) if payload else None,
            steps=tuple(_step(folder, step) for step in facts["steps"]),
        )
    except (KeyError, TypeError, ValueError) as e:
        raise UsageError(where, f"not a campaign: {e!r}", remedy="plan it again") from e


def _step(folder: Path, facts: Mapping[str, Any]) -> PlannedStep:
    name = str(facts["name"])
    return PlannedStep(
        name=name,
        kind=facts["kind"],
        loaded=bool(facts["loaded"]),
        share=float(facts["share"]),
        duration_s=float(facts["duration_s"]),
        plan=_plan(folder / name / f"{name}.json"),
    )


def _plan(path: Path) -> Play | Course:
    facts, where = _read(path), str(path)
    if "parts" in facts:
        return Course.from_dict(facts, where=where)
    trajectory, approach = Trajectory.from_dict(facts, where=where), facts["approach"]
    start = trajectory.states(0.0).q[0]
    move = Quintic(start=approach["home"], end=start, duration_s=float(approach["duration_s"]))
    return Play(
        trajectory=trajectory,
        approach=move,
        dwell_s=float(approach["dwell_s"]),
        turns=tuple(facts["turns"]),
    )


def _read(path: Path) -> dict[str, Any]:
    """Facts of a JSON file that has a schema."""
    expected = f"a campaign folder with {MARKER}, as 'ident plan' writes it"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise UsageError(str(path), f"cannot be read: {e.strerror}", expected=expected) from e
    except ValueError as e:
        raise UsageError(str(path), f"not JSON: {e}", expected=expected) from e
    if not isinstance(facts, dict) or not isinstance(facts.get("schema"), int):
        raise UsageError(str(path), "no schema", expected=expected)
    return facts


def _facts(
    campaign: Campaign, reference: str, command: str, formats: Sequence[str]
) -> dict[str, Any]:
    """What the folder says of itself."""
    robot, options = campaign.robot, campaign.options
    payload = options.payload
    return {
        "schema": SCHEMA,
        "ident": __version__,
        "command": command,
        "robot": {
            "name": robot.name,
            "reference": reference,
            "joints": robot.joints,
            "gravity": robot.gravity.tolist(),
            "sha256": robot.digest,
        },
        "payload": asdict(payload) if payload else None,
        "options": asdict(options),
        "formats": list(formats),
        "seed": options.design.seed,
        "duration_s": campaign.duration_s,
        "static": {"poses": campaign.poses, "condition": _finite(campaign.gravity_condition)},
        "steps": [_summary(step) for step in campaign.steps],
        "findings": [asdict(finding) for finding in campaign.findings],
    }


def _summary(step: Step) -> dict[str, Any]:
    """What the plan says of a step."""
    return {
        "name": step.name,
        "kind": step.kind,
        "purpose": step.purpose,
        "loaded": step.loaded,
        "duration_s": step.duration_s,
        "log": step.log,
        "share": step.share,
        "core_s": core_s(step.plan),
    }


def _standing(robot: Robot) -> Play:
    """A play in which nothing moves."""
    none = np.zeros((robot.n, 2))
    series = FourierSeries(joints=robot.joints, omega=1.0, a=none, b=none, q0=robot.home)
    still = Trajectory(series=series, periods=1, rate_hz=10.0, robot=robot.name)
    return play_of(still, robot)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _json(facts: Any) -> bytes:
    return (json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
