"""The C source of a program that runs over many samples, a vector register of them at a time.

GNU C, as gcc and clang compile it: its vector types hold as many samples as a register of the
machine. Outputs go into a block of `BLOCK` samples that stays in the cache, at distances that are
known beforehand, which is what makes it fast: written straight to rows far apart, a 7-joint
regressor takes eight times as long. Sine and cosine have no vector form in C's library.
"""

from __future__ import annotations

import functools
from string import Template

import numpy as np

from ident.regressor.program import Program
from ident.regressor.sines import EVEN, FAR, ODD, PARTS, ROUND, TURNS
from ident.regressor.statements import Operand, Statement, expression, statements

BLOCK = 256  # samples
STRIDE = BLOCK + 8  # rows a power of two apart would meet in the same sets of a cache

_FRAME = Template(r"""#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
typedef double lane __attribute__((vector_size(8 * LANES), aligned(8)));
typedef long long bits __attribute__((vector_size(8 * LANES), aligned(8)));

static lane where(bits mask, lane yes, lane no)
{
    return (lane)(((bits)yes & mask) | ((bits)no & ~mask));
}

static __attribute__((noinline)) void far_turn(lane x, lane *s, lane *c)
{
    for (int l = 0; l < LANES; l++)
        if (!(fabs(x[l]) <= $far)) {
            (*s)[l] = sin(x[l]);
            (*c)[l] = cos(x[l]);
        }
}

/* Sine and cosine, each operation as NumPy's back end has it. */
static inline void turn(lane x, lane *s, lane *c)
{
    const lane shifted = x * $turns + $round;
    const lane n = shifted - $round;
    const lane r = $reduced;
    const lane z = r * r;
    const lane odd = $odd * (r * z) + r;
    const lane even = $even * z + 1.0;
    const bits k = (bits)shifted, swap = -(k & 1);
    *s = (lane)((bits)where(swap, even, odd) ^ ((k & 2) << 62));
    *c = (lane)((bits)where(swap, odd, even) ^ (((k + 1) & 2) << 62));
    const bits far = ~((x <= $far) & (x >= -$far));
    long long any = 0;
    for (int l = 0; l < LANES; l++)
        any |= far[l];
    if (any)
        far_turn(x, s, c);
}

/* Fill a block (outputs, $stride) from rows of LANES samples or more; lanes may overlap. */
void block(long count, const double *const *in, double *restrict out)
{
    for (long s = 0; s < count; s += LANES) {
        const long k = s + LANES <= count ? s : count - LANES;
$body
    }
}

/* The same for more samples, each output into a row of its own. */
void rows(long count, const double *const *in, double *restrict buffer, double *const *out)
{
    const double *here[$inputs];
    for (long s = 0; s < count; s += $block) {
        const long n = count - s < $block ? count - s : $block;
        const long back = n < LANES ? LANES - n : 0;
        for (int i = 0; i < $inputs; i++)
            here[i] = in[i] + s - back;
        block(n + back, here, buffer);
        for (int i = 0; i < $outputs; i++)
            memcpy(out[i] + s, buffer + i * $stride + back, n * sizeof(double));
    }
}
""")


def kernel_source(program: Program) -> str:
    """C source with ``block`` and ``rows``: outputs row by row, without structural zeros."""
    places = np.argwhere(program.outputs >= 0).tolist()
    body = _Body(program.constants.tolist(), {(i, j): k for k, (i, j) in enumerate(places)})
    for statement in statements(program):
        body.add(statement)
    return _FRAME.substitute(
        far=repr(FAR),
        turns=TURNS.hex(),
        round=ROUND.hex(),
        reduced=functools.reduce(lambda x, part: f"({x} - n * {part.hex()})", PARTS, "x"),
        odd=_series(ODD),
        even=_series(EVEN),
        body="\n".join(f"        {line}" for line in body.lines),
        inputs=len(program.inputs),
        outputs=len(places),
        block=BLOCK,
        stride=STRIDE,
    )


def _series(coefficients: tuple[float, ...]) -> str:
    """``a + z (b + z (…))`` as C."""
    *rest, text = (repr(coefficient) for coefficient in coefficients)
    for coefficient in reversed(rest):
        text = f"({text} * z + {coefficient})"
    return text


class _Body:
    """Statements of a program as C on lanes."""

    def __init__(self, constants: list[float], slots: dict[tuple[int, int], int]) -> None:
        self.lines: list[str] = []
        self._constants, self._slots = constants, slots
        self._read: set[int] = set()
        self._turned: dict[Operand, int] = {}

    def add(self, statement: Statement) -> None:
        if statement.operation in ("sin", "cos"):
            value = f"{statement.operation}{self._turn(statement.operands[0])}"
        else:
            value = expression(statement, self._name)
            if all(operand.kind == "constant" for operand in statement.operands):
                value = f"(lane){{0}} + ({value})"
        if statement.result is not None:
            self.lines.append(f"const lane t{statement.result} = {value};")
            value = f"t{statement.result}"
        for place in statement.outputs:
            self.lines.append(f"*(lane *)(out + {self._slots[place] * STRIDE} + k) = {value};")

    def _turn(self, angle: Operand) -> int:
        """Number of the pair of sine and cosine of an angle, which are computed together."""
        if angle not in self._turned:
            number = self._turned[angle] = len(self._turned)
            self.lines.append(f"lane sin{number}, cos{number};")
            value = self._name(angle)
            splat = "(lane){0} + " if angle.kind == "constant" else ""
            self.lines.append(f"turn({splat}{value}, &sin{number}, &cos{number});")
        return self._turned[angle]

    def _name(self, operand: Operand) -> str:
        if operand.kind == "constant":
            return repr(self._constants[operand.number])
        if operand.kind == "result":
            return f"t{operand.number}"
        if operand.number not in self._read:
            self._read.add(operand.number)
            row = f"in[{operand.number}]"
            self.lines.append(f"const lane x{operand.number} = *(const lane *)({row} + k);")
        return f"x{operand.number}"
