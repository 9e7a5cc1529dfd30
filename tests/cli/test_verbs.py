"""Every verb, as a user types it: what it prints for people, for programs, and what it leaves."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from ident import __version__
from ident.logs.readers import read_log
from ident.model.registry import load_robot, registry_folder
from tests.cli.conftest import everything, start

FAILED = 5
RUN_FILES = {"estimate.json", "parameters.csv", "identified.urdf", "report.html", "manifest.json"}
SCORE = {"relative_error_percent": {"total": float, "per_joint": [float]}, "rms": [float]}
# DESIGN §11; more keys may come, none may go or change its type.
IDENTIFY = {
    "verdict": str,
    "robot": str,
    "out": str,
    "joints": [str],
    "rank": int,
    "rank_inertial": int,
    "condition": {"scaled": float, "raw": float},
    "held_out": {"kind": str, **SCORE, "least_squares": SCORE, "cad": SCORE},
    "physical": {"consistent": bool, "min_eigenvalue": float},
    "solver": {"name": str, "status": str, "seconds": float},
    "delay_s": [float],
    "findings": [{"name": str, "severity": str, "where": str, "message": str}],
    "seconds": float,
    "peak_rss_mib": float,
}
CHECK = {"ok": bool, "findings": IDENTIFY["findings"]}
EXCITE = {
    "out": str,
    "condition": {"scaled": float, "raw": float, "raw_inertial": float},
    "log_det": float,
    "margins": {name: float for name in ("position", "velocity", "acceleration", "jerk", "torque")},
    "seconds": float,
}


def one_object(result, kind: object, code: int = 0) -> dict:
    """Return the one JSON object that a command printed, and nothing else."""
    assert result.exit_code == code, result.stderr
    assert result.stderr == ""
    assert result.stdout.count("\n") == 1
    value = json.loads(result.stdout)
    conforms(value, kind)
    return value


def conforms(value: object, kind: object, where: str = "") -> None:
    """Check a value against a pattern: a type, a list of one pattern, or patterns by key."""
    if isinstance(kind, dict):
        assert isinstance(value, dict), where
        for key, inner in kind.items():
            assert key in value, f"{where}.{key}"
            conforms(value[key], inner, f"{where}.{key}")
    elif isinstance(kind, list):
        assert isinstance(value, list), where
        for item in value:
            conforms(item, kind[0], f"{where}[]")
    else:
        assert type(value) is kind, f"{where}: {value!r}"


@pytest.fixture(scope="module")
def done(run, logs, tmp_path_factory) -> tuple[Path, object]:
    """Give a run folder and what the command that wrote it printed with --json."""
    folder = tmp_path_factory.mktemp("done") / "run"
    words = ("--validate", logs / "b.parquet", "-o", folder, "--json")
    return folder, run("identify", "planar2r", logs / "a.parquet", *words)


def test_identify_prints_one_object(done):
    folder, result = done
    summary = one_object(result, IDENTIFY)
    assert summary["verdict"] == "pass"
    assert summary["out"] == str(folder)
    assert summary["joints"] == ["joint1", "joint2"]
    assert (summary["rank"], summary["rank_inertial"]) == (13, 6)
    assert summary["physical"]["consistent"]
    held_out = summary["held_out"]
    assert held_out["kind"] == "trajectory"
    assert len(held_out["rms"]) == len(held_out["cad"]["rms"]) == 2
    total = held_out["relative_error_percent"]["total"]
    assert total < 0.5 * held_out["cad"]["relative_error_percent"]["total"]


def test_identify_leaves_five_files(done):
    folder, _ = done
    assert everything(folder) == RUN_FILES
    assert everything(folder.parent) == {"run"} | {f"run/{name}" for name in RUN_FILES}
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["files"].keys() == RUN_FILES - {"manifest.json"}
    assert [log["role"] for log in manifest["inputs"]] == ["train", "validate"]


def test_the_parameter_table_has_its_columns(done):
    folder, _ = done
    with (folder / "parameters.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "name", "joint", "unit", "cad", "identified", "std", "ci_low", "ci_high", "label"
    ]  # fmt: skip
    # 20 inertial, then armature and three friction terms of two joints; then the base parameters.
    assert len(rows) == 28 + 13
    assert rows[0]["name"] == "m1"
    for row in rows:
        if row["label"] == "identified":
            assert float(row["ci_low"]) < float(row["identified"]) < float(row["ci_high"])
        if row["label"] == "combination only":
            assert row["std"] == row["ci_low"] == row["ci_high"] == ""


def test_identify_for_people(run, here, logs):
    shutil.copy(logs / "a.parquet", "run.parquet")
    result = run("identify", "planar2r", "run.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("PASS  planar2r")
    assert "runs/planar2r/run/report.html" in result.stdout
    assert "\x1b" not in result.stdout
    assert everything(here / "runs/planar2r/run") == RUN_FILES


def test_how_slow_a_joint_may_be_is_an_option(run, here, logs):
    words = ("identify", "planar2r", logs / "a.parquet", "--json", "--reversal-speed")
    assert run(*words, 0.01).exit_code in {0, 5}
    none_left = run(*words, 50)
    assert none_left.exit_code == 4 and "usable rows" in none_left.stderr
    refused = run(*words, -1)
    assert refused.exit_code == 2 and "reversal_speed" in refused.stderr


def test_quiet_prints_nothing(run, here, logs):
    result = run("identify", "planar2r", logs / "a.parquet", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert everything(here / "runs/planar2r/a") == RUN_FILES
    quiet = run("validate", "runs/planar2r/a", logs / "b.parquet", "-q")
    assert (quiet.exit_code, quiet.output) == (0, "")
    quiet = run("check", "planar2r", logs / "b.parquet", "-q")
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_a_rerun_replaces_its_folder(run, here, logs):
    options = ("identify", "planar2r", logs / "a.parquet", "-o", "deep/er/run", "--quiet")
    assert run(*options).exit_code == 0
    first = (here / "deep/er/run/manifest.json").read_text()
    (here / "deep/er/run/notes.txt").write_text("of the user")
    assert run("export", here / "deep/er/run").exit_code == 0
    assert run(*options, "--method", "wls").exit_code in (0, FAILED)
    assert (here / "deep/er/run/manifest.json").read_text() != first
    assert {p.name for p in (here / "deep/er").iterdir()} == {"run"}
    # No link need exist after least squares, and what was exported was the model before.
    assert everything(here / "deep/er/run") == RUN_FILES - {"identified.urdf"} | {"notes.txt"}


def test_several_logs_are_several_runs(run, here, logs):
    result = run("identify", "planar2r", f"{logs}/*.parquet", "--json")
    summary = one_object(result, IDENTIFY)
    assert summary["out"] == "runs/planar2r/a+1"
    assert summary["held_out"]["kind"] == "blocks"
    assert (here / "runs/planar2r/a+1/manifest.json").is_file()


def test_a_verdict_that_fails_still_leaves_its_run(run, here, logs):
    words = ("identify", "planar2r", logs / "a.parquet", "--max-error", "0.01", "-o", "run")
    summary = one_object(run(*words, "--json"), IDENTIFY, code=FAILED)
    assert summary["verdict"] == "fail"
    assert everything(here / "run") == RUN_FILES
    told = run(*words)
    assert told.exit_code == FAILED
    assert told.stdout.startswith("FAIL  planar2r")
    assert "0.01 %" in told.stdout


def test_options_from_a_file_give_way_to_those_typed(run, here, logs):
    shutil.copy(logs / "b.parquet", "b.parquet")
    lines = (
        "gravity = [0, -9.81, 0]",
        'validate = "b.parquet"',
        "max-error = 0.01",
        'skip = "1,1"',
        "json = true",
    )
    (here / "options.toml").write_text("\n".join(lines))
    words = ("identify", "planar2r", logs / "a.parquet", "--config", "options.toml")
    summary = one_object(run(*words), IDENTIFY, code=FAILED)
    assert summary["held_out"]["kind"] == "trajectory"
    summary = one_object(run(*words, "--max-error", "50"), IDENTIFY)
    assert summary["verdict"] == "pass"


def test_a_run_is_a_robot(run, done, here):
    folder, _ = done
    result = run("show", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "joint2" in result.stdout
    reduced = one_object(run("reduce", folder, "--json"), {"rank": int})
    assert reduced["rank"] == 6


def test_validate(run, done, logs):
    folder, identified = done
    summary = one_object(
        run("validate", folder, logs / "b.parquet", "--json"),
        {"robot": str, "held_out": IDENTIFY["held_out"], "findings": IDENTIFY["findings"]},
    )
    assert summary["held_out"] == json.loads(identified.stdout)["held_out"]
    told = run("validate", folder, logs / "b.parquet")
    assert told.exit_code == 0
    assert "held-out relative error" in told.stdout


def test_export(run, done, here):
    folder, _ = done
    result = run("export", folder, "--format", "urdf,csv,json", "-o", "out")
    assert (result.exit_code, result.stderr) == (0, "")
    names = [f"out/planar2r.{kind}" for kind in ("urdf", "csv", "json")]
    assert result.stdout.splitlines()[:3] == names
    assert everything(here) == {"out", *names}
    for name, twin in zip(
        names, ("identified.urdf", "parameters.csv", "estimate.json"), strict=True
    ):
        assert (here / name).read_bytes() == (folder / twin).read_bytes()


def test_check(run, logs):
    assert one_object(run("check", "planar2r", logs / "a.parquet", "--json"), CHECK)["ok"]
    told = run("check", "planar2r", logs / "a.parquet")
    assert (told.exit_code, told.stdout[:2]) == (0, "OK")


def test_check_names_what_is_wrong(run, here, frame):
    frame.assign(q1=np.degrees(frame["q1"]), q2=np.degrees(frame["q2"])).to_parquet("a.parquet")
    summary = one_object(run("check", "planar2r", "a.parquet", "--json"), CHECK, code=3)
    assert not summary["ok"]
    assert "error" in {finding["severity"] for finding in summary["findings"]}


def test_reduce(run):
    pattern = {"rank": int, "base": [{"name": str, "expression": str}], "standard": {"m1": str}}
    summary = one_object(run("reduce", "planar2r", "--json"), pattern)
    assert summary["rank"] == len(summary["base"]) == 6
    assert set(summary["standard"].values()) == {"alone", "combination", "none"}
    assert len(summary["standard"]) == 20
    told = run("reduce", "planar2r")
    assert (told.exit_code, told.stderr) == (0, "")
    assert "ZZ1R = ZZ1 + 0.25·M2" in told.stdout
    assert "mx1 + 0.5·m2" in run("reduce", "planar2r", "--names", "standard").stdout
    assert "Izz1 + Iyy2 + 0.180625·m3" in run("reduce", "ur5").stdout


def test_reduce_with_letters(run, tmp_path):
    told = run("reduce", "planar2r", "--symbolic")
    letter = "a2"
    assert f"ZZ1R = ZZ1 + {letter}²·M2" in told.stdout
    assert f"{letter} = 0.5 m" in told.stdout
    summary = one_object(run("reduce", "planar2r", "--symbolic", "--json"), {"rank": int})
    assert summary["letters"] == {letter: 0.5}
    assert summary["base"][2]["expression"] == f"Izz1 + {letter}²·m2"
    text = (registry_folder() / "planar2r" / "robot.toml").read_text(encoding="utf-8")
    table = tmp_path / "robot.toml"
    table.write_text(text.replace("a = 0.5", 'a = "L1"'), encoding="utf-8")
    assert "ZZ1R = ZZ1 + L1²·M2" in run("reduce", table).stdout
    assert "L1 = any length" in run("reduce", table).stdout
    assert "ZZ1R = ZZ1 + 9·M2" in run("reduce", table, "--lengths", "L1=3").stdout
    failed = run("check", table, "planar2r.parquet")
    assert failed.exit_code == 3
    assert "no value for length L1" in failed.stderr


def test_reduce_says_what_the_drives_merge_with(run):
    told = run("reduce", "ur5", "--drives").stdout
    assert "armature1 has no place of its own: it joins Izz1R" in told
    summary = one_object(run("reduce", "tx40", "--drives", "--json"), {"rank": int})
    assert summary["merged"] == {"armature1": "Izz1R", "armature2": "Izz2R"}


def test_reduce_in_latex(run):
    told = run("reduce", "planar2r", "--latex").stdout
    assert told.startswith(r"\begin{align*}")
    assert told.rstrip().endswith(r"\end{align*}")
    assert r"\mathit{ZZ}_{1R} &= \mathit{ZZ}_{1} + 0.25\,M_{2}" in told
    assert (
        r"I_{zz,1R} &= I_{zz,1} + 0.25\,m_{2}"
        in run("reduce", "planar2r", "--latex", "--names", "standard").stdout
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("ur5", "--symbolic"), "not described by a Denavit-Hartenberg table"),
        (("ur5", "--lengths", "L1=0.5"), "no Denavit-Hartenberg table"),
        (("planar2r", "--lengths", "L1"), "names with numbers"),
        (("planar2r", "--lengths", ""), "names with numbers"),
        (("planar2r", "--lengths", "L1=0.5,L1=0.6"), "names with numbers"),
        (("planar2r", "--lengths", "L1=x"), "'x'"),
        (("planar2r", "--lengths", "L1=-1e300"), "within ±1,000,000"),
        (("planar2r", "--lengths", "L1=0.5"), "no length 'L1'"),
        (("planar2r", "--symbolic", "--lengths", "L1=0.5"), "one of them"),
        (("planar2r", "--names", "craig"), "standard, khalil"),
    ],
)
def test_reduce_refuses(run, options, said):
    failed = run("reduce", *options)
    assert failed.exit_code in (2, 3)
    assert said in failed.stderr
    assert failed.stdout == ""


def test_robots(run):
    pattern = {"robots": [{"name": str, "title": str, "aliases": [str]}]}
    known = {robot["name"] for robot in one_object(run("robots", "--json"), pattern)["robots"]}
    assert {"planar2r", "ur5", "ur5e", "ur10", "panda", "iiwa14", "kuka_lwr4"} <= known
    told = run("robots")
    assert all(name in told.stdout for name in known)


def test_derive(run):
    pattern = {"robot": str, "shape": [int], "operations": int, "seconds": float, "cache": str}
    assert one_object(run("derive", "planar2r", "--json"), pattern)["shape"] == [2, 20]
    told = run("derive", "p2").stdout
    assert told.startswith("planar2r: 2 × 20 regressor")
    for name in ("base_regressor", "inverse_dynamics", "gravity_torque", "mass_matrix"):
        assert name in told


def test_derive_writes_what_others_use(run, here):
    files = [f"code/planar2r{end}" for end in (".h", ".c", ".py", ".tex", "_base_parameters.csv")]
    summary = one_object(
        run("derive", "p2", "--c", "--python", "--latex", "-o", "code", "--json"), {"files": [str]}
    )
    assert summary["files"] == files
    assert everything(here) == {"code", *files}
    told = run("derive", "p2", "--python")
    assert told.stdout.splitlines()[-2:] == [
        f"runs/planar2r/derived/planar2r{end}" for end in (".py", "_base_parameters.csv")
    ]
    module = {}
    exec((here / files[2]).read_text(encoding="utf-8"), module)
    with open(here / files[4], encoding="utf-8", newline="") as table:
        beta = [float(row["cad"]) for row in csv.DictReader(table)]
    torque = module["planar2r_gravity_torque"](np.zeros(2), beta)
    assert torque[:, 0] == pytest.approx([11.772, 1.962])
    for name in ("regressor", "base_regressor", "inverse_dynamics", "mass_matrix"):
        assert f"planar2r_{name}" in module
        assert f"planar2r_{name}(" in (here / files[0]).read_text(encoding="utf-8")
    assert "float planar2r" not in (here / files[1]).read_text(encoding="utf-8")
    run("derive", "p2", "--float", "-o", "single")
    assert "const float q[2]" in (here / "single/planar2r.h").read_text(encoding="utf-8")


def test_derive_with_letters(run, here):
    told = run("derive", "p2", "--symbolic", "--python", "-o", "code")
    assert "of the lengths a2" in told.stdout
    text = (here / "code/planar2r.py").read_text(encoding="utf-8")
    module = {}
    exec(text, module)
    beta = [1.0, 0.0, 0.425, 0.2, 0.0, 0.06]
    torque = module["planar2r_gravity_torque"](np.zeros(2), beta, [0.5])
    assert torque[:, 0] == pytest.approx([11.772, 1.962])


def test_letters_of_a_standard_table_need_no_numbers_for_its_masses(run, here):
    text = (registry_folder() / "planar2r" / "robot.toml").read_text(encoding="utf-8")
    for old, new in (
        ('"modified"', '"standard"'),
        ("\na = 0.0", '\na = "L1"'),
        ("\na = 0.5", '\na = "L2"'),
    ):
        text = text.replace(old, new)
    (here / "arm.toml").write_text(text, encoding="utf-8")
    assert "ZZ1R = ZZ1 + L1²·M2" in run("reduce", "arm.toml").stdout
    assert "ZZ1R = ZZ1 + 0.25·M2" in run("reduce", "arm.toml", "--lengths", "L1=0.5").stdout
    for given, beta in (("L1=0.5", ""), ("L1=0.5,L2=-0.2", "2.0")):
        told = run("derive", "arm.toml", "--python", "-o", "code", "--lengths", given)
        assert (told.exit_code, told.stderr) == (0, "")
        with open("code/planar2r_base_parameters.csv", encoding="utf-8", newline="") as table:
            assert next(csv.DictReader(table))["cad"] == beta
    failed = run("check", "arm.toml", "planar2r.parquet")
    assert failed.exit_code == 3
    assert "no value for length L1, L2" in failed.stderr
    assert "[dh.lengths]" in failed.stderr


def test_excite(run, here):
    words = ("excite", "planar2r", "--starts", "1", "-o", "design")
    summary = one_object(run(*words, "--json"), EXCITE)
    assert summary["out"] == "design"
    assert min(summary["margins"][name] for name in EXCITE["margins"]) >= 0.0
    names = (f"design/excitation.{kind}" for kind in ("json", "parquet", "svg"))
    written = {"design", *names}
    assert everything(here) == written
    first = (here / "design/excitation.parquet").read_bytes()
    assert "condition number" in run(*words).stdout
    assert (
        here / "design/excitation.parquet"
    ).read_bytes() == first  # the same seed, the same path
    assert everything(here) == written


def test_import_and_back(run, here, frame):
    frame.to_csv("foreign.csv", index=False)
    for source, target in (("foreign.csv", "once.parquet"), ("once.parquet", "twice.parquet")):
        result = run("import", "planar2r", source, "-o", target)
        assert (result.exit_code, result.stderr) == (0, "")
        assert f"{target}: {len(frame)} rows of position, effort" in result.stdout
    robot = load_robot("planar2r")
    once, twice = (read_log(here / f"{name}.parquet", robot) for name in ("once", "twice"))
    assert once.joints == robot.joints
    assert once.facts.source_sha256
    columns = ("position", "effort")
    a, b = (log.read(0, log.rows, columns) for log in (once, twice))
    np.testing.assert_array_equal(a.time, frame["time"])
    for channel, kind in zip(columns, ("q", "tau"), strict=True):
        np.testing.assert_array_equal(a.channels[channel], frame[[f"{kind}1", f"{kind}2"]])
        np.testing.assert_array_equal(b.channels[channel], a.channels[channel])


def test_version_and_help(run):
    assert run("--version").stdout == f"ident {__version__}\n"
    for verb in ("robots", "show", "derive", "reduce", "excite", "import", "check", "identify",
                 "validate", "export", "simulate-samples"):  # fmt: skip
        assert verb in run("--help").stdout
        told = run(verb, "--help")
        assert (told.exit_code, told.stdout[:6]) == (0, "Usage:")


def test_as_a_process_of_its_own(here, logs):
    process = start("identify", "planar2r", logs / "a.parquet", "--json", cwd=here)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    conforms(json.loads(out), IDENTIFY)
    assert everything(here / "runs/planar2r/a") == RUN_FILES


@pytest.mark.parametrize("words", [("robots",), ("robots", "--json")])
def test_a_reader_that_goes_away_is_no_error(here, words):
    process = start(*words, cwd=here)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 0


def test_a_spring_that_no_urdf_holds_is_said(run, logs, here):
    text = (registry_folder() / "planar2r" / "robot.toml").read_text(encoding="utf-8")
    spring = '[[drives.springs]]\njoint = "joint2"\ntype = "linear"\n\n[friction]'
    (here / "robot.toml").write_text(text.replace("[friction]", spring), encoding="utf-8")
    summary = one_object(run("identify", here, logs / "a.parquet", "--json"), IDENTIFY)
    (said,) = [f for f in summary["findings"] if f["name"] == "spring_left_out"]
    assert said["severity"] == "warning"
    assert "joint2" in said["where"]
    with open(Path(summary["out"]) / "parameters.csv", encoding="utf-8", newline="") as table:
        assert "spring2" in {row["name"] for row in csv.DictReader(table)}
