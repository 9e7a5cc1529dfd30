import os

import pytest

from ident.errors import UsageError
from ident.files import whole_file, whole_folder

MARKER = "manifest"


def listing(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def write_run(target, text):
    with whole_folder(target, MARKER) as fresh:
        (fresh / MARKER).write_text(text)


def test_a_folder_appears_whole(tmp_path):
    write_run(tmp_path / "a/b/run", "first")
    write_run(tmp_path / "a/b/run", "second")
    assert (tmp_path / "a/b/run" / MARKER).read_text() == "second"
    assert listing(tmp_path) == {"a", "a/b", "a/b/run", f"a/b/run/{MARKER}"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_folder_that_fails_leaves_nothing_not_even_its_parents(tmp_path, error):
    (tmp_path / "a").mkdir()
    with pytest.raises(error), whole_folder(tmp_path / "a/b/c/run", MARKER) as fresh:
        (fresh / MARKER).write_text("half")
        raise error
    assert listing(tmp_path) == {"a"}


def test_an_earlier_folder_survives_a_failed_exchange(tmp_path, monkeypatch):
    write_run(tmp_path / "run", "first")
    rename, calls = os.rename, []

    def interrupted(source, target):
        calls.append(source)
        if len(calls) == 2:  # the old one is aside, the new one not yet in place
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_run(tmp_path / "run", "second")
    assert (tmp_path / "run" / MARKER).read_text() == "first"
    assert listing(tmp_path) == {"run", f"run/{MARKER}"}


def test_a_file_that_fails_leaves_the_earlier_one(tmp_path):
    (tmp_path / "log").write_text("first")
    with pytest.raises(RuntimeError), whole_file(tmp_path / "log") as sibling:
        sibling.write_text("half")
        raise RuntimeError
    assert (tmp_path / "log").read_text() == "first"
    assert listing(tmp_path) == {"log"}


def test_what_is_not_ours_is_left_alone(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/notes").write_text("mine")
    before = listing(tmp_path)
    for name in ("file", "folder", "file/run"):
        with pytest.raises(UsageError, match=name):
            write_run(tmp_path / name, "ours")
    assert listing(tmp_path) == before
