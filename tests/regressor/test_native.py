import logging
import os
import pickle
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_array_equal

from ident.arrays import Array
from ident.cache import cache_directory
from ident.errors import ModelError, UsageError
from ident.model.registry import load_robot
from ident.regressor import engine, native
from ident.regressor.engine import engine_of
from ident.regressor.kernel import BLOCK
from ident.regressor.newton_euler import derive_program
from ident.regressor.numpy_ import Runner
from ident.regressor.program import Program
from ident.regressor.rigid import derive
from ident.regressor.sines import FAR, turn
from tests.random_robots import random_motion
from tests.regressor.compiling import expected, needs_compiler, robots

PLANAR = derive_program(load_robot("planar2r"))
STATES = np.random.default_rng(0).uniform(-2, 2, size=(6, 700))


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test a cache, a choice and a memory of compilers of its own."""
    monkeypatch.setenv("IDENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("IDENT_REGRESSOR", raising=False)
    monkeypatch.setattr(engine, "_engines", {})
    monkeypatch.setattr(engine, "_given_up", set())
    monkeypatch.setattr(engine, "LOOK_S", 0.0)
    monkeypatch.setattr(engine, "COMPILE_S", 1e-9)
    native._probed.cache_clear()
    yield
    native._probed.cache_clear()


def command(tmp_path: Path, text: str) -> str:
    """Make an executable script, for CC."""
    file = tmp_path / "cc"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


def run(program: Program = PLANAR, inputs: Array = STATES) -> tuple[str, Array]:
    """Back end and outputs of the second run: the first finds that compiling pays."""
    ready = engine_of(program)
    out = np.zeros((*program.outputs.shape, inputs.shape[1]))
    ready(inputs, out)
    ready(inputs, out)
    return ready.name, out


@needs_compiler
@pytest.mark.parametrize("name", robots())
def test_the_kernel_rounds_as_numpy_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_FLAGS", ("-O0", *native._FLAGS[2:], "-std=gnu99"))
    program = derive_program(robots()[name])
    inputs = np.random.default_rng(1).uniform(-4, 4, size=(len(program.inputs), 600))
    backend, out = run(program, inputs)
    assert backend.startswith("c (")
    assert_array_equal(out, expected(program, inputs))


@needs_compiler
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 7, 700])
def test_a_sample_is_the_same_in_any_block(count: int) -> None:
    kernel, inputs = native.build(PLANAR, native.find_compiler()), STATES[:, :count]
    wanted = expected(PLANAR, STATES)[:, :, :count]
    for backend in (kernel, Runner(PLANAR)):
        out = np.zeros(wanted.shape)
        backend(inputs, out)
        assert_array_equal(out, wanted)
        seen = tuple(np.argwhere(PLANAR.outputs >= 0).T)
        streamed = np.zeros(wanted.shape)
        for here, values in backend.stream(inputs):
            streamed[*seen, here] = values
        assert_array_equal(streamed, wanted)


@needs_compiler
def test_any_layout_of_inputs_and_outputs_will_do() -> None:
    kernel, wanted = native.build(PLANAR, native.find_compiler()), expected(PLANAR, STATES)
    for inputs in (np.asfortranarray(STATES), np.repeat(STATES, 2, axis=1)[:, ::2]):
        out = np.zeros((700, *PLANAR.outputs.shape)).transpose(1, 2, 0)
        kernel(inputs, out)
        assert_array_equal(out, wanted)


@needs_compiler
def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = native.build(PLANAR, native.find_compiler())
    inputs = np.tile(STATES, 30)
    wanted = np.tile(expected(PLANAR, STATES), 30)
    for count in (1, 2, 3, 5):
        monkeypatch.setattr(native, "threads", lambda count=count: count)
        out = np.zeros(wanted.shape)
        kernel(inputs, out)
        assert_array_equal(out, wanted)


def test_threads_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    for given, wanted in (("", 3), ("2", 2), ("64", 3), ("1,2", 1), ("many", 3), ("0", 3)):
        monkeypatch.setenv("OMP_NUM_THREADS", given)
        assert native.threads() == wanted


def test_sine_and_cosine_are_right_to_two_units_in_the_last_place() -> None:
    multiples = np.arange(-40, 41) * (np.pi / 2)
    x = np.concatenate([np.random.default_rng(0).uniform(-20, 20, 20000), multiples, [0.0, -0.0]])
    for ours, exact in zip(turn(x), (np.sin(x), np.cos(x)), strict=True):
        assert (np.abs(ours - exact) <= 3.0 * np.spacing(np.abs(exact))).all()
    far = np.array([0.5, 3.0 * FAR, -1e300])
    assert_array_equal(turn(far)[0][1:], np.sin(far[1:]))
    assert turn(far)[0][0] == turn(far[:1])[0][0]


@needs_compiler
def test_angles_far_out_are_the_library_s() -> None:
    far = np.full((6, 16), 0.25)
    far[0, 3], far[1, 5] = 1e9, -3e7
    kernel, out = native.build(PLANAR, native.find_compiler()), np.zeros((2, 20, 16))
    kernel(far, out)
    np.testing.assert_allclose(out, expected(PLANAR, far), rtol=0, atol=1e-12)


@needs_compiler
def test_a_program_is_compiled_once_for_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run()[0].startswith("c (")
    (entry,) = cache_directory().iterdir()
    monkeypatch.setattr(engine, "_engines", {})
    monkeypatch.setattr(native, "_compiled", lambda *_: pytest.fail("compiled again"))
    monkeypatch.setattr(engine, "COMPILE_S", 1e9)  # only looked for
    assert run()[0].startswith("c (")
    assert [entry] == list(cache_directory().iterdir())


def test_little_work_asks_for_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "LOOK_S", 10.0)
    monkeypatch.setattr(engine, "COMPILE_S", 20.0)
    monkeypatch.setattr(engine, "find_compiler", lambda: pytest.fail("asked"))
    assert run()[0] == "numpy"


FAILING = {
    "missing": None,
    "broken": "exit 1",
    "without_output": 'case "$*" in *-dM*) echo "#define __GNUC__ 9";; esac',
    "with_an_error": 'case "$*" in *-dM*) ;; *) echo "kernel.c:1: no" >&2; exit 1;; esac',
    "with_another_file": 'case "$*" in *-dM*) ;; *) while [ "$1" != -o ]; do shift; done;'
    ' echo text > "$2";; esac',
    "killed": "kill -9 $$",
}


@pytest.mark.parametrize("kind", FAILING)
def test_a_compiler_that_fails_leaves_numpy_and_says_why_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    text = FAILING[kind]
    monkeypatch.setenv("CC", "/nowhere/cc" if text is None else command(tmp_path, text))
    caplog.set_level(logging.INFO, logger="ident")
    for program in (PLANAR, derive_program(robots()["tree0"])):
        inputs = np.random.default_rng(0).uniform(-2, 2, size=(len(program.inputs), 700))
        backend, out = run(program, inputs)
        assert backend == "numpy"
        assert_array_equal(out, expected(program, inputs))
    said = [r.getMessage() for r in caplog.records if "run with NumPy" in r.getMessage()]
    assert len(said) == 1


@pytest.mark.parametrize("when", ["at once", "when it compiles"])
def test_a_compiler_that_hangs_is_ended_with_all_its_children(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = f"sleep 60 & echo $! > {tmp_path}/child; wait"
    text = child if when == "at once" else f'case "$*" in *-dM*) ;; *) {child};; esac'
    monkeypatch.setenv("CC", command(tmp_path, text))
    monkeypatch.setattr(native, "PROBE_S", 0.5)
    monkeypatch.setattr(native, "TIMEOUT_S", 0.5)
    started = time.perf_counter()
    assert run()[0] == "numpy"
    assert time.perf_counter() - started < 10.0
    status = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/stat")
    # A killed process is gone when the system gets to it; an orphan may stay as a zombie.
    for _ in range(100):
        if ended(status):
            return
        time.sleep(0.05)
    pytest.fail(f"still there: {status.read_text()}")


def ended(status: Path) -> bool:
    try:
        return " Z " in status.read_text()
    except OSError:
        return True


@needs_compiler
@pytest.mark.parametrize("damage", [b"", b"text", "cut", "flipped"])
def test_a_damaged_entry_is_made_again(
    damage: bytes | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    (entry,) = cache_directory().iterdir()
    content = entry.read_bytes()
    if isinstance(damage, str):
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
        damage = content[:middle] if damage == "cut" else flipped
    entry.write_bytes(damage)
    monkeypatch.setattr(engine, "_engines", {})
    backend, out = run()
    assert backend.startswith("c (")
    assert_array_equal(out, expected(PLANAR, STATES))
    assert entry.read_bytes() != damage


@needs_compiler
def test_a_cache_that_cannot_be_written_costs_the_next_process_a_compilation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("IDENT_CACHE", str(tmp_path / "file" / "cache"))
    backend, out = run()
    assert backend.startswith("c (")
    assert_array_equal(out, expected(PLANAR, STATES))


SCRIPT = """
import numpy as np
from ident.model.registry import load_robot
from ident.regressor.rigid import derive
regressor = derive(load_robot("planar2r"))
Y = regressor(*np.ones((3, 50, 2)))
print(regressor.backend, repr(float(Y.sum())))
"""


def start(**environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@needs_compiler
def test_two_processes_at_once_do_not_disturb_each_other() -> None:
    both = [start(IDENT_REGRESSOR="c") for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    assert said[0] == said[1]
    assert said[0][0].startswith("c (")
    assert said[0][1] == ""
    kept = sorted(path.suffix for path in cache_directory().iterdir())
    assert kept == [".json", ".so"]


def test_an_interrupted_compilation_leaves_no_entry(tmp_path: Path) -> None:
    text = f'case "$*" in *-dM*) ;; *) touch {tmp_path}/begun; exec sleep 30;; esac'
    process = start(IDENT_REGRESSOR="c", CC=command(tmp_path, text))
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert [path.suffix for path in cache_directory().iterdir()] == [".json"]


def test_c_without_a_compiler_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    monkeypatch.setenv("IDENT_REGRESSOR", "c")
    with pytest.raises(UsageError, match=r"IDENT_REGRESSOR: c, and no compiled .*\$CC.*numpy"):
        engine_of(PLANAR)
    monkeypatch.setenv("IDENT_REGRESSOR", "fortran")
    with pytest.raises(UsageError, match=r"'fortran'.*auto, numpy, c"):
        engine_of(PLANAR)


def test_numpy_alone_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENT_REGRESSOR", "numpy")
    assert run()[0] == "numpy"


@needs_compiler
def test_a_regressor_travels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENT_REGRESSOR", "c")
    regressor = derive(load_robot("planar2r"))
    motion = random_motion(regressor.robot, 40, np.random.default_rng(0))
    wanted = regressor(*motion)
    arrived = pickle.loads(pickle.dumps(regressor))
    assert arrived.backend == regressor.backend
    assert_array_equal(arrived(*motion), wanted)
    for Y in Parallel(n_jobs=2)(delayed(regressor)(*motion) for _ in range(2)):
        assert_array_equal(Y, wanted)


@needs_compiler
def test_many_threads_may_call_one_regressor(monkeypatch: pytest.MonkeyPatch) -> None:
    regressor = derive(load_robot("planar2r"))
    motions = [random_motion(regressor.robot, 900, np.random.default_rng(s)) for s in range(4)]
    monkeypatch.setenv("IDENT_REGRESSOR", "numpy")
    wanted = [derive(load_robot("planar2r"))(*motion) for motion in motions]
    monkeypatch.delenv("IDENT_REGRESSOR")
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for Y, exact in zip(pool.map(lambda m: regressor(*m), motions), wanted, strict=True):
                assert_array_equal(Y, exact)
    assert regressor.backend.startswith("c (")


def test_a_buffer_is_filled_again() -> None:
    regressor = derive(load_robot("planar2r"))
    first, second = (random_motion(regressor.robot, 30, np.random.default_rng(s)) for s in range(2))
    wanted = regressor.by_joint(*second)
    buffer = regressor.by_joint(*first)
    assert regressor.by_joint(*second, out=buffer) is buffer
    assert_array_equal(buffer, wanted)
    with pytest.raises(ModelError, match="out: float32"):
        regressor.by_joint(*second, out=buffer.astype(np.float32))


@needs_compiler
@pytest.mark.parametrize(
    "flags", ["-ffast-math", "-funsafe-math-optimizations", "-fvisibility=hidden"]
)
def test_flags_of_the_user_change_no_number(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", f"{os.environ.get('CC') or 'cc'} {flags}")
    program = derive_program(load_robot("planar2r"))
    inputs = np.random.default_rng(0).uniform(-3, 3, size=(6, 40))
    ours, theirs = np.zeros((2, *program.outputs.shape, 40))
    Runner(program)(inputs, theirs)
    try:
        native.build(program, native.find_compiler())(inputs, ours)
    except native.CompilerError as e:
        assert "lacks" in str(e) or "rounds otherwise" in str(e)
    else:
        assert_array_equal(ours, theirs)


@needs_compiler
def test_a_library_that_computes_something_else_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = derive_program(load_robot("planar2r"))
    other = derive_program(load_robot("planar2r").with_gravity([0.0, -1.62, 0.0]))
    source = native.kernel_source(other)
    monkeypatch.setattr(native, "kernel_source", lambda _: source)
    with pytest.raises(native.CompilerError, match="something else"):
        native.build(program, native.find_compiler())


def test_a_read_only_output_is_refused_whatever_runs() -> None:
    out = np.zeros((2, 20, 9))
    out.setflags(write=False)
    with pytest.raises(ModelError, match="read-only"):
        derive(load_robot("planar2r")).by_joint(*np.zeros((3, 9, 2)), out=out)
