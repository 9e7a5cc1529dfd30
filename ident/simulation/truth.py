"""A robot that differs from its description, in a way that is known and physically possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ident.arrays import Array, frozen
from ident.errors import UsageError
from ident.model import inertia
from ident.model.robot import Robot

SCHEMA = 1
_DRIVE = ("armature", "viscous", "coulomb")


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How far the truth lies from the description, as fractions: at least, at most.

    Attributes
    ----------
    mass, inertia : (least, most)
        Mass, and second moments about the COM.
    com : (least, most)
        Shift of the COM, relative to the radius of gyration.
    drive : (least, most)
        Armature, viscous and Coulomb friction.
    offset : (least, most)
        Constant torque of a joint, relative to its Coulomb friction.
    """

    mass: tuple[float, float] = (0.05, 0.20)
    inertia: tuple[float, float] = (0.05, 0.20)
    com: tuple[float, float] = (0.05, 0.20)
    drive: tuple[float, float] = (0.05, 0.30)
    offset: tuple[float, float] = (0.05, 0.20)


@dataclass(frozen=True, eq=False, kw_only=True)
class Truth:
    """The robot that a plant is built of.

    Attributes
    ----------
    robot : Robot
        With the true inertias, armature and friction.
    offset : (n,) N·m or N
        Torque that the drives report beyond what moves the robot.
    """

    robot: Robot
    offset: Array

    def __post_init__(self) -> None:
        """Check and lock the offsets."""
        offset = frozen(self.offset, (self.robot.n,), where="offset", error=UsageError)
        object.__setattr__(self, "offset", offset)

    @cached_property
    def parameters(self) -> dict[str, float]:
        """Every parameter by the name of its column, in stacking order."""
        drives = self.robot.drives
        values = dict(zip(self.robot.inertial_names, self.robot.pi.tolist(), strict=True))
        for kind in _DRIVE:
            values |= _numbered(kind, getattr(drives, kind))
        return values | _numbered("offset", self.offset)

    def vector(self, names: tuple[str, ...]) -> Array:
        """Values (p,) of the named columns."""
        return np.array([self.parameters[name] for name in names])

    def to_dict(self) -> dict[str, Any]:
        """Facts for JSON; SI units."""
        return {"schema": SCHEMA, "robot": self.robot.name, "parameters": self.parameters}

    @classmethod
    def from_dict(cls, facts: Any, robot: Robot, *, where: str = "truth") -> Truth:
        """Truth of the facts of ``to_dict``, on the description of the same robot.

        Raises
        ------
        UsageError
            No such facts, a newer schema, another robot, or a parameter that is missing.
        """
        schema = facts.get("schema") if isinstance(facts, Mapping) else None
        if not isinstance(schema, int) or schema > SCHEMA:
            raise UsageError(
                where, f"schema {schema}", expected=f"{SCHEMA} or lower", remedy="update ident"
            )
        if facts.get("robot") != robot.name:
            raise UsageError(where, f"of robot '{facts.get('robot')}'", expected=robot.name)
        given = facts.get("parameters", {})
        try:
            pi = [given[name] for name in robot.inertial_names]
            drives: dict[str, Any] = {
                kind: np.array([given[f"{kind}{i + 1}"] for i in range(robot.n)]) for kind in _DRIVE
            }
            offset = [given[f"offset{i + 1}"] for i in range(robot.n)]
        except KeyError as e:
            raise UsageError(where, f"no parameter {e}", expected="every column of theta") from e
        true = replace(robot.with_pi(pi), drives=replace(robot.drives, **drives))
        return cls(robot=true, offset=np.asarray(offset))


def perturb(robot: Robot, rng: np.random.Generator, spread: Spread | None = None) -> Truth:
    """A truth within ``spread`` of the description.

    Pseudo-inertias are moved by congruence ``A J Aᵀ``, so that possible bodies stay possible; those
    of the description that are not are first projected. A link without mass stays without.
    """
    spread = spread or Spread()
    pi = [_perturbed(link.pi, rng, spread) for link in robot.links]
    drives = {
        kind: getattr(robot.drives, kind) * (1.0 + _off(rng, spread.drive, robot.n))
        for kind in _DRIVE
    }
    offset = robot.drives.coulomb * _off(rng, spread.offset, robot.n)
    true = replace(robot.with_pi(np.concatenate(pi)), drives=replace(robot.drives, **drives))
    return Truth(robot=true, offset=offset)


def _perturbed(pi: Array, rng: np.random.Generator, spread: Spread) -> Array:
    """Parameters of a body whose mass, COM and second moments are off.

    With ``A = √(1+μ) [[B, c + t − B c], [0, 1]]`` the mass grows by μ, the COM c moves by t, and
    the second moments about it become ``(1+μ) B Σ Bᵀ``.
    """
    if pi[0] <= 0.0:
        return pi
    if inertia.smallest_eigenvalue(pi) <= 0.0:
        pi = inertia.nearest_physical(pi)
    c = inertia.com_of(pi)
    radius = np.sqrt(0.5 * np.trace(inertia.inertia_c_of(pi)) / pi[0])
    mass = _off(rng, spread.mass, 1)[0]
    # All three axes to the same side, so that moments, which are sums of two, are as far off.
    side, axes = rng.choice([-1.0, 1.0]), _rotation(rng)
    second = 1.0 + side * rng.uniform(*spread.inertia, size=3)
    B = (axes * np.sqrt(second / (1.0 + mass))) @ axes.T
    away = rng.normal(size=3)
    shift = away / np.linalg.norm(away) * radius * rng.uniform(*spread.com)
    A = np.eye(4)
    A[:3, :3], A[:3, 3] = B, c + shift - B @ c
    A *= np.sqrt(1.0 + mass)
    return inertia.from_pseudo_inertia(A @ inertia.pseudo_inertia(pi) @ A.T)


def _off(rng: np.random.Generator, size: tuple[float, float], count: int) -> Array:
    """Fractions of a size within the range given, either way."""
    return rng.choice([-1.0, 1.0], size=count) * rng.uniform(*size, size=count)


def _rotation(rng: np.random.Generator) -> Array:
    """Random rotation (3, 3)."""
    w, x, y, z = (v := rng.normal(size=4)) / np.linalg.norm(v)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _numbered(kind: str, values: Array) -> dict[str, float]:
    return {f"{kind}{i + 1}": float(value) for i, value in enumerate(values)}
