import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ident.errors import LogError, UsageError
from ident.logs.readers import read_log
from ident.logs.recording import Recording

N = 40


@pytest.fixture
def columns(rng) -> dict[str, np.ndarray]:
    """Two joints by their own names, columns in no order."""
    names = ["joint2/effort", "joint1/position", "joint2/position", "joint1/effort", "extra"]
    return {"time": np.arange(N) * 1e-3, **{name: rng.normal(size=N) for name in names}}


def parquet(path, columns, metadata=None, units=None, **options):
    fields = [
        pa.field(name, pa.array(values).type, metadata={"unit": units[name]} if units else None)
        for name, values in columns.items()
    ]
    schema = pa.schema(fields, metadata=metadata or {})
    pq.write_table(pa.table(list(columns.values()), schema=schema), path, **options)
    return path


def names_of(recording: Recording) -> set[str]:
    return {finding.name for finding in recording.findings}


def test_c1_columns_follow_names_not_places(tmp_path, planar, columns) -> None:
    recording = read_log(parquet(tmp_path / "run.parquet", columns, row_group_size=7), planar)
    assert recording.joints == ("joint1", "joint2")
    assert recording.channels == ("position", "effort")
    assert recording.name == "run"
    time, data = recording.read(5, 23, ["effort", "position"])
    np.testing.assert_array_equal(time, columns["time"][5:23])
    for channel in ("position", "effort"):
        for j in range(2):
            expected = columns[f"joint{j + 1}/{channel}"][5:23]
            np.testing.assert_array_equal(data[channel][:, j], expected)
    assert {"undeclared_effort", "columns_aside"} == names_of(recording)


@pytest.mark.parametrize(
    ("position", "effort", "time"),
    [("q{1}", "tau{1}", "t"), ("q{0}", "tau{0}", "time"), ("Q_{1}", "Torque_{1}", "Timestamp"),
     ("q[{0}]", "effort[{0}]", "t"), ("joint{1}_q", "tau_joint{1}", "time_s"),
     ("joint{1}.position", "joint{1}.effort", "t")],
)  # fmt: skip
def test_short_names(tmp_path, planar, rng, position: str, effort: str, time: str) -> None:
    values = rng.normal(size=(4, N))
    labels = [pattern.format(j, j + 1) for pattern in (position, effort) for j in range(2)]
    columns = dict(zip(labels, values, strict=True)) | {time: np.arange(N) * 1e-3}
    recording = read_log(parquet(tmp_path / "a.parquet", columns), planar)
    _, data = recording.read(0, N, ["position", "effort"])
    np.testing.assert_array_equal(data["position"].T, values[:2])
    np.testing.assert_array_equal(data["effort"].T, values[2:])


def test_current_alone_stands_in_for_effort(tmp_path, planar, rng) -> None:
    keys = ("q1", "q2", "current1", "current2")
    columns = {"t": np.arange(N) * 1e-3, **{key: rng.normal(size=N) for key in keys}}
    recording = read_log(parquet(tmp_path / "a.parquet", columns), planar)
    assert recording.facts.effort_kind == "motor_current"
    assert "effort_is_current" in names_of(recording)
    _, data = recording.read(0, N, ["effort"])
    np.testing.assert_array_equal(data["effort"][:, 1], columns["current2"])


def test_metadata_and_units_are_believed(tmp_path, planar, columns) -> None:
    facts = {
        "robot": "other", "effort_kind": "motor_torque", "torque_timing": "held",
        "gravity": "[0, 0, -9.8]", "period_s": "10.0", "nominal_rate_hz": "1000",
    }  # fmt: skip
    units = {name: "deg" if "position" in name else "N·m" for name in columns} | {"time": "ms"}
    recording = read_log(
        parquet(tmp_path / "a.parquet", columns, metadata=facts, units=units), planar
    )
    assert recording.facts.effort_kind == "motor_torque"
    assert recording.facts.torque_timing == "held"
    assert recording.facts.gravity == (0.0, 0.0, -9.8)
    assert recording.facts.period_s == 10.0
    assert recording.facts.assumed == ()
    assert "undeclared_effort" not in names_of(recording)
    assert "other_robot" in names_of(recording)
    time, data = recording.read(0, N, ["position"])
    np.testing.assert_allclose(time, columns["time"] * 1e-3)
    np.testing.assert_allclose(data["position"][:, 0], np.radians(columns["joint1/position"]))


@pytest.mark.parametrize(
    ("named", "severity"), [("ur5", ["error"]), ("my_arm", ["warning"]), ("P2", []), ("", [])]
)
def test_log_of_another_robot(tmp_path, planar, columns, named, severity) -> None:
    facts = {"robot": named, "effort_kind": "joint_torque", "torque_timing": "instantaneous"}
    recording = read_log(parquet(tmp_path / "a.parquet", columns, metadata=facts), planar)
    found = [f for f in recording.findings if f.name == "other_robot"]
    assert [f.severity for f in found] == severity


