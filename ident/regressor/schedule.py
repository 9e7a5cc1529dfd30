"""Programs made ready to run: in an order that keeps few values alive, each value in its place.

A derivation lists all that moves outward before what comes back. Run in that order, a 7-joint
regressor holds 140 values at a time; 40 where each is computed when an output first needs it,
which is what fits a cache, a register file or a controller's stack.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ident.regressor.program import OPERATIONS, Program

UNARY = frozenset(OPERATIONS.index(name) for name in ("negative", "sin", "cos"))


def in_order(program: Program) -> Program:
    """The same program, depth first: output by output, column by column, last row first.

    The last row of a column is the joint next to its link: the wrench on its way to the base.
    """
    fixed, code = len(program.inputs) + len(program.constants), program.code.tolist()
    done, order = set(range(-1, fixed)), []
    pending = program.outputs[::-1].T.ravel()[::-1].tolist()
    while pending:
        value = pending[-1]
        missing = [] if value in done else [v for v in code[value - fixed][:0:-1] if v not in done]
        if missing:
            pending += missing
            continue
        pending.pop()
        if value not in done:
            done.add(value)
            order.append(value)
    number = np.append(np.arange(fixed + len(code)), -1)  # the last stands for a structural zero
    number[order] = fixed + np.arange(len(order))
    chosen = program.code[np.array(order, dtype=np.intp) - fixed]
    return replace(
        program,
        code=np.column_stack([chosen[:, 0], number[chosen[:, 1:]]]),
        outputs=number[program.outputs],
    )


def without_sines(program: Program) -> tuple[Program, Program]:
    """Two programs: the angles, one row of outputs; and the rest, which takes sines and cosines.

    The second has the arguments ``sin`` and ``cos``, one entry for each angle, behind the others.
    """
    first, fixed = len(program.inputs), len(program.inputs) + len(program.constants)
    sine, cosine = (program.code[:, 0] == OPERATIONS.index(name) for name in ("sin", "cos"))
    angles, which = np.unique(program.code[sine | cosine, 1], return_inverse=True)
    count = len(angles)
    number = np.append(np.arange(fixed + len(sine)), -1)  # the last stands for a structural zero
    number[first:-1] += 2 * count
    number[fixed:-1] -= np.cumsum(sine | cosine)
    turned = fixed + np.flatnonzero(sine | cosine)
    number[turned] = first + which + count * cosine[sine | cosine]
    code = program.code[~(sine | cosine)]
    rest = replace(
        program,
        arguments=(*program.arguments, ("sin", count), ("cos", count)),
        inputs=(*program.inputs, *(f"{s}{i + 1}" for s in ("sin", "cos") for i in range(count))),
        code=np.column_stack([code[:, 0], number[code[:, 1:]]]),
        outputs=number[program.outputs],
    )
    moved = replace(program, outputs=angles[None])
    everything = np.arange(program.outputs.shape[1])
    return moved.select(np.arange(count)), rest.select(everything)


@dataclass(frozen=True, eq=False, kw_only=True)
class Places:
    """Where each value of a program stands: input, constant, one of few rows, or an output.

    Attributes
    ----------
    of_value : (values,)
        Inputs come first, then constants, then ``rows`` rows of scratch, then the outputs that
        are no structural zero, row by row.
    rows : int
        Scratch rows; one is used again when its value is no longer needed.
    copies : tuple of (from, to)
        Places of outputs that repeat a value which stands elsewhere.
    """

    of_value: NDArray[np.intp]
    rows: int
    copies: tuple[tuple[int, int], ...]


def allocate(program: Program) -> Places:
    """Places of the values of a program, in one scan over its instructions."""
    fixed, code = len(program.inputs) + len(program.constants), program.code.tolist()
    last = np.full(fixed + len(code), -1)
    for value, (_, a, b) in enumerate(code, start=fixed):
        last[a] = last[b] = value
    outputs = program.outputs[program.outputs >= 0].tolist()
    written: dict[int, int] = {}
    for k, value in enumerate(outputs):
        if value >= fixed:
            written.setdefault(value, k)
    place, free, rows = list(range(fixed)), [], 0
    for value, (_, a, b) in enumerate(code, start=fixed):
        # An operand that ends here gives its row to the result: in place is fastest.
        free += [place[v] for v in {a, b} if v >= fixed and last[v] == value and v not in written]
        if value in written:
            place.append(-1)
        elif free:
            place.append(free.pop())
        else:
            place.append(fixed + rows)
            rows += 1
    first = fixed + rows
    for value, k in written.items():
        place[value] = first + k
    copies = [(place[v], first + k) for k, v in enumerate(outputs) if written.get(v) != k]
    return Places(of_value=np.array(place, dtype=np.intp), rows=rows, copies=tuple(copies))
