"""IdentError and its family, and Finding: what is wrong, and what is valid but suspect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

Severity = Literal["error", "warning", "info"]


class IdentError(Exception):
    """A problem that the user can act on: where, what was found, what was expected, what to do.

    Attributes
    ----------
    where : str
        File, column, joint or option.
    found, expected, remedy : str
        The facts of the message; ``expected`` and ``remedy`` may be empty.
    exit_code : int
        What the command line exits with.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, where: str, found: str, *, expected: str = "", remedy: str = "") -> None:
        """Compose the message from its facts."""
        self.where, self.found, self.expected, self.remedy = where, found, expected, remedy
        super().__init__(_sentence(where, found, expected, remedy))

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the trip between processes with every fact."""
        return _revive, (type(self), self.where, self.found, self.expected, self.remedy)


class UsageError(IdentError):
    """The command was wrong: unknown robot, unwritable output, contradicting options."""

    exit_code = 2


class ModelError(IdentError):
    """A robot description cannot be used."""

    exit_code = 3


class LogError(IdentError):
    """A log cannot be used."""

    exit_code = 3


class UnidentifiableError(IdentError):
    """The data do not determine what was asked for."""

    exit_code = 4


class InfeasibleError(IdentError):
    """Limits or constraints cannot all be met."""

    exit_code = 4


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something valid but suspect (or wrong), by name, for tables, reports and summaries."""

    name: str
    severity: Severity
    where: str
    found: str
    expected: str = ""
    remedy: str = ""

    @property
    def message(self) -> str:
        """The finding as one sentence, without its place."""
        return _clause(self.found, self.expected, self.remedy)

    def raise_as(self, kind: type[IdentError]) -> None:
        """Raise this finding as an error of the given kind."""
        raise kind(self.where, self.found, expected=self.expected, remedy=self.remedy)


def _clause(found: str, expected: str, remedy: str) -> str:
    text = found + (f" (expected {expected})" if expected else "")
    return text + (f"; {remedy}" if remedy else "")


def _sentence(where: str, found: str, expected: str, remedy: str) -> str:
    return f"{where}: {_clause(found, expected, remedy)}"


def _revive(
    kind: type[IdentError], where: str, found: str, expected: str, remedy: str
) -> IdentError:
    return kind(where, found, expected=expected, remedy=remedy)
