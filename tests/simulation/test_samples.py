"""The logs in data/logs are what their recipe makes."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from ident.excitation.fourier import Trajectory, read_trajectory
from ident.model.registry import load_robot
from ident.simulation.run import SimulatedRun
from ident.simulation.samples import Samples, make_samples
from tests.tolerances import REPRODUCED

pytest.importorskip("mujoco")

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "data" / "logs" / "ur5"
UR5 = load_robot("ur5")


def plan(name: str) -> Trajectory:
    return read_trajectory(LOGS / f"{name}.trajectory.json")


@pytest.fixture(scope="module")
def samples() -> Samples:
    return make_samples(UR5, plan("run"), plan("validate"))


@pytest.mark.parametrize("name", ["run", "validate"])
def test_a_log_is_made_again_from_its_recipe(samples: Samples, name: str) -> None:
    made: SimulatedRun = getattr(samples, name)
    table = pq.read_table(LOGS / f"{name}.parquet")
    np.testing.assert_allclose(table["time"], made.time, rtol=0, atol=REPRODUCED)
    for j, joint in enumerate(UR5.joints):
        for channel in ("position", "effort", "position_cmd"):
            np.testing.assert_allclose(
                table[f"{joint}/{channel}"], getattr(made, channel)[:, j], rtol=0, atol=REPRODUCED
            )
    facts = table.schema.metadata
    assert facts[b"trajectory_id"].decode() == plan(name).id
    assert facts[b"torque_timing"] == b"held"
    assert facts[b"effort_origin"] == b"simulated"


def test_the_truth_is_made_again_from_its_recipe(samples: Samples) -> None:
    stored = json.loads((LOGS / "truth.json").read_text(encoding="utf-8"))
    assert stored["robot"] == "ur5"
    made = samples.truth.parameters
    assert stored["parameters"].keys() == made.keys()
    for name, value in stored["parameters"].items():
        assert value == pytest.approx(made[name], abs=REPRODUCED)


def test_the_two_trajectories_differ() -> None:
    assert plan("run").id != plan("validate").id
    t = np.linspace(0.0, 10.0, 101)
    gap = plan("run").states(t).q - plan("validate").states(t).q
    assert np.abs(gap).max() > 0.5


def test_the_logs_are_small() -> None:
    assert sum(path.stat().st_size for path in LOGS.iterdir()) < 6e6
