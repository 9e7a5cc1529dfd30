"""Closed form ``tau = M(q) ddq + C(q, dq) dq + g(q)`` of small robots, by Lagrange's equations.

Energies come from link placements and their derivatives alone, so that this shares with the
recursive Newton-Euler derivation nothing but the geometry that both start from.

References
----------
    Siciliano, Sciavicco, Villani, Oriolo (2009), "Robotics", sec. 7.1: Christoffel symbols make
    ``Ṁ − 2C`` skew-symmetric.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike

from ident.arrays import Array, frozen
from ident.errors import ModelError
from ident.model.geometry import Geometry, Vector, decimals, exact_geometry
from ident.model.robot import Robot
from ident.regressor.energies import Share, shares
from ident.regressor.harmonics import Harmonics, Space, number

# Moving links; each one more takes about ten times as long, and makes what nobody reads.
LARGEST = 4

Values = Literal["symbols", "numbers"] | Mapping[str, float | sp.Expr]
Name = Literal["M", "C", "g", "tau"]
Symbols = tuple[sp.Symbol, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class ClosedForm:
    """Equations of motion as expressions: sums of sines and cosines of multiple angles.

    What is equal is the same expression, so long as the robot's geometry is exact (see
    ``ident.model.geometry``).

    Attributes
    ----------
    q, dq, ddq : tuple of symbols (n)
        Joint coordinates and their derivatives.
    parameters : tuple of symbols
        Inertial parameters that are symbols, or the symbols that their values are made of.
    letters : tuple of symbols
        Lengths that are letters, then that of gravity.
    M, C : (n, n) matrices, g : (n, 1) matrix
        Mass matrix, Coriolis matrix by Christoffel symbols, and gravity torque +∂U/∂q.
    """

    q: Symbols
    dq: Symbols
    ddq: Symbols
    parameters: Symbols
    letters: Symbols
    M: sp.ImmutableMatrix
    C: sp.ImmutableMatrix
    g: sp.ImmutableMatrix

    @cached_property
    def tau(self) -> sp.ImmutableMatrix:
        """Joint torque ``M ddq + C dq + g``, (n, 1), as sums of products."""
        ddq, dq = sp.ImmutableMatrix(self.ddq), sp.ImmutableMatrix(self.dq)
        return (self.M * ddq + self.C * dq + self.g).applyfunc(sp.expand_mul)

    def regressor(self) -> sp.ImmutableMatrix:
        """Y (n, p) with ``tau = Y · parameters``.

        Raises
        ------
        ModelError
            The torque is not linear in the parameters, or some of it does not depend on them.
        """
        n, p = len(self.q), len(self.parameters)
        Y = sp.ImmutableMatrix(n, p, lambda i, k: self.tau[i].diff(self.parameters[k]))
        rest = self.tau - Y * sp.ImmutableMatrix(p, 1, self.parameters)
        if any(sp.expand(entry) != 0 for entry in rest):
            names = ", ".join(p.name for p in self.parameters) or "no parameters"
            raise ModelError(
                "closed form",
                f"torque that is not linear in {names}",
                expected="inertial parameters that are symbols, or linear in symbols",
            )
        return Y

    def functions(
        self, values: Mapping[str, float] | None = None
    ) -> tuple[
        Callable[[ArrayLike], Array],
        Callable[[ArrayLike, ArrayLike], Array],
        Callable[[ArrayLike], Array],
    ]:
        """``M(q)``, ``C(q, dq)`` and ``g(q)`` of numbers, given those of all other symbols.

        They take states (…, n) and return (…, n, n), (…, n, n) and (…, n).

        Raises
        ------
        ModelError
            A symbol has no value.
        """
        known = {sp.Symbol(name): sp.Float(x, 17) for name, x in (values or {}).items()}
        free = set().union(*(matrix.free_symbols for matrix in (self.M, self.C, self.g)))
        if missing := sorted(s.name for s in free - {*self.q, *self.dq, *known}):
            raise ModelError("closed form", f"no value for {', '.join(missing)}")
        M, C, g = (
            _function(A.xreplace(known), (*self.q, *self.dq)) for A in (self.M, self.C, self.g)
        )
        n = len(self.q)
        return (
            lambda q: M(q, np.zeros(n)),
            C,
            lambda q: g(q, np.zeros(n))[..., 0],
        )

    def latex(self, name: Name) -> str:
        """One of the matrices in LaTeX, with dots for derivatives.

        Raises
        ------
        ModelError
            Another name than ``M``, ``C``, ``g`` or ``tau``.
        """
        if name not in get_args(Name):
            expected = f"one of {', '.join(get_args(Name))}"
            raise ModelError("closed form", f"no matrix '{name}'", expected=expected)
        dotted = {
            symbol: rf"{dot}{{q}}_{{{i}}}"
            for dot, symbols in ((r"\dot", self.dq), (r"\ddot", self.ddq))
            for i, symbol in enumerate(symbols, start=1)
        }
        return str(sp.latex(getattr(self, name), symbol_names=dotted))


def lagrange(
    robot: Robot,
    parameters: Values = "symbols",
    *,
    gravity: str | None = None,
    largest: int = LARGEST,
) -> ClosedForm:
    """Closed form of a robot of few links; mimic joints and lengths that are letters included.

    Parameters
    ----------
    parameters : "symbols", "numbers" or mapping
        Inertial parameters as symbols of their names (``m1``, ``mx1`` … ``Izz2``), as the robot's
        own numbers, or as numbers and expressions by name; those that a mapping leaves out are
        symbols. Numbers are taken as they are written with 15 digits: 0.1 is 1/10.
    gravity : str, optional
        A letter for the magnitude of gravity.
    largest : int
        How many moving links are not too many.

    Raises
    ------
    ModelError
        Too many links, a parameter that does not exist or is no constant, or a letter that means
        something else.

    Examples
    --------
    >>> import ident
    >>> form = ident.lagrange(ident.load_symbolic("planar2r"))
    >>> form.M[1, 1]
    Izz2
    >>> form.M[0, 1]
    Izz2 + a2*mx2*cos(q2) - a2*my2*sin(q2)
    >>> form.g[1]
    981*mx2*cos(q1 + q2)/100 - 981*my2*sin(q1 + q2)/100
    """
    if (links := len(robot.links)) > largest:
        raise ModelError(
            f"robot '{robot.name}'",
            f"{links} moving links",
            expected=f"at most {largest} for a closed form",
            remedy=f"use mass_matrix, gravity_torque and inverse_dynamics, or pass largest={links}",
        )
    values, geometry = _values(robot, parameters), exact_geometry(robot)
    q, dq, ddq = (tuple(sp.symbols(f"{s}1:{robot.n + 1}")) for s in ("q", "dq", "ddq"))
    letters = geometry.letters
    if gravity is not None:
        letters = (*letters, _letter(gravity, {*q, *dq, *ddq, *letters, *values.values()}))
    space = Space(robot.n, len(letters))
    pull = _gravity(space, geometry)
    names = [name for name, value in values.items() if value != 0]
    parts = [(values[name], share) for name, share in shares(space, geometry, pull, names).items()]
    M, C, g = _matrices(parts, q, dq, letters)
    made_of = (s for v in values.values() for s in sorted(v.free_symbols, key=lambda s: s.name))
    return ClosedForm(
        q=q,
        dq=dq,
        ddq=ddq,
        parameters=tuple(dict.fromkeys(s for s in made_of if s not in letters)),
        letters=letters,
        M=M,
        C=C,
        g=g,
    )


def _matrices(
    parts: list[tuple[sp.Expr, Share]], q: Symbols, dq: Symbols, letters: Symbols
) -> tuple[sp.ImmutableMatrix, sp.ImmutableMatrix, sp.ImmutableMatrix]:
    """M, C and g of parameters and their shares."""
    n = range(len(q))

    def total(of: Callable[[Share], Harmonics]) -> sp.Expr:
        return _sum([(value, of(share)) for value, share in parts], q, letters)

    @functools.cache
    def mass(i: int, j: int) -> sp.Expr:
        return total(lambda share: share.M[i][j])

    @functools.cache
    def christoffel(i: int, j: int, k: int) -> sp.Expr:
        return total(lambda share: share.christoffel(i, j, k))

    def coriolis(i: int, j: int) -> sp.Expr:
        return sp.Add(*(sp.expand_mul(christoffel(i, *sorted((j, k))) * dq[k]) for k in n))

    def torque(i: int) -> sp.Expr:
        return total(lambda share: share.U.derivative(i))

    return (
        sp.ImmutableMatrix([[mass(*sorted((i, j))) for j in n] for i in n]),
        sp.ImmutableMatrix([[coriolis(i, j) for j in n] for i in n]),
        sp.ImmutableMatrix([torque(i) for i in n]),
    )


def _sum(parts: list[tuple[sp.Expr, Harmonics]], q: Symbols, letters: Symbols) -> sp.Expr:
    """Harmonics times the values of their parameters, as a sum of products."""
    numbers = (share.scaled(number(value)) for value, share in parts if value.is_Number)
    together = functools.reduce(operator.add, numbers, Harmonics({}))
    products = [
        factor * term
        for value, share in parts
        if not value.is_Number
        for factor in sp.Add.make_args(sp.expand(value))
        for term in share.expressions(q, letters)
    ]
    return sp.Add(*together.expressions(q, letters), *products)


def _values(robot: Robot, parameters: Values) -> dict[str, sp.Expr]:
    """Value of each inertial parameter, by name."""
    names = robot.inertial_names
    values = {name: sp.Symbol(name) for name in names}
    if not isinstance(parameters, Mapping):
        choices = {
            "symbols": lambda: values,
            "numbers": lambda: dict(zip(names, _written(robot.pi), strict=True)),
        }
        if parameters not in choices:
            expected = "'symbols', 'numbers', or values by name"
            raise ModelError("inertial parameters", repr(parameters), expected=expected)
        return choices[parameters]()
    for name, value in parameters.items():
        if name not in values:
            expected = f"one of {names[0]} … {names[-1]}"
            raise ModelError(f"robot '{robot.name}'", f"no parameter '{name}'", expected=expected)
        if isinstance(value, sp.Expr):
            values[name] = _constant(value, name, robot.n)
        else:
            (values[name],) = _written(frozen([value], (1,), where=f"inertial parameter {name}"))
    return values


def _constant(value: sp.Expr, name: str, n: int) -> sp.Expr:
    """The value, unless it moves with the robot or is no number."""
    where = f"inertial parameter {name}"
    moving = {f"{s}{i + 1}" for s in ("q", "dq", "ddq") for i in range(n)}
    if found := sorted(moving.intersection(map(str, value.free_symbols))):
        raise ModelError(where, f"depends on {found[0]}", expected="a constant")
    if value.has(sp.nan, sp.oo, -sp.oo, sp.zoo, sp.I):
        raise ModelError(where, str(value), expected="a finite, real value")
    return value


def _written(values: Array) -> Vector:
    """Numbers of 15 digits: a parallel axis or a turn leaves 0.48500000000000001 of 0.485."""
    return decimals(np.array([float(f"{x:.15g}") for x in values.tolist()]))


def _letter(name: str, taken: set[sp.Expr]) -> sp.Symbol:
    letter = sp.Symbol(name)
    if not name.isidentifier() or any(letter in other.free_symbols for other in taken):
        found, expected = f"letter '{name}'", "a name that nothing else has, such as g"
        raise ModelError("gravity", found, expected=expected)
    return letter


def _gravity(space: Space, geometry: Geometry) -> list[Harmonics]:
    """Gravity vector (3,) in the base frame, times the last letter if it is gravity's."""
    if space.letters == len(geometry.letters):
        return [space.constant(x) for x in geometry.gravity]
    size = sp.sqrt(sp.Add(*(x * x for x in geometry.gravity)))
    if size == 0:
        raise ModelError("gravity", "none, and a letter for it", expected="a direction")
    letter = space.symbol(space.coordinates + space.letters - 1)
    return [letter.scaled(number(x / size)) for x in geometry.gravity]


def _function(matrix: sp.ImmutableMatrix, symbols: Symbols) -> Callable[..., Array]:
    """A matrix as a function of several states (…, n)."""
    entries = sp.lambdify(symbols, list(matrix), "numpy", cse=True)

    def evaluate(*states: ArrayLike) -> Array:
        arrays = np.broadcast_arrays(*(np.asarray(s, dtype=np.float64) for s in states))
        columns = [column for array in arrays for column in np.moveaxis(array, -1, 0)]
        values = np.broadcast_arrays(columns[0], *entries(*columns))[1:]
        return np.stack(values, axis=-1).reshape(*arrays[0].shape[:-1], *matrix.shape)

    return evaluate
