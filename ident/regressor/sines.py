"""Sine and cosine in a fixed order of sums and products, so that back ends round alike.

NumPy's sine is a different one on each processor, and C's library has none for vectors: a result
would depend, in its last digit, on which back end computed it, and a fit on when a compiler was
done. These are right to two units in the last place.

References
----------
    Cody, Waite (1980), "Software manual for the elementary functions": π/2 in parts with so few
    digits that multiples of the first ones are exact; then Taylor's series on ±π/4.
"""

from __future__ import annotations

import math

import numpy as np

from ident.arrays import Array

# Radians up to which multiples of the parts are exact; the library's functions serve beyond.
FAR = 1e6
TURNS = 2.0 / math.pi
# Added and taken away again, this leaves the nearest integer, whose last bits end the sum.
ROUND = 1.5 * 2.0**52
PARTS = tuple(
    float.fromhex(part) for part in ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69")
)
# −1/3!, 1/5!, … and −1/2!, 1/4!, …; the next terms are below 1e-17 at π/4.
ODD, EVEN = (
    tuple((-1.0) ** (k + 1) / math.factorial(order) for k, order in enumerate(range(first, 19, 2)))
    for first in (3, 2)
)


def turn(x: Array) -> tuple[Array, Array]:
    """Sine and cosine of angles in radians."""
    if np.abs(x).max(initial=0.0) > FAR:
        far = np.abs(x) > FAR
        sine, cosine = turn(np.where(far, 0.0, x))
        sine[far], cosine[far] = np.sin(x[far]), np.cos(x[far])
        return sine, cosine
    shifted = x * TURNS
    shifted += ROUND
    n = shifted - ROUND
    r = x.copy()
    for part in PARTS:
        r -= n * part
    z = r * r
    odd = _horner(ODD, z)
    odd *= r * z
    odd += r
    even = _horner(EVEN, z)
    even *= z
    even += 1.0
    # Quadrants by their bits: the two change places in odd ones, signs are the top bit.
    k, s, c = (values.view(np.int64) for values in (shifted, odd, even))
    swap = s ^ c
    swap &= -(k & 1)
    s ^= swap
    c ^= swap
    s ^= (k & 2) << 62
    c ^= ((k + 1) & 2) << 62
    return odd, even


def _horner(coefficients: tuple[float, ...], z: Array) -> Array:
    total = z * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        total += coefficient
        total *= z
    total += coefficients[0]
    return total
