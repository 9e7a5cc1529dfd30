"""Files as people have them: of another kind than their suffix, damaged, doubled, misshapen."""

import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ident.errors import LogError
from ident.logs.readers import read_log

N = 40
CSV = "t,q1,q2,tau1,tau2\n" + "".join(f"{k / 100},{k},0.5,1,2\n" for k in range(N))
NAMES = ("time", "q1", "q2", "tau1", "tau2")


@pytest.fixture
def values(rng) -> dict[str, np.ndarray]:
    """Give a log of two joints, column by column."""
    return dict(zip(NAMES, [np.arange(N) * 0.01, *rng.normal(size=(4, N))], strict=True))


def table(values, path):
    pq.write_table(pa.table(values), path)
    return path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", gzip.compress(CSV.encode()), "gzip data .*unpack it first"),
        ("a.csv.gz", gzip.compress(CSV.encode()), "gzip data"),
        ("a.csv", CSV.encode("utf-16"), "UTF-16 text .*save it as UTF-8"),
        ("a.npy", b"\x93NUMPY\x01\x00v\x00", "a single NumPy array .*savez"),
        ("a.mat", b"MATLAB 5.0 MAT-file", "a MATLAB file"),
        ("a.mat", b"\x89HDF\r\n\x1a\n", "HDF5"),
        ("a.bag", b"#ROSBAG V2.0\n", "a ROS bag .*export it"),
        ("a.mcap", b"\x89MCAP0\r\n", "MCAP"),
        ("a.db3", b"SQLite format 3\x00", "ROS 2 bag"),
        ("a.feather", b"ARROW1\x00\x00", "save it as parquet"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path, planar, name, content, message) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LogError, match=message):
        read_log(tmp_path / name, planar)


