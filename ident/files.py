"""Files and folders that appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ident.errors import UsageError


def file_name(name: str) -> str:
    """``name`` as one component of a path: what separates or hides components is an underscore."""
    return re.sub(r"[^\w.+-]+", "_", name).strip(".") or "_"


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


def write_together(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files that belong together: all of them come into their places, or none.

    Raises
    ------
    UsageError
        The folder, or a file in it, cannot be written.
    """
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".together.") as beside:
            fresh, earlier = Path(beside, "fresh"), Path(beside, "earlier")
            fresh.mkdir()
            earlier.mkdir()
            for name, content in contents.items():
                (fresh / name).write_bytes(content)
            _exchange(folder, fresh, earlier, list(contents))
    except OSError as e:
        raise _unwritable(folder, e) from e
    finally:
        _remove_empty(missing)


def _exchange(folder: Path, fresh: Path, earlier: Path, names: Sequence[str]) -> None:
    """Put fresh files in their places; if one cannot be, ``earlier`` keeps what goes back."""
    for name in names:
        if (folder / name).is_dir():
            raise _unwritable(folder / name, IsADirectoryError())
        if os.path.lexists(folder / name):
            shutil.copy2(folder / name, earlier / name, follow_symlinks=False)
    begun: list[str] = []
    try:
        for name in names:
            begun.append(name)
            os.replace(fresh / name, folder / name)
    except BaseException:
        for name in begun:
            if os.path.lexists(earlier / name):
                os.replace(earlier / name, folder / name)
            elif not (fresh / name).exists():
                (folder / name).unlink()
        raise


@contextmanager
def whole_folder(target: Path, marker: str, own: Sequence[str] = ()) -> Iterator[Path]:
    """A sibling folder to write into; it becomes ``target`` when all is written.

    An earlier run in ``target`` is replaced: ``marker``, a JSON file with the names of what the run
    left under ``files``, those files, and the names ``own``. What else lies there is somebody's
    and stays. A folder that holds files and no such marker is left alone. Where ``target`` is a
    link, the folder that it points to is replaced.

    Raises
    ------
    UsageError
        The place cannot be written, or holds something else.
    """
    place = Path(os.path.realpath(target))
    earlier = _require_replaceable(place, target, marker)
    missing = [folder for folder in place.parents if not folder.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    except OSError as e:
        _remove_empty(missing)
        raise _unwritable(target, e) from e
    try:
        yield fresh
        fresh.chmod(0o777 & ~_umask())
        _replace(fresh, place, {*earlier, *own})
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        _remove_empty(missing)


def _require_replaceable(place: Path, target: Path, marker: str) -> frozenset[str]:
    """Names that an earlier run left in a folder that may be replaced; none where there is none."""
    if not place.exists():
        return frozenset()
    if not place.is_dir():
        found = "a file"
    elif Path.cwd().is_relative_to(place):
        found = "the working folder"
    elif not any(place.iterdir()):
        return frozenset()
    elif earlier := _left_by_earlier(place / marker):
        return earlier
    else:
        found = f"a folder whose {marker} is of no run, or that has none"
    raise UsageError(
        str(target),
        found,
        expected="a new folder or that of an earlier run",
        remedy="choose another -o",
    )


def _left_by_earlier(marker: Path) -> frozenset[str]:
    """Names in the marker of an earlier run, its own with them; none if it is not one."""
    try:
        facts = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return frozenset()
    files = facts.get("files") if isinstance(facts, dict) else None
    if not isinstance(files, dict) or "schema" not in facts:
        return frozenset()
    return frozenset({marker.name, *files})


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove the folders in which nothing came to lie, the innermost first."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _replace(fresh: Path, target: Path, own: set[str]) -> None:
    """Put ``fresh`` in the place of ``target``; what is not its ``own`` moves over."""
    if not target.exists():
        os.rename(fresh, target)
        return
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old."))
    old = aside / "run"
    os.rename(target, old)
    try:
        os.rename(fresh, target)
    except BaseException:
        os.rename(old, target)
        aside.rmdir()
        raise
    for kept in [entry for entry in old.iterdir() if entry.name not in own]:
        if not (target / kept.name).exists():
            os.rename(kept, target / kept.name)
    shutil.rmtree(aside, ignore_errors=True)


def _unwritable(path: Path, e: OSError) -> UsageError:
    reason = str(e.strerror or e)
    if isinstance(e, FileExistsError | NotADirectoryError):
        reason = "a file stands where a folder is needed"
    elif isinstance(e, IsADirectoryError):
        reason = "a folder stands where a file is needed"
    return UsageError(str(path), f"cannot be written: {reason}", remedy="choose another place")


def _umask() -> int:
    """The process's umask: temporary files are private, what becomes of them is not."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
