"""The ROBOT of a command: a reference, in the gravity and with the lengths that were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ident.cli import common
from ident.errors import UsageError

if TYPE_CHECKING:
    from ident.model.robot import Robot


def load_robot(name: str, gravity: str | None = None, mount: str | None = None) -> Robot:
    """Robot of a reference, in the gravity that was asked for.

    Raises
    ------
    UsageError
        Both gravity and mount, or one that makes no sense.
    """
    from ident.model.joints import letters_left
    from ident.store import load_robot as load

    robot = load(name)
    if robot.letters:
        raise letters_left(robot.letters, f"robot '{name}'")
    return _in_gravity(robot, gravity, mount)


def load_symbolic(
    name: str, gravity: str | None, mount: str | None, *, symbolic: bool, lengths: str | None
) -> Robot:
    """Robot of a reference, whose lengths may be letters.

    Raises
    ------
    UsageError
        Both letters and numbers for them, or numbers that make no sense.
    """
    from ident.model.registry import load_symbolic as load_letters
    from ident.store import load_robot as load

    if symbolic and lengths:
        raise UsageError("--lengths", "given together with --symbolic", expected="one of them")
    if lengths is not None and not is_table(name):
        found = f"given for '{name}', which no Denavit-Hartenberg table describes"
        raise UsageError("--lengths", found, expected="a table with letters")
    robot = load_letters(name) if symbolic else load(name, _named_numbers("--lengths", lengths))
    return _in_gravity(robot, gravity, mount)


def _named_numbers(option: str, text: str | None) -> dict[str, float]:
    pairs = [] if text is None else [pair.split("=") for pair in text.split(",")]
    names = [pair[0].strip() for pair in pairs]
    if any(len(pair) != 2 for pair in pairs) or "" in names or len(set(names)) < len(names):
        raise UsageError(option, f"'{text}'", expected="names with numbers, as in L1=0.5,L2=0.4")
    return {name.strip(): common.numbers(option, value, 1)[0] for name, value in pairs}


def letter_values(reference: str, robot: Robot) -> dict[str, float | None]:
    """What the description says that the letters of a robot stand for (m), where it does."""
    from ident.model.registry import letter_values as known

    values = known(reference) if robot.letters else {}
    return {letter: values.get(letter) for letter in robot.letters}


def is_table(reference: str) -> bool:
    """Whether a robot is described by a Denavit-Hartenberg table."""
    from ident.model.registry import robot_file

    file = None if is_run(reference) else robot_file(reference)
    return file is not None and file.dh is not None


def _in_gravity(robot: Robot, gravity: str | None, mount: str | None) -> Robot:
    from ident.conventions import MOUNTS

    if gravity and mount:
        raise UsageError("--gravity", "given together with --mount", expected="one of them")
    if mount:
        if mount not in MOUNTS:
            raise UsageError("--mount", f"'{mount}'", expected=", ".join(MOUNTS))
        return robot.with_gravity(MOUNTS[mount])
    return robot.with_gravity(common.numbers("--gravity", gravity, 3)) if gravity else robot


def is_run(reference: str) -> bool:
    """Whether a robot reference is a run folder."""
    return (Path(reference) / "estimate.json").is_file()
