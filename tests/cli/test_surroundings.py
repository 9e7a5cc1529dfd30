"""What surrounds a command is no reason to fail: terminals, file names, folders of other people."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from ident.logs.preparation import Preparation
from ident.logs.recording import Facts
from tests.cli.conftest import ROOT, everything

USAGE = 2


def typed(*words: object, cwd, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run ``python -m ident`` in a process of its own, in an environment with ``env``."""
    return subprocess.run(
        [sys.executable, "-m", "ident", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_that_lacks_our_letters(here, encoding):
    result = typed("show", "planar2r", cwd=here, PYTHONIOENCODING=encoding)
    assert result.returncode == 0, result.stderr
    assert b"planar2r" in result.stdout


def test_a_file_name_that_is_no_text(here, logs):
    name = os.fsdecode(b"bad\xff.parquet")
    try:
        shutil.copy(logs / "a.parquet", here / name)
    except OSError:
        pytest.skip("this file system takes text only")
    checked = typed("check", "planar2r", name, cwd=here)
    assert checked.returncode == 0, checked.stderr
    done = typed("identify", "planar2r", name, "-o", "run", "--json", cwd=here)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["out"] == "run"
    assert json.loads((here / "run/manifest.json").read_text())["inputs"][0]["path"] == name
    missing = typed("check", "planar2r", os.fsdecode(b"no\xff"), cwd=here)
    assert missing.returncode == 3
    assert b"no such file" in missing.stderr


def test_a_robot_whose_name_is_a_path_writes_nowhere_else(run, here, logs):
    description = (ROOT / "data/robots/planar2r/robot.toml").read_text()
    (here / "work").mkdir()
    (here / "work/arm.toml").write_text(description.replace('"planar2r"', '"../../evil"', 1))
    os.chdir(here / "work")
    assert run("identify", "arm.toml", logs / "a.parquet", "--quiet").exit_code == 0
    assert run("excite", "arm.toml", "--starts", "3", "--quiet").exit_code == 0
    assert run("export", "runs/_.._evil/a", "--quiet").exit_code == 0
    assert {path.name for path in here.iterdir()} == {"work"}
    assert (here / "work/runs/_.._evil/a/export/_.._evil.urdf").is_file()


def test_another_programs_folder_is_left_alone(run, here, logs):
    (here / "site").mkdir()
    (here / "site/manifest.json").write_text('{"name": "a web app", "icons": []}')
    (here / "site/index.html").write_text("precious")
    before = everything(here)
    result = run("identify", "planar2r", logs / "a.parquet", "-o", "site")
    assert result.exit_code == USAGE
    assert "site" in result.stderr
    assert everything(here) == before


@pytest.mark.parametrize("verb", ["excite", "export"])
def test_outputs_of_several_files_are_all_there_or_none(run, here, logs, verb):
    if verb == "export":
        assert run("identify", "planar2r", logs / "a.parquet", "-o", "run", "-q").exit_code == 0
        blocked, words = "out/planar2r.json", ("export", "run", "--format", "urdf,csv,json")
    else:
        blocked, words = "out/excitation.json", ("excite", "planar2r", "--starts", "3")
    (here / blocked).mkdir(parents=True)
    before = everything(here)
    assert run(*words, "-o", "out").exit_code == USAGE
    assert everything(here) == before


def test_options_of_a_file_have_the_names_that_are_typed(run, here, logs):
    assert run("identify", "planar2r", logs / "a.parquet", "-o", "run", "-q").exit_code == 0
    (here / "options.toml").write_text('format = ["urdf", "csv"]\nout = "models"\nquiet = true')
    result = run("export", "run", "--config", "options.toml")
    assert (result.exit_code, result.output) == (0, "")
    assert everything(here / "models") == {"planar2r.urdf", "planar2r.csv"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("cutoff_hz = true", "cutoff_hz"),
        ("skip = [true, false]", "skip"),
        ("quiet = 1", "quiet"),
        ('json = "yes"', "json"),
        ("[skip]\nstart = 1", "skip"),
        ("gravity = [[0, 0, 1]]", "gravity"),
        ('config = "other.toml"', "config"),
        ("formats = 'csv'", "formats"),
    ],
)
def test_a_value_that_nobody_could_type_is_refused(run, here, logs, text, word):
    (here / "options.toml").write_text(text)
    result = run("identify", "planar2r", logs / "a.parquet", "--config", "options.toml")
    assert result.exit_code == USAGE
    assert result.stderr.startswith("error: --config options.toml")
    assert word in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_log_is_not_imported_onto_itself(run, here, logs):
    shutil.copy(logs / "a.parquet", here / "a.parquet")
    (here / "link.parquet").symlink_to("a.parquet")
    before = (here / "a.parquet").read_bytes()
    for out in ("a.parquet", "./a.parquet", "link.parquet"):
        assert run("import", "planar2r", "a.parquet", "-o", out).exit_code == USAGE
    assert (here / "a.parquet").read_bytes() == before


def test_the_help_of_identify_says_what_applies_when_nothing_is_given(run, logs):
    # What is not said is taken from the log: the text has to follow the rule, see `Preparation`.
    text = " ".join(run("identify", "--help").stdout.split()).replace("- ", "-")
    assert "half the cut-off if not given" in text
    options = Preparation(cutoff_hz=16.0).resolved(Facts(), 1000.0)
    assert options.decimation_hz == 0.5 * options.cutoff_hz


@pytest.mark.parametrize("verb", ["identify", "validate", "excite", "export"])
def test_make_passes_paths_with_spaces(verb):
    words = ["ROBOT=my arm/robot.urdf", "OUT=out dir/x", "LOG=a.parquet", "-o", ".venv/.runtime"]
    shown = subprocess.run(
        ["make", "-n", verb, *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert '"my arm/robot.urdf"' in shown
    assert verb == "validate" or '-o "out dir/x"' in shown
