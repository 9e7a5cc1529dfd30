"""Provenance: what a result was made from, and with."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What whoever wrote the report knows of how it came about.

    Attributes
    ----------
    date : str
        When, as it is to be printed; the report asks no clock, so that it can be reproduced.
    command : tuple of str
        The command line, argument by argument.
    logs : tuple of (name, digest)
        Training logs, then held-out ones.
    options : mapping of name to text
        What shaped the result besides the options of the fit, such as filters.
    versions : mapping of name to version
        Of this package, Python, and the packages whose versions can change a number.
    seed : int or None
        Of the random generator; None where nothing was drawn.
    """

    date: str
    command: tuple[str, ...] = ()
    logs: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None

    @property
    def command_line(self) -> str:
        """The command, quoted for a shell."""
        return shlex.join(self.command)
