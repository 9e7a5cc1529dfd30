"""What the verbs share: options, errors to exit codes, output that people or programs read."""

from __future__ import annotations

import functools
import glob
import json
import logging
import math
import os
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer

from ident.errors import Finding, IdentError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from ident.fit.options import FitOptions
    from ident.fit.validate import Validation
    from ident.logs.preparation import Preparation

P = ParamSpec("P")
R = TypeVar("R")

INTERRUPTED, INTERNAL, USAGE = 130, 1, 2
# No gravity, length or time of an arm comes near; squares and products stay far from overflow.
_LARGEST = 1e6


def guarded(verb: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into one line on stderr and the exit code of their kind."""

    @functools.wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except IdentError as e:
            code, text = e.exit_code, f"error: {e}"
        except KeyboardInterrupt:
            code, text = INTERRUPTED, "interrupted; nothing was written"
        except BrokenPipeError:
            _silence_stdout()
            raise typer.Exit(0) from None
        except OSError as e:
            code, text = USAGE, f"error: {e.filename or 'output'}: {e.strerror}"
        except MemoryError:
            code, text = INTERNAL, "error: out of memory"
        except typer.Exit:
            raise
        except Exception as e:
            if logging.getLogger().isEnabledFor(logging.DEBUG) or "IDENT_DEBUG" in os.environ:
                raise
            code = INTERNAL
            text = f"internal error: {type(e).__name__}: {e}; IDENT_DEBUG=1 shows where"
        typer.echo(text, err=True)
        raise typer.Exit(code)

    return run


@guarded
def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Take options from a TOML file: keys equal option names, the command line wins.

    Raises
    ------
    UsageError
        The file cannot be read, or holds something that is no option of this verb.
    """
    if path is None:
        return None
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise UsageError(f"--config {path}", f"cannot be read: {e.strerror}") from e
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise UsageError(f"--config {path}", f"not TOML: {e}") from e
    options = {
        name.removeprefix("--").replace("-", "_"): p
        for p in context.command.params
        for name in p.opts
        if p.param_type_name == "option" and name.startswith("--") and name != "--config"
    }
    values = dict(context.default_map or {})
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in options:
            close = get_close_matches(name, options, n=1)
            raise UsageError(
                f"--config {path}",
                f"unknown option '{key}'",
                remedy=f"did you mean '{close[0]}'?" if close else "",
            )
        option = options[name]
        values[str(option.name)] = _as_typed(value, option, f"--config {path}: {key}")
    context.default_map = values
    return path


def _as_typed(value: Any, option: Any, where: str) -> Any:
    """A TOML value as it would be typed: a list of numbers as text with commas.

    Raises
    ------
    UsageError
        A value of a kind that nobody could type there.
    """
    words = value if isinstance(value, list) else [value]
    flag = bool(getattr(option, "is_flag", False))
    kinds = bool if flag else (str, int, float)
    if not all(isinstance(w, kinds) and flag == isinstance(w, bool) for w in words):
        expected = "true or false" if flag else "a number, a text, or a list of them"
        raise UsageError(where, f"{value}", expected=expected)
    if option.multiple:
        return words
    return ",".join(map(str, words)) if isinstance(value, list) else value


RobotName = Annotated[
    str,
    typer.Argument(metavar="ROBOT", help="Registry name, URDF, MJCF or TOML file, or run folder."),
]
Logs = Annotated[list[str], typer.Argument(metavar="LOG…", help="Logs; several are several runs.")]
Out = Annotated[
    Path | None, typer.Option("-o", "--out", help="Folder; runs/<robot>/<first log> by default.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        is_eager=True,
        callback=_read_config,
        help="TOML file of options; the command line wins.",
    ),
]
Gravity = Annotated[
    str | None, typer.Option(metavar="X,Y,Z", help="Gravity in the base frame, m/s².")
]
Mount = Annotated[str | None, typer.Option(help="floor, wall or ceiling.")]
Symbolic = Annotated[
    bool,
    typer.Option("--symbolic", help="A letter for every length of a Denavit-Hartenberg table."),
]
Lengths = Annotated[
    str | None, typer.Option(metavar="L1=0.5,…", help="Numbers (m) for lengths that are letters.")
]
Profile = Annotated[str | None, typer.Option(help="Profile of a foreign log: name or TOML file.")]
Skip = Annotated[
    str | None, typer.Option(metavar="START,END", help="Seconds to leave out of every log.")
]
Validate = Annotated[
    list[str] | None,
    typer.Option(metavar="LOG", help="Log of another motion to score on; may be repeated."),
]
DelayMs = Annotated[
    str | None,
    typer.Option(metavar="MS,…", help="By which torque lags position; one number, or one a joint."),
]
ReversalSpeed = Annotated[
    float | None,
    typer.Option(help="Rows of a joint slower than this, rad/s or m/s, are not fitted; 0.05."),
]
CutoffHz = Annotated[
    float | None, typer.Option(help="Low-pass of positions, Hz; from the log when not given.")
]
ScoreHz = Annotated[
    float | None,
    typer.Option(help="Low-pass that columns and torque share, Hz; half the cut-off if not given."),
]


def console() -> Console:
    """Console on stdout; plain in a pipe."""
    from rich.console import Console

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            """Go on in silence when the reader has gone: the exit code still tells the verdict."""
            self.quiet = True
            _silence_stdout()

    return Patient(highlight=False)


def _silence_stdout() -> None:
    """Keep the interpreter's own flush from complaining of a reader that has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """What is being done, on a terminal's stderr; nothing in a pipe."""
    if quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status, _shown(status.update, "ident.regressor.engine"):
        yield status.update


@contextmanager
def _shown(show: Callable[[str], None], source: str) -> Iterator[None]:
    """Show what a module records of its work, such as that it waits for a compiler."""

    class Shown(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            show(record.getMessage())

    handler, logger = Shown(), logging.getLogger(source)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


def command_line(context: typer.Context) -> str:
    """The running command as it was given, but for what it prints, quoted for a shell."""
    words = ["ident", str(context.info_name)]
    for option in context.command.params:
        name, value = str(option.name), context.params[str(option.name)]
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or name in ("json", "quiet"):
            continue
        values = value if isinstance(value, list | tuple) else [value]
        if option.param_type_name == "argument":
            words += map(str, values)
        elif isinstance(value, bool):
            words.append(option.opts[0] if value else (option.secondary_opts or option.opts)[0])
        else:
            words += [word for each in values for word in (option.opts[-1], str(each))]
    return shlex.join(words)


def print_json(summary: dict[str, Any]) -> None:
    """Print one object, floats in full, NaN and infinity as null."""
    typer.echo(json.dumps(_plain(summary), allow_nan=False))


def numbers(option: str, text: str, count: int = 0) -> tuple[float, ...]:
    """Comma-separated numbers of an option; ``count`` of them, if it is given."""
    try:
        values = tuple(float(word) for word in text.split(","))
    except ValueError as e:
        raise UsageError(
            option,
            f"'{text}'",
            expected="a number" if count == 1 else f"{count or 'some'} numbers, as in 0,0,-9.81",
        ) from e
    if not all(map(math.isfinite, values)):
        raise UsageError(option, f"'{text}'", expected="finite numbers")
    if max(map(abs, values)) > _LARGEST:
        raise UsageError(option, f"'{text}'", expected=f"numbers within ±{_LARGEST:,.0f}")
    if count and len(values) != count:
        raise UsageError(option, f"{len(values)} numbers in '{text}'", expected=str(count))
    return values


def preparation(
    skip: str | None,
    cutoff_hz: float | None,
    score_hz: float | None,
    delay_ms: str | None,
    reversal_speed: float | None,
) -> Preparation:
    """Options of ``prepare`` from those of the command line."""
    from ident.logs.preparation import Preparation

    start, end = numbers("--skip", skip, 2) if skip else (0.0, 0.0)
    delays = numbers("--delay-ms", delay_ms) if delay_ms else ()
    options = Preparation(
        cutoff_hz=cutoff_hz,
        decimation_hz=score_hz,
        skip_s=(start, end),
        torque_delay_s=tuple(1e-3 * d for d in delays),
    )
    return options if reversal_speed is None else replace(options, reversal_speed=reversal_speed)


def fit_options(method: str, friction: str) -> FitOptions:
    """Options of ``estimate`` from those of the command line.

    Raises
    ------
    UsageError
        An unknown method or friction term.
    """
    from ident.fit.options import METHODS, FitOptions

    if method not in METHODS:
        raise UsageError("--method", f"'{method}'", expected=", ".join(METHODS))
    return FitOptions(method=method, friction=friction_names(friction))


def friction_names(text: str) -> tuple[str, ...]:
    """Friction terms of an option, ``none`` for none."""
    from ident.regressor.friction import known_terms

    return known_terms(() if text == "none" else text.split(","))


def repeat_findings(scores: Sequence[Validation]) -> list[Finding]:
    """A warning where validation only repeats what was trained on."""
    if scores[0].kind != "repeat":
        return []
    return [
        Finding(
            name="validation_repeats_training",
            severity="warning",
            where=", ".join(scores[0].logs),
            found="the same motion as in training",
            expected="another motion",
            remedy="the errors measure repeatability, not how the model generalises",
        )
    ]


def expanded(paths: Sequence[str]) -> list[str]:
    """Paths, with patterns that the shell left alone expanded.

    Raises
    ------
    UsageError
        A pattern matches nothing, or one file is given twice.
    """
    found: list[str] = []
    for path in paths:
        pattern = glob.has_magic(path) and not Path(path).exists()
        matches = sorted(glob.glob(path)) if pattern else [path]
        if not matches:
            raise UsageError(path, "matches no file")
        found += matches
    if twice := shared(found):
        raise UsageError(twice, "given twice", expected="each log once")
    return found


def shared(paths: Sequence[str], others: Sequence[str] | None = None) -> str | None:
    """The first path whose file comes again in ``others`` (else later), however it is spelled."""
    real = [os.path.realpath(path) for path in paths]
    again = None if others is None else {os.path.realpath(path) for path in others}
    for i, (path, file) in enumerate(zip(paths, real, strict=True)):
        if file in (real[i + 1 :] if again is None else again):
            return path
    return None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return str(value) if isinstance(value, Path) else value
