"""What a designed trajectory is worth: standard errors of all base parameters, three ways to move.

A simulated UR5 (MuJoCo, friction, controller in the loop) whose truth is known plays twenty seconds
of a designed trajectory, of a random feasible one with the same limits, and of moves from point to
point as fast as the limits allow; nothing keeps them from colliding. The same white noise, one
percent of the torque limits, is put on each. Errors are relative to the parameters' magnitudes;
ratios are of their root mean squares.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from ident.excitation.approach import Quintic
from ident.excitation.criteria import Criterion, default_noise
from ident.excitation.design import DesignOptions, design, problem
from ident.excitation.limits import Limits
from ident.fit.estimate import columns_for, estimate
from ident.fit.options import FitOptions
from ident.leastsquares.factor import triangular
from ident.logs.dataset import prepare
from ident.logs.preparation import Preparation
from ident.logs.recording import Facts, recording_of_arrays
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.regressor.columns import Motion, States
from ident.regressor.rigid import derive
from ident.simulation.run import Reference, Settings, simulate
from ident.simulation.truth import Truth, perturb

SECONDS, RUNS = 20.0, 12


@dataclass(frozen=True)
class Moves:
    """Quintic moves between random poses, one after the other, cut off at ``duration_s``."""

    moves: tuple[Quintic, ...]
    duration_s: float

    @classmethod
    def between_random_poses(cls, robot: Robot, limits: Limits, seed: int) -> "Moves":
        rng, at, moves, total = np.random.default_rng(seed), robot.home, [], 0.0
        rates = {"velocity": limits.velocity, "acceleration": limits.acceleration}
        search = problem(robot, DesignOptions(), limits, None, ())
        while total < SECONDS:
            to = rng.uniform(*limits.position.T)
            move = Quintic.within(at, to, jerk=limits.jerk, **rates)
            motion = move.states(np.linspace(0.0, move.duration_s, 200))
            inside = (search.envelope.load(motion) <= limits.torque).all()
            clear = search.envelope.clear(motion.q)
            if not inside or (clear < search.envelope.distance).any():
                continue
            moves.append(move)
            at, total = to, total + move.duration_s
        return cls(tuple(moves), SECONDS)

    def states(self, t: np.ndarray) -> Motion:
        bounds = np.cumsum([0.0, *(move.duration_s for move in self.moves)])
        number = np.clip(np.searchsorted(bounds, t, side="right") - 1, 0, len(self.moves) - 1)
        q, dq, ddq = np.empty((3, len(t), len(self.moves[0].start)))
        for k in np.unique(number):
            part = self.moves[k].states(t[number == k] - bounds[k])
            q[number == k], dq[number == k], ddq[number == k] = part.q, part.dq, part.ddq
        return States(q=q, dq=dq, ddq=ddq)


def predicted(criterion: Criterion, motion: Reference) -> np.ndarray:
    """Relative standard errors for all samples at 1 kHz."""
    rows = criterion.rows(motion.states(np.arange(0.0, SECONDS, 1e-3)))
    noise = np.tile(criterion.noise, len(rows) // len(criterion.noise))[:, None]
    R = triangular(rows / noise * criterion.magnitudes)
    return np.linalg.norm(np.linalg.inv(R), axis=1)


def achieved(
    robot: Robot, truth: Truth, criterion: Criterion, motion: Reference
) -> tuple[np.ndarray, np.ndarray]:
    """Relative standard errors that the fit states, and the errors that it makes (runs, b)."""
    clean = simulate(robot, truth, motion, np.random.default_rng(0), Settings(torque_noise=0.0))
    stated, made = [], []
    for run in range(RUNS):
        rng = np.random.default_rng([11, run])
        noise = criterion.noise * rng.normal(size=clean.effort.shape)
        channels = {"position": clean.position, "effort": clean.effort + noise}
        facts = Facts(robot=robot.name, torque_timing="held")
        log = recording_of_arrays(robot, clean.time, channels, facts=facts, name="study")
        found = estimate([prepare(log, robot, Preparation(cutoff_hz=20.0))], robot, WLS)
        theta = np.array([truth.parameters[name] for name in found.base.columns])
        stated.append(found.std / criterion.magnitudes)
        made.append((found.solution.theta - found.base.reduce(theta)) / criterion.magnitudes)
    return np.mean(stated, axis=0), np.array(made)


WLS = FitOptions(method="wls")


def root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.mark.study
@pytest.mark.timeout(1800)
def test_a_designed_trajectory_pays() -> None:
    robot = replace(load_robot("ur5"), capsules=(), never_meet=())  # a random motion would collide
    truth = perturb(robot, np.random.default_rng(7))
    limits = Limits.of(robot, margin=0.95)
    criterion = Criterion.of(derive(robot), default_noise(robot))
    assert criterion.names == tuple(
        estimate_names(robot)
    )  # the fit and the design speak of the same parameters
    search = problem(robot, DesignOptions(), limits, None, ())
    random = search.best_of(np.random.SeedSequence(3), deadline=0.0)
    motions: dict[str, Reference] = {
        "designed": design(robot, DesignOptions(jobs=0), limits=limits).trajectory,
        "designed, variances": design(
            robot, DesignOptions(jobs=0, goal="a_optimality"), limits=limits
        ).trajectory,
        "random": _twice(search.rest.series(random.free)),
        "point to point": Moves.between_random_poses(robot, limits, seed=5),
    }
    rows = {}
    for name, motion in motions.items():
        stated, made = achieved(robot, truth, criterion, motion)
        rows[name] = [root_mean_square(x) for x in (predicted(criterion, motion), stated, made)]
    print("\nUR5, 58 base parameters, relative standard errors (root mean square)")
    print("motion                 predicted   stated by the fit   error against the truth")
    for name, (first, second, third) in rows.items():
        ratios = [a / b for a, b in zip(rows["designed"], (first, second, third), strict=True)]
        text = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"{name:22s} {first:9.2e} {second:12.2e} {third:18.2e}   designed over it {text}")
    designed, variances = rows["designed"], rows["designed, variances"]
    for k in (1, 2):
        assert designed[k] < 0.6 * rows["random"][k]
        assert designed[k] < 0.9 * rows["point to point"][k]
        assert variances[k] < 0.7 * rows["point to point"][k]
    # What is predicted comes true.
    for first, second, third in rows.values():
        assert second == pytest.approx(first, rel=0.1)
        assert third == pytest.approx(first, rel=0.3)


def estimate_names(robot: Robot) -> tuple[str, ...]:
    from ident.base.minimal import reduce_stack

    return reduce_stack(columns_for(robot, FitOptions(), "joint_torque")).names


def _twice(series):
    from ident.excitation.fourier import Trajectory

    return Trajectory(series=series, periods=2, rate_hz=1000.0)
