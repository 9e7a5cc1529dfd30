"""Springs and counterbalances of a robot as columns."""

from __future__ import annotations

import numpy as np

from ident.arrays import Array, Indices
from ident.model.robot import Robot
from ident.model.springs import Spring
from ident.regressor.columns import Column, Motion


class Springs:
    """All springs of a robot: ``spring2``, a stiffness, or ``counterbalance2``, a scale.

    The column is +∂U/∂q per unit: what the drive has to give, like ``g(q)``. Springs act behind the
    gears, on the joint itself, also where drives are coupled.
    """

    def __init__(self, robot: Robot) -> None:
        """One column per spring, those of a kind together, by joint."""
        self._n = robot.n
        self._springs = sorted(
            robot.drives.springs, key=lambda s: (s.kind, robot.joints.index(s.joint))
        )
        self._at = [robot.joints.index(spring.joint) for spring in self._springs]
        self.columns = tuple(
            Column(
                name=f"{spring.kind}{j + 1}",
                of=spring.joint,
                number=j + 1,
                kind=spring.kind,
                unit=spring.unit(robot.turns[j]),
                nonnegative=True,
                guess=spring.guess,
            )
            for spring, j in zip(self._springs, self._at, strict=True)
        )

    def evaluate(self, motion: Motion) -> Array:
        """Joint effort per unit parameter, (n, springs, N)."""
        out = np.zeros((self._n, len(self._springs), len(motion.q)))
        places, values = self.entries(np.arange(len(self._springs)), motion)
        out[tuple(places.T)] = values
        return out

    def entries(self, columns: Indices, motion: Motion) -> tuple[Indices, Array]:
        """Joint and place among ``columns`` (k, 2) of what is not zero, and its values (k, N)."""
        at = [self._at[k] for k in columns]
        torques = [self._springs[k].unit_torque(motion.q[:, self._at[k]]) for k in columns]
        places = np.column_stack([np.array(at, dtype=np.intp), np.arange(len(columns))])
        return places, np.reshape(torques, (len(columns), len(motion.q)))

    def pullback(self, columns: Indices, motion: Motion, slopes: Array) -> Array:
        """Slopes (3, n, N) by q, dq and ddq of ``Σ slopes·values``, slopes (k, N) of entries."""
        out = np.zeros((3, self._n, len(motion.q)))
        for k, slope in zip(columns, slopes, strict=True):
            j = self._at[k]
            out[0, j] += slope * self._springs[k].unit_slope(motion.q[:, j])
        return out


def with_values(robot: Robot, names: tuple[str, ...], values: Array) -> tuple[Spring, ...]:
    """Springs of a robot with the values of the columns of these names, where they are there.

    Least squares without bounds may put one below zero: it becomes zero, the nearest that can be.
    """
    known = dict(zip(names, np.asarray(values).tolist(), strict=True))
    springs = []
    for spring in robot.drives.springs:
        name = f"{spring.kind}{robot.joints.index(spring.joint) + 1}"
        springs.append(spring.with_guess(max(known[name], 0.0)) if name in known else spring)
    return tuple(springs)
