import csv as csv_module
import io
import json
import re
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml

from ident.errors import UsageError
from ident.excitation.approach import Play, play_of
from ident.excitation.design import DesignOptions, design
from ident.excitation.fourier import RestToRest, Trajectory
from ident.excitation.playback import FORMATS, PlaybackOptions, playback_files, sender
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.simulation.run import Settings, simulate
from ident.simulation.truth import perturb
from tests.excitation.urscript import Broken, Controller, Translation

UR5 = load_robot("ur5")
PANDA = load_robot("panda")
# What the issue asks of every format, rad and its derivatives.
EQUAL = 1e-9


@cache
def some_play(robot: Robot = UR5, *, harmonics: int = 5, away: float = 0.4) -> Play:
    rest = RestToRest(robot.joints, 2 * np.pi * 0.2, harmonics, robot.home + away)
    free = 0.1 * np.random.default_rng(3).normal(size=(robot.n, rest.free))
    trajectory = Trajectory(series=rest.series(free), periods=2, rate_hz=1000.0, robot=robot.name)
    return play_of(trajectory, robot)


def written(play: Play, kind: str, **options: float) -> dict[str, bytes]:
    return playback_files(play, "run", [kind], PlaybackOptions(**options))


def channels(play: Play, frame: pd.DataFrame) -> list[np.ndarray]:
    return [
        frame[[f"{joint}/{quantity}" for joint in play.joints]].to_numpy()
        for quantity in ("position", "velocity", "acceleration")
    ]


def require_equal(play: Play, t: np.ndarray, values: list[np.ndarray]) -> None:
    motion = play.states(t)
    for actual, expected in zip(values, (motion.q, motion.dq, motion.ddq), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=EQUAL)


def require_rest(play: Play, values: list[np.ndarray]) -> None:
    q, dq, ddq = values
    np.testing.assert_allclose(q[[0, -1]], [play.home, play.home], rtol=0, atol=EQUAL)
    assert max(np.abs(x[[0, -1]]).max() for x in (dq, ddq)) <= EQUAL


@pytest.mark.parametrize("rate", [None, 125.0])
@pytest.mark.parametrize("robot", [UR5, PANDA], ids=lambda robot: robot.name)
def test_parquet_and_csv_hold_the_whole_play(robot: Robot, rate: float | None) -> None:
    play = some_play(robot)
    t, motion, phases = play.sample(rate)
    (parquet,) = written(play, "parquet", rate_hz=rate).values()
    (text,) = written(play, "csv", rate_hz=rate).values()
    table = pq.read_table(io.BytesIO(parquet))
    skipped = pa.csv.ReadOptions(skip_rows=text.count(b"\n# ") + 1)
    read = pa.csv.read_csv(io.BytesIO(text), skipped)
    for frame in (table.to_pandas(), read.to_pandas()):
        np.testing.assert_array_equal(frame["time"], t)
        assert frame["phase"].tolist() == phases
        values = channels(play, frame)
        for actual, expected in zip(values, (motion.q, motion.dq, motion.ddq), strict=True):
            np.testing.assert_array_equal(actual, expected)
        require_rest(play, values)


def test_tables_say_what_they_hold() -> None:
    play = some_play()
    (parquet,) = written(play, "parquet", rate_hz=125.0).values()
    (text,) = written(play, "csv", rate_hz=125.0).values()
    schema = pq.read_schema(io.BytesIO(parquet))
    facts = {k.decode(): v.decode() for k, v in schema.metadata.items()}
    assert facts["trajectory_id"] == play.trajectory.id
    assert (facts["schema"], facts["robot"]) == ("1", "ur5")
    assert json.loads(facts["period_s"]) == pytest.approx(5.0)
    assert json.loads(facts["nominal_rate_hz"]) == 125.0
    assert json.loads(facts["joint_names"]) == list(UR5.joints)
    assert [tuple(v) for v in json.loads(facts["phases_s"]).values()] == list(
        play.phase_bounds.values()
    )
    assert schema.field("elbow_joint/acceleration").metadata == {b"unit": "rad/s²".encode()}
    lines = dict(
        line[2:].split(": ", 1) for line in text.decode().splitlines() if line.startswith("#")
    )
    assert lines.pop("units")
    assert lines == {name: fact for name, fact in facts.items() if name in lines}


