import dataclasses

import numpy as np
import pyarrow.parquet as pq
import pytest

from ident.errors import LogError, UsageError
from ident.logs import writer
from ident.logs.readers import read_log
from ident.logs.recording import Facts
from ident.logs.writer import copy_log, write_log

FACTS = Facts(
    robot="planar2r",
    effort_kind="motor_torque",
    effort_origin="simulated",
    torque_timing="held",
    gravity=(0.0, -9.81, 0.0),
    payload="none",
    trajectory_id="abc",
    period_s=10.0,
    highest_harmonic_hz=0.5,
    nominal_rate_hz=1000.0,
    source_format="simulation",
)


def test_a_log_round_trips_with_facts_and_units(tmp_path, trial, monkeypatch) -> None:
    monkeypatch.setattr(writer, "ROW_GROUP", 6000)
    path = tmp_path / "run.parquet"
    channels = {"position": trial.q, "velocity": trial.dq, "effort": trial.tau}
    write_log(path, trial.robot, trial.t, channels, facts=FACTS)
    recording = read_log(path, trial.robot)
    assert recording.facts == recording.facts
    assert dataclasses.asdict(recording.facts) == dataclasses.asdict(FACTS)
    assert recording.findings == ()
    time, data = recording.read(0, 10**6, list(channels))
    np.testing.assert_array_equal(time, trial.t)
    for name, values in channels.items():
        np.testing.assert_array_equal(data[name], values)
    file = pq.ParquetFile(path)
    assert file.num_row_groups == 4
    assert file.schema_arrow.field("joint1/effort").metadata[b"unit"].decode() == "N·m"
    assert list(tmp_path.iterdir()) == [path]


def test_a_csv_is_imported_and_remembers_its_source(tmp_path, planar) -> None:
    source = tmp_path / "a.csv"
    source.write_text("t,q1,q2,current1,current2\n0,1,2,3,4\n0.001,1,2,3,5\n")
    recording = read_log(source, planar)
    copy_log(tmp_path / "a.parquet", planar, recording)
    again = read_log(tmp_path / "a.parquet", planar)
    assert again.facts.source_sha256 == recording.digest
    assert again.facts.source_format == "csv"
    assert again.facts.effort_kind == "motor_current"
    assert "joint1/effort" not in again.source.keys
    np.testing.assert_array_equal(again.read(0, 2, ["effort"]).channels["effort"][:, 1], [4, 5])


def test_a_failed_write_leaves_nothing(tmp_path, trial, monkeypatch) -> None:
    path = tmp_path / "run.parquet"
    path.write_text("what was there")
    recording = trial.recording()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writer, "_columns", interrupted)
    with pytest.raises(KeyboardInterrupt):
        copy_log(path, trial.robot, recording)
    assert path.read_text() == "what was there"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_log_or_cannot_be_written_is_refused(tmp_path, trial) -> None:
    both = {"position": trial.q, "effort": trial.tau}
    with pytest.raises(UsageError, match="cannot be written"):
        write_log(tmp_path / "none" / "a.parquet", trial.robot, trial.t, both)
    for channels, message in (
        ({"position": trial.q}, "no effort channel"),
        (both | {"pose": trial.q}, "channel 'pose'"),
        (both | {"effort": trial.tau[:5]}, "expected shape 20000×2"),
    ):
        with pytest.raises(LogError, match=message):
            write_log(tmp_path / "a.parquet", trial.robot, trial.t, channels)
    assert list(tmp_path.iterdir()) == []