def test_content_counts_more_than_the_suffix(tmp_path, planar, values) -> None:
    table(values, tmp_path / "a.csv")
    np.savez(tmp_path / "b.npz", **values)
    os.rename(tmp_path / "b.npz", tmp_path / "b.parquet")
    for name, kind in (("a.csv", "parquet"), ("b.parquet", "npz")):
        recording = read_log(tmp_path / name, planar)
        assert recording.facts.source_format == kind
        np.testing.assert_array_equal(recording.read(0, N).time, values["time"])


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ""])
def test_a_pipe_is_refused_at_once(tmp_path, planar, suffix) -> None:
    os.mkfifo(tmp_path / f"pipe{suffix}")
    with pytest.raises(LogError, match="a pipe or a device"):
        read_log(tmp_path / f"pipe{suffix}", planar)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_parquet_that_is_cut_short_says_so(tmp_path, planar, values, share) -> None:
    whole = table(values, tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(LogError, match="damaged or cut short"):
        read_log(tmp_path / "a.parquet", planar)


def test_text_that_is_not_utf_8_is_read(tmp_path, planar) -> None:
    text = CSV.replace("tau2\n", "tau2,Größe in °\n").replace(",2\n", ",2,7\n")
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    recording = read_log(tmp_path / "a.csv", planar)
    assert recording.rows == N
    assert any("Größe in °" in finding.found for finding in recording.findings)


def test_a_letter_cut_in_two_where_sniffing_ends_is_still_utf_8(tmp_path, planar) -> None:
    for pad in range(2):  # one of them splits the two bytes of the letter
        rows = "".join(f"{k / 100},{k},0.5,1,2,{'ä' * 20}\n" for k in range(3000))
        text = f"t,q1,q2,tau1,tau2,{'x' * pad}ä\n{rows}"
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
        recording = read_log(tmp_path / "a.csv", planar)
        assert any(f"'{'x' * pad}ä'" in finding.found for finding in recording.findings)


def test_a_used_column_that_is_there_twice_is_refused_an_unused_one_is_not(
    tmp_path, planar, values
) -> None:
    arrays = [*values.values(), values["q1"]]
    for name, good in (("q1", False), ("other", True)):
        columns = [*NAMES, name] if not good else [*NAMES, name, name]
        data = arrays if not good else [*arrays, values["q2"]]
        pq.write_table(pa.table(data, names=columns), tmp_path / "a.parquet")
        rows = "\n".join(",".join(map(repr, map(float, row))) for row in zip(*data, strict=True))
        (tmp_path / "a.csv").write_text(",".join(columns) + "\n" + rows)
        for suffix in ("parquet", "csv"):
            if good:
                assert read_log(tmp_path / f"a.{suffix}", planar).rows == N
                continue
            with pytest.raises(LogError, match="column 'q1': two columns of this name"):
                read_log(tmp_path / f"a.{suffix}", planar)


def test_columns_that_differ_in_case_alone_are_warned_of(tmp_path, planar, values) -> None:
    path = table({**values, "Q1": values["q2"]}, tmp_path / "a.parquet")
    recording = read_log(path, planar)
    np.testing.assert_array_equal(
        recording.read(0, N, ["position"]).channels["position"][:, 0], values["q1"]
    )
    found = {f.name: f for f in recording.findings}["column_twice"]
    assert (found.severity, "'Q1'" in found.found) == ("warning", True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": lambda x: x.T}, "'position': shape 2 × 40 .expected 40 rows.*transpose it"),
        ({"effort": lambda x: x[:-3]}, "'effort': shape 37 × 2 .expected 40 rows"),
        ({"position": lambda x: x[:, :, None]}, "'position': shape 40 × 2 × 1"),
        ({"position": lambda x: x + 0j}, "column 'joint1/position': '.*j.?' in row 1"),
        ({"effort": lambda x: x > 0.0}, "'(True|False)' in row 1 .expected a number"),
        ({"effort": lambda x: x.astype(object)}, "Python objects are not read"),
        ({"time": lambda x: x[:5]}, "'position': shape 40 × 2 .expected 5 rows"),
    ],
)
def test_arrays_of_a_wrong_shape_or_kind_are_named(
    tmp_path, planar, values, change, message
) -> None:
    arrays = {
        "time": values["time"],
        "position": np.stack([values["q1"], values["q2"]], axis=1),
        "effort": np.stack([values["tau1"], values["tau2"]], axis=1),
    }
    arrays |= {key: make(arrays[key]) for key, make in change.items()}
    np.savez(tmp_path / "a.npz", joint_names=["joint1", "joint2"], **arrays)
    with pytest.raises(LogError, match=message):
        read_log(tmp_path / "a.npz", planar)


def test_time_as_a_matrix_of_one_column_is_time_and_other_arrays_stay_aside(
    tmp_path, planar, values
) -> None:
    values["time"] = values["time"][:, None]
    np.savez(tmp_path / "a.npz", **values, gains=np.eye(3), serial=7)
    np.testing.assert_array_equal(
        read_log(tmp_path / "a.npz", planar).read(0, N).time, values["time"][:, 0]
    )


def test_a_column_without_any_value_is_missing_not_text(tmp_path, planar, values) -> None:
    path = table({**values, "tau2": pa.nulls(N)}, tmp_path / "a.parquet")
    effort = read_log(path, planar).read(0, N, ["effort"]).channels["effort"]
    assert np.isnan(effort[:, 1]).all()
    nested = table({**values, "tau2": [[1.0, 2.0]] * N}, tmp_path / "b.parquet")
    with pytest.raises(LogError, match="one number in each row"):
        read_log(nested, planar)


@pytest.mark.parametrize("text", ["NaN", "-3", "0", "Infinity", '"fast"', "[1]"])
@pytest.mark.parametrize("name", ["highest_harmonic_hz", "period_s", "nominal_rate_hz"])
def test_facts_that_are_no_number_above_zero_are_refused(
    tmp_path, planar, values, name, text
) -> None:
    content = pa.table(values).replace_schema_metadata({name: text})
    pq.write_table(content, tmp_path / "a.parquet")
    with pytest.raises(LogError, match=f"metadata '{name}'"):
        read_log(tmp_path / "a.parquet", planar)
