"""The 20 s trial of the planar arm P2, as a recording."""

import numpy as np

from ident.fit.estimate import columns_for
from ident.fit.options import FitOptions
from ident.logs.recording import Facts, Recording, recording_of_arrays
from ident.model.robot import Robot
from ident.regressor.columns import States

VISCOUS, COULOMB = np.array([0.8, 0.3]), np.array([2.0, 0.9])


def motion(duration_s: float = 20.0, seed: int = 0, rate_hz: float = 1000.0) -> tuple:
    """Time and states of a five-harmonic motion at 0.1 Hz; seed 0 is the trial of the cases."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(2, 5)) * 0.35, rng.normal(size=(2, 5)) * 0.35
    t = np.arange(0.0, duration_s, 1.0 / rate_hz)
    w = 2 * np.pi * 0.1 * np.arange(1, 6)
    S, C = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = S @ (A / w).T - C @ (B / w).T + np.array([-0.5, 0.7])
    return t, States(q=q, dq=C @ A.T + S @ B.T, ddq=-S @ (A * w).T + C @ (B * w).T)


def torque(robot: Robot, states: States, theta: np.ndarray | None = None) -> np.ndarray:
    """Torque (N, 2) of all parameters; those of P2 by default."""
    columns = columns_for(robot, FitOptions(), "joint_torque")
    if theta is None:
        theta = np.array(columns.guess)
        theta[columns.which("viscous")] = VISCOUS
        theta[columns.which("coulomb")] = COULOMB
        theta[columns.which("armature")] = 0.0
    return np.einsum("jpk,p->kj", columns.evaluate(states), theta)


def recording(
    robot: Robot, noise: float = 0.0, seed: int = 0, name: str = "trial", **changes: object
) -> Recording:
    """The trial as a log, with white torque noise (N·m)."""
    t, states = motion(seed=seed)
    tau = torque(robot, states)
    tau = tau + noise * np.random.default_rng([7, seed]).normal(size=tau.shape)
    channels = {"position": states.q, "effort": tau} | changes
    facts = Facts(robot=robot.name, highest_harmonic_hz=0.5)
    return recording_of_arrays(robot, t, channels, facts=facts, name=name)
