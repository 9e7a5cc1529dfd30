"""Finite Fourier series as joint motion, at rest at the ends of every period.

References
----------
    Swevers, Ganseman, Tükel, De Schutter, Van Brussel (1997), "Optimal robot excitation and
    identification", eq. 8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ident.arrays import Array, digest, frozen, locked
from ident.errors import UsageError
from ident.regressor.columns import States

SCHEMA = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class FourierSeries:
    """``q_j(t) = q0_j + Σ_k a_jk/(kω) sin kωt − b_jk/(kω) cos kωt``, k from 1 to K.

    Attributes
    ----------
    omega : float
        Base frequency ω in rad/s.
    a, b : (n, K) rad/s or m/s
        Velocity amplitudes of each harmonic.
    q0 : (n,) rad or m
        Mean position.
    """

    joints: tuple[str, ...]
    omega: float
    a: Array
    b: Array
    q0: Array

    def __post_init__(self) -> None:
        """Check and lock the coefficients."""
        n = len(self.joints)
        object.__setattr__(self, "joints", tuple(self.joints))
        for name, shape in (("a", (n, None)), ("b", (n, np.shape(self.a)[-1])), ("q0", (n,))):
            where = f"trajectory coefficients {name}"
            array = frozen(getattr(self, name), shape, where=where, error=UsageError)
            object.__setattr__(self, name, array)
        _require_frequency(self.omega)

    @property
    def harmonics(self) -> int:
        """Number of harmonics K."""
        return int(self.a.shape[1])

    @property
    def period_s(self) -> float:
        """Length of a period in s."""
        return 2.0 * np.pi / self.omega

    def times(self, points: int) -> Array:
        """Times (M,) s of one period, ``points`` per period of the highest harmonic."""
        count = points * self.harmonics
        return np.asarray(np.arange(count) * (self.period_s / count))

    def derivative(self, t: ArrayLike, order: int) -> Array:
        """The ``order``-th time derivative (N, n) at times (N,) s; order 0 is the position."""
        sine, cosine = self._amplitudes(order)
        S, C = waves(self.omega * np.atleast_1d(np.asarray(t)), self.harmonics)
        value = S @ sine.T + C @ cosine.T
        return np.asarray(value + self.q0 if order == 0 else value)

    def states(self, t: ArrayLike) -> States:
        """Position, velocity and acceleration (N, n) at times (N,) s."""
        q, dq, ddq = (self.derivative(t, order) for order in range(3))
        return States(q=q, dq=dq, ddq=ddq)

    def _amplitudes(self, order: int) -> tuple[Array, Array]:
        """Amplitudes (n, K) of the sines and cosines of a derivative."""
        rate = self.omega * np.arange(1, self.harmonics + 1)
        sine, cosine = self.a / rate, -self.b / rate
        for _ in range(order):
            sine, cosine = -cosine * rate, sine * rate
        return sine, cosine


@dataclass(frozen=True, eq=False, kw_only=True)
class Trajectory:
    """Some periods of a Fourier series, to be played at a rate.

    Attributes
    ----------
    robot : str
        Name of the robot that it was designed for.
    periods : int
        How many periods are played.
    rate_hz : float
        Rate of the set-points.
    """

    series: FourierSeries
    periods: int
    rate_hz: float
    robot: str = ""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.periods < 1:
            raise UsageError("periods", str(self.periods), expected="at least one")
        highest = self.highest_harmonic_hz
        if not self.rate_hz > 2.0 * highest:
            raise UsageError(
                "rate",
                f"{self.rate_hz:g} Hz",
                expected=f"above {2 * highest:g} Hz, twice the highest harmonic",
            )

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, in order."""
        return self.series.joints

    @property
    def highest_harmonic_hz(self) -> float:
        """Frequency of the highest harmonic."""
        return self.series.harmonics * self.series.omega / (2.0 * np.pi)

    @property
    def period_s(self) -> float:
        """Length of a period in s."""
        return self.series.period_s

    @property
    def duration_s(self) -> float:
        """Length of the whole in s."""
        return self.periods * self.period_s

    @cached_property
    def id(self) -> str:
        """Sixteen hexadecimal digits that name the content."""
        s = self.series
        facts = f"{s.joints} {s.omega!r} {self.periods} {self.rate_hz!r} {self.robot}"
        return digest([facts, s.a, s.b, s.q0])[:16]

    def states(self, t: ArrayLike) -> States:
        """Motion (N, n) at times (N,) s."""
        return self.series.states(t)

    def sample(self, rate_hz: float | None = None) -> tuple[Array, States]:
        """Times (N,) s from start to end, both included, and the motion (N, n) then."""
        rate = self.rate_hz if rate_hz is None else rate_hz
        t = locked(np.arange(round(self.duration_s * rate) + 1) / rate)
        return t, self.states(t)

    def to_dict(self) -> dict[str, Any]:
        """Facts for JSON; numbers survive the trip exactly."""
        s = self.series
        return {
            "schema": SCHEMA,
            "id": self.id,
            "robot": self.robot,
            "joints": list(s.joints),
            "omega": s.omega,
            "periods": self.periods,
            "rate_hz": self.rate_hz,
            "q0": s.q0.tolist(),
            "a": s.a.tolist(),
            "b": s.b.tolist(),
        }

    @classmethod
    def from_dict(cls, facts: Any, *, where: str = "trajectory") -> Trajectory:
        """Trajectory of the facts of ``to_dict``.

        Raises
        ------
        UsageError
            No such facts, a newer schema, or an id that belongs to another content.
        """
        schema = facts.get("schema") if isinstance(facts, Mapping) else None
        if not isinstance(schema, int) or schema > SCHEMA:
            raise UsageError(
                where, f"schema {schema}", expected=f"{SCHEMA} or lower", remedy="update ident"
            )
        try:
            series = FourierSeries(
                joints=tuple(facts["joints"]),
                omega=float(facts["omega"]),
                a=facts["a"],
                b=facts["b"],
                q0=facts["q0"],
            )
            trajectory = cls(
                series=series,
                periods=int(facts["periods"]),
                rate_hz=float(facts["rate_hz"]),
                robot=str(facts.get("robot", "")),
            )
        except (KeyError, TypeError, ValueError) as e:
            raise UsageError(where, f"not a trajectory: {e!r}") from e
        if facts.get("id", trajectory.id) != trajectory.id:
            raise UsageError(
                where,
                "its id belongs to another content",
                expected=trajectory.id,
                remedy="restore the file, or delete 'id' if it was edited on purpose",
            )
        return trajectory


