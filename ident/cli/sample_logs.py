"""The recipe of the sample logs: two trajectories, a simulated UR5, and its truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ident.excitation.fourier import Trajectory, read_trajectory
from ident.files import write_whole
from ident.logs.recording import Facts
from ident.logs.writer import write_log
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.simulation.run import Settings, SimulatedRun
from ident.simulation.samples import make_samples

ROBOT = "ur5"
_RUNS = ("run", "validate")


def write_samples(root: Path) -> None:
    """Write the logs of ``data/logs/ur5`` under ``root``, from the trajectories that stand there.

    Raises
    ------
    UsageError
        MuJoCo is not installed, a trajectory cannot be read, or a file cannot be written.
    """
    robot, settings = load_robot(ROBOT), Settings()
    folder = root / "data" / "logs" / ROBOT
    trajectories = {name: read_trajectory(folder / f"{name}.trajectory.json") for name in _RUNS}
    samples = make_samples(robot, trajectories["run"], trajectories["validate"], settings=settings)
    _write_json(folder / "truth.json", samples.truth.to_dict())
    for name, trajectory in trajectories.items():
        _write(folder / f"{name}.parquet", robot, getattr(samples, name), trajectory, settings)


def _write(
    path: Path, robot: Robot, run: SimulatedRun, trajectory: Trajectory, settings: Settings
) -> None:
    channels = {
        "position": run.position,
        "effort": run.effort,
        "position_cmd": run.position_cmd,
    }
    x, y, z = map(float, robot.gravity)
    facts = Facts(
        robot=robot.name,
        effort_kind="joint_torque",
        effort_origin="simulated",
        torque_timing="held",
        gravity=(x, y, z),
        trajectory_id=trajectory.id,
        period_s=trajectory.period_s,
        highest_harmonic_hz=trajectory.highest_harmonic_hz,
        nominal_rate_hz=settings.rate_hz,
    )
    write_log(path, robot, run.time, channels, facts=facts)


def _write_json(path: Path, facts: Any) -> None:
    write_whole(path, (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode())