def test_integers_missing_values_and_timestamps_are_numbers(tmp_path, planar, columns) -> None:
    columns = columns | {
        "time": np.arange(N).astype("datetime64[ms]") + np.timedelta64(1_700_000_000, "s"),
        "joint1/effort": pa.array([None, *range(N - 1)]),
    }
    recording = read_log(parquet(tmp_path / "a.parquet", columns), planar)
    time, data = recording.read(0, N, ["effort"])
    np.testing.assert_allclose(np.diff(time), 1e-3, atol=1e-6)
    assert np.isnan(data["effort"][0, 0])
    assert data["effort"][5, 0] == 4.0


def test_c7_decimal_comma_semicolon_and_byte_order_mark(tmp_path, planar) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "\ufefft;q1;tau1;q2;tau2\n0,000;0,10;1,5;1;2\n0,001;0,11;1,6E0;1;2\n", encoding="utf-8"
    )
    time, data = read_log(path, planar).read(0, 2, ["position", "effort"])
    np.testing.assert_allclose(time, [0.0, 0.001])
    np.testing.assert_allclose(data["effort"][:, 0], [1.5, 1.6])
    np.testing.assert_allclose(data["position"][:, 0], [0.1, 0.11])


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_csv_with_comments_and_a_gap(tmp_path, planar, delimiter: str) -> None:
    lines = ["# recorded by hand", "t,q1,q2,tau1,tau2,note", "0,1,2,3,4,a", "0.1,1,2,,4,b"]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(line.replace(",", delimiter) for line in lines) + "\n")
    _, data = read_log(path, planar).read(0, 2, ["effort"])
    np.testing.assert_array_equal(data["effort"], [[3.0, 4.0], [np.nan, 4.0]])


def test_npz_by_names(tmp_path, planar, rng) -> None:
    q, tau = rng.normal(size=(2, N, 2))
    path = tmp_path / "a.npz"
    np.savez(path, t=np.arange(N) * 1e-3, q=q, tau=tau, joint_names=["joint2", "joint1"], rate=1.0)
    _, data = read_log(path, planar).read(0, N, ["position", "effort"])
    np.testing.assert_array_equal(data["position"], q[:, ::-1])
    np.testing.assert_array_equal(data["effort"], tau[:, ::-1])


PROFILE = """
schema = 1
format = "csv"
joints = ["joint2", "joint1"]
[time]
key = "stamp"
unit = "ms"
[channels.position]
key = "angle_{joint}"
unit = "deg"
[channels.effort]
key = "m{number}"
sign = [1, -1]
scale = [2.0, 3.0]
[facts]
effort_kind = "motor_torque"
torque_timing = "held"
"""


def test_a_profile_maps_names_units_signs_and_scales(tmp_path, planar) -> None:
    (tmp_path / "p.toml").write_text(PROFILE)
    (tmp_path / "a.csv").write_text(
        "stamp,angle_joint1,angle_joint2,m1,m2\n0,90,180,1,1\n1,0,0,2,2"
    )
    recording = read_log(tmp_path / "a.csv", planar, profile=tmp_path / "p.toml")
    time, data = recording.read(0, 2, ["position", "effort"])
    np.testing.assert_allclose(time, [0.0, 1e-3])
    np.testing.assert_allclose(data["position"][0], [np.pi / 2, np.pi])
    np.testing.assert_allclose(data["effort"][0], [-3.0, 2.0])
    assert recording.facts.effort_kind == "motor_torque"
    assert recording.facts.torque_timing == "held"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("schema = 1", "schema = 2"), "schema"),
        (('unit = "ms"', 'unit = "ms"\nfoo = 1'), "time.foo"),
        (("sign = [1, -1]", "sign = [1]"), "expected 2 values, one per joint"),
        (("[time]", "[time"), "not TOML"),
        (("angle_{joint}", "angle_{name}"), r"channels\.position\.key.*{joint}, {number}"),
        (("angle_{joint}", "angle_{}"), "position.key"),
        (("angle_{joint}", "angle_{joint"), "position.key"),
        (("angle_{joint}", "angle_{joint.__class__}"), "position.key"),
        (("angle_{joint}", "angle_{number:999999999}"), "position.key"),
        (("scale = [2.0, 3.0]", "scale = [0.0, 1.0]"), "effort.scale"),
        (("scale = [2.0, 3.0]", "scale = nan"), "effort.scale"),
        (("[facts]", "[facts]\nnominal_rate_hz = -1.0"), "nominal_rate_hz"),
        (("[facts]", "[facts]\ngravity = [nan, 0.0, 0.0]"), "gravity"),
    ],
)
def test_a_wrong_profile_is_refused(tmp_path, planar, change, message: str) -> None:
    assert change[0] in PROFILE
    (tmp_path / "p.toml").write_text(PROFILE.replace(*change))
    (tmp_path / "a.csv").write_text("stamp\n0")
    with pytest.raises(UsageError, match=message):
        read_log(tmp_path / "a.csv", planar, profile=tmp_path / "p.toml")


