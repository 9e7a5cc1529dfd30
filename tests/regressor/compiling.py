"""Robots whose programs are compiled, and a C compiler to do it."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ident.arrays import Array
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.regressor.numpy_ import Runner
from ident.regressor.program import Program
from tests.random_robots import random_tree

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow")

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no gcc or clang on this machine")


def robots() -> dict[str, Robot]:
    """Registry robots of three kinds, and random trees: prismatic joints, branches."""
    trees = {f"tree{seed}": random_tree(np.random.default_rng(seed), moving=4) for seed in range(3)}
    return {name: load_robot(name) for name in ("planar2r", "ur5", "iiwa14")} | trees


def compiled(command: list[str], *, where: Path) -> None:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def expected(program: Program, inputs: Array) -> Array:
    """Outputs (rows, columns, N) by NumPy."""
    out = np.zeros((*program.outputs.shape, inputs.shape[1]))
    Runner(program)(inputs, out)
    return out


def assert_close(actual: Array, wanted: Array, tolerance: float) -> None:
    """Columns (rows, columns, N) agree relative to their largest entry.

    Of a column that vanishes but for rounding, rounding is all that two back ends leave.
    """
    largest = np.abs(wanted).max(axis=(0, 2), keepdims=True)
    scale = np.maximum(largest, 1e-12 * largest.max())
    error = np.abs(actual - wanted).max(axis=(0, 2), keepdims=True)
    assert (error <= np.maximum(tolerance * scale, 1e-16 * largest.max())).all()