def test_sliding_joints_have_their_own_units() -> None:
    play = replace(some_play(), turns=(True, True, False, True, True, True))
    (parquet,) = written(play, "parquet").values()
    schema = pq.read_schema(io.BytesIO(parquet))
    assert schema.field("elbow_joint/velocity").metadata == {b"unit": b"m/s"}


def test_a_ros2_trajectory_is_the_play() -> None:
    play = some_play(PANDA)
    (text,) = written(play, "ros2").values()
    message = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    assert set(message) == {"joint_names", "points"}
    assert message["joint_names"] == list(play.joints)
    times = [point["time_from_start"] for point in message["points"]]
    assert all(type(x) is int for time in times for x in time.values())
    assert all(0 <= time["nanosec"] < 10**9 for time in times)
    nanoseconds = np.array([10**9 * time["sec"] + time["nanosec"] for time in times])
    assert (np.diff(nanoseconds) == 10_000_000).all()
    keys = ("positions", "velocities", "accelerations")
    values = [np.array([point[key] for point in message["points"]]) for key in keys]
    assert all(x.dtype == np.float64 for x in values)
    require_equal(play, nanoseconds / 1e9, values)
    require_rest(play, values)


def test_a_ros2_goal_is_the_trajectory_indented() -> None:
    (text,) = written(some_play(), "ros2", ros2_rate_hz=10.0).values()
    goal = yaml.safe_load("trajectory:\n" + re.sub(r"(?m)^", "  ", text.decode()))
    assert goal == {"trajectory": yaml.safe_load(text)}


@pytest.mark.parametrize("rate", [125.0, 500.0])
@pytest.mark.parametrize("harmonics", [2, 5])
def test_the_controller_evaluates_the_play_at_every_step(rate: float, harmonics: int) -> None:
    play = some_play(harmonics=harmonics)
    controller = Controller(rate, (play.home + 0.02).tolist())
    controller.play(written(play, "urscript")["run.script"].decode())
    assert not controller.halted
    assert controller.moves == [play.home.tolist()]
    t, motion, _ = play.sample(rate)
    commands = np.array(controller.commands)
    np.testing.assert_allclose(commands[: len(t)], motion.q, rtol=0, atol=EQUAL)
    # Then it stands at home, and not one step was left out.
    rest = commands[len(t) - 1 :]
    np.testing.assert_allclose(rest, np.tile(play.home, (len(rest), 1)), rtol=0, atol=EQUAL)
    assert len(rest) > 0.7 * rate
    assert set(np.diff(controller.steps)) == {1}
    assert controller.messages[-2:] == ["stopj", "ident: done"]


def test_a_trajectory_from_home_is_evaluated_alone() -> None:
    play = some_play(away=0.0)
    controller = Controller(500.0, play.home.tolist())
    controller.play(written(play, "urscript")["run.script"].decode())
    t, motion, _ = play.sample(500.0)
    np.testing.assert_allclose(controller.commands[: len(t)], motion.q, rtol=0, atol=EQUAL)


@pytest.mark.parametrize("kind", ["urscript", "servoj"])
def test_an_arm_far_from_home_does_not_move(kind: str) -> None:
    play = some_play()
    away = play.home + np.array([0.0, 0.0, 0.06, 0.0, 0.0, 0.0])
    controller = Controller(125.0, away.tolist())
    program = next(v for k, v in written(play, kind).items() if k.endswith(".script"))
    controller.play(program.decode())
    assert controller.halted
    assert (controller.moves, controller.commands) == ([], [])
    (message,) = controller.messages
    assert "not at home" in message
    assert "-90.0" in message  # the shoulder, as PolyScope shows it


