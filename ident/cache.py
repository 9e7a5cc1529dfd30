"""Content-hashed disk cache: what was derived once is loaded afterwards.

Entries are small, immutable and named by the digest of everything they depend on, so they never
go stale. A broken or unreadable entry counts as absent; a folder that cannot be written is a cache
that forgets.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ident import __version__
from ident.arrays import digest
from ident.errors import IdentError, UsageError
from ident.files import write_whole

logger = logging.getLogger(__name__)

T = TypeVar("T")
_DERIVING = ("model", "regressor", "base")  # the folders whose code decides what is derived


def cache_directory() -> Path:
    """``IDENT_CACHE``, else the platform's cache folder."""
    if chosen := os.environ.get("IDENT_CACHE"):
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:  # an account without a home, as containers have
        return _nobody_else_s(Path(tempfile.gettempdir()) / f"ident-cache-{os.getuid()}")
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ident"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "ident"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "ident"


@cache
def _nobody_else_s(folder: Path) -> Path:
    """A folder that only this account can write, since compiled code is loaded from it."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
        private = facts.st_uid == os.getuid() and not facts.st_mode & 0o077
        if private and stat.S_ISDIR(facts.st_mode):
            return folder
    return Path(tempfile.mkdtemp(prefix="ident-cache-"))


def key_of(what: str, parts: Iterable[str | bytes | np.ndarray[Any, Any]]) -> str:
    """Key of what the given parts determine, by the code that derives it here and now."""
    return f"{what}-{digest([_code_digest(), *parts])[:32]}"


@cache
def _code_digest() -> str:
    """Digest of the deriving code: a change of it makes old entries nobody's."""
    package = Path(__file__).parent
    files = sorted(path for folder in _DERIVING for path in (package / folder).glob("*.py"))
    return digest([__version__, *(path.read_bytes() for path in files)])


def cached(
    key: str, make: Callable[[], T], dump: Callable[[T], bytes], load: Callable[[bytes], T]
) -> T:
    """Return the value stored under ``key``, or make and store it.

    ``load`` raises ValueError or KeyError for bytes that it does not understand; the value is then
    made again.
    """
    path = cache_directory() / key
    try:
        return load(path.read_bytes())
    except OSError:
        pass
    except (ValueError, KeyError, TypeError, IndexError, IdentError) as e:
        logger.info("cache entry %s is unreadable (%s) and is made again", path, e)
    value = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, dump(value))
    except (OSError, UsageError) as e:
        logger.info("cache entry %s was not written: %s", path, e)
    return value
