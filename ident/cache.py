"""Content-hashed disk cache: what was derived once is loaded afterwards.

Entries are small, immutable and named by the digest of everything they depend on, so they never
go stale. A broken or unreadable entry counts as absent; a folder that cannot be written is a cache
that forgets.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ident.errors import UsageError
from ident.files import write_whole

logger = logging.getLogger(__name__)

T = TypeVar("T")


def cache_directory() -> Path:
    """``IDENT_CACHE``, else the platform's cache folder."""
    if chosen := os.environ.get("IDENT_CACHE"):
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:  # an account without a home, as containers have
        return Path(tempfile.gettempdir()) / "ident-cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ident"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "ident"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "ident"


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
    except (ValueError, KeyError) as e:
        logger.info("cache entry %s is unreadable (%s) and is made again", path, e)
    value = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, dump(value))
    except (OSError, UsageError) as e:
        logger.info("cache entry %s was not written: %s", path, e)
    return value
