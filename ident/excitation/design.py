"""Design a trajectory: the best of many searches, certified."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ident.errors import Finding, InfeasibleError, UsageError
from ident.excitation.approach import Play, play_of
from ident.excitation.collision import Clearance
from ident.excitation.criteria import Criterion, Goal, Information, Quality, Scaling
from ident.excitation.envelope import Certificate, Envelope, Load, Payload, require_home
from ident.excitation.fourier import RestToRest, Trajectory
from ident.excitation.limits import KINDS, KINEMATIC, Limits
from ident.excitation.search import Candidate, Search
from ident.excitation.surroundings import Surroundings
from ident.model.robot import Robot
from ident.regressor.columns import States
from ident.regressor.friction import DEFAULT
from ident.regressor.rigid import derive

# Above this the motion is too small to show the weakest parameter at all.
_USELESS = 1e8
# Far beyond what is of use: a search takes as the square of the one, memory as the other.
_HARMONICS, _SAMPLES = 50, 1e7
_ON_THE_WAY = 400  # states of an approach that are looked at
_INTERRUPTED = Finding(
    name="search_interrupted",
    severity="info",
    where="trajectory",
    found="the best of the searches that ran until the interruption",
    remedy="run it again for what all of them find",
)
Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class DesignOptions:
    """What may be chosen.

    Attributes
    ----------
    starts : int
        Random starts of the search. The same number and seed give the same trajectory.
    seconds : float or None
        Time after which no search goes on; as many starts as it allows, then.
    jobs : int
        Processes; 0 takes all processors.
    margin : float
        Share of each limit that may be used.
    start : tuple of float, or None
        Position at the ends of every period; free by default, near home.
    distance : float
        What must be left between two links, and between them and what stands around, in m.
    noise : tuple of float, or None
        Standard deviation of the torque of each joint; one percent of its limit by default.
    goal, scaling
        What is minimised: ``condition`` (number), ``log_det`` (its negative) or ``a_optimality``
        (sum of variances); of columns relative to ``prior`` magnitudes, or in ``si``.
    friction, armature
        Which columns will be identified besides the inertial ones.
    payload : Payload or None
        What the robot carries, for the torque.
    """

    harmonics: int = 5
    base_frequency_hz: float = 0.1
    periods: int = 2
    rate_hz: float = 1000.0
    starts: int = 16
    seconds: float | None = None
    jobs: int = 1
    seed: int = 0
    margin: float = 0.95
    start: tuple[float, ...] | None = None
    distance: float = 0.02
    noise: tuple[float, ...] | None = None
    goal: Goal = "condition"
    scaling: Scaling = "prior"
    friction: tuple[str, ...] = DEFAULT
    armature: bool = True
    payload: Payload | None = None

    def __post_init__(self) -> None:
        """Check the numbers that nothing else checks."""
        if self.starts < 1:
            raise UsageError("starts", str(self.starts), expected="at least one")
        if self.seed < 0:
            raise UsageError("seed", str(self.seed), expected="zero or more")
        if self.jobs < 0:
            raise UsageError("jobs", str(self.jobs), expected="one or more, or 0 for all")
        if self.harmonics > _HARMONICS:
            found = f"at most {_HARMONICS}"
            raise UsageError("harmonics", str(self.harmonics), expected=found)
        hz = self.base_frequency_hz
        played = self.periods / hz * self.rate_hz if hz > 0.0 else 0.0
        if played > _SAMPLES:
            raise UsageError(
                "periods",
                f"{self.periods}: {played:.3g} set-points",
                expected=f"at most {_SAMPLES:.0e}",
                remedy="play the trajectory several times",
            )
        if self.seconds is not None and not 0.0 < self.seconds < np.inf:
            raise UsageError("seconds", f"{self.seconds:g}", expected="finite, above zero")


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """A trajectory with what is promised of it.

    Attributes
    ----------
    robot, surroundings
        What it was designed for.
    play : Play
        The trajectory with its approach from home and its return.
    certificate : Certificate
        Of the trajectory; torque and distance of approach and return too.
    starts : int
        How many searches it is the best of.
    complete : bool
        Whether all of them came to their end, so that as many starts give the same again.
    """

    robot: Robot
    surroundings: Surroundings | None
    play: Play
    certificate: Certificate
    quality: Quality
    options: DesignOptions
    starts: int
    complete: bool
    seconds: float
    notes: tuple[Finding, ...] = ()

    @property
    def trajectory(self) -> Trajectory:
        """The excitation itself."""
        return self.play.trajectory

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is suspect."""
        interrupted = not self.complete and self.options.seconds is None
        cut = (_INTERRUPTED,) if interrupted else ()
        return (*self.certificate.findings, *self.quality.findings, *cut, *self.notes)

    def summary(self) -> dict[str, Any]:
        """Figures of the machine summary: condition, log_det, margins and seconds."""
        return {
            "condition": asdict(self.quality.condition),
            "log_det": self.quality.log_det,
            "margins": self.certificate.margins,
            "starts": self.starts,
            "complete": self.complete,
            "seconds": self.seconds,
        }

    def to_dict(self) -> Mapping[str, Any]:
        """Facts for JSON: the trajectory, and its certificate beside it."""
        facts = self.summary()
        del facts["seconds"]  # the same design is the same file
        errors = zip(self.quality.names, self.quality.standard_errors.tolist(), strict=True)
        options = asdict(self.options)
        del options["jobs"], options["seconds"]  # what the same design does not depend on
        options["starts"] = self.starts
        certificate = {
            **facts,
            "level": self.quality.level,
            "noise": self.quality.noise.tolist(),
            "standard_errors": dict(errors),
            "home": self.play.home.tolist(),
            "limits": self.certificate.to_dict(),
            "model": self.robot.digest,
            "options": options,
        }
        return {**self.trajectory.to_dict(), "certificate": certificate}


