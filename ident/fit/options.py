"""What a fit is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ident.regressor.friction import DEFAULT

Method = Literal["physical", "wls", "ols"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options of ``estimate``.

    Attributes
    ----------
    method : str
        ``physical``: weighted least squares under physical consistency, with a small pull to CAD;
        ``wls`` and ``ols``: least squares alone, in base parameters.
    friction : tuple of str
        Friction terms to fit; see ``ident.regressor.friction``.
    prior_std : float
        How far CAD may be off, as one standard deviation relative to each link's own size: the pull
        that makes the physical estimate unique. CAD models are wrong by 5-50 %.
    margin : float
        Smallest eigenvalue that each link's pseudo-inertia must keep, in the link's own units.
    """

    method: Method = "physical"
    friction: tuple[str, ...] = DEFAULT
    prior_std: float = 0.5
    margin: float = 1e-4
