"""Whatever is wrong is said in one line on stderr, with the right exit code; nothing is written."""

import json
import shutil
import signal
import time

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import everything, start

USAGE, UNUSABLE, UNIDENTIFIABLE, INTERRUPTED = 2, 3, 4, 130


def refused(result, code: int, *words: str) -> None:
    """Check that a command ended with one line that holds all words, and printed nothing else."""
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert result.stderr.startswith("error: ")
    assert "internal error" not in result.stderr
    for word in words:
        assert word in result.stderr
    assert result.exit_code == code


def without_torque(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns=["tau1", "tau2"])


def without_one_torque(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="tau2")


def without_time(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(columns="time")


def torque_missing(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(tau1=np.nan, tau2=np.nan)


def standing_still(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(q1=0.1, q2=0.2)


def units_in_cells(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(tau1=frame["tau1"].map("{:.3f} Nm".format))


def numbers_as_text(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(tau1=frame["tau1"].map(str))


def without_rows(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.head(0)


def of_three_joints(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(q3=frame["q1"], tau3=frame["tau1"])


@pytest.mark.parametrize("verb", ["identify", "import"])
@pytest.mark.parametrize(
    ("spoil", "robot", "words"),
    [
        (without_torque, "planar2r", ("effort",)),
        (without_one_torque, "planar2r", ("effort",)),
        (without_time, "planar2r", ("time",)),
        (units_in_cells, "planar2r", ("'tau1'", "Nm")),
        (numbers_as_text, "planar2r", ("'tau1'", "text")),
        (without_rows, "planar2r", ("no rows",)),
        (of_three_joints, "planar2r", ("2 joints",)),
        (of_three_joints, "ur5", ("6 joints", "wrist_3_joint")),
    ],
)
def test_a_log_that_cannot_be_read(run, here, frame, spoil, robot, words, verb):
    spoil(frame).to_parquet("run.parquet")
    before = everything(here)
    out = ("-o", "out.parquet") if verb == "import" else ()
    refused(run(verb, robot, "run.parquet", *out), UNUSABLE, "run.parquet", *words)
    assert everything(here) == before


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (torque_missing, ("effort", "'joint1'", "NaN")),
        (standing_still, ("position", "stands still")),
    ],
)
def test_a_log_that_shows_nothing(run, here, frame, spoil, words):
    spoil(frame).to_parquet("run.parquet")
    before = everything(here)
    refused(run("identify", "planar2r", "run.parquet"), UNUSABLE, "run.parquet", *words)
    assert everything(here) == before
    checked = run("check", "planar2r", "run.parquet")
    assert checked.exit_code == UNUSABLE
    assert "UNUSABLE" in checked.stdout


def test_text_in_a_csv_is_named_by_row(run, here, frame):
    units_in_cells(frame.head(2000)).to_csv("run.csv", index=False)
    refused(run("identify", "planar2r", "run.csv"), UNUSABLE, "run.csv", "'tau1'", "row 1")


def test_the_log_of_another_robot(run, here, logs):
    refused(
        run("identify", "ur5", logs / "a.parquet"),
        UNUSABLE,
        "a.parquet",
        "'ur5'",
        "joint1/position",
    )
    assert everything(here) == set()


@pytest.mark.parametrize("verb", ["identify", "check", "import"])
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("run.parquet", b"", "empty file"),
        ("run.csv", b"", "empty file"),
        ("run.parquet", b"time q1 tau1\n0 0 0\n", "not a parquet file"),
        ("run.npz", b"time q1 tau1\n0 0 0\n", "run.npz"),
        ("run.parquet", None, "no such file"),
    ],
)
def test_what_is_no_log(run, here, name, content, words, verb):
    if content is not None:
        (here / name).write_bytes(content)
    before = everything(here)
    out = ("-o", "out.parquet") if verb == "import" else ()
    refused(run(verb, "planar2r", name, *out), UNUSABLE, name, words)
    assert everything(here) == before


def test_a_log_cut_short(run, here, logs):
    whole = (logs / "a.parquet").read_bytes()
    (here / "run.parquet").write_bytes(whole[: len(whole) // 2])
    refused(run("identify", "planar2r", "run.parquet"), UNUSABLE, "run.parquet")


@pytest.mark.parametrize(
    "words",
    [
        ("identify", "planar2r", "{logs}/a.parquet", "-o", "file/out"),
        ("identify", "planar2r", "{logs}/a.parquet", "-o", "file"),
        ("identify", "planar2r", "{logs}/a.parquet", "-o", "taken"),
        ("import", "planar2r", "{logs}/a.parquet", "-o", "file/out.parquet"),
        ("import", "planar2r", "{logs}/a.parquet", "-o", "nowhere/out.parquet"),
        ("excite", "planar2r", "--starts", "2", "-o", "file/out"),
    ],
)
def test_a_place_that_cannot_be_written(run, here, logs, words):
    (here / "file").write_text("mine")
    (here / "taken").mkdir()
    (here / "taken" / "notes.txt").write_text("mine")
    before = everything(here)
    out = words[-1]
    refused(run(*(word.format(logs=logs) for word in words)), USAGE, out)
    assert everything(here) == before
    assert (here / "file").read_text() == (here / "taken" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--friction", "viscous,stribek"), ("friction", "'stribek'", "coulomb")),
        (("--gravity", "0,0"), ("--gravity", "3")),
        (("--gravity", "down"), ("--gravity", "'down'", "0,0,-9.81")),
        (("--gravity", "nan,0,0"), ("--gravity", "finite")),
        (("--gravity", "1e300,0,0"), ("--gravity", "1e300", "within ±1,000,000")),
        (("--gravity", "0,0,-9.81", "--mount", "wall"), ("--gravity", "--mount")),
        (("--mount", "table"), ("--mount", "'table'", "wall")),
        (("--method", "magic"), ("--method", "'magic'", "wls")),
        (("--skip", "3"), ("--skip", "2")),
        (("--skip", "-1,0"), ("skip", "-1")),
        (("--cutoff-hz", "-1"), ("cutoff_hz", "-1")),
        (("--delay-ms", "1,2,3"), ("--delay-ms", "'planar2r'")),
        (("--profile", "nobody"), ("profile", "'nobody'", "kuka_lwr_npz")),
        (("--config", "none.toml"), ("none.toml",)),
        (("--max-error", "nan"), ("--max-error", "above zero")),
        (("--max-error", "-5"), ("--max-error", "above zero")),
        (("--validate", "{logs}/a.parquet"), ("a.parquet", "validation")),
        (("--validate", "{logs}/../{name}/a.parquet"), ("a.parquet", "validation")),
        (("--validate", "z*.parquet"), ("z*.parquet", "no file")),
        (("{logs}/a.parquet",), ("a.parquet", "twice")),
        (("{logs}/../{name}/a.parquet",), ("a.parquet", "twice")),
    ],
)
def test_options_that_make_no_sense(run, here, logs, options, words):
    typed = [option.format(logs=logs, name=logs.name) for option in options]
    refused(run("identify", "planar2r", logs / "a.parquet", *typed), USAGE, *words)
    assert everything(here) == set()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense = 1", ("'nonsense'",)),
        ("max_eror = 5", ("'max_eror'", "'max_error'")),
        ('robot = "ur5"', ("'robot'",)),
        ("= 1", ("not TOML",)),
    ],
)
def test_a_config_with_something_unknown(run, here, logs, text, words):
    (here / "options.toml").write_text(text)
    result = run("identify", "planar2r", logs / "a.parquet", "--config", "options.toml")
    refused(result, USAGE, "options.toml", *words)
    assert everything(here) == {"options.toml"}


@pytest.mark.parametrize(
    "words",
    [("identify", "planer2r", "a.parquet"), ("show", "planer2r"), ("reduce", "planer2r"),
     ("excite", "planer2r"), ("check", "planer2r", "a.parquet")],
)  # fmt: skip
def test_an_unknown_robot_comes_with_a_suggestion(run, here, words):
    refused(run(*words), USAGE, "'planer2r'", "did you mean 'planar2r'?")
    assert everything(here) == set()


@pytest.mark.parametrize(
    "words",
    [("validate", "taken", "{logs}/a.parquet"), ("export", "taken"), ("validate", "gone", "a")],
)
def test_a_folder_that_is_no_run(run, here, logs, words):
    (here / "taken").mkdir()
    (here / "taken" / "notes.txt").write_text("mine")
    before = everything(here)
    refused(run(*(w.format(logs=logs) for w in words)), USAGE, words[1], "not a run folder")
    assert everything(here) == before


def test_a_damaged_run(run, here, logs):
    (here / "run").mkdir()
    (here / "run" / "estimate.json").write_text('{"schema": 1, "kind": "Estimate"')
    refused(run("export", "run"), UNUSABLE, "run/estimate.json")
    refused(run("show", "run"), UNUSABLE, "run/estimate.json")


def test_nothing_left_to_fit(run, here, logs):
    result = run("identify", "planar2r", logs / "a.parquet", "--skip", "15,15")
    refused(result, UNIDENTIFIABLE, "0 usable rows")
    assert everything(here) == set()


def test_export_writes_all_formats_or_none(run, here, logs):
    run("identify", "planar2r", logs / "a.parquet", "--method", "wls", "-o", "run", "--quiet")
    before = everything(here)
    refused(run("export", "run", "--format", "csv,urdf", "-o", "out"), UNIDENTIFIABLE, "physical")
    refused(run("export", "run", "--format", "csv,step", "-o", "out"), USAGE, "'step'", "urdf")
    assert everything(here) == before


def test_derive_writes_all_its_files_or_none(run, here):
    (here / "code/planar2r_base_parameters.csv").mkdir(parents=True)
    before = everything(here)
    failed = run("derive", "planar2r", "--c", "--python", "-o", "code")
    refused(failed, USAGE, "planar2r_base_parameters.csv", "a folder stands where a file")
    assert everything(here) == before


@pytest.mark.parametrize("option", [("--starts", "0"), ("--harmonics", "1"), ("--margin", "2")])
def test_an_excitation_that_cannot_be(run, here, option):
    refused(run("excite", "planar2r", "--starts", "2", *option), USAGE, option[0].strip("-"))
    assert everything(here) == set()


def test_a_failed_rerun_leaves_the_earlier_run(run, here, logs, frame):
    shutil.copy(logs / "a.parquet", "a.parquet")
    run("identify", "planar2r", "a.parquet", "--quiet")
    before = {path: (here / path).stat().st_mtime_ns for path in everything(here)}
    torque_missing(frame).to_parquet("a.parquet")
    assert run("identify", "planar2r", "a.parquet").exit_code == UNUSABLE
    before["a.parquet"] = (here / "a.parquet").stat().st_mtime_ns
    now = {path: (here / path).stat().st_mtime_ns for path in everything(here)}
    # Folders above the run have seen a sibling come and go.
    assert now.keys() == before.keys()
    assert all(now[path] == before[path] for path in now if (here / path).is_file())


def test_errors_of_the_command_itself(here, logs):
    process = start("identify", "ur5", logs / "a.parquet", "--json", cwd=here)
    out, err = process.communicate(timeout=60)
    assert process.returncode == UNUSABLE
    assert out == ""
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert everything(here) == set()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_stopped_in_the_middle(here, logs, stop):
    process = start("identify", "planar2r", logs / "a.parquet", cwd=here)
    deadline = time.monotonic() + 60.0
    while not any((here / "runs/planar2r").glob(".a.*")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(stop)
    out, err = process.communicate(timeout=60)
    assert out == ""
    assert err == "interrupted; nothing was written\n"
    # An interpreter may end itself by the signal that it was sent; shells call both 130.
    assert process.returncode in (INTERRUPTED, -signal.SIGINT)
    assert everything(here) == set()


@pytest.mark.parametrize(
    ("name", "content"), [("gone.csv", None), ("a.csv", ""), ("b.csv", "t,q1\n0,1\n")]
)
def test_a_program_that_checks_gets_an_object_for_any_log(run, here, name, content):
    if content is not None:
        (here / name).write_text(content)
    result = run("check", "planar2r", name, "--json")
    assert (result.exit_code, result.stderr, result.stdout.count("\n")) == (UNUSABLE, "", 1)
    answer = json.loads(result.stdout)
    assert not answer["ok"]
    assert [(f["severity"], name in f["where"]) for f in answer["findings"]] == [("error", True)]
