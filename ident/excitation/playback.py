"""A trajectory as set-points at a fixed rate."""

from __future__ import annotations

from ident.arrays import Array
from ident.excitation.fourier import Trajectory


def setpoints(trajectory: Trajectory, rate_hz: float | None = None) -> dict[str, Array]:
    """Columns of the canonical log: ``time``, then position, velocity, acceleration by joint.

    ``rate_hz`` is by default the trajectory's own; both ends are included.
    """
    t, motion = trajectory.sample(rate_hz)
    columns = {"time": t}
    for quantity, values in (
        ("position", motion.q),
        ("velocity", motion.dq),
        ("acceleration", motion.ddq),
    ):
        for joint, values_of_joint in zip(trajectory.joints, values.T, strict=True):
            columns[f"{joint}/{quantity}"] = values_of_joint
    return columns
