"""Drives: what stands between motors and joints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model.springs import Spring


@dataclass(frozen=True, eq=False, kw_only=True)
class Drives:
    """Gear ratios, coupling and guesses of a robot's drives, one entry per joint (SI).

    Attributes
    ----------
    coupling : (n, n)
        Joint-motor coupling C without the gear ratios: ``q_drive = C q``,
        ``tau_joint = Cᵀ tau_drive``. The identity for independent drives.
    gear_ratio : (n,)
        Motor turns per drive turn.
    armature, viscous, coulomb : (n,)
        Rotor inertia seen at the joint (kg·m²) and friction guesses, for excitation and simulation.
    effort_rated : (n,) N·m or N
        Torque that the drive holds for ever; NaN where it is not published.
    springs : tuple of Spring
        Springs and counterbalances, at most one of a kind for each joint.
    """

    coupling: Array
    gear_ratio: Array
    armature: Array
    viscous: Array
    coulomb: Array
    effort_rated: Array = field(repr=False)
    springs: tuple[Spring, ...] = ()

    def __post_init__(self) -> None:
        """Check and lock the arrays; identified friction and armature may come out negative."""
        n = len(np.atleast_1d(self.gear_ratio))
        shapes: dict[str, tuple[int, ...]] = {"coupling": (n, n), "effort_rated": (n,)}
        for name in ("coupling", "gear_ratio", "armature", "viscous", "coulomb", "effort_rated"):
            finite = name != "effort_rated"
            array = frozen(
                getattr(self, name), shapes.get(name, (n,)), where=f"drives.{name}", finite=finite
            )
            object.__setattr__(self, name, array)
        if not self.gear_ratio.all():
            raise ModelError("drives.gear_ratio", "0", expected="motor turns per drive turn")
        if (low := self.effort_rated[self.effort_rated < 0.0]).size:
            raise ModelError("drives.effort_rated", f"{low[0]:g}", expected="a magnitude, or NaN")
        if abs(np.linalg.det(self.coupling)) < 1e-9:
            raise ModelError("drives.coupling", "singular matrix", expected="an invertible one")
        kinds = [(spring.kind, spring.joint) for spring in self.springs]
        if twice := {kind for kind in kinds if kinds.count(kind) > 1}:
            kind, joint = min(twice)
            raise ModelError("drives.springs", f"two of kind '{kind}' at '{joint}'", expected="one")

    @classmethod
    def plain(cls, n: int) -> Drives:
        """Direct, independent drives about which nothing is known."""
        zero, one = np.zeros(n), np.ones(n)
        return cls(
            coupling=np.eye(n),
            gear_ratio=one,
            armature=zero,
            viscous=zero,
            coulomb=zero,
            effort_rated=np.full(n, np.nan),
        )

    @property
    def coupled(self) -> bool:
        """Whether any drive moves more than its own joint."""
        return not np.array_equal(self.coupling, np.eye(len(self.gear_ratio)))
