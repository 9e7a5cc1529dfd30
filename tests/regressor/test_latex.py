import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ident.model.registry import load_robot
from ident.regressor.latex import latex
from ident.regressor.named import Function, regressor_function
from ident.regressor.newton_euler import derive_program
from ident.regressor.program import Program

UR5 = regressor_function(derive_program(load_robot("ur5")))
TEXT = latex(UR5)


def small() -> Program:
    """out = 0.25·(sin q1 − dq1), −beta1."""
    return Program(
        arguments=(("q", 1), ("dq", 1), ("beta", 1)),
        inputs=("q1", "dq1", "beta1"),
        constants=np.array([0.25]),
        code=np.array([[4, 0, 0], [1, 4, 1], [2, 3, 5], [3, 2, 2]], dtype=np.int32),
        outputs=np.array([[6, 7, -1]], dtype=np.int32),
    )


def test_a_small_program_reads_as_it_is_meant() -> None:
    lines = latex(Function(name="f", program=small(), output="tau")).splitlines()
    assert lines == [
        r"\begin{align*}",
        r"  t_{1} &= \sin{\left(q_{1} \right)} \\",
        r"  t_{2} &= t_{1} - \dot q_{1} \\",
        r"  \tau_{1,1} &= 0.25 t_{2} \\",
        r"  \tau_{1,2} &= - \beta_{1}",
        r"\end{align*}",
    ]


def test_every_name_is_assigned_once_and_before_it_is_used() -> None:
    known = {f"{s}_{{{i}}}" for s in ("q", r"\dot q", r"\ddot q") for i in range(1, 7)}
    for line in TEXT.splitlines():
        if "&=" not in line:
            continue
        name, value = line.removesuffix(r" \\").split(" &= ")
        assert name.strip() not in known
        for used in re.findall(r"(?:\\d?dot q|[a-zA-Z])_\{[\d,]+\}", value):
            assert used in known
        known.add(name.strip())
    outputs = {name for name in known if name.startswith("Y_")}
    assert len(outputs) == (UR5.program.outputs >= 0).sum()


def test_braces_and_environments_are_closed() -> None:
    assert TEXT.count("{") == TEXT.count("}")
    assert TEXT.count(r"\begin{align*}") == TEXT.count(r"\end{align*}") > 1
    assert latex(UR5) == TEXT


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex on this machine")
def test_it_compiles_with_amsmath(tmp_path: Path) -> None:
    head = r"\documentclass{article}\usepackage{amsmath}\begin{document}"
    (tmp_path / "a.tex").write_text(f"{head}\n{TEXT}\n\\end{{document}}\n")
    command = ["pdflatex", "-interaction=batchmode", "-halt-on-error", "a.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120, capture_output=True)
