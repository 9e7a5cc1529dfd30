"""Limits of a robot: what each joint may reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import UsageError
from ident.model.robot import Robot

Kind = Literal["position", "velocity", "acceleration", "jerk", "torque"]
KINDS: tuple[Kind, ...] = get_args(Kind)
KINEMATIC = KINDS[:4]
_UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
    "jerk": ("rad/s³", "m/s³"),
    "torque": ("N·m", "N"),
}
# Dynamics repeat after a turn, so that going further shows nothing new and winds up the cables.
_TURN, _SLIDE = np.pi, 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Limits:
    """What each joint may reach; infinite where there is no limit (SI).

    Attributes
    ----------
    position : (n, 2) rad or m
        Finite: a trajectory needs a workspace.
    velocity, acceleration, jerk, torque : (n,)
        Largest magnitudes.
    """

    joints: tuple[str, ...]
    turns: tuple[bool, ...]
    position: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    torque: Array

    def __post_init__(self) -> None:
        """Check and lock the arrays."""
        n = len(self.joints)
        position = frozen(self.position, (n, 2), where="position limits", error=UsageError)
        object.__setattr__(self, "position", position)
        for kind in KINDS[1:]:
            where = f"{kind} limits"
            array = frozen(getattr(self, kind), (n,), where=where, finite=False, error=UsageError)
            if np.isnan(array).any():
                raise UsageError(where, "not a number", expected="numbers, or infinity for none")
            object.__setattr__(self, kind, array)

    @classmethod
    def of(cls, robot: Robot, *, margin: float = 1.0, around: ArrayLike | None = None) -> Limits:
        """Limits of a robot, times ``margin``.

        The position range is that of the joints within half a turn (a metre for a sliding joint)
        to either side of ``around`` (n,), by default home; ``margin`` shrinks it about its middle.
        """
        if not 0.0 < margin <= 1.0:
            raise UsageError("margin", f"{margin:g}", expected="above 0, at most 1")
        centre = robot.home if around is None else np.asarray(around, dtype=np.float64)
        reach = np.where(robot.turns, _TURN, _SLIDE)
        lower = np.maximum(robot.position[:, 0], centre - reach)
        upper = np.minimum(robot.position[:, 1], centre + reach)
        cut = 0.5 * (1.0 - margin) * (upper - lower)
        return cls(
            joints=robot.joints,
            turns=robot.turns,
            position=np.column_stack([lower + cut, upper - cut]),
            velocity=margin * robot.velocity,
            acceleration=margin * robot.acceleration,
            jerk=margin * robot.jerk,
            torque=margin * robot.effort,
        )

    @property
    def middle(self) -> Array:
        """Middle of the position ranges (n,)."""
        return np.asarray(self.position.mean(axis=1))

    @property
    def half_range(self) -> Array:
        """Half of the position ranges (n,)."""
        return np.asarray(0.5 * (self.position[:, 1] - self.position[:, 0]))

    def largest(self, kind: Kind) -> Array:
        """Largest magnitude (n,) allowed; for a position, of what it is off the middle."""
        return self.half_range if kind == "position" else np.asarray(getattr(self, kind))

    def unit(self, kind: Kind, joint: int) -> str:
        """Unit of a limit."""
        return _UNITS[kind][not self.turns[joint]]
