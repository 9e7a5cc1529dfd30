"""Files and folders that appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ident.errors import UsageError


def write_whole(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` so that a reader sees all of it or none."""
    with whole_file(path) as sibling:
        sibling.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A sibling file to write; it becomes ``path`` when all is written.

    Raises
    ------
    UsageError
        The place cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        try:
            yield Path(name)
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as e:
        raise _unwritable(path, e) from e


@contextmanager
def whole_folder(target: Path, marker: str) -> Iterator[Path]:
    """A sibling folder to write into; it becomes ``target`` when all is written.

    What an earlier run left in ``target``, told by the file ``marker``, is replaced; any other
    folder that holds files is left alone.

    Raises
    ------
    UsageError
        The place cannot be written, or holds something else.
    """
    foreign = target.is_dir() and any(target.iterdir()) and not (target / marker).is_file()
    if foreign or (target.exists() and not target.is_dir()):
        raise UsageError(
            str(target),
            f"a folder without {marker}" if foreign else "a file",
            expected="a new folder or that of an earlier run",
            remedy="choose another -o",
        )
    missing = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as e:
        _remove_empty(missing)
        raise _unwritable(target, e) from e
    try:
        yield fresh
        fresh.chmod(0o777 & ~_umask())
        _replace(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        _remove_empty(missing)


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove the folders in which nothing came to lie, the innermost first."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _replace(fresh: Path, target: Path) -> None:
    if not target.exists():
        os.rename(fresh, target)
        return
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old."))
    os.rename(target, old / "run")
    try:
        os.rename(fresh, target)
    except BaseException:
        os.rename(old / "run", target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _unwritable(path: Path, e: OSError) -> UsageError:
    in_the_way = isinstance(e, FileExistsError | NotADirectoryError)
    reason = "a file stands where a folder is needed" if in_the_way else e.strerror or e
    return UsageError(str(path), f"cannot be written: {reason}", remedy="choose another place")


def _umask() -> int:
    """The process's umask: temporary files are private, what becomes of them is not."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
