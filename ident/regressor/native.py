"""Programs compiled for this machine: with ``$CC`` or ``cc``, once, and kept in the cache.

An entry of the cache is a shared library behind its digest. It is never loaded from there but from
a private copy, after the digest was found right: neither a damaged file nor one that another
process is about to replace is ever mapped.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ident import __version__
from ident.arrays import Array, digest
from ident.cache import cache_directory, cached
from ident.regressor.kernel import BLOCK, STRIDE, kernel_source
from ident.regressor.numpy_ import Runner
from ident.regressor.program import Program

TIMEOUT_S = 60.0  # UR5 takes 0.5 s, a tree of nine joints 2 s
_LANES = 8  # the most that a register holds
# -O3 takes half as long again as -O1 and gains nothing: there is neither loop nor branch.
# What $CC itself asks for must not change a sum: the later flag holds.
_EXACT = (
    "-ffp-contract=off",
    "-fno-fast-math",
    "-fno-unsafe-math-optimizations",
    "-fno-associative-math",
    "-fno-reciprocal-math",
)
_FLAGS = ("-std=gnu99", "-O1", *_EXACT, "-fPIC", "-shared")
PROBE_S = 5.0  # to say what it is
_SHARE = 16 * BLOCK  # samples that are worth a thread

Pointers = np.ndarray[tuple[int], np.dtype[np.intp]]  # addresses, by rows


class CompilerError(Exception):
    """No library came of a program: why, in one line."""


class _Endless(CompilerError):
    """A compiler that does not end in time."""


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A C compiler and what it makes of this machine.

    Attributes
    ----------
    command : tuple of str
        With the flag that asks for this machine's own instructions, where it knows them.
    name : str
        ``gcc 12.2``, ``clang 17.0``.
    identity : str
        Digest of its predefined macros, which tell version and instruction sets.
    """

    command: tuple[str, ...]
    name: str
    identity: str


def find_compiler() -> Compiler:
    """``$CC`` or ``cc``; CompilerError where it does not run."""
    found = _probed(os.environ.get("CC") or "cc")
    if isinstance(found, CompilerError):
        raise found
    return found


@functools.cache
def _probed(given: str) -> Compiler | CompilerError:
    """The compiler of that name, or what is wrong with it; asked once."""
    try:
        command = (*shlex.split(given), "-march=native")
        probe = ("-dM", "-E", "-x", "c", os.devnull)
        try:
            macros = _run((*command, *probe), PROBE_S)
        except _Endless:
            raise
        except CompilerError:  # some know no machine but the one that they were built for
            command = command[:-1]
            macros = _run((*command, *probe), PROBE_S)
    except (CompilerError, ValueError) as e:
        return CompilerError(f"'{given}': {e}")
    lines = (line.split(maxsplit=2) for line in macros.splitlines())
    facts = {line[1]: line[2] for line in lines if len(line) == 3}
    clang = "__clang__" in facts
    names = ("__clang_major__", "__clang_minor__") if clang else ("__GNUC__", "__GNUC_MINOR__")
    version = ".".join(facts.get(name, "?") for name in names)
    name = f"{'clang' if clang else 'gcc'} {version}"
    return Compiler(command=command, name=name, identity=digest([macros]))


def entry_of(program: Program, compiler: Compiler) -> Path:
    """Where the cache keeps the library of a program."""
    return cache_directory() / _key(kernel_source(program), compiler)


def build(program: Program, compiler: Compiler) -> Kernel:
    """The kernel of a program, from the cache or compiled now.

    Raises
    ------
    CompilerError
        The compiler fails or does not end, or what it made cannot be loaded or computes something
        else than NumPy.
    """
    source = kernel_source(program)
    key = _key(source, compiler)
    content = cached(key, lambda: _compiled(source, compiler), _sealed, _unsealed)
    try:
        kernel = Kernel(program, _loaded(content), f"c ({compiler.name})")
    except AttributeError as e:
        raise CompilerError(f"the library lacks what it was made for: {e}") from e
    _compare(kernel, program)
    return kernel


def _compare(kernel: Kernel, program: Program) -> None:
    """CompilerError unless some states give the same as NumPy, to the last bit."""
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-9.0, 9.0, size=(len(program.inputs), 2 * _LANES + 1))
    ours, theirs = np.zeros((2, *program.outputs.shape, inputs.shape[1]))
    kernel(inputs, ours)
    Runner(program)(inputs, theirs)
    if not np.array_equal(ours, theirs):
        raise CompilerError("the library rounds otherwise than NumPy, or computes something else")


def _key(source: str, compiler: Compiler) -> str:
    facts = [__version__, compiler.identity, *compiler.command, *_FLAGS, source]
    return f"kernel-{digest(facts)[:32]}.so"


def _compiled(source: str, compiler: Compiler) -> bytes:
    try:
        with tempfile.TemporaryDirectory(prefix="ident-") as folder:
            file, library = Path(folder) / "kernel.c", Path(folder) / "kernel.so"
            file.write_text(source, encoding="utf-8")
            _run((*compiler.command, *_FLAGS, str(file), "-o", str(library), "-lm"))
            return library.read_bytes()
    except OSError as e:
        raise CompilerError(f"'{compiler.command[0]}' left no library: {e}") from e


