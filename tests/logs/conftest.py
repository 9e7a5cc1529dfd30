"""The planar arm of the cases, and its 20 s trial motion."""

from dataclasses import dataclass

import numpy as np
import pytest

from ident.arrays import Array
from ident.logs.recording import Facts, Recording, recording_of_arrays
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.regressor.rigid import Regressor, derive

VISCOUS, COULOMB = np.array([0.8, 0.3]), np.array([2.0, 0.9])


@dataclass(frozen=True, eq=False)
class Trial:
    """Exact motion and torque, 20 s at 1 kHz."""

    robot: Robot
    t: Array
    q: Array
    dq: Array
    ddq: Array
    tau: Array

    def recording(self, **changes: object) -> Recording:
        """Recording of the trial, with some of t, q, tau, facts or name changed."""
        have = {"t": self.t, "q": self.q, "tau": self.tau, "facts": Facts(), "name": "trial"}
        have |= changes
        return recording_of_arrays(
            self.robot,
            have["t"],
            {"position": have["q"], "effort": have["tau"]},
            facts=have["facts"],
            name=have["name"],
        )


@pytest.fixture(scope="session")
def planar() -> Robot:
    return load_robot("planar2r")


@pytest.fixture(scope="session")
def planar_regressor(planar: Robot) -> Regressor:
    return derive(planar)


@pytest.fixture(scope="session")
def trial(planar: Robot, planar_regressor: Regressor) -> Trial:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 5)) * 0.35, rng.normal(size=(2, 5)) * 0.35
    t = np.arange(0.0, 20.0, 1e-3)
    w = 2 * np.pi * 0.1 * np.arange(1, 6)
    S, C = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = S @ (A / w).T - C @ (B / w).T + np.array([-0.5, 0.7])
    dq, ddq = C @ A.T + S @ B.T, -S @ (A * w).T + C @ (B * w).T
    rigid = planar_regressor.inverse_dynamics(q, dq, ddq)
    tau = rigid + VISCOUS * dq + COULOMB * np.sign(dq)
    return Trial(planar, t, q, dq, ddq, tau)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260730)
