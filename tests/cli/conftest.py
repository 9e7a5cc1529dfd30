"""Logs of a planar arm that is not what its description says, and the command line to read them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from ident.cli.app import app
from ident.fit.estimate import columns_for
from ident.fit.options import FitOptions
from ident.logs.writer import copy_log
from ident.model.registry import load_robot
from ident.simulation.truth import perturb
from tests.fit import trial

ROOT = Path(__file__).resolve().parents[2]
SHORT_NAMES = ["time", "q1", "tau1", "q2", "tau2"]

Run = Callable[..., Result]


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Give an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def run() -> Run:
    """Give what types a command: ``run("robots", "--json")``."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def start(*words: object, cwd: Path) -> subprocess.Popen[str]:
    """Start ``python -m ident`` as a process of its own."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-m", "ident", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def everything(folder: Path) -> set[str]:
    """All that lies in a folder, hidden or not, at any depth."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture(scope="session")
def logs(tmp_path_factory) -> Path:
    """Give a folder with ``a.parquet`` and ``b.parquet``, two motions of one robot."""
    folder = tmp_path_factory.mktemp("logs")
    robot = load_robot("planar2r")
    truth = perturb(robot, np.random.default_rng(3))
    theta = truth.vector(
        tuple(c.name for c in columns_for(robot, FitOptions(), "joint_torque").columns)
    )
    for seed, name in enumerate("ab"):
        tau = trial.torque(robot, trial.motion(seed=seed)[1], theta)
        noise = 0.05 * np.random.default_rng([5, seed]).normal(size=tau.shape)
        recording = trial.recording(robot, seed=seed, name=name, effort=tau + noise)
        copy_log(folder / f"{name}.parquet", robot, recording)
    return folder


@pytest.fixture(scope="session")
def frame(logs) -> pd.DataFrame:
    """Give the first log as a table with short names; facts in the schema are lost."""
    return pd.read_parquet(logs / "a.parquet").set_axis(SHORT_NAMES, axis=1)
