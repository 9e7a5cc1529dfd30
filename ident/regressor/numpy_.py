"""Run a straight-line program on blocks of samples with NumPy.

Every value lives in a row of one small buffer that stays in the cache; rows are reused when their
value is no longer needed. An instruction is a ufunc bound to its rows, so running a program is a
plain loop without allocation.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.regressor.program import OPERATIONS, Program

BLOCK = 1024  # samples; a buffer of ~100 rows of 8 kB fits a second-level cache
_UFUNCS: list[np.ufunc] = [getattr(np, name) for name in OPERATIONS]
_UNARY = {OPERATIONS.index(name) for name in ("negative", "sin", "cos")}

Step = tuple[Callable[..., Any], tuple[Array, ...]]


class Runner:
    """A program compiled to bound ufuncs, one schedule per block size."""

    def __init__(self, program: Program) -> None:
        """Allocate rows for ``program``."""
        self._program = program
        self._rows, outputs, self._count = _allocate(program)
        self._held = [(i, j, outputs[i, j]) for i, j in np.argwhere(program.outputs >= 0)]
        self._schedules: dict[int, tuple[Array, list[Step]]] = {}
        self._lock = Lock()  # the buffer holds one run at a time

    def __reduce__(self) -> tuple[object, ...]:
        """Travel as the program; bound rows would arrive as copies that share no buffer."""
        return Runner, (self._program,)

    def __call__(self, inputs: Array, out: Array) -> None:
        """Fill ``out`` (rows, columns, N) from ``inputs`` (number of inputs, N)."""
        program, total = self._program, inputs.shape[1]
        out[program.outputs < 0] = 0.0
        for start in range(0, total, BLOCK):
            stop = min(start + BLOCK, total)
            with self._lock:
                buffer, steps = self._schedule(stop - start)
                buffer[: len(program.inputs)] = inputs[:, start:stop]
                for ufunc, operands in steps:
                    ufunc(*operands)
                for i, j, row in self._held:
                    out[i, j, start:stop] = buffer[row]

    def _schedule(self, size: int) -> tuple[Array, list[Step]]:
        if size not in self._schedules:
            if len(self._schedules) > 4:  # a full block, its remainder, and single states
                self._schedules.clear()
            self._schedules[size] = self._bind(size)
        return self._schedules[size]

    def _bind(self, size: int) -> tuple[Array, list[Step]]:
        program = self._program
        first, constants = len(program.inputs), len(program.constants)
        buffer = np.zeros((self._count, size))
        buffer[first : first + constants] = program.constants[:, None]
        steps: list[Step] = []
        base = first + constants
        for k, (operation, a, b) in enumerate(program.code.tolist()):
            rows = [a] if operation in _UNARY else [a, b]
            operands = tuple(buffer[self._rows[v]] for v in (*rows, base + k))
            steps.append((_UFUNCS[operation], operands))
        return buffer, steps


def _allocate(program: Program) -> tuple[list[int], np.ndarray[Any, Any], int]:
    """Row of every value, rows of the outputs, and the number of rows (linear scan)."""
    fixed = len(program.inputs) + len(program.constants)
    total = fixed + len(program.code)
    last = np.full(total, -1)
    for k, (_, a, b) in enumerate(program.code.tolist()):
        last[a] = last[b] = fixed + k
    last[program.outputs[program.outputs >= 0]] = total  # outputs live to the end
    rows, free, count = list(range(fixed)), [], fixed
    for k, (_, a, b) in enumerate(program.code.tolist()):
        for v in {a, b}:
            if v >= fixed and last[v] == fixed + k:
                free.append(rows[v])
        if free:
            rows.append(free.pop())
        else:
            rows.append(count)
            count += 1
    outputs = np.array([[rows[v] if v >= 0 else -1 for v in row] for row in program.outputs])
    return rows, outputs, count
