"""A campaign: everything that is worth playing to identify one arm, in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ident.arrays import Array
from ident.errors import Finding, InfeasibleError, UsageError
from ident.excitation.approach import Play, play_of
from ident.excitation.collision import Clearance
from ident.excitation.course import Course, certify
from ident.excitation.design import Design, DesignOptions, design
from ident.excitation.envelope import Certificate, Envelope, Load, Payload, require_home
from ident.excitation.fourier import Trajectory
from ident.excitation.limits import Limits
from ident.excitation.poses import PoseOptions, choose_poses, gravity_condition, visit
from ident.excitation.surroundings import Surroundings
from ident.excitation.sweeps import SweepOptions, friction_sweep
from ident.files import file_name
from ident.model.robot import Robot
from ident.regressor.columns import States
from ident.regressor.rigid import derive

Kind = Literal["warmup", "static", "friction", "excitation", "validation", "payload"]
Progress = Callable[[str], None]

_ON_THE_WAY = 400  # states of an approach that are looked at
# Half speed turns the drives and heats them, and is kind to an arm that has stood for a night.
_WARMUP_SPEED = 0.5
# Nothing is fitted to the warm-up: set-points that a controller interpolates keep its files small.
_WARMUP_HZ = 100.0
# Another base frequency makes another path of whatever the search finds.
_VALIDATION_FREQUENCY = 0.8
_VALIDATION_TRIES = 3
# States of one motion within this share of the range of all count as seen in the other; a motion
# of which so much is seen is a repeat.
_NEAR, _SEEN = 0.02, 0.9
_POSES = 1  # second seed of the poses, beside that of the searches
_WARMED_UP = 0.5  # share of the warm-up that must have been played


@dataclass(frozen=True, kw_only=True)
class CampaignOptions:
    """What may be chosen.

    Attributes
    ----------
    design : DesignOptions
        Of the excitation; validation and payload follow it. It carries nothing.
    payload : Payload or None
        What is identified by difference, with runs without, with, with and without it.
    validation_periods : int
        Periods of the validation.
    warmup_s : float
        How long to warm up; zero for not at all.
    """

    design: DesignOptions = field(default_factory=lambda: DesignOptions(periods=5))
    payload: Payload | None = None
    validation_periods: int = 2
    warmup_s: float = 600.0
    poses: PoseOptions = field(default_factory=PoseOptions)
    sweeps: SweepOptions = field(default_factory=SweepOptions)

    def __post_init__(self) -> None:
        """Check the numbers that nothing else checks."""
        if not 0.0 <= self.warmup_s < np.inf:
            raise UsageError("warm-up", f"{self.warmup_s:g} s", expected="seconds, not below zero")
        if self.validation_periods < 1:
            raise UsageError("periods", str(self.validation_periods), expected="at least one")
        if self.design.payload is not None:
            raise UsageError("campaign", "a design with a payload", expected="one of the bare arm")
        if self.payload is not None and not self.payload.mass > 0.0:
            found = f"{self.payload.mass:g} kg"
            raise UsageError("payload mass", found, expected="above zero: it is to be weighed")


@dataclass(frozen=True, eq=False, kw_only=True)
class Step:
    """One motion to play and to log.

    Attributes
    ----------
    name : str
        With its number, as folders and logs are called: ``03_friction_1_joint1``.
    purpose : str
        What it is for, in a sentence or two.
    loaded : bool
        Whether the payload is on.
    plan : Play or Course
        The motion.
    certificate : Certificate
        What the motion reaches, with the payload where it is on.
    share : float
        How much of the motion itself a log must hold; moves from and to home may be missing.
    design : Design or None
        Where the motion was searched for, with its quality.
    """

    name: str
    kind: Kind
    purpose: str
    plan: Play | Course
    certificate: Certificate
    loaded: bool = False
    share: float = 1.0
    design: Design | None = None

    @property
    def duration_s(self) -> float:
        """Length of the motion in s."""
        return self.plan.duration_s

    @property
    def log(self) -> str:
        """Pattern of the log that is expected, within the campaign's folder."""
        return f"logs/{self.name}.*"


def core_s(plan: Play | Course) -> tuple[float, float]:
    """Begin and end of what must be logged of a motion: the excitation, or all of a course."""
    return plan.phase_bounds["excitation"] if isinstance(plan, Play) else (0.0, plan.duration_s)


@dataclass(frozen=True, eq=False, kw_only=True)
class Campaign:
    """Steps in the order in which they are played.

    Attributes
    ----------
    poses : int
        Static poses that are visited.
    gravity_condition : float
        Condition number of what they show; infinite where there are none.
    surroundings : Surroundings or None
        What every motion keeps away from.
    """

    robot: Robot
    options: CampaignOptions
    steps: tuple[Step, ...]
    poses: int
    gravity_condition: float
    findings: tuple[Finding, ...]
    seconds: float
    surroundings: Surroundings | None = None

    @property
    def duration_s(self) -> float:
        """Time in motion, all steps together, in s."""
        return sum(step.duration_s for step in self.steps)


