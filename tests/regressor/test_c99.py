import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ident.errors import UsageError
from ident.model.registry import load_robot
from ident.regressor.c99 import CFiles, Scalar, c99
from ident.regressor.named import Function, identifier, regressor_function
from ident.regressor.newton_euler import derive_program
from ident.regressor.program import Program
from ident.regressor.python_ import python_module
from tests.regressor.compiling import (
    COMPILERS,
    STRICT,
    assert_close,
    compiled,
    expected,
    needs_compiler,
    robots,
)
from tests.tolerances import BACK_END

ROBOTS = robots()
UR5 = regressor_function(derive_program(load_robot("ur5")))
SINGLE = 1e-5  # single precision, some hundred operations deep


def written(files: CFiles, folder: Path) -> Path:
    (folder / f"{files.stem}.h").write_text(files.header)
    (folder / f"{files.stem}.c").write_text(files.source)
    return folder / f"{files.stem}.c"


def called(library: Path, name: str, program: Program, inputs: Any, kind: Any) -> Any:
    """Outputs (rows, columns, N) of a compiled function."""
    function = getattr(ctypes.CDLL(str(library)), name)
    function.restype = None
    sizes = np.cumsum([size for _, size in program.arguments])[:-1]
    out = np.empty((inputs.shape[1], program.outputs.size), dtype=kind)
    for state, row in zip(inputs.T.astype(kind, order="C"), out, strict=True):
        function(*(part.ctypes for part in np.split(state, sizes)), row.ctypes)
    return out.T.reshape(*program.outputs.shape, -1)


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize(("scalar", "tolerance"), [("double", BACK_END), ("float", SINGLE)])
def test_strict_c_that_computes_what_numpy_does(
    name: str, scalar: Scalar, tolerance: float, compiler: str, tmp_path: Path
) -> None:
    program = derive_program(ROBOTS[name])
    files = c99(name, [regressor_function(program)], scalar=scalar)
    source = written(files, tmp_path)
    command = [compiler, *STRICT, "-O0", "-fPIC", "-shared", str(source), "-o", "lib.so", "-lm"]
    compiled(command, where=tmp_path)
    inputs = np.random.default_rng(0).uniform(-2, 2, size=(len(program.inputs), 5))
    kind = np.float64 if scalar == "double" else np.float32
    ours = called(tmp_path / "lib.so", f"{name}_regressor", program, inputs, kind)
    wanted = expected(program, inputs)
    if scalar == "double":
        assert_close(ours, wanted, tolerance)
    else:
        assert np.abs(ours - wanted).max() < tolerance * np.abs(wanted).max()


@needs_compiler
def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    written(c99("ur5", [UR5]), tmp_path)
    (tmp_path / "main.c").write_text(
        '#include "ur5.h"\n#include <math.h>\n'
        "int main(void)\n{\n"
        "    double q[6] = {1.0}, dq[6] = {2.0}, ddq[6] = {3.0}, Y[360];\n"
        "    ur5_regressor(q, dq, ddq, Y);\n"
        "    for (int i = 0; i < 360; i++)\n"
        "        if (!isfinite(Y[i])) return 1;\n"
        "    return 0;\n}\n"
    )
    flags = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = [COMPILERS[0], *STRICT, *flags, "main.c", "ur5.c", "-o", "main", "-lm"]
    compiled(command, where=tmp_path)
    subprocess.run([str(tmp_path / "main")], check=True, timeout=60)


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++ on this machine")
def test_the_header_serves_c_plus_plus(tmp_path: Path) -> None:
    written(c99("ur5", [UR5]), tmp_path)
    (tmp_path / "main.cpp").write_text('#include "ur5.h"\n#include "ur5.h"\nint main() {}\n')
    compiled(["g++", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "main.cpp"], where=tmp_path)