def test_an_unknown_profile_names_those_that_are_shipped(tmp_path, planar) -> None:
    (tmp_path / "a.csv").write_text("t\n0")
    with pytest.raises(UsageError, match="kuka_lwr_npz"):
        read_log(tmp_path / "a.csv", planar, profile="nothing")


GOOD = "t,q1,q2,tau1,tau2\n0,1,2,3,4\n0.1,1,2,3,4\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", GOOD, "not a parquet file"),
        ("a.parquet", "", "empty file"),
        ("a.csv", "", "empty file"),
        ("a.csv", GOOD.splitlines()[0], "no rows"),
        ("a.csv", GOOD.replace("tau2", "x"), "effort: no column for joint2"),
        ("a.csv", GOOD.replace("q2", "x"), "position of 1 joints .expected all 2 joints"),
        ("a.csv", GOOD.replace("t,", "x,", 1), "no time column"),
        ("a.csv", GOOD.replace("0.1,1,2,3", "0.1,1,2,high"), "column 'tau1': 'high' in row 2"),
        ("a.csv", GOOD.replace("q", "elbow").replace("tau", "knee"), "no joint of robot"),
        ("a.csv", GOOD.replace("tau2", "q3"), "more joints"),
        ("a.csv", GOOD.replace("3,4\n", "3\n"), "not a table"),
        ("a.csv", GOOD.split("\n", 1)[1], "the first line holds numbers"),
        ("a.csv", "a\0b", "binary content"),
        ("a.npz", GOOD, "not a NumPy archive"),
        ("a.log", "PAR1 and nothing else", "damaged or cut short"),
    ],
)
def test_bad_input_is_one_clear_error(tmp_path, planar, name, content, message: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(LogError, match=message) as error:
        read_log(path, planar)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 3


def test_a_folder_a_missing_and_an_unreadable_file(tmp_path, planar, monkeypatch) -> None:
    with pytest.raises(LogError, match="a directory"):
        read_log(tmp_path, planar)
    with pytest.raises(LogError, match="no such file"):
        read_log(tmp_path / "a.parquet", planar)
    path = tmp_path / "b.csv"
    path.write_text(GOOD)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", denied)
    with pytest.raises(LogError, match="cannot be read: Permission denied"):
        read_log(path, planar)


def test_text_in_parquet_names_column_and_row(tmp_path, planar, columns) -> None:
    columns["joint1/effort"] = pa.array(["1.0", "2,5"] * (N // 2))
    with pytest.raises(LogError, match="column 'joint1/effort': '2,5' in row 2"):
        read_log(parquet(tmp_path / "a.parquet", columns), planar)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"effort_kind": "watts"}, "expected one of joint_torque"),
        ({"gravity": "down"}, "expected a list of 3 numbers"),
        ({"period_s": "[1]"}, "expected a number"),
        ({"schema": "2"}, "read it with a newer ident"),
    ],
)
def test_metadata_that_means_nothing_is_refused(
    tmp_path, planar, columns, metadata, message: str
) -> None:
    with pytest.raises(LogError, match=message):
        read_log(parquet(tmp_path / "a.parquet", columns, metadata=metadata), planar)


def test_a_unit_of_another_quantity_is_refused(tmp_path, planar, columns) -> None:
    units = dict.fromkeys(columns, "s")
    with pytest.raises(LogError, match="column 'joint1/position': unit 's'"):
        read_log(parquet(tmp_path / "a.parquet", columns, units=units), planar)


def test_a_damaged_row_group_is_an_error_of_the_log(tmp_path, planar, columns) -> None:
    path = parquet(tmp_path / "a.parquet", columns, compression="zstd")
    content = bytearray(path.read_bytes())
    content[4:400] = b"\xff" * 396
    path.write_bytes(content)
    with pytest.raises(LogError, match="row group 0 cannot be read"):
        read_log(path, planar).read(0, N, ["position", "effort"])


def test_reading_decodes_only_what_is_asked_for(tmp_path, planar, columns) -> None:
    recording = read_log(parquet(tmp_path / "a.parquet", columns, row_group_size=5), planar)
    for start in range(0, N, 3):
        recording.read(start, start + 4, ["position"])
        decoded = recording.source._decoded
        assert {key for _, key in decoded} == {"time", "joint1/position", "joint2/position"}
        assert len({group for group, _ in decoded}) <= 2
    assert recording.read(N, N + 5, ["position"]).channels["position"].shape == (0, 2)
    with pytest.raises(LogError, match="no velocity channel"):
        recording.read(0, 1, ["velocity"])


def test_importing_a_recording_is_cheap() -> None:
    code = (
        "import sys, json, ident.logs.recording, ident.logs.dataset\n"
        "heavy = {'pandas', 'pyarrow', 'scipy', 'sympy', 'cvxpy'}\n"
        "print(json.dumps(sorted(heavy & sys.modules.keys())))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert json.loads(done.stdout) == []
