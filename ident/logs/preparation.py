"""Preparation: how a log is filtered, masked and cut, in one option object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ident.errors import UsageError
from ident.logs.filters import EDGE, settling_time
from ident.logs.recording import Facts


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """Options of `prepare`.

    Attributes
    ----------
    cutoff_hz : float or None
        −6 dB of the zero-phase low-pass that position passes. None: forty times the highest
        harmonic of the excitation, within 10 to 20 Hz; 20 Hz where that is not known;
        never above 0.4 of the rate. It has to pass what a controller does about friction at a
        reversal, which is far above the harmonics: at 10 Hz friction is off by 0.3 %, at 20 Hz by
        0.02 %.
    order : int
        Of the Butterworth filter, which is run forward and backward.
    decimation_hz : float or None
        Cut-off of the low-pass that regressor columns and torque both pass before decimation;
        None: half of cutoff_hz. Position is filtered before the regressor and torque after it:
        the two agree where the first filter is flat, and there the noise of the rows is white.
    reversal_speed, reversal_s : float
        Rows of a joint slower than this (rad/s or m/s), and those within this time of them, are
        masked: there friction is not what any column says.
    skip_s : (start, end) s
        Left out of every log, beyond what filters need.
    torque_delay_s : tuple of float
        By which torque lags position, per joint; empty for none.
    block_rows : int
        Rows that a block owns.
    halo_s : float
        Rows before and after a block's own, for filters of the consumer beyond the decimator's.
    velocity : str
        ``derived`` from position, or ``measured``.
    """

    cutoff_hz: float | None = None
    order: int = 4
    decimation_hz: float | None = None
    reversal_speed: float = 0.05
    reversal_s: float = 0.025
    skip_s: tuple[float, float] = (0.0, 0.0)
    torque_delay_s: tuple[float, ...] = ()
    block_rows: int = 8192
    halo_s: float = 0.0
    velocity: Literal["derived", "measured"] = "derived"

    def __post_init__(self) -> None:
        """Refuse what no filter can do."""
        for name in ("cutoff_hz", "decimation_hz", "order", "block_rows"):
            value = getattr(self, name)
            if value is not None and not 0 < value < np.inf:
                raise UsageError(f"option {name}", f"{value}", expected="a positive number")
        waits = ("reversal_speed", self.reversal_speed), ("reversal_s", self.reversal_s)
        for name, value in (*waits, ("halo_s", self.halo_s), *(("skip_s", s) for s in self.skip_s)):
            if not 0 <= value < np.inf:
                raise UsageError(f"option {name}", f"{value}", expected="zero or more")
        if self.velocity not in ("derived", "measured"):
            raise UsageError("option velocity", self.velocity, expected="derived or measured")

    def resolved(self, facts: Facts, rate_hz: float) -> Filtering:
        """Return the filtering of a log with these facts and this rate."""
        cutoff = self.cutoff_hz
        if cutoff is None:
            highest = facts.highest_harmonic_hz
            cutoff = 20.0 if highest is None else float(np.clip(40.0 * highest, 10.0, 20.0))
        cutoff = min(cutoff, 0.4 * rate_hz)
        decimation = self.decimation_hz or 0.5 * cutoff
        return Filtering(
            rate_hz=rate_hz,
            cutoff_hz=cutoff,
            order=self.order,
            decimation_hz=min(decimation, 0.5 * rate_hz),
        )


@dataclass(frozen=True, kw_only=True)
class Filtering:
    """Cut-offs (Hz) as they apply to one log."""

    rate_hz: float
    cutoff_hz: float
    order: int
    decimation_hz: float

    @property
    def trim_s(self) -> float:
        """Time at either end of a segment in which the transient of its edge dies."""
        return self.settling(EDGE)

    def settling(self, tolerance: float) -> float:
        """Time in s in which the low-pass forgets to ``tolerance``."""
        return settling_time(self.cutoff_hz, self.rate_hz, self.order, tolerance)
