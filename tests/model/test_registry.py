from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.errors import ModelError, UsageError
from ident.model.registry import load_robot, registry_folder, robot_file, robot_names

JOINTS = {"planar2r": 2, "ur5": 6, "ur5e": 6, "ur10": 6, "panda": 7, "iiwa14": 7, "kuka_lwr4": 7}


def test_the_registry_holds_what_is_promised() -> None:
    assert JOINTS.keys() <= robot_names().keys()


@pytest.mark.parametrize("name", robot_names())
def test_a_registry_robot_is_complete(name: str) -> None:
    robot, file = load_robot(name), robot_file(name)
    assert robot.n == JOINTS.get(name, robot.n)
    assert file is not None
    assert file.sources
    assert np.isfinite([*robot.position.ravel(), *robot.velocity, *robot.effort]).all()
    assert (robot.drives.viscous > 0).all()
    assert ((robot.position[:, 0] < robot.home) & (robot.home < robot.position[:, 1])).all()


@pytest.mark.parametrize(
    ("alias", "name"), [("fer", "panda"), ("FER", "panda"), ("p2", "planar2r")]
)
def test_aliases_are_found(alias: str, name: str) -> None:
    assert load_robot(alias).name == name


def test_the_toy_robot_is_the_one_of_the_cases() -> None:
    robot = load_robot("planar2r")
    assert_allclose(robot.pi.reshape(2, 10)[:, [0, 1, 9]], [[2, 0.5, 0.175], [1, 0.2, 0.06]])


def test_tensors_that_no_body_has_are_flagged() -> None:
    flagged = [f.where for f in load_robot("panda").findings if f.name == "nonphysical_inertia"]
    assert flagged == ["panda: link 'panda_link4'"]
    assert not [f for f in load_robot("ur5").findings if f.severity != "info"]


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'ur5e?'"):
        load_robot("ur5x")


def test_a_folder_of_results_does_not_hide_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ur5").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_robot("ur5").name == "ur5"


def test_a_folder_or_file_of_the_user_is_read(tmp_path: Path) -> None:
    text = (registry_folder() / "planar2r" / "robot.toml").read_text(encoding="utf-8")
    (tmp_path / "robot.toml").write_text(text.replace('"planar2r"', '"mine"'), encoding="utf-8")
    assert load_robot(tmp_path).name == load_robot(tmp_path / "robot.toml").name == "mine"


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("schema = 1", "schema = 2", "schema"),
        ("schema = 1", "schema = 1\ncolour = 'red'", "colour"),
        ("schema = 1", "schema = ", "not TOML"),
        ("viscous = [0.8, 0.3]", "viscous = [0.8]", "viscous"),
        ("home = [0.0, 0.0]", "home = [0.0]", "home"),
        ("gravity = [0.0, -9.81, 0.0]", "gravity = [0.0]", "gravity"),
        ('type = "revolute"', 'type = "screw"', "type"),
        ("a = 0.5", "length = 0.5", "length"),
        ("[dh]", 'description = "robot.urdf"\n[dh]', "description"),
    ],
)
def test_a_bad_table_is_named(tmp_path: Path, old: str, new: str, place: str) -> None:
    text = (registry_folder() / "planar2r" / "robot.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "robot.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ModelError, match=place):
        load_robot(tmp_path)
