"""The regressor ``tau = Y(q, dq, ddq)·theta``: derived by sympy, run by NumPy, column by column."""
