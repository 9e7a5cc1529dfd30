"""Some columns of a stack, evaluated block by block without structural zeros.

Most of a regressor is zero: a joint feels only the links beyond it, and only its own drive. Of the
360 entries of UR5's base columns 130 are left. A reduction that takes these as they come, in blocks
that stay in the cache, never needs memory for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ident.arrays import Array, Indices
from ident.errors import ModelError
from ident.regressor.columns import JointTerm, Motion, Stack
from ident.regressor.rigid import Regressor


@dataclass(frozen=True, eq=False)
class Selection:
    """The columns ``kept``, ascending, of a stack.

    Entries, which are what is no structural zero, are of two kinds: those of rigid bodies come in
    blocks; the others cost next to nothing and come at once.
    """

    stack: Stack
    kept: Indices

    @property
    def backend(self) -> str:
        """What evaluates the columns of rigid bodies by now."""
        return self._rigid.backend

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.kept)

    @cached_property
    def entries(self) -> Indices:
        """Joint and column (e, 2) of each entry that comes in blocks, joint by joint."""
        return np.argwhere(self._rigid.pattern)

    def stream(self, motion: Motion) -> Iterator[tuple[slice, Array]]:
        """Blocks of samples and the ``entries`` (e, samples), good until the next is asked for."""
        return self._rigid.stream(motion.q, motion.dq, motion.ddq)

    def others(self, motion: Motion) -> tuple[Indices, Array]:
        """Joint and column (k, 2) of all other entries, and their values (k, N)."""
        places = [np.empty((0, 2), dtype=np.intp)]
        values = [np.empty((0, len(motion.q)))]
        for term, local, first in self._others:
            at, value = term.entries(local, motion)
            places.append(np.column_stack([at[:, 0], at[:, 1] + first]))
            values.append(value)
        return np.concatenate(places), np.concatenate(values)

    def values(self, motion: Motion) -> tuple[Indices, Array]:
        """Joint and column (e, 2) of all entries, and their values (e, N): blocks first."""
        places, rest = self.others(motion)
        rigid = np.empty((len(self.entries), len(motion.q)))
        for here, block in self.stream(motion):
            rigid[:, here] = block
        values = np.concatenate([rigid, rest])
        return np.concatenate([self.entries, places]), values

    def pullback(self, motion: Motion, slopes: Array) -> Array:
        """Slopes (3, n, N) by q, dq and ddq of ``Σ slopes·values``, slopes (e, N) of ``values``.

        Raises
        ------
        ModelError
            Another number of entries or samples.
        """
        counts = [len(term.entries(local, motion)[0]) for term, local, _ in self._others]
        ends = np.cumsum([len(self.entries), *counts])
        if np.shape(slopes) != (shape := (int(ends[-1]), len(motion.q))):
            raise ModelError("slopes", f"shape {np.shape(slopes)}", expected=f"shape {shape}")
        rigid, *rest = np.split(slopes, ends[:-1])
        out = self._rigid.pullback(motion.q, motion.dq, motion.ddq, rigid)
        for (term, local, _), own in zip(self._others, rest, strict=True):
            out += term.pullback(local, motion, own)
        return out

    def compile(self) -> None:
        """Compile what evaluates it and its slopes, for a use that goes on for seconds."""
        self._rigid.compile(adjoint=True)

    def evaluate(self, motion: Motion) -> Array:
        """Torque per unit parameter, (n, columns, N), zeros and all."""
        rigid = self._rigid.by_joint(motion.q, motion.dq, motion.ddq)
        rest = [term.evaluate(motion)[:, local] for term, local, _ in self._others]
        return np.concatenate([rigid, *rest], axis=1)

    @cached_property
    def _rigid(self) -> Regressor:
        rigid = self.stack.rigid
        return rigid.regressor.select(self.kept[self.kept < len(rigid.columns)])

    @cached_property
    def _others(self) -> list[tuple[JointTerm, Indices, int]]:
        """Each other term, which of its columns are kept, and the place of the first of them."""
        start, parts = len(self.stack.rigid.columns), []
        for term in self.stack.others:
            stop = start + len(term.columns)
            first, last = np.searchsorted(self.kept, [start, stop])
            parts.append((term, self.kept[first:last] - start, int(first)))
            start = stop
        return parts