class Stream:
    """A sender that serves in a thread of its own."""

    def __init__(self, data: bytes) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.result: object = None
        self.thread = threading.Thread(target=self._serve, args=(data,))
        self.thread.start()

    def _serve(self, data: bytes) -> None:
        try:
            with self.server:
                self.result = sender.serve(self.server, data)
        except SystemExit as e:
            self.result = str(e)

    def end(self) -> object:
        self.thread.join(timeout=10.0)
        assert not self.thread.is_alive()
        return self.result


def streamed(play: Play, rate: float, read_steps: int) -> tuple[Controller, object]:
    files = written(play, "servoj", servoj_rate_hz=rate, host="127.0.0.1", port=50999)
    stream = Stream(sender.packed(sender.read_rows(files["run_servoj.csv"].decode().splitlines())))
    controller = Controller(rate, play.home.tolist(), read_steps=read_steps)
    program = files["run_servoj.script"].decode().replace("50999", str(stream.port))
    controller.play(program)
    return controller, stream.end()


@pytest.mark.parametrize("rate", [125.0, 500.0])
@pytest.mark.parametrize("read_steps", [0, 1, 4])
def test_streamed_set_points_are_the_play_at_every_step(rate: float, read_steps: int) -> None:
    play = some_play()
    controller, served = streamed(play, rate, read_steps)
    assert not controller.halted, controller.messages
    t, motion, _ = play.sample(rate)
    assert served == len(t) + -len(t) % sender.BATCH
    np.testing.assert_allclose(controller.commands[: len(t)], motion.q, rtol=0, atol=EQUAL)
    assert set(np.diff(controller.steps)) == {1}
    assert controller.messages[-2:] == ["stopj", "ident: done"]


def test_an_arm_whose_set_points_come_late_stops() -> None:
    controller, served = streamed(some_play(), 500.0, read_steps=10)
    assert controller.halted
    assert controller.messages[0] == "stopj"
    assert "did not come in time" in controller.messages[1]
    assert served < len(some_play().sample(500.0)[0])


class Torn(Controller):
    """A controller whose connection breaks after some integers."""

    left = 300

    def socket_send_int(self, value: int, socket_name: str) -> bool:
        if value > self.left and len(self.commands) > 0:
            self.sockets[socket_name].shutdown(socket.SHUT_RDWR)
        return super().socket_send_int(value, socket_name)


def test_an_arm_whose_sender_has_gone_stops_within_a_tenth_of_a_second() -> None:
    play = some_play()
    files = written(play, "servoj", servoj_rate_hz=500.0, host="127.0.0.1", port=50999)
    stream = Stream(sender.packed(sender.read_rows(files["run_servoj.csv"].decode().splitlines())))
    controller = Torn(500.0, play.home.tolist())
    controller.play(files["run_servoj.script"].decode().replace("50999", str(stream.port)))
    stream.end()
    assert controller.halted
    assert len(controller.commands) <= Torn.left + 2 * sender.BATCH
    assert "did not come in time" in controller.messages[-1]


def test_other_set_points_than_the_programs_are_not_sent() -> None:
    files = written(some_play(), "servoj", servoj_rate_hz=125.0, host="127.0.0.1", port=50999)
    other = written(some_play(harmonics=2), "servoj")["run_servoj.csv"]
    stream = Stream(sender.packed(sender.read_rows(other.decode().splitlines())))
    controller = Controller(125.0, some_play().home.tolist())
    controller.play(files["run_servoj.script"].decode().replace("50999", str(stream.port)))
    assert controller.halted
    assert controller.commands == []
    assert "for other set-points" in str(stream.end())


def test_set_points_that_jump_are_not_played() -> None:
    play = some_play()
    files = written(play, "servoj", servoj_rate_hz=125.0, host="127.0.0.1", port=50999)
    rows = sender.read_rows(files["run_servoj.csv"].decode().splitlines())
    rows[400][2] += 0.1
    data = sender.packed(rows)
    program = files["run_servoj.script"].decode()
    right = re.search(r"socket_send_int\((\d+)", program).group(1)
    stream = Stream(data)
    controller = Controller(125.0, play.home.tolist())
    controller.play(
        program.replace("50999", str(stream.port)).replace(right, str(sender.checksum(data)))
    )
    stream.end()
    assert controller.halted
    assert len(controller.commands) == 400


