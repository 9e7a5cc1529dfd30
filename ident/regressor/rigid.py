"""Regressor: the rigid-body columns of a robot, ready to evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ident import __version__
from ident.arrays import Array, digest, frozen
from ident.cache import cached
from ident.model.robot import Robot
from ident.regressor.newton_euler import derive_program
from ident.regressor.numpy_ import Runner
from ident.regressor.program import Program


@dataclass(frozen=True, eq=False, kw_only=True)
class Regressor:
    """``tau = Y(q, dq, ddq)·pi`` of one robot in its gravity.

    Calling it returns the stacked matrix (N·n, 10·links), row ``k·n + j`` for sample k, joint j.
    """

    robot: Robot
    program: Program

    def __call__(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Stacked regressor (N·n, 10·links) at states (N, n); one state (n,) gives (n, …)."""
        Y = self.by_joint(*(_states(x, s) for x, s in ((q, "q"), (dq, "dq"), (ddq, "ddq"))))
        return np.ascontiguousarray(Y.transpose(2, 0, 1)).reshape(-1, Y.shape[1])

    def by_joint(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Regressor as (n, 10·links, N): joint, column, sample; the layout that reductions use."""
        n = self.robot.n
        q = frozen(q, (None, n), where="q")
        rest = [frozen(x, q.shape, where=s) for x, s in ((dq, "dq"), (ddq, "ddq"))]
        out = np.empty((n, 10 * len(self.robot.links), len(q)))
        self._run(np.ascontiguousarray(np.hstack([q, *rest]).T), out)
        return out

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Rigid torque (N, n) of the robot's own inertial parameters."""
        return (self(q, dq, ddq) @ self.robot.pi).reshape(-1, self.robot.n)

    @cached_property
    def _run(self) -> Runner:
        return Runner(self.program)


def derive(robot: Robot) -> Regressor:
    """Derive the regressor of ``robot``, or load it from the cache."""
    key = digest(["newton-euler", __version__, robot.kinematic_digest])[:32]
    program = cached(
        f"regressor-{key}.json", lambda: derive_program(robot), Program.dumps, Program.loads
    )
    return Regressor(robot=robot, program=program)


def _states(values: ArrayLike, where: str) -> Array:
    """One state (n,) or several (N, n), as several."""
    shape = (None,) if np.ndim(values) == 1 else (None, None)
    return np.atleast_2d(frozen(values, shape, where=where))