def plan(
    robot: Robot,
    options: CampaignOptions | None = None,
    *,
    surroundings: Surroundings | None = None,
    progress: Progress = lambda _: None,
) -> Campaign:
    """A campaign for a robot, every motion within all limits from home and back.

    Raises
    ------
    InfeasibleError
        Home or a search does not keep the limits; it names the limit.
    """
    options, began = options or CampaignOptions(), time.perf_counter()
    envelope = _envelope(robot, options, surroundings)
    found = _Designs.of(robot, options, surroundings, progress)
    findings: list[Finding] = []
    progress("static poses")
    poses = _poses(robot, envelope, options, findings)
    steps = [
        *_warmup(robot, found.excitation, envelope, options.warmup_s),
        *_static(robot, envelope, poses, options.poses),
        *_friction(robot, envelope, options.sweeps, findings, progress),
        *_designed(found),
        *_loads(found.payload, envelope),
    ]
    return Campaign(
        robot=robot,
        options=options,
        steps=tuple(replace(s, name=f"{k:02d}_{s.name}") for k, s in enumerate(steps, start=1)),
        poses=len(poses),
        gravity_condition=gravity_condition(robot, poses) if len(poses) else np.inf,
        findings=tuple(dict.fromkeys([*findings, *found.findings])),
        seconds=time.perf_counter() - began,
        surroundings=surroundings,
    )


def _envelope(
    robot: Robot, options: CampaignOptions, surroundings: Surroundings | None
) -> Envelope:
    """What motions of the bare arm about home must keep."""
    envelope = Envelope.around(
        robot.home,
        Limits.of(robot, margin=options.design.margin),
        Load(derive(robot)),
        Clearance.of(robot, surroundings),
        options.design.distance,
    )
    require_home(robot.home, envelope)
    return envelope


@dataclass(frozen=True, eq=False, kw_only=True)
class _Designs:
    """What is searched for."""

    excitation: Design
    validation: Design
    payload: Design | None

    @classmethod
    def of(
        cls,
        robot: Robot,
        options: CampaignOptions,
        surroundings: Surroundings | None,
        progress: Progress,
    ) -> _Designs:
        def search(what: str, options: DesignOptions) -> Design:
            return design(
                robot,
                options,
                surroundings=surroundings,
                progress=lambda text: progress(f"{what}: {text}"),
            )

        own = options.design
        excitation = search("excitation", own)
        for k in range(1, _VALIDATION_TRIES + 1):
            other = replace(
                own,
                seed=own.seed + k,
                base_frequency_hz=_VALIDATION_FREQUENCY * own.base_frequency_hz,
                periods=options.validation_periods,
            )
            validation = search("validation", other)
            if not repeats(validation.trajectory, excitation.trajectory):
                break
        else:
            raise InfeasibleError(
                "validation",
                "the same motion as the excitation, again and again",
                expected="another one",
                remedy="allow more harmonics, or wider limits",
            )
        with_load = replace(own, payload=options.payload)
        payload = search("payload", with_load) if options.payload else None
        return cls(excitation=excitation, validation=validation, payload=payload)

    @property
    def findings(self) -> Iterator[Finding]:
        """What is suspect, with the motion that it is about."""
        for what, found in vars(self).items():
            for finding in found.findings if found else ():
                about = finding.where == "trajectory"
                yield replace(finding, where=f"{what} trajectory") if about else finding


def repeats(trajectory: Trajectory, other: Trajectory) -> bool:
    """Whether nearly all states of a trajectory come near states of another one.

    As logs are compared in validation: position and velocity of every joint, relative to ranges.
    """
    from scipy.spatial import cKDTree

    asked, seen = (
        np.hstack([m.q, m.dq])
        for m in (s.series.states(s.series.times(100)) for s in (trajectory, other))
    )
    span = np.ptp(np.vstack([seen, asked]), axis=0)
    scale = np.where(span > 0.0, span, 1.0)
    distance, _ = cKDTree(seen / scale).query(asked / scale, p=np.inf)
    return bool(np.mean(distance < _NEAR) > _SEEN)


def warmup_of(trajectory: Trajectory, seconds: float) -> Trajectory:
    """The same path at half speed, in as many whole periods as ``seconds`` need."""
    s = trajectory.series
    slow = replace(s, omega=_WARMUP_SPEED * s.omega, a=_WARMUP_SPEED * s.a, b=_WARMUP_SPEED * s.b)
    periods = int(np.ceil(seconds / slow.period_s - 1e-9))
    return replace(trajectory, series=slow, periods=periods, rate_hz=_WARMUP_HZ)


