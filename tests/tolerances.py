"""Tolerances by reason, passed by keyword: ``assert_allclose(a, b, rtol=0, atol=ROUNDOFF)``.

Each is meant for quantities of order one; where they are not, multiply by their scale (and by the
condition number where a system was solved).
"""

ROUNDOFF = 1e-10
"""Two ways to compute the same number, some hundred operations deep."""

BACK_END = 1e-12
"""The same program run by two back ends, relative to the largest entry of a column."""

TORQUE = 1e-9
"""N·m: joint torques of two independent implementations, parameters passed through a file."""

COMPLEX_STEP = 1e-12
"""A derivative by complex step, which has no truncation error."""

FINITE_DIFFERENCE = 1e-6
"""A central difference with a step near the cube root of the machine's precision."""

SOLVER = 1e-6
"""What an interior-point solver that reports success leaves on the optimum."""

REPRODUCED = 1e-9
"""A file made again from its recipe on another machine."""
