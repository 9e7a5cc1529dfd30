from dataclasses import dataclass, replace

import numpy as np
import pytest

from ident.errors import UsageError
from ident.model.registry import load_robot
from ident.regressor.columns import States, stack
from ident.regressor.friction import friction_terms
from ident.regressor.rigid import derive
from ident.simulation.run import Settings, SimulatedRun, simulate
from ident.simulation.truth import perturb
from tests.tolerances import REPRODUCED

pytest.importorskip("mujoco")

UR5 = load_robot("ur5")
TRUTH = perturb(UR5, np.random.default_rng(7))


@dataclass(frozen=True)
class Sway:
    """All joints there and back, smoothly, at different speeds."""

    duration_s: float = 2.0

    def states(self, t: np.ndarray) -> States:
        size = np.linspace(0.3, 0.8, 6)
        x = np.pi * t[:, None] / self.duration_s
        rate = np.pi / self.duration_s
        s, c = np.sin(x), np.cos(x)
        # sin⁴ starts and ends with zero velocity and acceleration.
        return States(
            q=UR5.home + size * s**4,
            dq=size * rate * 4 * s**3 * c,
            ddq=size * rate**2 * (12 * s**2 * c**2 - 4 * s**4),
        )


def sway(settings: Settings | None = None, seed: int = 0) -> SimulatedRun:
    return simulate(UR5, TRUTH, Sway(), np.random.default_rng(seed), settings)


@pytest.fixture(scope="module")
def run() -> SimulatedRun:
    return sway()


def test_the_noise_free_torque_is_what_the_true_parameters_ask_for(run: SimulatedRun) -> None:
    # Central differences of the true motion at 1 kHz; the torque held from k − 1 to k and from k to
    # k + 1 is on average that at k.
    q, h = run.true_position, 1e-3
    dq, ddq = (q[2:] - q[:-2]) / (2 * h), (q[2:] - 2 * q[1:-1] + q[:-2]) / h**2
    columns = stack(derive(UR5), friction=friction_terms(UR5))
    motion = States(q=q[1:-1], dq=dq, ddq=ddq)
    expected = np.tensordot(columns.evaluate(motion), TRUTH.vector(columns.names), axes=(1, 0)).T
    held = 0.5 * (run.true_effort[1:-1] + run.true_effort[:-2])
    for j in range(6):
        moving = np.abs(dq[:, j]) > 0.05
        error = np.linalg.norm((held - expected)[moving, j])
        assert error < 5e-4 * np.linalg.norm(held[moving, j])


def test_smaller_steps_change_nothing_that_the_log_could_show(run: SimulatedRun) -> None:
    finer = sway(Settings(timestep_s=5e-5))
    assert np.abs(finer.true_position - run.true_position).max() < 2 * np.pi / 2**19


def test_the_arm_follows_and_rests_at_both_ends(run: SimulatedRun) -> None:
    assert len(run.time) == 4001
    np.testing.assert_array_equal(run.time, np.arange(4001) / 1000.0)
    assert np.abs(run.true_position - run.position_cmd).max() < 0.02
    for rest in (run.true_velocity[800:990], run.true_velocity[-200:]):
        assert np.abs(rest).max() < 1e-3


def test_the_log_is_the_truth_with_noise_steps_and_offset(run: SimulatedRun) -> None:
    step = 2 * np.pi / 2**19
    assert np.abs(run.position - run.true_position).max() <= 0.5 * step * (1 + 1e-9)
    np.testing.assert_allclose(run.position / step, np.round(run.position / step), atol=1e-6)
    noise = run.effort - run.true_effort
    size = 0.015 * np.sqrt(np.mean(run.true_effort**2, axis=0))
    np.testing.assert_allclose(noise.std(axis=0), size, rtol=0.05)
    lag = [np.corrcoef(x[1:], x[:-1])[0, 1] for x in noise.T]
    assert np.abs(lag).max() < 0.06


def test_the_same_seed_gives_the_same_log_and_noise_does_not_reach_the_robot(
    run: SimulatedRun,
) -> None:
    again, other = sway(), sway(seed=1)
    np.testing.assert_allclose(again.effort, run.effort, rtol=0, atol=REPRODUCED)
    np.testing.assert_allclose(again.position, run.position, rtol=0, atol=REPRODUCED)
    np.testing.assert_array_equal(other.true_position, run.true_position)
    assert np.abs(other.effort - run.effort).max() > 0.1


def test_a_delay_shifts_the_torque_and_nothing_else(run: SimulatedRun) -> None:
    quiet = Settings(torque_noise=0.0, torque_step=0.0)
    late = sway(replace(quiet, torque_delay=7))
    np.testing.assert_array_equal(late.effort[7:], late.true_effort[:-7])
    np.testing.assert_array_equal(late.position, run.position)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"rate_hz": 999.0}, "rate"),
        ({"rate_hz": 1e6}, "rate"),
        ({"rate_hz": 250.0}, "bandwidth"),  # diverged: 290 kN·m on a UR10
        ({"bandwidth": 0.0}, "bandwidth"),
        ({"torque_noise": -0.1}, "torque_noise"),
        ({"rest_s": -1.0}, "rest_s"),
        ({"torque_delay": -1}, "torque_delay"),
    ],
)
def test_settings_out_of_range_are_refused(change: dict, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        Settings(**change)


@pytest.mark.parametrize("rate_hz", [125.0, 250.0, 500.0])
def test_the_fastest_loop_that_is_allowed_follows_its_reference(rate_hz: float) -> None:
    settings = Settings(rate_hz=rate_hz, bandwidth=min(0.25 * rate_hz, 100.0))
    run = sway(settings)
    assert np.abs(run.true_position - run.position_cmd).max() < 0.05
    chatter = np.linalg.norm(np.diff(run.true_effort, axis=0), axis=0)
    assert np.all(chatter < 0.2 * np.linalg.norm(run.true_effort, axis=0))