def design(
    robot: Robot,
    options: DesignOptions | None = None,
    *,
    limits: Limits | None = None,
    surroundings: Surroundings | None = None,
    earlier: Sequence[Information] = (),
    progress: Progress = lambda _: None,
) -> Design:
    """The best trajectory that ``options.starts`` searches find within all limits.

    Parameters
    ----------
    limits : Limits, optional
        Those of the robot, by ``options.margin``, unless they are given.
    surroundings : Surroundings, optional
        What must not be touched besides the robot itself.
    earlier : sequence of Information
        What runs that are there already have shown: the design then goes where that is thin.
    progress : callable
        Is told, in words, how far it is.

    Raises
    ------
    InfeasibleError
        No motion keeps the limits, or none that shows every parameter; it names the limit.

    Examples
    --------
    >>> import ident
    >>> made = ident.design(ident.load_robot("planar2r"), ident.DesignOptions(starts=1))
    >>> made.quality.level
    'good'
    >>> made.trajectory.sample(rate_hz=100.0)[1].q.shape
    (2001, 2)
    """
    options, began = options or DesignOptions(), time.perf_counter()
    search = problem(robot, options, limits, surroundings, earlier)
    candidates = list(_searched(search, options, progress))
    play, certificate = _playable(search, candidates, robot, options)
    quality = search.criterion.quality(play.trajectory.series, search.samples)
    if not quality.condition.scaled < _USELESS:
        raise _tightest(search, quality.condition.scaled)
    clearance = search.envelope.clearance
    return Design(
        robot=robot,
        surroundings=surroundings,
        play=play,
        certificate=certificate,
        quality=quality,
        options=options,
        starts=len(candidates),
        complete=all(candidate.ended == "converged" for candidate in candidates)
        and (options.seconds is not None or len(candidates) == options.starts),
        seconds=time.perf_counter() - began,
        notes=clearance.findings if clearance else (),
    )