def _run(command: tuple[str, ...], limit_s: float | None = None) -> str:
    """Standard output of a command; CompilerError where it fails or does not end in time."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            # A session of its own: a compiler is several processes, and all of them must end.
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )
        except OSError as e:
            raise CompilerError(e.strerror or str(e)) from e
        try:
            status = process.wait(limit_s or TIMEOUT_S)
        except subprocess.TimeoutExpired as e:
            raise _Endless(f"no answer in {limit_s or TIMEOUT_S:g} s") from e
        finally:
            if process.poll() is None:
                _end(process)
        if status:
            err.seek(0)
            lines = err.read().decode(errors="replace").strip().splitlines() or ["no message"]
            raise CompilerError(f"exit code {status}: {lines[0][:200]}")
        out.seek(0)
        return out.read().decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):  # no groups on this system, or gone already
        process.kill()
    process.wait()


def _sealed(library: bytes) -> bytes:
    return digest([library]).encode() + b"\n" + library


def _unsealed(content: bytes) -> bytes:
    line, _, library = content.partition(b"\n")
    if line != digest([library]).encode():
        raise ValueError("damaged")
    return library


def _loaded(library: bytes) -> ctypes.CDLL:
    try:
        with tempfile.TemporaryDirectory(prefix="ident-", ignore_cleanup_errors=True) as folder:
            file = Path(folder) / "kernel.so"
            file.write_bytes(library)
            return ctypes.CDLL(str(file))
    except OSError as e:
        raise CompilerError(f"the library cannot be loaded: {e}") from e


class Kernel:
    """A compiled program. Lanes do not mix: a sample's result is the same in any company."""

    def __init__(self, program: Program, library: ctypes.CDLL, name: str) -> None:
        """Bind the functions of ``library``."""
        self.name = name
        self._inputs = len(program.inputs)
        self._seen = np.argwhere(program.outputs >= 0)
        self._block, self._rows = library.block, library.rows
        pointer = ctypes.c_void_p
        self._block.argtypes = [ctypes.c_long, pointer, pointer]
        self._rows.argtypes = [ctypes.c_long, pointer, pointer, pointer]
        self._block.restype = self._rows.restype = None

    def __call__(self, inputs: Array, out: Array) -> None:
        """Fill ``out`` (rows, columns, N) from ``inputs`` (number of inputs, N).

        Structural zeros are not written: ``out`` holds them already.
        """
        assert len(inputs) == self._inputs  # what C reads beyond them is somebody else's memory
        total = inputs.shape[1]
        if total < _LANES or out.strides[2] != out.itemsize:
            i, j = self._seen.T
            for here, values in self.stream(inputs):
                out[i, j, here] = values
            return
        inputs = _rows_of(inputs)
        to = (out.ctypes.data + self._seen @ out.strides[:2]).astype(np.intp)
        shares = min(threads(), max(total // _SHARE, 1))
        blocks = total // BLOCK
        bounds = [*(blocks * k // shares * BLOCK for k in range(shares)), total]

        def share(start: int, stop: int) -> None:
            buffer = self._buffer()
            here, there = _pointers(inputs, start), to + start * out.itemsize
            addresses = (here.ctypes.data, buffer.ctypes.data, there.ctypes.data)
            self._rows(stop - start, *addresses)

        if shares == 1:
            share(0, total)
            return
        with ThreadPoolExecutor(shares) as pool:  # a call of C lets other threads run
            list(pool.map(share, bounds[:-1], bounds[1:]))

    def stream(self, inputs: Array) -> Iterator[tuple[slice, Array]]:
        """Outputs block by block: which samples, and (outputs, samples) without structural zeros.

        Outputs stand row by row. The array is good until the next is asked for.
        """
        assert len(inputs) == self._inputs
        total = inputs.shape[1]
        short = max(_LANES - total, 0) if total else 0
        inputs = _rows_of(np.pad(inputs, ((0, 0), (short, 0)), mode="edge") if short else inputs)
        values, first = self._buffer(), _pointers(inputs, short)
        here = first.copy()
        addresses = here.ctypes.data, values.ctypes.data
        for start in range(0, total, BLOCK):
            count = min(BLOCK, total - start)
            back = max(_LANES - count, 0)  # samples before, to fill a register
            np.add(first, (start - back) * inputs.itemsize, out=here)
            self._block(count + back, *addresses)
            yield slice(start, start + count), values[:, back : back + count]

    def _buffer(self) -> Array:
        """A block of outputs, on a boundary of the cache's lines."""
        line = 64 // 8
        flat = np.empty(len(self._seen) * STRIDE + line)
        first = -(flat.ctypes.data // 8) % line
        return flat[first : first + len(self._seen) * STRIDE].reshape(-1, STRIDE)


def threads() -> int:
    """Threads that a large batch may take: ``OMP_NUM_THREADS``, else as this process may use."""
    try:
        mine = len(os.sched_getaffinity(0))
    except AttributeError:  # not every system binds processes to processors
        mine = os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(int(wanted), mine) if wanted.isdecimal() and int(wanted) else mine


def _rows_of(inputs: Array) -> Array:
    """The same, with the samples of a row side by side."""
    return inputs if inputs.strides[1] == inputs.itemsize else np.ascontiguousarray(inputs)


def _pointers(inputs: Array, sample: int) -> Pointers:
    """Address of a sample in each row."""
    first = inputs.ctypes.data + sample * inputs.itemsize
    return (first + inputs.strides[0] * np.arange(len(inputs))).astype(np.intp)