def test_it_needs_nothing_but_sine_and_cosine() -> None:
    files = c99("ur5", [UR5])
    assert set(re.findall(r"#include\s+(\S+)", files.source)) == {'"ur5.h"', "<math.h>"}
    assert not re.search(r"\b(malloc|calloc|free|static|for|if|while)\b", files.source)
    code = re.sub(r"/\*.*?\*/", "", files.source, flags=re.S)
    assert set(re.findall(r"(\w+)\(", code)) == {"ur5_regressor", "sin", "cos"}
    assert files.source.count("\n") > UR5.program.operations
    assert c99("ur5", [UR5]) == files
    assert f"{UR5.program.operations} operations" in files.header
    assert "Y[360]: 6 x 60, row by row" in files.header


def test_constants_are_written_in_full() -> None:
    source = c99("ur5", [UR5]).source
    for constant in UR5.program.constants.tolist():
        assert re.search(rf"[ (-]{re.escape(repr(constant))}[ ;)]", source)


@needs_compiler
@pytest.mark.parametrize(
    "robot", ["double", "7 axis */ arm", "bras à câble", "Å–Ω", "_Reserved", "a\\", "", "-"]
)
def test_any_robot_name_gives_c_that_compiles(robot: str, tmp_path: Path) -> None:
    program = derive_program(load_robot("planar2r"))
    source = written(c99(robot, [regressor_function(program)]), tmp_path)
    compiled([COMPILERS[0], *STRICT, "-O0", "-c", str(source)], where=tmp_path)


def hand_made() -> Program:
    """out = [b1, 0, 3], [b1·3, −b1, sin(b1)]; the argument ``t1`` is not read."""
    return Program(
        arguments=(("t1", 2), ("register", 1)),
        inputs=("a1", "a2", "b1"),
        constants=np.array([3.0]),
        code=np.array([[2, 2, 3], [3, 2, 2], [4, 2, 2]], dtype=np.int32),
        outputs=np.array([[2, -1, 3], [4, 5, 6]], dtype=np.int32),
    )


@needs_compiler
def test_arguments_of_any_name_also_where_they_are_not_read(tmp_path: Path) -> None:
    functions = [
        Function(name="one", program=hand_made(), output="Y"),
        Function(name="two", program=hand_made(), about="twice */"),
    ]
    source = written(c99("arm", functions), tmp_path)
    command = [COMPILERS[0], *STRICT, "-O0", "-fPIC", "-shared", str(source), "-o", "lib.so", "-lm"]
    compiled(command, where=tmp_path)
    for name in ("arm_one", "arm_two"):
        inputs = np.array([[7.0], [8.0], [0.5]])
        out = called(tmp_path / "lib.so", name, hand_made(), inputs, np.float64)
        wanted = [[0.5, 0.0, 3.0], [1.5, -0.5, np.sin(0.5)]]
        np.testing.assert_allclose(out[:, :, 0], wanted, rtol=0, atol=1e-15)


def test_names_that_meet_are_refused() -> None:
    with pytest.raises(UsageError, match="each name once"):
        c99("arm", [UR5, UR5])
    with pytest.raises(UsageError, match="each once"):
        c99("arm", [Function(name="f", program=UR5.program, output="dq")])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("ur5", "ur5"), ("UR-10e", "UR_10e"), ("7dof", "robot_7dof"), ("int", "int_"), ("", "robot")],
)
def test_identifiers(name: str, wanted: str) -> None:
    assert identifier(name) == wanted


NAMES = ["left/*right", "a*\\\n/ int evil;", "a??/\n*/", "a\u202eb", "a\0b", "\ud800"]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_robot_breaks_what_is_written(name: str) -> None:
    functions = [regressor_function(derive_program(load_robot("planar2r")))]
    files = c99(name, functions)
    for text in (files.header, files.source):
        assert text.isascii()
        assert text.count("/*") == text.count("*/") == len(re.findall(r"^/\*$", text, re.M))
        assert "??" not in text
        assert "\\" not in text
    compile(python_module(name, functions), "module", "exec")