def test_a_controller_of_another_rate_refuses_the_stream() -> None:
    play = some_play()
    controller = Controller(500.0, play.home.tolist())
    controller.play(written(play, "servoj")["run_servoj.script"].decode())
    assert controller.halted
    assert "for a controller of 125 Hz" in controller.messages[0]
    assert controller.commands == []


def test_the_rate_of_the_stream_is_the_controllers_own() -> None:
    assert b"125 Hz" in written(some_play(), "servoj")["run_servoj.script"]
    assert b"500 Hz" in written(some_play(load_robot("ur5e")), "servoj")["run_servoj.script"]


def test_the_sender_runs_by_itself(tmp_path: Path) -> None:
    # As on a computer that has Python and these three files, with a robot in remote control.
    play = some_play(harmonics=2)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    files = written(play, "servoj", port=port)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    command = [sys.executable, "-I", str(tmp_path / "run_servoj.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert "set-points; waiting" in process.stdout.readline()
        controller = Controller(125.0, play.home.tolist())
        program = files["run_servoj.script"].decode()
        controller.play(program.replace(PlaybackOptions().host, "127.0.0.1"))
        assert process.stdout.read() == "done\n"
    assert process.returncode == 0
    assert not controller.halted


def test_the_sender_starts_a_robot_with_its_own_address() -> None:
    program = written(some_play(), "servoj")["run_servoj.script"].decode()
    with socket.create_server(("127.0.0.1", 0)) as robot:
        with sender.start("127.0.0.1", program, robot.getsockname()[1]):
            connection, _ = robot.accept()
        with connection:
            got = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    assert got == program.replace(PlaybackOptions().host, "127.0.0.1")


def test_the_sender_takes_six_joints() -> None:
    with pytest.raises(SystemExit, match="1 columns"):
        sender.read_rows(["# a fact", "time,elbow/position", "0,1"])


@pytest.mark.parametrize("kind", ["urscript", "servoj"])
def test_programs_hold_numbers_in_full(kind: str) -> None:
    play = some_play()
    text = next(v for k, v in written(play, kind).items() if k.endswith(".script")).decode()
    (home,) = re.findall(r"global home = (\[.*\])", text)
    assert json.loads(home) == play.home.tolist()
    assert max(map(len, text.splitlines())) < 1000
    assert len(text.splitlines()) < 200  # a controller takes some thousand


@pytest.mark.parametrize("kind", ["urscript", "servoj"])
def test_only_arms_of_universal_robots_get_programs(kind: str) -> None:
    with pytest.raises(UsageError, match=r"robot 'panda': 7 joints: .*six joints.*csv, parquet"):
        written(some_play(PANDA), kind)
    with pytest.raises(UsageError, match="robot 'tx40': 6 joints"):
        written(some_play(load_robot("tx40")), kind)
    sliding = replace(some_play(), turns=(True, True, False, True, True, True))
    with pytest.raises(UsageError, match="robot 'ur5': 6 joints"):
        written(sliding, kind)


def test_a_ur_is_known_by_its_joints_too() -> None:
    play = some_play()
    trajectory = replace(
        play.trajectory,
        robot='cell "A"\nend',
        series=replace(play.trajectory.series, joints=tuple(f"left_{j}" for j in UR5.joints)),
    )
    text = written(replace(play, trajectory=trajectory), "urscript")["run.script"].decode()
    controller = Controller(125.0, play.home.tolist())
    controller.play(text)
    assert not controller.halted
    assert "# Robot cell 'A' end, trajectory" in text


def test_a_motion_that_integers_cannot_hold_is_refused() -> None:
    with pytest.raises(UsageError, match="further than 4 rad from home"):
        written(some_play(away=4.0), "servoj")


@pytest.mark.parametrize("name", ["Gelenk é\n1", "a,b", 'say "x"', "j: {1}", "# j"])
def test_joint_names_break_no_format(name: str) -> None:
    play = some_play()
    joints = (name, *UR5.joints[1:])
    series = replace(play.trajectory.series, joints=joints)
    play = replace(play, trajectory=replace(play.trajectory, series=series))
    (text,) = written(play, "ros2", ros2_rate_hz=10.0).values()
    assert yaml.safe_load(text)["joint_names"] == list(joints)
    (table,) = written(play, "parquet", rate_hz=10.0).values()
    assert f"{name}/position" in pq.read_schema(io.BytesIO(table)).names
    Translation(written(play, "urscript")["run.script"].decode())
    (rows,) = written(play, "csv", rate_hz=10.0).values()
    lines = [line for line in io.StringIO(rows.decode()) if not line.startswith("# ")]
    header = next(csv_module.reader(lines))
    assert f"{name}/position" in header


def test_formats_come_together_by_name() -> None:
    files = playback_files(some_play(), "run", FORMATS)
    assert sorted(files) == [
        "run.csv",
        "run.parquet",
        "run.script",
        "run_ros2.yaml",
        "run_servoj.csv",
        "run_servoj.py",
        "run_servoj.script",
    ]
    assert files == playback_files(some_play(), "run", FORMATS)
    with pytest.raises(UsageError, match=r"format: 'rapid' \(expected one of parquet, csv"):
        playback_files(some_play(), "run", ["rapid"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gain": 50.0}, r"servoj gain: 50 \(expected 100 to 2000\)"),
        ({"lookahead_s": 0.3}, r"servoj lookahead: 0.3 \(expected 0.03 to 0.2\)"),
        ({"ros2_rate_hz": 0.0}, "ros2 rate: 0 Hz"),
        ({"host": 'x"\nhalt'}, "host: "),
        ({"port": 0}, "port: 0"),
    ],
)
def test_options_that_no_controller_takes_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PlaybackOptions(**options)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x = 1", "'x' is not declared"),
        ("local x = 1\n  x = 0.5", "1 becomes 0.5"),
        ("local x = [1.0]\n  x[1] = 2.0", "element 1 of 1"),
        ("local x = 1 / 2", "integers are divided"),
        ("while True:\n    local x = 1\n  end", "infinite loop"),
        ("f(1)", "no function 'f' of 1 arguments"),
        ("servoj([0.0], 0, 0, 0.002, 0.1, 300)", "servoj of"),
        ("if 1:\n    halt\n  end", "condition 1"),
    ],
)
def test_the_controller_of_these_tests_is_strict(body: str, message: str) -> None:
    with pytest.raises(Broken, match=re.escape(message)):
        Controller(500.0, [0.0] * 6).play(f"def p():\n  {body}\nend\n")


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_a_simulated_arm_follows_the_whole_play_within_its_limits(name: str) -> None:
    pytest.importorskip("mujoco")
    robot, rng = load_robot(name), np.random.default_rng(1)
    made = design(robot, DesignOptions(starts=1, periods=1, distance=0.0))
    play = made.play
    assert play.moves
    settings = Settings(rest_s=0.5)
    run = simulate(robot, perturb(robot, rng), play, rng, settings)
    expected = play.states(np.clip(run.time - settings.rest_s, 0.0, play.duration_s))
    # What friction and bodies differ by from the controller's belief, over the loop's stiffness: it
    # is least at a UR5's wrist, 600 N·m/rad, where friction differs by up to 2 N·m.
    np.testing.assert_allclose(run.true_position, expected.q, rtol=0, atol=5e-3)
    assert (run.true_position >= robot.position[:, 0]).all()
    assert (run.true_position <= robot.position[:, 1]).all()
    assert (np.abs(run.true_velocity) <= robot.velocity).all()
    assert (np.abs(run.true_effort) <= robot.effort).all()