def problem(
    robot: Robot,
    options: DesignOptions,
    limits: Limits | None,
    surroundings: Surroundings | None,
    earlier: Sequence[Information],
) -> Search:
    """What is to be minimised, from a home that is known to keep the limits."""
    regressor = derive(robot)
    home = np.asarray(robot.home if options.start is None else options.start, dtype=np.float64)
    omega, shifts = 2.0 * np.pi * options.base_frequency_hz, options.start is None
    rest = RestToRest(robot.joints, omega, options.harmonics, home, shifts=shifts)
    still = Trajectory(
        series=rest.series(np.zeros((robot.n, rest.free))),
        periods=options.periods,
        rate_hz=options.rate_hz,
    )
    envelope = Envelope.around(
        home,
        limits or Limits.of(robot, margin=options.margin, around=home),
        Load(regressor, options.payload),
        Clearance.of(robot, surroundings),
        options.distance,
    )
    require_home(home, envelope)
    criterion = Criterion.of(
        regressor,
        None if options.noise is None else np.asarray(options.noise),
        goal=options.goal,
        scaling=options.scaling,
        friction=options.friction,
        armature=options.armature,
        earlier=earlier,
    )
    samples = round(still.duration_s * still.rate_hz)
    return Search(rest=rest, envelope=envelope, criterion=criterion, samples=samples)


def _playable(
    search: Search, candidates: Sequence[Candidate], robot: Robot, options: DesignOptions
) -> tuple[Play, Certificate]:
    """The best candidate that can be approached from home within all limits.

    Raises
    ------
    InfeasibleError
        None can; it names what stands in the way of the best.
    """
    first: Certificate | None = None
    for candidate in sorted(candidates, key=lambda candidate: candidate.value):
        trajectory = Trajectory(
            series=search.rest.series(candidate.free),
            periods=options.periods,
            rate_hz=options.rate_hz,
            robot=robot.name,
        )
        play = play_of(trajectory, robot)
        moves = play.approach.states(np.linspace(0.0, play.approach.duration_s, _ON_THE_WAY))
        back = States(q=moves.q, dq=-moves.dq, ddq=moves.ddq)
        certificate = search.envelope.certify(trajectory.series, moves, back)
        if not certificate.findings:
            return play, certificate
        first = first or certificate
    assert first is not None
    first.require()
    raise AssertionError("a certificate without findings was refused")


def _searched(search: Search, options: DesignOptions, progress: Progress) -> Iterator[Candidate]:
    """Candidates of all starts, or of as many as the time or Ctrl-C allows."""
    deadline = time.monotonic() + (options.seconds or np.inf)
    count = itertools.count() if options.seconds else range(options.starts)
    seeds = (np.random.SeedSequence([options.seed, k]) for k in count)
    timely = itertools.takewhile(lambda _: time.monotonic() < deadline, seeds)
    jobs = min(options.jobs or _processors(), options.starts)
    lowest, done = np.inf, 0
    try:
        for candidate in _each(search, timely, deadline, jobs):
            done += 1
            lowest = min(lowest, candidate.value)
            progress(f"{done} searches, best {np.exp(lowest):.4g}")
            yield candidate
            if candidate.ended == "interrupted":
                return
    except KeyboardInterrupt:
        if not np.isfinite(lowest):
            raise


def _each(
    search: Search, seeds: Iterator[np.random.SeedSequence], deadline: float, jobs: int
) -> Iterator[Candidate]:
    if jobs == 1:
        yield from (search.best_of(seed, deadline) for seed in seeds)
        return
    from joblib import Parallel, delayed

    search.criterion.selection.compile()  # once, for all processes
    pool = Parallel(n_jobs=jobs, return_as="generator", pre_dispatch=jobs)
    yield from pool(delayed(_elsewhere)(search, seed, deadline) for seed in seeds)


def _elsewhere(search: Search, seed: np.random.SeedSequence, deadline: float) -> Candidate:
    """A search in a process of its own, which leaves Ctrl-C to the first one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return search.best_of(seed, deadline)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system binds processes to processors
        return os.cpu_count() or 1


def _tightest(search: Search, condition: float) -> InfeasibleError:
    """Name the limit that leaves the least room, relative to motion of unit size."""
    rest, envelope = search.rest, search.envelope
    probe = rest.series(np.ones((len(rest.joints), rest.free)))
    used = envelope.certify(probe)
    shares = np.array([used.used(kind) for kind in KINEMATIC])
    k, j = np.unravel_index(int(np.argmax(shares)), shares.shape)
    kind, joint = KINDS[int(k)], rest.joints[int(j)]
    return InfeasibleError(
        f"{kind} of joint '{joint}'",
        f"the motion left by its limit has condition number {condition:.3g}",
        expected=f"below {_USELESS:g}",
        remedy="widen this limit, or lower the base frequency",
    )
