"""Play a trajectory on the plant, with a controller in the loop, and log what a robot would log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import UsageError
from ident.model.robot import Robot
from ident.regressor.columns import Motion, States, stack
from ident.regressor.friction import Coulomb, Viscous
from ident.regressor.rigid import Regressor, derive
from ident.simulation.plant import TIMESTEP, Plant
from ident.simulation.truth import Truth

# Damping 2·w·T of a joint by itself is then a quarter of what makes it unstable; joints that push
# each other need the rest. At 0.4 UR10 and Panda diverge, at 0.2 they track to some milliradians.
_LARGEST_GAIN = 0.25
_SMOOTHING = 0.02  # rad/s or m/s, of Coulomb friction in the feed-forward


class Reference(Protocol):
    """Motion to be followed."""

    @property
    def duration_s(self) -> float:
        """Length in s."""

    def states(self, t: Array) -> Motion:
        """Motion (N, n) at times (N,) s."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Controller, sensors and log.

    Attributes
    ----------
    rate_hz : float
        Rate of controller and log; torque is held between ticks.
    bandwidth : float
        Natural frequency of the critically damped position loop, rad/s; a quarter of the rate (in
        samples per second) at most, since torque is held for a sample.
    encoder_bits : int
        The joint encoder divides a turn (a metre for a sliding joint) by two to this power.
    command_step, torque_step : float
        Resolution of logged set-points (rad or m) and torques (N·m or N); zero for none.
    torque_noise : float
        Standard deviation of the white noise of each joint's logged torque, relative to the root
        mean square of its torque in the run.
    torque_delay : int
        Samples by which the logged torque is late.
    rest_s : float
        Time at rest before and after the motion.
    timestep_s : float
        Step of the plant.
    """

    rate_hz: float = 1000.0
    bandwidth: float = 100.0
    encoder_bits: int = 19
    command_step: float = 2.0**-24
    torque_step: float = 2.0**-9
    torque_noise: float = 0.015
    torque_delay: int = 0
    rest_s: float = 1.0
    timestep_s: float = TIMESTEP

    def __post_init__(self) -> None:
        """Check that a tick is a whole number of steps, and that nothing is negative."""
        steps = 1.0 / (self.rate_hz * self.timestep_s)
        if not (round(steps) >= 1 and abs(steps - round(steps)) < 1e-9 * steps):
            raise UsageError(
                "rate", f"{self.rate_hz:g} Hz", expected=f"a divisor of {1 / self.timestep_s:g} Hz"
            )
        if not 0.0 < self.bandwidth <= _LARGEST_GAIN * self.rate_hz:
            raise UsageError(
                "bandwidth",
                f"{self.bandwidth:g} rad/s at {self.rate_hz:g} Hz",
                expected=f"above zero, {_LARGEST_GAIN * self.rate_hz:g} rad/s at most",
                remedy="a loop this fast oscillates; lower the bandwidth or raise the rate",
            )
        for name in ("command_step", "torque_step", "torque_noise", "torque_delay", "rest_s"):
            if not getattr(self, name) >= 0:
                raise UsageError(name, str(getattr(self, name)), expected="not below zero")

    @property
    def steps(self) -> int:
        """Steps of the plant per tick."""
        return round(1.0 / (self.rate_hz * self.timestep_s))


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulatedRun:
    """What the robot logged, and what really happened; row k belongs to tick k.

    Attributes
    ----------
    time : (N,) s
    position, effort, position_cmd : (N, n)
        As logged: quantised joint angles, torque that is held from tick k to k + 1, set-points.
    true_position, true_velocity, true_effort : (N, n)
        Motion at the tick, and the torque without noise, rounding or delay.
    """

    time: Array
    position: Array
    effort: Array
    position_cmd: Array
    true_position: Array
    true_velocity: Array
    true_effort: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        object.__setattr__(self, "time", frozen(self.time, (None,), where="time"))
        shape = (len(self.time), np.shape(self.position)[-1])
        for name in (
            "position",
            "effort",
            "position_cmd",
            "true_position",
            "true_velocity",
            "true_effort",
        ):
            object.__setattr__(self, name, frozen(getattr(self, name), shape, where=name))


def simulate(
    robot: Robot,
    truth: Truth,
    reference: Reference,
    rng: np.random.Generator,
    settings: Settings | None = None,
) -> SimulatedRun:
    """Log of the true robot following a reference under a controller that believes ``robot``.

    The controller is a feed-forward of the description's inverse dynamics, friction guess included,
    plus position and velocity feedback through constant gains. Position comes from the
    joint encoder, velocity from the drive, whose encoder stands before the gear and is taken as
    exact. The reported torque is the commanded one; a joint's offset does not reach the robot.
    """
    settings = settings or Settings()
    time, planned = _plan(reference, settings)
    tau_ff = _feedforward(derive(robot), planned)
    stiffness, damping = _gains(robot, planned.q[0], settings.bandwidth)
    plant = Plant(truth.robot, settings.timestep_s)
    plant.place(planned.q[0])
    step = _encoder_step(robot, settings)
    q, dq, tau = (np.empty_like(planned.q) for _ in range(3))
    for k in range(len(time)):
        q[k], dq[k] = plant.q, plant.dq
        error = planned.q[k] - _rounded(q[k], step)
        tau[k] = tau_ff[k] + stiffness * error + damping * (planned.dq[k] - dq[k])
        plant.drive(tau[k] - truth.offset, settings.steps)
    return SimulatedRun(
        time=time,
        position=_rounded(q, step),
        effort=_logged(tau, rng, settings),
        position_cmd=_rounded(planned.q, settings.command_step),
        true_position=q,
        true_velocity=dq,
        true_effort=tau,
    )


def _plan(reference: Reference, settings: Settings) -> tuple[Array, States]:
    """Times (N,) and set-points (N, n): rest, the motion, rest."""
    rest = round(settings.rest_s * settings.rate_hz)
    moving = round(reference.duration_s * settings.rate_hz)
    ticks = np.arange(moving + 2 * rest + 1)
    t = np.clip((ticks - rest) / settings.rate_hz, 0.0, reference.duration_s)
    motion = reference.states(t)
    return ticks / settings.rate_hz, States(q=motion.q, dq=motion.dq, ddq=motion.ddq)


def _feedforward(regressor: Regressor, planned: States) -> Array:
    """Torque (N, n) of the description; Coulomb friction turns round smoothly, zero at rest."""
    robot = regressor.robot
    columns = stack(regressor, friction=(Viscous(robot), Coulomb(robot, _SMOOTHING)))
    tau = np.tensordot(columns.evaluate(planned), columns.guess, axes=(1, 0))
    return np.ascontiguousarray(tau.T)


def _gains(robot: Robot, q: Array, bandwidth: float) -> tuple[Array, Array]:
    """Stiffness and damping (n,) for each joint's own inertia at ``q``, all others held."""
    regressor = derive(robot)
    still, unit = np.zeros((robot.n, robot.n)), np.eye(robot.n)
    at = np.tile(q, (robot.n, 1))
    moved, held = (regressor.inverse_dynamics(at, still, ddq) for ddq in (unit, still))
    apparent = np.abs(np.diag(moved - held)) + robot.drives.armature
    return apparent * bandwidth**2, 2.0 * apparent * bandwidth


def _encoder_step(robot: Robot, settings: Settings) -> Array:
    """Step (n,) of the joint encoders, rad or m."""
    span = np.where(robot.turns, 2.0 * np.pi, 1.0)
    return np.asarray(span / 2.0**settings.encoder_bits)


def _logged(tau: Array, rng: np.random.Generator, settings: Settings) -> Array:
    """Torque (N, n) as the log has it: late, noisy, rounded."""
    late = tau[np.maximum(np.arange(len(tau)) - settings.torque_delay, 0)]
    sigma = settings.torque_noise * np.sqrt(np.mean(tau**2, axis=0))
    return _rounded(late + sigma * rng.normal(size=tau.shape), settings.torque_step)


def _rounded(values: Array, step: Array | float) -> Array:
    """Nearest multiples of a step; the values themselves where it is zero."""
    if not np.all(step):
        return values
    return np.asarray(np.round(values / step) * step)
