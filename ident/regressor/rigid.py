"""Regressor: the rigid-body columns of a robot, ready to evaluate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, Indices, Mask, frozen, locked
from ident.cache import cached, key_of
from ident.errors import ModelError
from ident.model.joints import letters_left
from ident.model.robot import Robot
from ident.regressor.adjoint import adjoint
from ident.regressor.engine import Engine, engine_of
from ident.regressor.newton_euler import derive_program
from ident.regressor.program import Program

# A regressor is of fourth degree in the motion of joints that slide, which leaves 1e28 for lengths.
_LARGEST = 1e70


@dataclass(frozen=True, eq=False, kw_only=True)
class Regressor:
    """``tau = Y(q, dq, ddq)·pi`` of one robot in its gravity.

    Calling it returns the stacked matrix (N·n, 10·links), row ``k·n + j`` for sample k, joint j.
    """

    robot: Robot
    program: Program

    @property
    def backend(self) -> str:
        """What evaluates it by now: ``numpy``, or ``c`` with the compiler's name."""
        return self._engine.name

    def __call__(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Stacked regressor (N·n, columns) at states (N, n); one state (n,) gives (n, …)."""
        Y = self.by_joint(*(_states(x, s) for x, s in ((q, "q"), (dq, "dq"), (ddq, "ddq"))))
        return np.ascontiguousarray(Y.transpose(2, 0, 1)).reshape(-1, Y.shape[1])

    def by_joint(self, q: Array, dq: Array, ddq: Array, out: Array | None = None) -> Array:
        """Regressor as (n, columns, N): joint, column, sample; the layout that reductions use.

        Parameters
        ----------
        out : (n, columns, N), optional
            What an earlier call returned, to be filled again. Structural zeros are left as they
            are: they are zero in it.
        """
        inputs = self._inputs(q, dq, ddq)
        shape = (*self.program.outputs.shape, inputs.shape[1])
        if out is None:
            out = _rows(shape)
        elif out.shape != shape or out.dtype != np.float64:
            raise ModelError("out", f"{out.dtype} {out.shape}", expected=f"float64 {shape}")
        elif not out.flags.writeable:
            raise ModelError("out", "a read-only array", expected="one that may be written")
        self._engine(inputs, out)
        return out

    def stream(self, q: Array, dq: Array, ddq: Array) -> Iterator[tuple[slice, Array]]:
        """The regressor in blocks that stay in the cache: which samples, and the values.

        Values are (entries, samples): the entries of ``pattern``, row by row. The array is good
        until the next is asked for.
        """
        return self._engine.stream(self._inputs(q, dq, ddq))

    def pullback(self, q: Array, dq: Array, ddq: Array, slopes: Array) -> Array:
        """Slopes (3, n, N) by q, dq and ddq of ``Σ slopes·Y``.

        Parameters
        ----------
        slopes : (entries, N)
            One row for each entry of ``pattern``, row by row.

        Raises
        ------
        ModelError
            Another number of entries or samples.
        """
        inputs = self._inputs(q, dq, ddq)
        shape = (int(self.pattern.sum()), inputs.shape[1])
        inputs = np.concatenate([inputs, _shaped(slopes, shape, "slopes")])
        out = np.zeros((3 * self.robot.n, 1, inputs.shape[1]))
        self._adjoint(inputs, out)
        return out.reshape(3, self.robot.n, -1)

    def compile(self, *, adjoint: bool = False) -> None:
        """Compile it now, where there is a compiler: what runs long gains by it.

        The ``adjoint``, which ``pullback`` runs, takes three times as long to compile.
        """
        self._engine.compile()
        if adjoint:
            self._adjoint.compile()

    @cached_property
    def pattern(self) -> Mask:
        """Entries (n, columns) that are no structural zero."""
        return locked(self.program.outputs >= 0)

    def select(self, columns: Indices) -> Regressor:
        """The regressor of some columns; what only others need is not computed."""
        return Regressor(robot=self.robot, program=self.program.select(columns))

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Rigid torque (N, n) of the robot's own inertial parameters."""
        return (self(q, dq, ddq) @ self.robot.pi).reshape(-1, self.robot.n)

    def _inputs(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Inputs (3·n, N) of the program, checked."""
        if self.robot.letters:
            raise letters_left(self.robot.letters, f"robot '{self.robot.name}'")
        shape = (len(q) if np.ndim(q) else None, self.robot.n)
        motion = {"q": q, "dq": dq, "ddq": ddq}
        motion = {name: _shaped(x, shape, name) for name, x in motion.items()}
        inputs = np.concatenate([x.T for x in motion.values()])
        if not (inputs.min(initial=0.0) >= -_LARGEST and inputs.max(initial=0.0) <= _LARGEST):
            raise _immoderate(motion)  # or not a number, which compares with none
        return inputs

    @cached_property
    def _engine(self) -> Engine:
        return engine_of(self.program)

    @cached_property
    def _adjoint(self) -> Engine:
        key = f"{key_of('adjoint', [self.program.dumps()])}.json"
        make = partial(adjoint, self.program)
        return engine_of(cached(key, make, Program.dumps, Program.loads))


def derive(robot: Robot) -> Regressor:
    """Derive the regressor of ``robot``, or load it from the cache.

    Examples
    --------
    >>> import ident
    >>> robot = ident.load_robot("planar2r")
    >>> Y = ident.derive(robot)([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    >>> Y.shape
    (2, 20)
    >>> (Y @ robot.pi).round(9).tolist()  # gravity torque, N·m
    [11.772, 1.962]
    """
    key = f"{key_of('regressor', [robot.kinematic_digest])}.json"
    program = cached(key, lambda: derive_program(robot), Program.dumps, Program.loads)
    return Regressor(robot=robot, program=program)


def _states(values: ArrayLike, where: str) -> Array:
    """One state (n,) or several (N, n), as several."""
    shape = (None,) if np.ndim(values) == 1 else (None, None)
    return np.atleast_2d(frozen(values, shape, where=where))


def _shaped(x: Array, shape: tuple[int | None, ...], where: str) -> Array:
    """Numbers of a shape, as they are where they are that already."""
    fits = getattr(x, "dtype", None) == np.float64 and np.shape(x) == shape
    return x if fits else frozen(x, shape, where=where)


def _immoderate(motion: Mapping[str, Array]) -> ModelError:
    """Error for a motion (N, n) that is not finite, or of which products may not be."""
    for name, x in motion.items():
        x = frozen(x, x.shape, where=name)
        for k, j in np.argwhere(np.abs(x) > _LARGEST).tolist():
            found = f"{x[k, j]:g} at sample {k}, joint {j + 1}"
            return ModelError(name, found, expected=f"numbers within ±{_LARGEST:g}")
    raise AssertionError("all of it is moderate")


def _rows(shape: tuple[int, int, int]) -> Array:
    """Zeros (n, columns, N) whose rows do not lie a power of two apart, nor share cache lines."""
    rows, columns, samples = shape
    line = 8
    odd = -(-samples // line) | 1
    return np.zeros((rows, columns, odd * line))[:, :, :samples]
