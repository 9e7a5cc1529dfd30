"""Which back end runs a program: NumPy at first, and the compiled one as soon as it pays.

A compiler takes about a second for a regressor, which NumPy needs for a million samples. So a
program is run with NumPy until that has cost as much as compiling would; then it is compiled, and
all later runs, of this process and others, find it in the cache. Whoever asks for little never
waits for a compiler, and nobody waits for more than twice what was needed.

``IDENT_REGRESSOR=numpy`` never compiles; ``IDENT_REGRESSOR=c`` always does, or fails.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from threading import Lock
from typing import Literal, Protocol, cast, get_args

from ident.arrays import Array, digest
from ident.errors import UsageError
from ident.regressor.native import CompilerError, build, entry_of, find_compiler
from ident.regressor.numpy_ import Runner
from ident.regressor.program import Program

logger = logging.getLogger(__name__)

Choice = Literal["auto", "numpy", "c"]

# Seconds that NumPy may spend on a program before the cache is asked for a compiled one (which
# takes 10 ms, most of it the question which compiler there is), and before it is compiled.
LOOK_S, COMPILE_S = 0.02, 1.0
_ENGINES = 64  # of programs in one process; a fleet of robots is worked off one by one

_engines: dict[tuple[str, Choice], Engine] = {}
_lock = Lock()


class BackEnd(Protocol):
    """What runs a program."""

    @property
    def name(self) -> str:
        """What it is: ``numpy``, ``c (gcc 12.2)``."""

    def __call__(self, inputs: Array, out: Array) -> None:
        """Fill ``out`` (rows, columns, N), structural zeros aside, from ``inputs``."""

    def stream(self, inputs: Array) -> Iterator[tuple[slice, Array]]:
        """Outputs block by block, row by row, without structural zeros."""


def choice() -> Choice:
    """What ``IDENT_REGRESSOR`` asks for.

    Raises
    ------
    UsageError
        Something else than ``auto``, ``numpy`` or ``c``.
    """
    given = os.environ.get("IDENT_REGRESSOR") or "auto"
    if given not in get_args(Choice):
        expected = ", ".join(get_args(Choice))
        raise UsageError("IDENT_REGRESSOR", f"'{given}'", expected=f"one of {expected}")
    return cast(Choice, given)


def engine_of(program: Program) -> Engine:
    """The engine of a program; the same one for equal programs."""
    chosen = choice()
    facts = (program.constants, program.code, program.outputs)
    key = digest([str(program.arguments), *facts]), chosen
    with _lock:
        if key not in _engines:
            while len(_engines) >= _ENGINES:
                del _engines[next(iter(_engines))]
            _engines[key] = Engine(program, chosen)
        return _engines[key]


class Engine:
    """Runs one program, with the back end that is best by now."""

    def __init__(self, program: Program, chosen: Choice) -> None:
        """Start with NumPy, or with C where that was asked for."""
        self._program = program
        self._waiting = [LOOK_S, COMPILE_S] if chosen == "auto" else []
        self._spent = 0.0
        self._lock = Lock()
        self._backend: BackEnd = self._compiled() if chosen == "c" else Runner(program)

    def __reduce__(self) -> tuple[object, ...]:
        """Travel as the program; the other process chooses for itself."""
        return engine_of, (self._program,)

    @property
    def name(self) -> str:
        """The back end in use: ``numpy``, ``c (gcc 12.2)``."""
        return self._backend.name

    def __call__(self, inputs: Array, out: Array) -> None:
        """Fill ``out`` (rows, columns, N) from ``inputs`` (number of inputs, N).

        Structural zeros are not written: ``out`` holds them already.
        """
        backend, started = self._best(), time.perf_counter()
        backend(inputs, out)
        self._spent += time.perf_counter() - started

    def stream(self, inputs: Array) -> Iterator[tuple[slice, Array]]:
        """Outputs block by block: which samples, and (outputs, samples) without structural zeros.

        Outputs stand row by row. The array is good until the next is asked for.
        """
        blocks = self._best().stream(inputs)
        while True:
            started = time.perf_counter()
            block = next(blocks, None)
            self._spent += time.perf_counter() - started
            if block is None:
                return
            yield block

    def compile(self) -> None:
        """Take the compiled back end now, for what is about to run long, where that may be."""
        with self._lock:
            if self._waiting:
                self._waiting.clear()
                self._promote(compile_now=True)

    def _best(self) -> BackEnd:
        if self._waiting and self._spent >= self._waiting[0]:
            with self._lock:
                while self._waiting and self._spent >= self._waiting[0]:
                    self._promote(compile_now=self._waiting.pop(0) >= COMPILE_S)
        return self._backend

    def _promote(self, *, compile_now: bool) -> None:
        """Take the compiled back end, if it is there or may be made; NumPy stays where it fails."""
        if os.environ.get("CC", "") in _given_up:
            return
        try:
            found = find_compiler()
            if compile_now and not entry_of(self._program, found).exists():
                size = self._program.operations
                logger.info("compiling the regressor, %d operations, for later runs too", size)
            if compile_now or entry_of(self._program, found).exists():
                self._backend = build(self._program, found)
                self._waiting = []
        except CompilerError as e:
            _give_up(e)

    def _compiled(self) -> BackEnd:
        try:
            return build(self._program, find_compiler())
        except CompilerError as e:
            raise UsageError(
                "IDENT_REGRESSOR",
                f"c, and no compiled regressor: {e}",
                expected="a C compiler, cc or $CC",
                remedy="install one, or ask for numpy",
            ) from e


# Compilers that failed, by what CC was: none is asked twice, and one record says why.
_given_up: set[str] = set()


def _give_up(e: CompilerError) -> None:
    given = os.environ.get("CC", "")
    if given not in _given_up:
        _given_up.add(given)
        logger.info("regressors run with NumPy, which is slower: %s", e)
