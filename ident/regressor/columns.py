"""Terms and columns: everything that is linear in a parameter, described once.

A ``Term`` is one physical effect; it owns one ``Column`` per parameter and evaluates all of them
together, since they share work. The stacking, the excitation criterion, the constraints, the tables
and the report read names, units and signs from here, so that a new effect is one class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from ident.arrays import Array, Indices, Mask, locked
from ident.conventions import INERTIAL, INERTIAL_UNITS
from ident.model.robot import Robot
from ident.regressor.rigid import Regressor

Side = Literal["joint", "motor"]


class Motion(Protocol):
    """Joint motion (N, n): what a term is evaluated on."""

    @property
    def q(self) -> Array:
        """Positions."""

    @property
    def dq(self) -> Array:
        """Velocities."""

    @property
    def ddq(self) -> Array:
        """Accelerations."""


@dataclass(frozen=True, eq=False, kw_only=True)
class States:
    """Plain joint motion (N, n)."""

    q: Array
    dq: Array
    ddq: Array


@dataclass(frozen=True, kw_only=True)
class Column:
    """One parameter and what is known of it beforehand.

    Attributes
    ----------
    name : str
        With 1-based joint (or link) number: ``Izz3``, ``viscous3``.
    of : str
        Name of the link or joint that it belongs to.
    number : int
        The 1-based number in the name.
    kind : str
        The name without its number.
    nonnegative : bool
        Whether physics forbids a negative value.
    guess : float
        Value of the robot description, for priors and comparisons; NaN where there is none.
    """

    name: str
    of: str
    number: int
    kind: str
    unit: str
    side: Side = "joint"
    nonnegative: bool = False
    guess: float = float("nan")


class Term(Protocol):
    """One physical effect, linear in its parameters."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """One per parameter, in order."""

    def evaluate(self, motion: Motion) -> Array:
        """Torque per unit parameter, (n, columns, N)."""


class JointTerm(Term, Protocol):
    """A term that few joints feel: evaluated where it is no structural zero."""

    def entries(self, columns: Indices, motion: Motion) -> tuple[Indices, Array]:
        """Joint and place among ``columns`` (k, 2) of what is not zero, and its values (k, N)."""

    def pullback(self, columns: Indices, motion: Motion, slopes: Array) -> Array:
        """Slopes (3, n, N) by q, dq and ddq of ``Σ slopes·values``, slopes (k, N) of entries."""


class Inertial:
    """Inertial parameters of all moving links."""

    def __init__(self, regressor: Regressor) -> None:
        """Columns of the rigid-body regressor."""
        self.regressor = regressor
        pi = regressor.robot.pi.reshape(-1, len(INERTIAL))
        self.columns = tuple(
            Column(
                name=f"{kind}{i + 1}",
                of=link.name,
                number=i + 1,
                kind=kind,
                unit=unit,
                nonnegative=kind in {"m", "Ixx", "Iyy", "Izz"},
                guess=float(value),
            )
            for i, link in enumerate(regressor.robot.links)
            for kind, unit, value in zip(INERTIAL, INERTIAL_UNITS, pi[i], strict=True)
        )

    def evaluate(self, motion: Motion) -> Array:
        """Rigid-body regressor (n, 10·links, N)."""
        return self.regressor.by_joint(motion.q, motion.dq, motion.ddq)


class DriveTerm(ABC):
    """An effect of each drive on its own: ``Cᵀ e_i · value_i`` for drive i.

    With independent drives this is a diagonal; a coupled drive is seen by every joint that it
    moves. Subclasses give ``value``, a function of one derivative of the drives' motion, its
    ``order``, and the ``slope`` by that.
    """

    kind: str
    unit: str
    order: Literal[0, 1, 2]
    nonnegative = False

    def __init__(self, robot: Robot) -> None:
        """One column per drive of ``robot``."""
        self._coupling, self._coupled = robot.drives.coupling, robot.drives.coupled
        units = [self.unit if turns else self.unit_sliding for turns in robot.turns]
        self.columns = tuple(
            Column(
                name=f"{self.kind}{i + 1}",
                of=joint,
                number=i + 1,
                kind=self.kind,
                unit=unit,
                side="motor" if robot.drives.coupled else "joint",
                nonnegative=self.nonnegative,
                guess=float(guess),
            )
            for i, (joint, unit, guess) in enumerate(
                zip(robot.joints, units, self.guesses(robot), strict=True)
            )
        )

    @property
    def unit_sliding(self) -> str:
        """Unit for a prismatic joint."""
        return self.unit.replace("N·m", "N").replace("rad", "m").replace("kg·m²", "kg")

    def guesses(self, robot: Robot) -> Array:
        """Values of the description (n,)."""
        return np.full(robot.n, np.nan)

    @abstractmethod
    def value(self, motion: Motion) -> Array:
        """Effort of each drive per unit parameter, (N, n)."""

    @abstractmethod
    def slope(self, motion: Motion) -> Array:
        """Slope (N, n) of ``value`` by the derivative of the motion that it depends on."""

    def evaluate(self, motion: Motion) -> Array:
        """Joint effort per unit parameter, (n, n, N)."""
        value = self.value(self._drives(motion))
        return np.asarray(self._coupling.T[:, :, None] * value.T[None, :, :])

    def entries(self, columns: Indices, motion: Motion) -> tuple[Indices, Array]:
        """Joint and place among ``columns`` (k, 2) of what is not zero, and its values (k, N)."""
        at, gains = self._places(columns)
        value = self.value(self._drives(motion)).T[columns]
        return at, gains[:, None] * value[at[:, 1]]

    def pullback(self, columns: Indices, motion: Motion, slopes: Array) -> Array:
        """Slopes (3, n, N) by q, dq and ddq of ``Σ slopes·values``, slopes (k, N) of entries."""
        out = np.zeros((3, len(self._coupling), slopes.shape[1]))
        of_drive = out[self.order]
        if self._coupled:
            at, gains = self._places(columns)
            np.add.at(of_drive, columns[at[:, 1]], gains[:, None] * slopes)
        else:
            of_drive[columns] = slopes
        of_drive *= self.slope(self._drives(motion)).T
        if self._coupled:
            out[self.order] = self._coupling.T @ of_drive
        return out

    def _places(self, columns: Indices) -> tuple[Indices, Array]:
        """Joint and place among ``columns`` (k, 2) of what is not zero, and its gain (k,)."""
        if not self._coupled:
            return np.column_stack([columns, np.arange(len(columns))]), np.ones(len(columns))
        gains = self._coupling.T[:, columns]
        at = np.argwhere(gains)
        return at, gains[tuple(at.T)]

    def _drives(self, motion: Motion) -> Motion:
        """Motion of the drives."""
        if not self._coupled:
            return motion
        C = self._coupling
        return States(q=motion.q @ C.T, dq=motion.dq @ C.T, ddq=motion.ddq @ C.T)


class Armature(DriveTerm):
    """Rotor inertia seen at the joint: ``Ia · ddq``."""

    kind, unit, order, nonnegative = "armature", "kg·m²", 2, True

    def guesses(self, robot: Robot) -> Array:
        """Armature of the description."""
        return robot.drives.armature

    def value(self, motion: Motion) -> Array:
        """Acceleration."""
        return motion.ddq

    def slope(self, motion: Motion) -> Array:
        """One."""
        return np.ones_like(motion.ddq)


@dataclass(frozen=True, eq=False)
class Stack:
    """Terms side by side: the columns of ``theta``.

    The torque is ``tau = Y(q, dq, ddq)·theta`` with Y (n, p, N) from ``evaluate``.
    """

    robot: Robot
    rigid: Inertial
    others: tuple[JointTerm, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms, in stacking order."""
        return (self.rigid, *self.others)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns, in stacking order."""
        return tuple(column for term in self.terms for column in term.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def guess(self) -> Array:
        """Values of the description (p,); zero where it says nothing."""
        return locked(np.nan_to_num([column.guess for column in self.columns]))

    def which(self, *kinds: str) -> Mask:
        """Mask (p,) of the columns of the given kinds."""
        return locked(np.array([column.kind in kinds for column in self.columns]))

    @cached_property
    def inertial(self) -> Mask:
        """Mask (p,) of the inertial columns."""
        return self.which(*INERTIAL)

    def evaluate(self, motion: Motion) -> Array:
        """Torque per unit parameter, (n, p, N)."""
        return np.concatenate([term.evaluate(motion) for term in self.terms], axis=1)


def stack(
    regressor: Regressor,
    *,
    friction: Sequence[JointTerm] = (),
    armature: bool = True,
    springs: bool = True,
) -> Stack:
    """Inertial columns, then armature where it is wanted, then friction terms, then springs."""
    from ident.regressor.springs import Springs  # which stands above this module

    robot = regressor.robot
    drive = (Armature(robot),) if armature else ()
    elastic = (Springs(robot),) if springs and robot.drives.springs else ()
    return Stack(robot, Inertial(regressor), (*drive, *friction, *elastic))
