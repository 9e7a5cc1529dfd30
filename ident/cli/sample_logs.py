"""The recipe of the sample logs: two trajectories, a simulated UR5, and its truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ident.errors import UsageError
from ident.excitation.design import DesignOptions, design
from ident.excitation.fourier import Trajectory
from ident.files import write_whole
from ident.logs.recording import Facts
from ident.logs.writer import write_log
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.simulation.run import Settings, SimulatedRun
from ident.simulation.samples import make_samples

ROBOT = "ur5"
_STARTS = 1000
_RUNS = {"run": ("excitation", 1), "validate": ("validation", 2)}


def write_samples(root: Path) -> None:
    """Write ``data/logs/ur5`` under ``root`` from ``trajectories/ur5``.

    Trajectories that are there are played as they are; those that are not are designed first.

    Raises
    ------
    UsageError
        MuJoCo is not installed, or a file cannot be written.
    """
    robot, settings = load_robot(ROBOT), Settings()
    trajectories = {
        name: _trajectory(robot, root / "trajectories" / ROBOT / f"{stem}.json", seed)
        for name, (stem, seed) in _RUNS.items()
    }
    samples = make_samples(robot, trajectories["run"], trajectories["validate"], settings=settings)
    folder = root / "data" / "logs" / ROBOT
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "truth.json", samples.truth.to_dict())
    for name, trajectory in trajectories.items():
        _write(folder / f"{name}.parquet", robot, getattr(samples, name), trajectory, settings)


def _trajectory(robot: Robot, path: Path, seed: int) -> Trajectory:
    if path.is_file():
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as e:
            raise UsageError(str(path), f"not JSON: {e}", expected="a trajectory") from e
        return Trajectory.from_dict(facts, where=str(path))
    made = design(robot, DesignOptions(seed=seed, starts=_STARTS))
    _write_json(path, made.to_dict())
    return made.trajectory


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
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode())