def read_trajectory(path: Path) -> Trajectory:
    """Trajectory of a JSON file, such as ``ident excite`` writes.

    Raises
    ------
    UsageError
        It cannot be read, or holds no trajectory.
    """
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise UsageError(str(path), f"cannot be read: {e.strerror}", expected="a trajectory") from e
    except ValueError as e:
        raise UsageError(str(path), f"not JSON: {e}", expected="a trajectory") from e
    return Trajectory.from_dict(facts, where=str(path))


@dataclass(frozen=True, eq=False)
class RestToRest:
    """Series that start at rest, from what is free to choose.

    At t = 0, and so at the end of every period, ``Σ_k a_jk = 0`` is zero velocity and
    ``Σ_k k b_jk = 0`` zero acceleration; ``q0_j = start_j + Σ_k b_jk/(kω)`` puts the start where it
    belongs. Each condition takes one of the K coefficients, so that 2(K − 1) are free per joint,
    and one more where the start may be shifted. The deviation from ``start`` is linear in them.
    """

    joints: tuple[str, ...]
    omega: float
    harmonics: int
    start: Array
    shifts: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot move."""
        if self.harmonics < 2:
            raise UsageError(
                "harmonics",
                str(self.harmonics),
                expected="at least 2",
                remedy="one harmonic alone cannot start and end at rest",
            )
        _require_frequency(self.omega)
        start = frozen(self.start, (len(self.joints),), where="start", error=UsageError)
        object.__setattr__(self, "start", start)

    @property
    def free(self) -> int:
        """Number of free coefficients per joint."""
        return 2 * (self.harmonics - 1) + self.shifts

    @cached_property
    def bases(self) -> tuple[Array, Array]:
        """Orthonormal bases (K, K − 1) of the admissible a and b."""
        k = np.arange(1.0, self.harmonics + 1)
        return locked(_complement(np.ones_like(k))), locked(_complement(k))

    def series(self, free: ArrayLike) -> FourierSeries:
        """Series of the free coefficients (n, free): the shift, if any, those of a, those of b."""
        shape = (len(self.joints), self.free)
        values = frozen(free, shape, where="free coefficients", error=UsageError)
        shift, of_a, of_b = np.split(
            values, [self.shifts, self.shifts + self.harmonics - 1], axis=1
        )
        a, b = of_a @ self.bases[0].T, of_b @ self.bases[1].T
        k = np.arange(1, self.harmonics + 1)
        q0 = self.start + shift.sum(axis=1) + (b / (k * self.omega)).sum(axis=1)
        return FourierSeries(joints=self.joints, omega=self.omega, a=a, b=b, q0=q0)

    def nearest(self, a: ArrayLike, b: ArrayLike) -> Array:
        """Free coefficients (n, free), unshifted, of the admissible series nearest a, b (n, K)."""
        parts = [np.asarray(a) @ self.bases[0], np.asarray(b) @ self.bases[1]]
        return np.hstack([np.zeros((len(parts[0]), int(self.shifts))), *parts])

    def maps(self, t: ArrayLike, orders: int) -> Array:
        """What the free coefficients of a joint do: (orders, N, free) at times (N,) s.

        Times the coefficients, they give the deviation from the start, velocity, acceleration, …
        """
        one = replace(self, joints=("one",), start=np.zeros(1))
        units = [one.series(unit[None]) for unit in np.eye(self.free)]
        return np.array(
            [[u.derivative(t, order)[:, 0] for u in units] for order in range(orders)]
        ).transpose(0, 2, 1)


def waves(phase: Array, harmonics: int) -> tuple[Array, Array]:
    """``sin kx`` and ``cos kx`` (N, K) of phases x (N,)."""
    x = phase[:, None] * np.arange(1, harmonics + 1)
    return np.sin(x), np.cos(x)


def _require_frequency(omega: float) -> None:
    if not (np.isfinite(omega) and omega > 0.0):
        raise UsageError("base frequency", f"{omega:g} rad/s", expected="finite, above zero")


def _complement(direction: Array) -> Array:
    """Orthonormal basis (K, K − 1) of what is orthogonal to ``direction`` (K,).

    The other columns of the Householder reflection that takes the first axis to it: the same on
    every machine, which a singular value decomposition would not be.
    """
    v = direction / np.linalg.norm(direction)
    v[0] += np.copysign(1.0, v[0])
    reflection: Array = np.eye(len(v)) - 2.0 * np.outer(v, v) / (v @ v)
    return reflection[:, 1:]
