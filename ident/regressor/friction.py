"""Friction terms that are linear in their parameters, by name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ident.arrays import Array
from ident.errors import UsageError
from ident.model.robot import Robot
from ident.regressor.columns import DriveTerm, JointTerm, Motion


class Viscous(DriveTerm):
    """``Fv · dq``."""

    kind, unit, order, nonnegative = "viscous", "N·m·s/rad", 1, True

    def guesses(self, robot: Robot) -> Array:
        """Viscous friction of the description."""
        return robot.drives.viscous

    def value(self, motion: Motion) -> Array:
        """Velocity."""
        return motion.dq

    def slope(self, motion: Motion) -> Array:
        """One."""
        return np.ones_like(motion.dq)


class Coulomb(DriveTerm):
    """``Fc · sign(dq)``, or ``Fc · tanh(dq / smoothing)`` where a gradient is wanted."""

    kind, unit, order, nonnegative = "coulomb", "N·m", 1, True

    def __init__(self, robot: Robot, smoothing: float = 0.0) -> None:
        """``smoothing`` in rad/s or m/s; zero is the sign itself."""
        super().__init__(robot)
        self._smoothing = smoothing

    def guesses(self, robot: Robot) -> Array:
        """Coulomb friction of the description."""
        return robot.drives.coulomb

    def value(self, motion: Motion) -> Array:
        """Direction of motion."""
        if self._smoothing:
            return np.tanh(motion.dq / self._smoothing)
        return np.sign(motion.dq)

    def slope(self, motion: Motion) -> Array:
        """Of the smooth form; of the sign itself zero, which it is but for the jump."""
        if not self._smoothing:
            return np.zeros_like(motion.dq)
        return np.asarray((1.0 - self.value(motion) ** 2) / self._smoothing)


class Offset(DriveTerm):
    """A constant: sensor offset, or what makes Coulomb friction differ between directions."""

    kind, unit, order = "offset", "N·m", 0

    def value(self, motion: Motion) -> Array:
        """One."""
        return np.ones_like(motion.dq)

    def slope(self, motion: Motion) -> Array:
        """Zero."""
        return np.zeros_like(motion.dq)


TERMS: dict[str, type[DriveTerm]] = {"viscous": Viscous, "coulomb": Coulomb, "offset": Offset}
DEFAULT = ("viscous", "coulomb", "offset")


def known_terms(names: Iterable[str]) -> tuple[str, ...]:
    """Names of friction terms, each once, in their fixed order.

    Raises
    ------
    UsageError
        An unknown name.
    """
    wanted = {name.strip() for name in names}
    if unknown := sorted(wanted - TERMS.keys()):
        raise UsageError("friction", f"unknown term '{unknown[0]}'", expected=", ".join(TERMS))
    return tuple(name for name in TERMS if name in wanted)


def friction_terms(robot: Robot, names: Iterable[str] = DEFAULT) -> tuple[JointTerm, ...]:
    """Terms of the given names, in their fixed order; see ``known_terms``."""
    return tuple(TERMS[name](robot) for name in known_terms(names))