def _warmup(robot: Robot, found: Design, envelope: Envelope, seconds: float) -> Iterator[Step]:
    if not seconds:
        return
    play = play_of(warmup_of(found.trajectory, seconds), robot)
    yield Step(
        name="warmup",
        kind="warmup",
        purpose=(
            "The excitation's path at half speed until the drives are warm: viscous friction falls "
            "by tens of percent from cold to warm, and what is measured meanwhile fits no model."
        ),
        plan=play,
        certificate=_with_approach(play, envelope),
        share=_WARMED_UP,
    )


def _with_approach(play: Play, envelope: Envelope) -> Certificate:
    """Certificate of a play, its approach included; the return is the same path."""
    on_the_way = play.approach.states(np.linspace(0.0, play.approach.duration_s, _ON_THE_WAY))
    back = States(q=on_the_way.q, dq=-on_the_way.dq, ddq=on_the_way.ddq)
    certificate = envelope.certify(play.trajectory.series, on_the_way, back)
    certificate.require()
    return certificate


def _poses(
    robot: Robot, envelope: Envelope, options: CampaignOptions, findings: list[Finding]
) -> Array:
    """Static poses (K, n); findings where there are none, or few."""
    rng = np.random.default_rng([options.design.seed, _POSES])
    try:
        chosen = choose_poses(robot, envelope, rng, options.poses)
    except InfeasibleError as e:
        findings.append(_left_out(e))
        return np.zeros((0, robot.n))
    findings += _few(robot, len(chosen), options.poses.poses)
    return chosen


def _static(robot: Robot, envelope: Envelope, poses: Array, options: PoseOptions) -> Iterator[Step]:
    if not len(poses):
        return
    course = visit(robot, envelope, poses, options)
    certificate = certify(course, envelope)
    certificate.require()
    yield Step(
        name="static",
        kind="static",
        purpose=(
            f"{len(poses)} poses at rest, each reached from below and from above at all joints: "
            "the mean of both torques is gravity and offset, half their difference the stiction."
        ),
        plan=course,
        certificate=certificate,
    )


def _friction(
    robot: Robot,
    envelope: Envelope,
    options: SweepOptions,
    findings: list[Finding],
    progress: Progress,
) -> Iterator[Step]:
    """A step for each joint that can sweep; a finding for each that cannot."""
    for j, joint in enumerate(robot.joints):
        progress(f"friction of {joint}")
        try:
            course = friction_sweep(robot, j, envelope, options)
        except InfeasibleError as e:
            findings.append(_left_out(e))
            continue
        yield Step(
            name=f"friction_{j + 1}_{file_name(joint)}",
            kind="friction",
            purpose=(
                f"Joint '{joint}' alone there and back at {len(options.shares)} constant speeds: "
                "half the difference of the torques there and back at the same angle is friction, "
                "whatever gravity does."
            ),
            plan=course,
            certificate=certify(course, envelope),
        )


def _designed(found: _Designs) -> Iterator[Step]:
    periods = found.excitation.trajectory.periods
    yield Step(
        name="excitation",
        kind="excitation",
        purpose=(
            f"{periods} periods of the trajectory that shows all parameters best: what is fitted. "
            "The scatter over the periods tells noise from what the model misses."
        ),
        plan=found.excitation.play,
        certificate=found.excitation.certificate,
        design=found.excitation,
    )
    yield Step(
        name="validation",
        kind="validation",
        purpose="Another trajectory, which is never fitted: what the model is scored on.",
        plan=found.validation.play,
        certificate=found.validation.certificate,
        design=found.validation,
    )


def _loads(found: Design | None, envelope: Envelope) -> Iterator[Step]:
    """Without, with, with, without: what drifts evenly falls out of the difference."""
    if found is None:
        return
    bare = _with_approach(found.play, envelope)
    for letter, loaded in zip("abcd", (False, True, True, False), strict=True):
        yield Step(
            name=f"{'loaded' if loaded else 'unloaded'}_{letter}",
            kind="payload",
            purpose=(
                f"The payload's trajectory {'with' if loaded else 'without'} the payload. In the "
                "order without, with, with, without, what drifts evenly falls out of the "
                "difference."
            ),
            plan=found.play,
            certificate=found.certificate if loaded else bare,
            loaded=loaded,
            design=found,
        )


def _few(robot: Robot, found: int, wanted: int) -> list[Finding]:
    if found == wanted:
        return []
    return [
        Finding(
            name="few_poses",
            severity="warning",
            where=f"static poses of '{robot.name}'",
            found=f"{found} that keep torque and distance, and can be reached from home",
            expected=str(wanted),
            remedy="choose another home, or a smaller --distance",
        )
    ]


def _left_out(error: InfeasibleError) -> Finding:
    """Finding of a step that cannot be played."""
    return Finding(
        name="step_left_out",
        severity="warning",
        where=error.where,
        found=error.found,
        expected=error.expected,
        remedy=f"left out; {error.remedy}" if error.remedy else "left out",
    )
