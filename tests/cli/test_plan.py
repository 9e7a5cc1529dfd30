"""A campaign as a user meets it: the folder, the logs of a simulated arm, and what is wrong."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from ident import __version__
from ident.cli.campaign_folder import played as files_of
from ident.cli.campaign_folder import read_campaign
from ident.excitation.campaign import Step
from ident.excitation.collision import Clearance
from ident.excitation.course import certify
from ident.excitation.envelope import Envelope, Load
from ident.excitation.limits import Limits
from ident.excitation.sweeps import SweepOptions, friction_sweep
from ident.logs.recording import Facts
from ident.logs.writer import write_log
from ident.model.registry import load_robot
from ident.regressor.rigid import derive
from tests.cli.conftest import ROOT, everything

USAGE, UNUSABLE, INFEASIBLE = 2, 3, 4
ROBOT = load_robot("planar2r")
WORDS = ("plan", "planar2r", "--starts", 1, "--jobs", 1, "--warmup", 80, "--poses", 2)
STEPS = [
    "01_warmup",
    "02_static",
    "03_friction_1_joint1",
    "04_friction_2_joint2",
    "05_excitation",
    "06_validation",
    "07_unloaded_a",
    "08_loaded_b",
    "09_loaded_c",
    "10_unloaded_d",
]


@pytest.fixture(scope="module")
def planned(tmp_path_factory, run) -> Path:
    """Give a campaign folder without logs."""
    folder = tmp_path_factory.mktemp("campaign") / "campaign"
    more = ("--payload", "0.5,0.2,0,0", "--periods", 2, "--format", "parquet,csv,ros2,plots")
    done = run(*WORDS, *more, "-o", folder, "--json")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["out"] == str(folder)
    assert [step["name"] for step in summary["steps"]] == STEPS
    assert all(step["margins"]["torque"] > 0.0 for step in summary["steps"])
    return folder


@pytest.fixture(scope="module")
def played(planned, tmp_path_factory) -> Path:
    """Give the campaign with a log of every step, by a simulated arm that is not as described."""
    pytest.importorskip("mujoco")
    from ident.simulation.run import Settings, simulate
    from ident.simulation.truth import Truth, perturb

    folder = tmp_path_factory.mktemp("played") / "campaign"
    shutil.copytree(planned, folder)
    campaign, settings = read_campaign(folder), Settings(rate_hz=500.0, bandwidth=30.0)
    truth = perturb(ROBOT, np.random.default_rng(1))
    assert campaign.payload is not None
    heavy = Truth(robot=campaign.payload.carried_by(truth.robot), offset=truth.offset)
    for k, step in enumerate(campaign.steps):
        rng = np.random.default_rng([2, k])
        run = simulate(ROBOT, heavy if step.loaded else truth, step.plan, rng, settings)
        facts = Facts(
            robot="planar2r",
            torque_timing="held",
            payload="0.5 kg" if step.loaded else "none",
            gravity=campaign.gravity,
        )
        path = folder / "logs" / f"{step.name}.parquet"
        channels = {"position": run.position, "effort": run.effort}
        write_log(path, ROBOT, 100.0 + run.time, channels, facts=facts)
    return folder


@pytest.fixture
def logs(played, tmp_path) -> Path:
    """Give a copy of the played campaign, whose logs may be spoiled."""
    shutil.copytree(played, tmp_path / "campaign")
    return tmp_path / "campaign" / "logs"


def checked(run, logs: Path, *words: str) -> dict[str, dict]:
    """Return what ``--check`` says of each step."""
    done = run("plan", "--check", logs.parent, "--json", *words)
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    bad = [step for step in summary["steps"] if step["status"] != "usable"]
    assert done.exit_code == (UNUSABLE if bad else 0)
    assert summary["ok"] == (not bad)
    assert summary["next"] == (bad[0]["name"] if bad else None)
    return {step["name"]: step for step in summary["steps"]}


def only_reason(steps: dict[str, dict], name: str) -> str:
    """Return why one step is unusable, when all others are usable."""
    assert [n for n, step in steps.items() if step["status"] != "usable"] == [name]
    assert steps[name]["status"] == "unusable"
    return "; ".join(steps[name]["reasons"])


def change(log: Path, alter) -> None:
    """Rewrite a log as a table without metadata."""
    frame = alter(pd.read_parquet(log))
    log.unlink()
    frame.to_parquet(log, index=False)


def test_the_folder_has_a_plan_a_checklist_and_what_is_played(planned) -> None:
    facts = json.loads((planned / "plan.json").read_text("utf-8"))
    assert facts["schema"] == 1
    assert facts["ident"] == __version__
    assert facts["command"].startswith("ident plan planar2r ")
    assert facts["robot"]["sha256"] == ROBOT.digest
    assert facts["payload"] == {"mass": 0.5, "com": [0.2, 0.0, 0.0]}
    assert [step["name"] for step in facts["steps"]] == STEPS
    for name in STEPS:
        kinds = {
            f"{name}.json",
            f"{name}.parquet",
            f"{name}.csv",
            f"{name}_ros2.yaml",
            f"{name}.svg",
        }
        assert everything(planned / name) == kinds
        certificate = json.loads((planned / name / f"{name}.json").read_text("utf-8"))
        assert certificate["certificate"]["limits"]["torque"]["reached"]
    assert everything(planned / "logs") == set()


def test_set_points_are_those_of_the_plan_with_named_phases(planned) -> None:
    steps = {step.name: step for step in read_campaign(planned).steps}
    for name in ("02_static", "03_friction_1_joint1", "05_excitation"):
        frame, plan = pd.read_parquet(planned / name / f"{name}.parquet"), steps[name].plan
        q = frame[[f"{joint}/position" for joint in ROBOT.joints]].to_numpy()
        np.testing.assert_array_equal(q, plan.states(frame["time"]).q)
        assert list(frame["phase"].unique()) == list(plan.phase_bounds)


def test_the_checklist_names_every_step_in_order_and_what_to_mount(planned) -> None:
    text = (planned / "CHECKLIST.md").read_text("utf-8")
    places = [text.index(f"**{name}**") for name in STEPS]
    assert places == sorted(places)
    assert places[6] < text.index("Mount the payload: 0.5 kg") < places[7]
    assert places[8] < text.index("Take the payload off") < places[9]
    for word in ("emergency stop", "payload, tool", "at home (joint1 0 rad", "`logs/02_static.*`"):
        assert word in text
    assert f"ident plan --check {planned}" in text


def test_a_folder_without_logs_is_all_missing(run, planned) -> None:
    steps = checked(run, planned / "logs")
    assert {step["status"] for step in steps.values()} == {"missing"}
    shown = run("plan", "--check", planned)
    assert shown.exit_code == UNUSABLE
    assert "next: 01_warmup" in shown.stdout


def test_logs_of_a_simulated_arm_are_all_usable(run, played) -> None:
    steps = checked(run, played / "logs")
    assert {step["status"] for step in steps.values()} == {"usable"}
    assert all(not step["findings"] for step in steps.values())
    shown = run("plan", "--check", played)
    assert shown.exit_code == 0
    assert "10 of 10 logs usable" in shown.stdout
    assert run("plan", "--check", played, "--quiet").output == ""


def test_a_missing_log_is_named(run, logs) -> None:
    (logs / "04_friction_2_joint2.parquet").unlink()
    steps = checked(run, logs)
    assert steps["04_friction_2_joint2"]["status"] == "missing"
    assert [s["status"] for s in steps.values()].count("usable") == 9


def test_exchanged_files_are_named(run, logs) -> None:
    a, b = logs / "05_excitation.parquet", logs / "06_validation.parquet"
    a.rename(logs / "x")
    b.rename(a)
    (logs / "x").rename(b)
    steps = checked(run, logs)
    assert "it follows 06_validation instead" in steps["05_excitation"]["reasons"][0]
    assert "instead" in steps["06_validation"]["reasons"][0]
    assert [s["status"] for s in steps.values()].count("usable") == 8


def test_a_log_that_is_cut_short_is_named(run, logs) -> None:
    change(logs / "05_excitation.parquet", lambda frame: frame.head(len(frame) * 2 // 3))
    assert "cut short: " in only_reason(checked(run, logs), "05_excitation")


def test_a_log_that_starts_after_the_approach_may_be_used(run, logs) -> None:
    change(logs / "05_excitation.parquet", lambda frame: frame[frame["time"] > 103.9])
    assert all(step["status"] == "usable" for step in checked(run, logs).values())


def test_joints_in_another_order_are_named(run, logs) -> None:
    def exchange(frame: pd.DataFrame) -> pd.DataFrame:
        names = {"joint1/position": "joint2/position", "joint2/position": "joint1/position"}
        return frame.rename(columns=names)

    change(logs / "06_validation.parquet", exchange)
    reason = only_reason(checked(run, logs), "06_validation")
    assert "joints in another order" in reason
    assert "'joint2' for 'joint1'" in reason


def test_a_log_of_another_robot_is_named(run, logs) -> None:
    path = logs / "02_static.parquet"
    frame = pd.read_parquet(path)
    channels = {
        kind: frame[[f"{joint}/{kind}" for joint in ROBOT.joints]].to_numpy()
        for kind in ("position", "effort")
    }
    write_log(path, ROBOT, frame["time"], channels, facts=Facts(robot="ur5"))
    assert "names robot 'ur5'" in only_reason(checked(run, logs), "02_static")
    path.unlink()
    frame.rename(columns=lambda name: name.replace("joint", "elbow")).to_parquet(path)
    assert "no joint of robot 'planar2r'" in only_reason(checked(run, logs), "02_static")


def test_a_payload_that_contradicts_the_plan_is_named(run, logs) -> None:
    shutil.copy(logs / "08_loaded_b.parquet", logs / "07_unloaded_a.parquet")
    assert "carries '0.5 kg'" in only_reason(checked(run, logs), "07_unloaded_a")
    shutil.copy(logs / "10_unloaded_d.parquet", logs / "07_unloaded_a.parquet")
    shutil.copy(logs / "10_unloaded_d.parquet", logs / "08_loaded_b.parquet")
    assert "payload is 'none'" in only_reason(checked(run, logs), "08_loaded_b")


def test_two_files_for_one_step_are_named(run, logs) -> None:
    pd.read_parquet(logs / "02_static.parquet").to_csv(logs / "02_static.csv", index=False)
    assert "2 files: 02_static.csv, 02_static.parquet" in only_reason(
        checked(run, logs), "02_static"
    )
    (logs / "02_static.parquet").unlink()
    assert checked(run, logs)["02_static"]["status"] == "usable"


def test_what_is_no_log_is_named(run, logs) -> None:
    (logs / "03_friction_1_joint1.parquet").write_bytes(b"PAR1 and then nothing")
    assert "parquet" in only_reason(checked(run, logs), "03_friction_1_joint1").lower()


def test_an_arm_that_is_still_warming_is_said(run, logs) -> None:
    def cooling(frame: pd.DataFrame) -> pd.DataFrame:
        efforts = [name for name in frame if name.endswith("/effort")]
        slope = 1.0 - 0.5 * (frame["time"] - 100.0) / 90.0
        return frame.assign(**{name: frame[name] * slope for name in efforts})

    change(logs / "01_warmup.parquet", cooling)
    warmup = checked(run, logs)["01_warmup"]
    assert warmup["status"] == "usable"
    assert "still_warming" in {finding["name"] for finding in warmup["findings"]}


def test_planning_again_keeps_the_logs(run, logs) -> None:
    assert run(*WORDS, "-o", logs.parent, "--periods", 1, "-q").exit_code == 0
    assert len(everything(logs)) == 10
    assert everything(logs.parent) >= {"06_validation", "CHECKLIST.md"}
    assert "07_unloaded_a" not in everything(logs.parent)


def test_make_plan_takes_a_robot_and_a_folder() -> None:
    words = ["plan", "ROBOT=my arm/robot.urdf", "OUT=out dir", "-o", ".venv/.runtime"]
    shown = subprocess.run(
        ["make", "-n", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert 'plan "my arm/robot.urdf" -o "out dir"' in shown


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("plan",), USAGE, "ROBOT: not given"),
        (("plan", "no_such_robot"), USAGE, "no_such_robot"),
        (("plan", "planar2r", "--format", "gcode"), USAGE, "--format: 'gcode'"),
        (("plan", "planar2r", "--format", "urscript"), USAGE, "an arm of Universal Robots"),
        (("plan", "planar2r", "--payload", "1,2"), USAGE, "--payload: 2 numbers"),
        (("plan", "planar2r", "--payload", "0"), USAGE, "payload mass: 0 kg"),
        (("plan", "planar2r", "--poses", "0"), USAGE, "poses: 0"),
        (("plan", "planar2r", "--warmup", "-5"), USAGE, "warm-up: -5 s"),
        (("plan", "planar2r", "--periods", "0"), USAGE, "periods: 0"),
        (("plan", "planar2r", "--margin", "0.1"), INFEASIBLE, "torque of joint 'joint1'"),
        (("plan", "--check", "nowhere"), USAGE, "expected a campaign folder with plan.json"),
        (("plan", "--check", ".", "--mount", "wall"), USAGE, "given together with --check"),
    ],
)
def test_what_is_asked_wrongly_is_refused_and_nothing_is_written(
    run, here, words: tuple, code: int, said: str
) -> None:
    result = run(*words)
    assert result.exit_code == code, result.stderr
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert everything(here) == set()


def test_a_folder_that_is_somebodys_is_left_alone(run, here) -> None:
    (here / "work").mkdir()
    (here / "work/notes.txt").write_text("precious")
    before = everything(here)
    result = run(*WORDS, "-o", "work")
    assert result.exit_code == USAGE
    assert everything(here) == before


def test_a_plan_that_fails_half_way_leaves_nothing(run, here, monkeypatch) -> None:
    from ident.cli import campaign_folder

    def full(*_: object) -> str:
        raise OSError(28, "No space left on device", "plan")

    monkeypatch.setattr(campaign_folder, "checklist", full)
    result = run(*WORDS, "-o", "campaign")
    assert result.exit_code == USAGE
    assert "No space left" in result.stderr
    assert everything(here) == set()


def test_a_damaged_plan_is_refused(run, planned, tmp_path) -> None:
    folder = tmp_path / "campaign"
    shutil.copytree(planned, folder)
    step = folder / "05_excitation/05_excitation.json"
    step.write_text(step.read_text("utf-8").replace('"omega": 0.6', '"omega": 0.7', 1), "utf-8")
    assert "belongs to another content" in run("plan", "--check", folder).stderr
    (folder / "plan.json").write_text('{"schema": 99}')
    assert "update ident" in run("plan", "--check", folder).stderr
    (folder / "plan.json").write_text('{"schema": 1}')
    assert "not a campaign" in run("plan", "--check", folder).stderr


def test_another_model_than_the_planned_one_is_refused(run, planned) -> None:
    result = run("plan", "ur5", "--check", planned)
    assert result.exit_code == USAGE
    assert "not the one that the campaign was made for" in result.stderr


def test_a_universal_robot_is_streamed_what_is_no_series() -> None:
    ur5 = load_robot("ur5")
    envelope = Envelope.around(ur5.home, Limits.of(ur5), Load(derive(ur5)), Clearance.of(ur5), 0.02)
    course = friction_sweep(ur5, 5, envelope, SweepOptions(shares=(0.5,)))
    step = Step(
        name="01_friction",
        kind="friction",
        purpose="",
        plan=course,
        certificate=certify(course, envelope),
    )
    names = set(files_of(step, ur5, ("urscript", "servoj", "csv")))
    streamed = {f"01_friction_servoj.{kind}" for kind in ("csv", "py", "script")}
    assert names == {"01_friction.csv", *streamed}


def test_a_page_of_every_step_is_written_where_it_is_asked_for(run, here) -> None:
    pytest.importorskip("k3d")
    words = (*WORDS[:-4], "--warmup", 0, "--poses", 1, "--periods", 1)
    assert run(*words, "--format", "page", "-o", "c", "-q").exit_code == 0
    for step in read_campaign(here / "c").steps:
        assert everything(here / "c" / step.name) == {f"{step.name}.json", f"{step.name}.html"}


def test_a_log_of_another_mounting_is_named(run, logs) -> None:
    path = logs / "06_validation.parquet"
    table = pq.read_table(path)
    facts = {**table.schema.metadata, b"gravity": b"[0.0, 0.0, -9.81]"}
    pq.write_table(table.replace_schema_metadata(facts), path)
    assert "gravity (0, 0, -9.81)" in only_reason(checked(run, logs), "06_validation")
