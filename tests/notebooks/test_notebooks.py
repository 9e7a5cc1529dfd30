"""Every notebook runs from top to bottom, says what holds, and keeps to the public API."""

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path

import jupytext
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

import ident

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
CELL_TIMEOUT_S = 120
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@each_notebook
def test_it_runs_without_a_warning_and_draws_every_figure(path, kernel_environment):
    notebook = jupytext.read(path)
    # Warnings become errors inside the kernel only once it runs: what it needs to start may warn.
    strict = new_code_cell("import warnings; warnings.simplefilter('error')")
    notebook.cells.insert(0, strict)
    run(notebook, path, kernel_environment)
    figures = sum("image/png" in output.get("data", {}) for output in outputs(notebook))
    shown = sum(cell.source.count("plt.show()") for cell in notebook.cells)
    assert figures == shown > 0
    stderr = [o.text for o in outputs(notebook) if o.get("name") == "stderr"]
    assert stderr == []


def test_a_cell_that_raises_is_shown_with_its_source(tmp_path, kernel_environment):
    notebook = jupytext.reads("# %%\nfine = 1\n\n# %%\nassert fine == 2, 'not so'\n", fmt="py")
    with pytest.raises(pytest.fail.Exception, match=r"(?s)assert fine == 2.*not so"):
        run(notebook, tmp_path / "made_up.py", kernel_environment)


@each_notebook
def test_only_the_public_api_is_used(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = [
        a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names
    ]
    from_ = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    inside = [name for name in (*imported, *from_) if name.split(".")[0] == "ident"]
    assert inside == ["ident"]
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "ident"
    }
    assert used <= set(ident.__all__)


def test_no_outputs_are_kept():
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "*.ipynb"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert listed.stdout == ""


def run(notebook: NotebookNode, path: Path, environment: dict[str, str]) -> None:
    """Execute in a kernel of this interpreter, whatever kernels are installed."""
    own_kernel = KernelSpecManager(kernel_dirs=[])
    client = NotebookClient(
        notebook,
        km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=own_kernel),
        timeout=CELL_TIMEOUT_S,
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute(env=environment, cleanup_kc=True)
    except (CellExecutionError, CellTimeoutError) as e:
        pytest.fail(f"{path.name}: {_COLOURS.sub('', str(e))}", pytrace=False)


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


@pytest.fixture
def kernel_environment(tmp_path, monkeypatch) -> dict[str, str]:
    """Give a kernel's environment that neither reads nor writes the user's own settings."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
