"""How large a base parameter must be to matter: what condition numbers are relative to.

A magnitude is the value that moves the torque by as much as its noise, root mean square over a
reference motion that is the same for all robots: any position, |dq| ≤ 2, |ddq| ≤ 4 (SI), uniformly.
It depends on the robot and the noise, never on the trajectory: a path that is ten times slower
shows inertias a hundred times less, and its condition number says so. CAD values as magnitudes were
tried and not taken: they ask for the inertia of the last wrist link to a few percent, which no
motion gives, and that one column then decides everything (UR5: 1e4).
"""

from __future__ import annotations

import numpy as np

from ident.arrays import Array, locked
from ident.base.basemap import BaseMap
from ident.base.sampled import random_states
from ident.regressor.columns import Stack

_STATES = 2000  # magnitudes are then good to some percent


def magnitudes(columns: Stack, base: BaseMap, noise: Array) -> Array:
    """Magnitude (b,) of each base parameter, for torque noise (n,) of the joints."""
    motion = random_states(columns.robot, _STATES, np.random.default_rng(0))
    Y = columns.evaluate(motion)[:, base.kept] / noise[:, None, None]
    return locked(1.0 / np.sqrt(np.mean(Y**2, axis=(0, 2))))
