"""Real logs of a KUKA LWR 4+: 200 Hz, jittered stamps, foreign keys."""

import numpy as np
import pytest

from ident.logs.checks import check
from ident.logs.dataset import prepare
from ident.logs.preparation import Preparation
from ident.logs.readers import read_log
from ident.model.registry import load_robot


@pytest.fixture(scope="module")
def robot():
    return load_robot("kuka_lwr4")


@pytest.fixture(params=[1, 2, 3])
def path(request, shared):
    return shared / "data" / "kuka_lwr4_flobaroid" / f"measurements_{request.param}.npz"


def test_a_log_is_recognised_by_its_keys(path, robot) -> None:
    recording = read_log(path, robot)
    assert recording.facts.effort_kind == "link_torque_sensor"
    assert [f.name for f in recording.findings] == ["profile_recognised"]
    _, data = recording.read(0, 10**6, ["position", "velocity", "effort"])
    with np.load(path) as arrays:
        for channel, key in (("position", "positions"), ("effort", "torques")):
            np.testing.assert_array_equal(data[channel], arrays[key])


def test_prepared_motion_agrees_with_the_logged_velocity(path, robot) -> None:
    recording = read_log(path, robot)
    dataset = prepare(recording, robot, Preparation(cutoff_hz=8.0, skip_s=(2.5, 0.5)))
    assert dataset.rate_hz == pytest.approx(200.0, rel=1e-4)
    assert "jitter" in [f.name for f in dataset.findings]
    (block,) = dataset
    time, data = recording.read(0, 10**6, ["velocity"])
    logged = np.column_stack([np.interp(block.t, time, v) for v in data["velocity"].T])
    rows = block.scored.all(axis=1)
    assert 20.0 < rows.sum() / dataset.rate_hz < 22.5
    # The recorder's own velocity is smoothed differently; the motion is the same.
    error = np.linalg.norm((block.dq - logged)[rows]) / np.linalg.norm(logged[rows])
    assert error < 0.03


def test_check_finds_nothing_wrong_and_a_deliberate_exchange(path, robot) -> None:
    recording = read_log(path, robot)
    assert {f.severity for f in check(recording, robot)} == {"info"}
    columns = dict(recording.columns)
    effort = columns["effort"]
    columns["effort"] = (effort[0], effort[3], effort[2], effort[1], *effort[4:])
    from dataclasses import replace

    found = {f.name: f for f in check(replace(recording, columns=columns), robot)}
    assert "'lwr_1_joint' and 'lwr_3_joint'" in found["swapped_joints"].where
