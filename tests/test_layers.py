"""The package is layered: a module imports what stands lower, never what stands higher.

Every import counts, also those inside functions and under ``TYPE_CHECKING``.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "ident"

# Low to high. `|` parts siblings that may not import each other.
ORDER = """
errors, conventions < arrays, files < cache < model < regressor < base < leastsquares < simulation
< excitation | logs | statics < fit < store < export | report < fleet < cli < __main__
"""

# The only layers that may import each of these; none: no layer may.
OWNERS: dict[str, tuple[str, ...]] = {
    "k3d": ("report",),
    "matplotlib": ("report",),
    "mujoco": ("model", "simulation"),
    "pin": (),
    "pinocchio": (),
}


def read_order(text: str) -> tuple[dict[str, int], set[str]]:
    """Return the rank of each layer, and the layers that may not import a layer of their rank."""
    ranks: dict[str, int] = {}
    apart: set[str] = set()
    for rank, level in enumerate(text.split("<")):
        names = [name.strip() for name in level.replace("|", ",").split(",")]
        ranks.update(dict.fromkeys(names, rank))
        if "|" in level:
            apart.update(names)
    return ranks, apart


RANKS, APART = read_order(ORDER)


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Yield line and absolute dotted name of everything that a module of ``package`` imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                parts = package.split(".")[: -(level - 1) or None] if level else []
                origin = ".".join([*parts, *([module] if module else [])])
                yield from ((node.lineno, f"{origin}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Attribute(attr="import_module" | "__import__")
                | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def complaint(layer: str, name: str) -> str | None:
    """Return what is wrong with ``layer`` importing ``name``, or None."""
    top, *rest = name.split(".")
    if top in OWNERS and layer not in OWNERS[top]:
        owners = " and ".join(OWNERS[top])
        return f"imports {top}; {f'only {owners} may' if owners else 'no layer may'}"
    if top != "ident":
        return None
    target = rest[0] if rest else ""
    if target.startswith("__") and target not in RANKS:
        return None  # ident.__version__ and its like
    if target not in RANKS:
        if RANKS[layer] >= RANKS["cli"]:
            return None
        return f"imports {name}, the public face; import from the layer that owns it"
    if RANKS[target] > RANKS[layer]:
        return f"imports {target}, which stands higher"
    if RANKS[target] == RANKS[layer] and target != layer and layer in APART:
        return f"imports its sibling {target}"
    return None


def violations(package: Path) -> list[str]:
    """Return one line for each import under ``package`` that breaks the order."""
    found = []
    for file in sorted(package.rglob("*.py")):
        inside = file.relative_to(package)
        layer = inside.parts[0].removesuffix(".py")
        if layer in ("__init__", "_robots"):
            continue  # the public face reaches every layer, lazily; the registry holds no code
        if layer not in RANKS:
            found.append(f"{inside}: {layer} has no place in the order")
            continue
        dotted = ".".join(["ident", *inside.parts[:-1]])
        lines = sorted(imported(ast.parse(file.read_bytes(), filename=str(file)), dotted))
        found += [
            f"{inside}:{line}: {why}" for line, name in lines if (why := complaint(layer, name))
        ]
    return found


def test_the_package_keeps_the_order() -> None:
    assert list(PACKAGE.rglob("*.py")), "nothing was checked"
    assert violations(PACKAGE) == []


def plant(package: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("model/urdf.py", "from ident.fit import consistent", ":1: imports fit, which"),
        ("model/urdf.py", "import ident.fit.consistent as c", ":1: imports fit, which"),
        ("model/urdf.py", "from ident import errors, fit", ":1: imports fit, which"),
        ("model/urdf.py", "from ..fit import consistent", ":1: imports fit, which"),
        ("model/urdf.py", "from .. import fit", ":1: imports fit, which"),
        ("model/deep/er.py", "from ...fit import x", ":1: imports fit, which"),
        ("arrays.py", "from . import model", ":1: imports model, which"),
        ("base/__init__.py", "def f():\n    import ident.store", ":2: imports store, which"),
        (
            "fit/wls.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import ident.report",
            ":3: imports report, which",
        ),
        ("cache.py", "import importlib\nimportlib.import_module('ident.cli')", ":2: imports cli"),
        ("logs/sync.py", "from ident.excitation import fourier", "imports its sibling excitation"),
        ("statics/gate.py", "from ident.logs import dataset", "imports its sibling logs"),
        ("report/html.py", "from ident.export import urdf", "imports its sibling export"),
        ("fit/wls.py", "from ident import load_robot", "the public face"),
        ("fit/wls.py", "import ident", "the public face"),
        ("utils.py", "", "utils has no place in the order"),
        ("utils/__init__.py", "", "utils has no place in the order"),
        (
            "fit/wls.py",
            "def f():\n    from matplotlib import pyplot",
            ":2: imports matplotlib; only",
        ),
        ("cli/show.py", "import matplotlib.pyplot as plt", "imports matplotlib; only report may"),
        ("export/mjcf.py", "import mujoco", "imports mujoco; only model and simulation may"),
        ("model/urdf.py", "import matplotlib", "imports matplotlib; only report may"),
        ("model/mjcf.py", "import pinocchio", "imports pinocchio; no layer may"),
        ("simulation/plant.py", "import pinocchio", "imports pinocchio; no layer may"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, file: str, text: str, expected: str) -> None:
    (line,) = violations(plant(tmp_path / "ident", {"__init__.py": "", file: text}))
    assert line.startswith(file.split(".")[0])
    assert expected in line


def test_what_the_order_allows_passes(tmp_path: Path) -> None:
    files = {
        "__init__.py": "from ident.cli import main",
        "__main__.py": "from ident.cli import main",
        "errors.py": "from ident import conventions",
        "cache.py": "from ident import __version__, arrays",
        "model/__init__.py": "from ident.model.urdf import read",
        "model/urdf.py": "from . import links\nfrom ..errors import ModelError",
        "model/links.py": "import numpy.linalg",
        "model/mjcf.py": "def f():\n    import mujoco",
        "simulation/plant.py": "def f():\n    import mujoco",
        "fit/wls.py": "from ident.leastsquares import solve\nfrom ident.logs import dataset",
        "report/figures.py": "import matplotlib.figure",
        "cli/__init__.py": "import ident\nfrom ident import load_robot, report",
    }
    assert violations(plant(tmp_path / "ident", files)) == []
