import logging
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ident.cache as cache_module
from ident.base.minimal import reduce
from ident.cache import cache_directory, cached, key_of, write_whole
from ident.model.registry import load_robot


def text(content: bytes) -> str:
    if not content.startswith(b"good "):
        raise ValueError("not ours")
    return content.decode()


def fetch(value: str = "good value") -> str:
    return cached("entry", lambda: value, str.encode, text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IDENT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_value_is_made_once(folder: Path) -> None:
    assert fetch("good first") == "good first"
    assert fetch("good second") == "good first"
    assert [path.name for path in folder.iterdir()] == ["entry"]


@pytest.mark.parametrize("content", [b"", b"bad", b"\xff\xfe", b"goo"])
def test_a_damaged_entry_is_made_again(
    folder: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    fetch()
    (folder / "entry").write_bytes(content)
    with caplog.at_level(logging.INFO):
        assert fetch("good again") == "good again"
    assert "made again" in caplog.text
    assert (folder / "entry").read_bytes() == b"good again"


def test_a_folder_that_cannot_be_written_is_a_cache_that_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("IDENT_CACHE", str(tmp_path / "file" / "below"))
    assert fetch("good first") == "good first"
    assert fetch("good second") == "good second"


def test_an_entry_that_is_a_folder_does_not_stop_anyone(folder: Path) -> None:
    (folder / "entry").mkdir(parents=True)
    assert fetch() == "good value"


def test_writers_at_once_leave_a_whole_entry_and_nothing_else(folder: Path) -> None:
    values = [f"good {i} " + "x" * 100_000 for i in range(8)]

    def work(value: str) -> None:
        folder.mkdir(exist_ok=True)
        for _ in range(10):
            write_whole(folder / "entry", value.encode())
            assert fetch() in values

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, values))
    assert [path.name for path in folder.iterdir()] == ["entry"]


def test_a_failed_write_leaves_the_old_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch("good old")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_whole(folder / "entry", b"good new")
    assert [path.name for path in folder.iterdir()] == ["entry"]
    assert fetch() == "good old"


def test_an_error_in_making_is_the_caller_s(folder: Path) -> None:
    def fail() -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cached("entry", fail, str.encode, text)
    assert not folder.exists()


def test_the_folder_is_the_user_s_choice_or_the_platform_s(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("IDENT_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "ident"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_directory() == Path.home() / ".cache" / "ident"
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert cache_directory().is_absolute()


def test_a_change_of_the_deriving_code_makes_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of("regressor", ["robot"])
    assert before == key_of("regressor", ["robot"])
    assert before != key_of("regressor", ["another"])
    monkeypatch.setattr(cache_module, "_code_digest", lambda: "changed")
    assert key_of("regressor", ["robot"]) != before


@pytest.mark.parametrize(
    "content",
    [
        b"null",
        b"5",
        b"[1, 2]",
        b"[[0], [[1.0]]]",
        b"[[], []]",
        b"[[0], [[%s]]]" % b",".join([b"0.0"] * 20),
    ],
)
def test_a_minimal_set_that_is_none_is_made_again(content: bytes) -> None:
    robot = load_robot("planar2r")
    wanted = reduce(robot)
    for entry in cache_directory().glob("base-*.json"):
        entry.write_bytes(content)
    again = reduce(robot)
    assert again.names == wanted.names


def test_an_account_without_a_home_loads_what_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.delenv("IDENT_CACHE")
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setattr(cache_module.tempfile, "tempdir", str(tmp_path))
    planted = tmp_path / f"ident-cache-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    assert cache_directory() != planted
    assert cache_directory().stat().st_mode & 0o077 == 0
