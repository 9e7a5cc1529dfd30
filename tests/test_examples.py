"""The examples of the documentation run, and say what comes out."""

import doctest
import importlib
import re
import textwrap
from pathlib import Path

import pytest

import ident

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "ident").rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)
# What the symbolic stage offers; other names need a log, and README shows them.
SHOWN = [
    "derive",
    "gravity_torque",
    "inverse_dynamics",
    "lagrange",
    "load_robot",
    "load_symbolic",
    "lock",
    "mass_matrix",
    "reduce",
    "reduce_exact",
    "robot_names",
    "robot_of_table",
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_hold(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("name", SHOWN)
def test_public_functions_have_examples(name: str) -> None:
    assert name in ident.__all__
    assert ">>>" in (getattr(ident, name).__doc__ or "")


def test_the_python_of_the_readme_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"\n((?:    .*\n|\n)+)", text.partition("The same in Python:\n")[2])[:1]
    monkeypatch.chdir(ROOT)
    exec(textwrap.dedent(code), {})
    identified, cad = map(float, capsys.readouterr().out.split())
    # The figures of the command that README starts with.
    assert f"held-out relative error {identified:.2f} % (CAD {cad:.2f} %)" in text
