import json
import os
from pathlib import Path

import pytest

from ident.errors import UsageError
from ident.files import file_name, whole_file, whole_folder, write_together

MARKER = "manifest.json"


def listing(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def write_run(target, text):
    with whole_folder(target, MARKER, own=["export"]) as fresh:
        (fresh / "result").write_text(text)
        (fresh / MARKER).write_text(json.dumps({"schema": 1, "files": {"result": text}}))


def test_a_folder_appears_whole(tmp_path):
    write_run(tmp_path / "a/b/run", "first")
    write_run(tmp_path / "a/b/run", "second")
    assert (tmp_path / "a/b/run/result").read_text() == "second"
    assert listing(tmp_path) == {"a", "a/b", "a/b/run", "a/b/run/result", f"a/b/run/{MARKER}"}


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
    assert (tmp_path / "run/result").read_text() == "first"
    assert listing(tmp_path) == {"run", "run/result", f"run/{MARKER}"}


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


def test_what_somebody_put_into_a_run_survives_the_next_and_what_is_derived_from_it_does_not(
    tmp_path,
):
    write_run(tmp_path / "run", "first")
    for name in ("notes/today.txt", ".git", "export/arm.urdf"):
        (tmp_path / "run" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "run" / name).write_text("kept?")
    write_run(tmp_path / "run", "second")
    ours = {"run", "run/result", f"run/{MARKER}"}
    assert listing(tmp_path) == ours | {"run/notes", "run/notes/today.txt", "run/.git"}
    assert (tmp_path / "run/notes/today.txt").read_text() == "kept?"
    assert (tmp_path / "run/result").read_text() == "second"


@pytest.mark.parametrize(
    "text", ['{"name": "a web app", "icons": []}', '{"files": {}}', "[1]", "not JSON", "\xff"]
)
def test_a_folder_whose_marker_is_of_no_run_is_left_alone(tmp_path, text):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / MARKER).write_text(text, encoding="latin-1")
    (tmp_path / "app/precious").write_text("mine")
    with pytest.raises(UsageError, match="of no run"):
        write_run(tmp_path / "app", "ours")
    assert listing(tmp_path) == {"app", "app/precious", f"app/{MARKER}"}


@pytest.mark.parametrize("there", [True, False])
def test_a_link_goes_on_pointing_to_what_is_replaced(tmp_path, there):
    if there:
        write_run(tmp_path / "far/run", "first")
    (tmp_path / "link").symlink_to(tmp_path / "far/run")
    write_run(tmp_path / "link", "second")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far/run/result").read_text() == "second"


def test_the_working_folder_is_not_taken_away(tmp_path, monkeypatch):
    write_run(tmp_path / "run", "first")
    (tmp_path / "run/in").mkdir()
    monkeypatch.chdir(tmp_path / "run/in")
    for name in (".", "..", "../../run"):
        with pytest.raises(UsageError, match="working folder"):
            write_run(Path(name), "second")
    assert (tmp_path / "run/result").read_text() == "first"


def test_files_that_belong_together_change_together(tmp_path):
    write_together(tmp_path / "a/b", {"x": b"1", "y": b"1"})
    (tmp_path / "a/b/z").mkdir()
    with pytest.raises(UsageError, match="z"):
        write_together(tmp_path / "a/b", {"x": b"2", "y": b"2", "z": b"2"})
    with pytest.raises(UsageError, match="c"):
        write_together(tmp_path / "c/d", {"no/such/folder": b"2"})
    assert listing(tmp_path) == {"a", "a/b", "a/b/x", "a/b/y", "a/b/z"}
    assert (tmp_path / "a/b/x").read_bytes() == (tmp_path / "a/b/y").read_bytes() == b"1"


@pytest.mark.parametrize("last", ["x", "y", "z"])
def test_a_folder_in_the_way_of_one_file_leaves_all_as_they_were(tmp_path, last):
    names = [*sorted({"x", "y", "z"} - {last}), last]
    (tmp_path / last).mkdir()
    (tmp_path / names[0]).write_text("mine")
    with pytest.raises(UsageError, match=f"{last}: cannot be written: a folder stands where"):
        write_together(tmp_path, dict.fromkeys(names, b"2"))
    assert listing(tmp_path) == {last, names[0]}
    assert (tmp_path / names[0]).read_text() == "mine"


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), KeyboardInterrupt()])
@pytest.mark.parametrize("failing", range(3))
def test_files_that_change_together_go_back_together(tmp_path, monkeypatch, error, failing):
    (tmp_path / "x").write_text("first")
    (tmp_path / "z").symlink_to("x")
    replace, calls = os.replace, []

    def interrupted(source, target):
        calls.append(source)
        if len(calls) == failing + 1:
            raise error
        replace(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    kind = UsageError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(kind):
        write_together(tmp_path, {"x": b"2", "y": b"2", "z": b"2"})
    assert listing(tmp_path) == {"x", "z"}
    assert (tmp_path / "x").read_text() == "first"
    assert (tmp_path / "z").is_symlink()
    monkeypatch.undo()
    write_together(tmp_path, {"x": b"2", "y": b"2", "z": b"2"})
    assert listing(tmp_path) == {"x", "y", "z"}
    assert (tmp_path / "y").stat().st_mode & 0o777 == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("name", ["../../evil", "a/b", "..", ".", "", ".hidden", "a\\b", "a\0b"])
def test_a_name_becomes_one_component_of_a_path(tmp_path, name):
    safe = file_name(name)
    assert (tmp_path / safe).parent == tmp_path
    assert safe not in ("", ".", "..")
    assert not safe.startswith(".")


@pytest.mark.parametrize("name", ["ur5", "lwr4+", "kuka-iiwa_14.2", "Größe"])
def test_an_ordinary_name_stays_as_it_is(name):
    assert file_name(name) == name
