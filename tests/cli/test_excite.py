"""``ident excite`` as a user types it: what is written, what is kept, and how a search ends."""

import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from ident.excitation.fourier import Trajectory
from tests.cli.conftest import everything, start

QUICK = ("--starts", "1", "--jobs", "1")


def design_of(folder: Path, name: str = "excitation") -> dict:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def test_all_formats_hold_the_same_motion(run, here):
    formats = "parquet,csv,ros2,plots"
    result = run("excite", "panda", *QUICK, "--format", formats, "-o", "out", "--json")
    assert result.exit_code == 0, result.stderr
    kinds = (".json", ".parquet", ".csv", "_ros2.yaml", ".svg")
    assert everything(here / "out") == {f"excitation{kind}" for kind in kinds}
    table = pq.read_table("out/excitation.parquet")
    trajectory = Trajectory.from_dict(design_of(Path("out")))
    t, phase = table["time"].to_numpy(), table["phase"].to_pylist()
    begin = t[phase.index("excitation")]
    middle = int(np.searchsorted(t, begin + 7.0))
    expected = trajectory.states(t[[middle]] - begin)
    joints = trajectory.joints
    for name, values in (("position", expected.q), ("acceleration", expected.ddq)):
        found = [table[f"{joint}/{name}"][middle].as_py() for joint in joints]
        np.testing.assert_allclose(found, values[0], rtol=0, atol=1e-9)
    points = yaml.load(Path("out/excitation_ros2.yaml").read_text(), Loader=yaml.CSafeLoader)
    np.testing.assert_allclose(
        points["points"][0]["positions"],
        [table[f"{joint}/position"][0].as_py() for joint in joints],
        rtol=0,
        atol=1e-12,
    )


def test_the_command_in_the_certificate_makes_the_file_again(run, here):
    given = ("excite", "planar2r", *QUICK, "--seed", "3", "--name", "mine", "--format", "none")
    assert run(*given, "-o", "out", "--quiet").exit_code == 0
    before = (here / "out/mine.json").read_bytes()
    (here / "out/mine.json").unlink()
    program, *words = shlex.split(json.loads(before)["command"])
    assert program == "ident"
    assert run(*words).exit_code == 0
    assert (here / "out/mine.json").read_bytes() == before


def test_several_processes_find_what_one_does(run, here):
    for jobs in ("1", "2"):
        words = ("--starts", "3", "--jobs", jobs, "--format", "none", "-o", f"out{jobs}")
        assert run("excite", "planar2r", *words).exit_code == 0
    one, two = (design_of(Path(f"out{jobs}")) for jobs in "12")
    assert one["id"] == two["id"]
    assert one["certificate"] == two["certificate"]


def test_a_floor_and_a_file_of_surroundings(run, here):
    (here / "cell.toml").write_text(
        "[floor]\nz = -0.1\n[[walls]]\nname = 'window'\npoint = [-0.5, 0, 0]\nnormal = [1, 0, 0]\n"
    )
    words = ("excite", "ur5", *QUICK, "--format", "none", "-o", "out")
    assert run(*words, "--surroundings", "cell.toml").exit_code == 0
    distances = design_of(Path("out"))["certificate"]["limits"]["distance"]
    assert any(pair.endswith("window") for pair in distances)
    assert all(pair["reached"] >= pair["allowed"] for pair in distances.values())
    both = run(*words, "--surroundings", "cell.toml", "--floor", "0")
    assert both.exit_code == 2
    assert "--floor: given together with --surroundings" in both.stderr


def test_a_start_inside_a_wall_is_infeasible_and_named(run, here):
    (here / "cell.toml").write_text("[[walls]]\npoint = [0.2, 0, 0]\nnormal = [-1, 0, 0]\n")
    result = run("excite", "ur5", *QUICK, "--surroundings", "cell.toml", "-o", "out")
    assert result.exit_code == 4
    assert "wall 1" in result.stderr
    assert "inside each other at the start" in result.stderr
    assert everything(here) == {"cell.toml"}


def test_a_payload_too_heavy_names_the_joint(run, here):
    result = run("excite", "ur5", *QUICK, "--payload", "60,0,0,0.1", "-o", "out")
    assert result.exit_code == 4
    assert "torque of joint '" in result.stderr
    assert run("excite", "ur5", "--payload", "1,2").exit_code == 2


def test_after_a_run_goes_where_it_is_thin(run, here, logs):
    assert run("identify", "planar2r", logs / "a.parquet", "-o", "run", "--quiet").exit_code in (
        0,
        5,
    )
    plain = ("excite", "planar2r", *QUICK, "--format", "none", "--quiet")
    assert run(*plain, "-o", "alone").exit_code == 0
    assert run(*plain, "--after", "run", "-o", "more").exit_code == 0
    alone, more = (design_of(Path(name))["certificate"] for name in ("alone", "more"))
    errors = [list(c["standard_errors"].values()) for c in (alone, more)]
    assert (np.array(errors[1]) < np.array(errors[0])).all()
    wrong = run("excite", "ur5", *QUICK, "--after", "run")
    assert wrong.exit_code == 2
    assert "other geometry or gravity" in wrong.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--goal", "speed"), "goal: 'speed'"),
        (("--scaling", "none"), "scaling: 'none'"),
        (("--friction", "stribeck"), "stribeck"),
        (("--noise", "1"), "--noise"),
        (("--start", "1,2,3"), "--start"),
        (("--distance", "-1"), "distance"),
        (("--seconds", "0"), "seconds"),
        (("--format", "step"), "format"),
        (("--surroundings", "none.toml"), "none.toml"),
        (("--after", "nowhere"), "nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused(run, here, option, said):
    result = run("excite", "planar2r", *QUICK, *option, "-o", "out")
    assert result.exit_code == 2
    assert said in result.stderr
    assert everything(here) == set()


def test_a_budget_of_time_is_kept(run, here):
    began = time.monotonic()
    result = run("excite", "planar2r", "--seconds", "1", "--jobs", "1", "-o", "out", "--json")
    assert result.exit_code == 0
    assert time.monotonic() - began < 10.0
    assert not json.loads(result.stdout)["complete"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_search_keeps_the_best_so_far(here, jobs):
    words = ("--starts", "100000", "--jobs", jobs, "--format", "none", "-o", "out")
    process = start("excite", "planar2r", *words, cwd=here)
    time.sleep(12.0)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "interruption" in out
    assert not design_of(here / "out")["certificate"]["complete"]
