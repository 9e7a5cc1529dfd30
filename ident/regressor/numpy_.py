"""Run a straight-line program on blocks of samples with NumPy.

Intermediate values live in few rows of scratch that stay in the cache; outputs are written where
they belong, once. An instruction is a ufunc and the places of its operands, so running a program
is a plain loop over calls that allocate nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ident.arrays import Array
from ident.regressor.program import OPERATIONS, Program
from ident.regressor.schedule import UNARY, allocate, in_order, without_sines
from ident.regressor.sines import turn

# Samples at a time: a call costs as much as 1500 samples of it, and 40 rows of twice as many
# would not fit a second-level cache of 2 MiB.
BLOCK = 4096
PAD = 8  # samples; rows a power of two apart would meet in the same sets of a cache


class Runner:
    """A program as a list of ufuncs with the places of their operands."""

    name = "numpy"

    def __init__(self, program: Program) -> None:
        """Schedule ``program``."""
        self._program = program
        self._seen = np.argwhere(program.outputs >= 0).tolist()
        angles, rest = without_sines(program)
        self._angles = Runner(angles) if angles.outputs.size else None
        ordered = in_order(rest)
        self._places = places = allocate(ordered)
        self._constants = [np.array(c) for c in ordered.constants]
        fixed = len(ordered.inputs) + len(ordered.constants)
        at = places.of_value.tolist()
        self._steps = [
            (_APPLY[operation], at[a], at[b], at[value])
            for value, (operation, a, b) in enumerate(ordered.code.tolist(), start=fixed)
        ]

    def __call__(self, inputs: Array, out: Array) -> None:
        """Fill ``out`` (rows, columns, N) from ``inputs`` (number of inputs, N).

        Structural zeros are not written: ``out`` holds them already.
        """
        total = inputs.shape[1]
        scratch = self._scratch(total)
        for start in range(0, total, BLOCK):
            here = slice(start, min(start + BLOCK, total))
            self._run(inputs[:, here], scratch, [out[i, j, here] for i, j in self._seen])

    def stream(self, inputs: Array) -> Iterator[tuple[slice, Array]]:
        """Outputs block by block: which samples, and (outputs, samples) without structural zeros.

        Outputs stand row by row. The array is good until the next is asked for.
        """
        total = inputs.shape[1]
        scratch = self._scratch(total)
        values = np.empty((len(self._seen), min(total, BLOCK) + PAD))
        for start in range(0, total, BLOCK):
            here = slice(start, min(start + BLOCK, total))
            block = values[:, : here.stop - start]
            self._run(inputs[:, here], scratch, list(block))
            yield here, block

    def _scratch(self, total: int) -> Array:
        return np.empty((self._places.rows, min(total, BLOCK) + PAD))

    def _run(self, inputs: Array, scratch: Array, outputs: Sequence[Array]) -> None:
        sines, cosines = self._turned(inputs)
        own = scratch[:, : inputs.shape[1]]
        views = [*inputs, *sines, *cosines, *self._constants, *own, *outputs]
        for apply, a, b, result in self._steps:
            apply(views[a], views[b], views[result])
        for place, output in self._places.copies:
            views[output][:] = views[place]

    def _turned(self, inputs: Array) -> tuple[Array, Array]:
        """Sines and cosines of all angles (angles, N)."""
        if self._angles is None:
            nothing = inputs[:0]
            return nothing, nothing
        angles = np.empty((1, len(self._angles._seen), inputs.shape[1]))
        self._angles(inputs, angles)
        return turn(angles[0])


def _applied(operation: int) -> Callable[[Array, Array, Array], object]:
    """The ufunc of an operation, as a function of two operands and the result's place."""
    ufunc: np.ufunc = getattr(np, OPERATIONS[operation])
    return (lambda a, _, out: ufunc(a, out)) if operation in UNARY else ufunc


_APPLY = [_applied(operation) for operation in range(len(OPERATIONS))]
