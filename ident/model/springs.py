"""Springs and counterbalances: torque of a joint's position that no link's weight explains.

Each acts on one joint, after its gears. ``unit_torque`` is +∂U/∂q per unit of the parameter, so
that a term ``parameter · unit_torque(q)`` stands beside ``g(q)`` in what the drive has to give: a
balancer that relieves the drive has the sign opposite to that of the gravity torque.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ModelError


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearSpring:
    """A spring ``stiffness · (q − rest)`` of one joint.

    Attributes
    ----------
    joint : str
        Name of the joint coordinate.
    rest : float
        Position in rad or m at which it gives no torque.
    stiffness : float
        Guess in N·m/rad or N/m; NaN where nothing is known.
    """

    kind: ClassVar[str] = "spring"

    joint: str
    rest: float = 0.0
    stiffness: float = np.nan

    def __post_init__(self) -> None:
        """Check the figures."""
        where = f"spring of joint '{self.joint}'"
        frozen(self.rest, (), where=f"{where} rest")
        _check_parameter(self.stiffness, f"{where} stiffness", unknown=True)

    @property
    def guess(self) -> float:
        """Value of the parameter in the description."""
        return self.stiffness

    def with_guess(self, value: float) -> LinearSpring:
        """The same spring with another stiffness."""
        return replace(self, stiffness=value)

    def unit(self, turns: bool) -> str:
        """Unit of the parameter."""
        return "N·m/rad" if turns else "N/m"

    def unit_torque(self, q: ArrayLike) -> Array:
        """Torque per unit stiffness at positions (N,) of the joint."""
        return np.asarray(q, dtype=np.float64) - self.rest

    def unit_slope(self, q: ArrayLike) -> Array:
        """Slope (N,) of ``unit_torque`` by the position: one."""
        return np.ones_like(np.asarray(q, dtype=np.float64))


@dataclass(frozen=True, eq=False, kw_only=True)
class GasSpring:
    """A gas spring between two anchors, one on each side of a turning joint; its scale is free.

    The anchors lie ``anchor`` and ``crank`` away from the axis, at an angle ``e = q + angle`` seen
    from it. The piston stands at its stop where they are closest; from there the stroke is
    ``s = √(anchor² + crank² − 2 anchor crank cos e) − (anchor − crank)``, the pressure
    ``charge / (volume − area s)`` (isothermal) and the lever ``∂s/∂e``.

    Attributes
    ----------
    joint : str
        Name of the joint coordinate.
    anchor, crank : float
        Distances of the anchors from the axis, m; the spring's own length is their difference at
        least.
    angle : float
        Angle between the anchors at q = 0, rad.
    area, volume, charge : float
        Piston area in m², gas volume at the stop in m³, pressure times volume in J.
    scale : float
        Guess of the parameter: the torque next to what these figures give.

    References
    ----------
        Weigand et al., ``hydraulic_weight_counterbalance.m`` of Robot_Identification: the
        counterbalance of a KUKA KR 300.
    """

    kind: ClassVar[str] = "counterbalance"

    joint: str
    anchor: float
    crank: float
    angle: float
    area: float
    volume: float
    charge: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check that the piston has room for its whole stroke."""
        where = f"gas spring of joint '{self.joint}'"
        frozen(self.angle, (), where=f"{where} angle")
        for name in ("anchor", "crank", "area", "volume", "charge"):
            frozen(getattr(self, name), (), where=f"{where} {name}")
            if getattr(self, name) <= 0.0:
                raise ModelError(f"{where} {name}", f"{getattr(self, name):g}", expected="above 0")
        _check_parameter(self.scale, f"{where} scale")
        if self.crank >= self.anchor:
            found = f"{self.crank:g} m, with anchor at {self.anchor:g} m"
            raise ModelError(f"{where} crank", found, expected="less than the anchor's distance")
        if 2.0 * self.crank * self.area >= self.volume:
            found = f"{self.volume:g} m³ for a stroke of up to {2.0 * self.crank:g} m"
            raise ModelError(f"{where} volume", found, expected="more than area times stroke")

    @property
    def guess(self) -> float:
        """Value of the parameter in the description."""
        return self.scale

    def with_guess(self, value: float) -> GasSpring:
        """The same spring with another scale."""
        return replace(self, scale=value)

    def unit(self, turns: bool) -> str:
        """Unit of the parameter: none, it scales the whole."""
        return "1"

    def unit_torque(self, q: ArrayLike) -> Array:
        """Torque (N,) in N·m at positions (N,) of the joint, for a scale of one."""
        e = np.asarray(q, dtype=np.float64) + self.angle
        product = self.anchor * self.crank
        length = np.sqrt(self.anchor**2 + self.crank**2 - 2.0 * product * np.cos(e))
        stroke = length - (self.anchor - self.crank)
        pressure = self.charge / (self.volume - self.area * stroke)
        torque: Array = pressure * self.area * product * np.sin(e) / length
        return torque

    def unit_slope(self, q: ArrayLike) -> Array:
        """Slope (N,) in N·m/rad of ``unit_torque`` by the position."""
        e = np.asarray(q, dtype=np.float64) + self.angle
        product = self.anchor * self.crank
        length = np.sqrt(self.anchor**2 + self.crank**2 - 2.0 * product * np.cos(e))
        lever = product * np.sin(e) / length  # ∂length/∂e
        room = self.volume - self.area * (length - (self.anchor - self.crank))
        bend = (product * np.cos(e) - lever**2) / length  # ∂lever/∂e
        slope: Array = self.charge * self.area / room * (bend + self.area * lever**2 / room)
        return slope


Spring = LinearSpring | GasSpring


def _check_parameter(value: float, where: str, *, unknown: bool = False) -> None:
    """Refuse what no spring has; NaN is ``unknown``."""
    frozen(value, (), where=where, finite=not unknown)
    if value < 0.0 or np.isinf(value):
        raise ModelError(where, f"{value:g}", expected="zero or more")
