"""What is believed before the fit: values, and how large each parameter is.

CAD says both where it says anything. Where it is silent (a link without inertia, friction without a
guess) nothing is believed in SI units: a finger of a gram and a boom of a ton have no typical
newton metre in common. Sizes then come from the torque of the log, and lengths from the distances
between joints, so that a robot in other units gives the same answer in other units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ident.arrays import Array, locked
from ident.base.basemap import BaseMap
from ident.conventions import INERTIAL
from ident.fit.options import FitOptions
from ident.model import inertia
from ident.model.robot import Robot
from ident.regressor.columns import Stack

# A guess is a guess: its pull is hundreds of times weaker than that of CAD.
_GUESS_STD = 10.0
# What is unknown is taken for a tenth of what it could be, so that its deviation spans all of that:
# a missing body has a tenth of a link's mass, friction a tenth of its joint's torque.
_UNKNOWN = 1.0 / _GUESS_STD
_LENGTH = 0.1  # m, of links whose joints lie in one point
_SLENDER = 0.1  # radius of a body that is given as a point, in lengths of its link


@dataclass(frozen=True, eq=False, kw_only=True)
class Prior:
    """What is believed before the data: values, and the size of each parameter.

    Attributes
    ----------
    theta : (p,)
        Physically possible values.
    size : (p,)
        Mass, mass times radius of gyration, its square, for the link's inertial parameters; the
        guess, or a tenth of what would explain the torque, for those of drives.
    std : (p,)
        Standard deviation in units of ``size``.
    length : (links,)
        Radius of gyration about the link origin, m.
    """

    theta: Array
    size: Array
    std: Array
    length: Array

    def base_size(self, base: BaseMap) -> Array:
        """Size (b,) of each base parameter: those of its members, root-sum-square."""
        return np.sqrt(base.grouping**2 @ self.size**2)

    def base_std(self, base: BaseMap) -> Array:
        """Standard deviation (b,) of each base parameter, members independent."""
        return np.sqrt(base.grouping**2 @ (self.size * self.std) ** 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """Torque of a log in few numbers: all that sizes of unknown parameters need.

    Attributes
    ----------
    columns : (m, p)
        Factor of the rows of all columns, those of every joint relative to its own torque.
    torque : float
        Norm of the torque of one joint in the same rows.
    """

    columns: Array
    torque: float

    @classmethod
    def of(cls, R: Array, base: BaseMap) -> Evidence:
        """Evidence of the factors (n, b + 1, b + 1) of ``[Y_j[:, kept] | tau_j]``."""
        norms = np.linalg.norm(R[:, :, -1], axis=1)
        moved = norms > 0.0
        rows = (R[moved, :, :-1] / norms[moved, None, None]).reshape(-1, base.rank)
        return cls(columns=rows @ base.grouping, torque=1.0 if moved.any() else 0.0)

    def explains(self, directions: Array) -> Array:
        """How far to go along directions (p, k) until their torque is that of one joint (k,).

        NaN where no row shows the direction.
        """
        shown = np.linalg.norm(self.columns @ directions, axis=0)
        enough = shown > 1e-9 * shown.max(initial=0.0)
        return np.where(enough, self.torque, np.nan) / np.where(enough, shown, 1.0)


def prior_of(columns: Stack, options: FitOptions, evidence: Evidence | None = None) -> Prior:
    """Prior from the description: impossible tensors made possible, missing bodies made small.

    Without ``evidence`` a robot without any mass is taken for one of 1 kg a link, and what is not
    known of a drive for one.
    """
    theta = np.array(columns.guess)
    size = np.ones_like(theta)
    std = np.full_like(theta, options.prior_std)
    pi = theta[columns.inertial].reshape(-1, 10)
    far = _distance(columns.robot)
    length = np.empty(len(pi))
    missing = pi[:, 0] <= 0.0
    if missing.any():
        mass = _UNKNOWN * _typical_mass(columns, pi, far, evidence)
        pi[missing] = inertia.pi_from_com(mass, np.zeros(3), 2.0 / 3.0 * mass * far**2 * np.eye(3))
    for i, link in enumerate(pi):
        link[:], length[i] = _possible(link, far)
    theta[columns.inertial] = pi.ravel()
    size[columns.inertial] = (pi[:, :1] * mass_powers(length)).ravel()
    std[columns.inertial] = np.repeat(np.where(missing, _GUESS_STD, options.prior_std), 10)
    drive = ~columns.inertial
    known = drive & (theta > 0.0)
    size[known] = theta[known]
    size[drive & ~known] = _drive_sizes(columns, evidence)[drive & ~known]
    # Armature is CAD where it is given; everything else about drives is a guess.
    std[drive & ~(known & columns.which("armature"))] = _GUESS_STD
    return Prior(theta=locked(theta), size=locked(size), std=locked(std), length=locked(length))


def mass_powers(length: Array) -> Array:
    """(links, 10): 1, length and length² for mass, first moments and tensor."""
    one = np.ones((len(length), 1))
    L = length[:, None]
    return np.hstack([one, np.repeat(L, 3, axis=1), np.repeat(L**2, 6, axis=1)])


def _distance(robot: Robot) -> float:
    """Half the mean distance between joints, m: how far a body of this robot reaches."""
    steps = np.array([np.linalg.norm(link.joint.p0) for link in robot.links])
    apart = steps[steps > 1e-6 * steps.max()]
    return 0.5 * float(apart.mean()) if len(apart) else _LENGTH


def _possible(link: Array, far: float) -> tuple[Array, float]:
    """The nearest body that can exist, and its radius of gyration about the link origin."""
    thin = (_SLENDER * far) ** 2 * link[0]
    length = float(np.sqrt(max(_second_moment(link), thin) / link[0]))
    own = link / (link[0] * mass_powers(np.array([length]))[0])
    if inertia.smallest_eigenvalue(own) > 1e-9:
        return link, length
    link = inertia.nearest_physical(link)
    point = not inertia.inertia_c_of(link).any()
    if point:
        link = inertia.pi_from_com(link[0], inertia.com_of(link), thin * np.eye(3))
    length = float(np.sqrt(_second_moment(link) / link[0]))
    # Where a description gives no tensor, its body has the reach of any other.
    return link, max(length, far) if point else length


def _second_moment(pi: Array) -> float:
    return float(np.trace(inertia.pseudo_inertia(pi)[:3, :3]))


def _typical_mass(columns: Stack, pi: Array, far: float, evidence: Evidence | None) -> float:
    """Mass (kg) of a link: the mean of those described, else what would explain the torque."""
    described = pi[:, 0] > 0.0
    if described.any():
        return float(pi[described, 0].mean())
    if evidence is None:
        return 1.0
    bodies = np.zeros((len(columns.columns), 1))
    unit = inertia.pi_from_com(1.0, np.full(3, far / np.sqrt(3.0)), far**2 * np.eye(3))
    bodies[columns.inertial, 0] = np.tile(unit, len(pi))
    mass = float(evidence.explains(bodies)[0])
    return mass if mass > 0.0 else 1.0


def _drive_sizes(columns: Stack, evidence: Evidence | None) -> Array:
    """Size (p,) of what a drive's parameter may be where nothing is said of it."""
    p = len(columns.columns)
    if evidence is None:
        return np.ones(p)
    size = np.ones(p)
    for kind in {column.kind for column in columns.columns} - set(INERTIAL):
        which = columns.which(kind)
        own = _UNKNOWN * evidence.explains(np.eye(p)[:, which])
        seen = own > 0.0
        if seen.any():
            size[which] = np.where(seen, own, np.median(own[seen]))
    return size
