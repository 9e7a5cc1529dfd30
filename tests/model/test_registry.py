from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.errors import ModelError, UsageError
from ident.model.registry import load_robot, registry_folder, robot_file, robot_names

JOINTS = {
    "planar2r": 2,
    **dict.fromkeys(("ur5", "ur5e", "ur10", "tx40", "kr300", "puma560"), 6),
    **dict.fromkeys(("panda", "iiwa14", "kuka_lwr4"), 7),
}


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
        ("gravity = [0.0, -9.81, 0.0]", "gravity = [nan, 0.0, 0.0]", "gravity"),
        ('type = "revolute"', 'type = "screw"', "type"),
        ('joint = "joint2"', "joint = 2", r"links\.2\.joint"),
        ('joint = "joint2"', 'joint = "joint1"', "two joints named 'joint1'"),
        ('link = "link1"', 'link = "base_link"', "two links named 'base_link'"),
        ('link = "link2"', 'link = ""', r"links\.2\.link"),
        ("a = 0.5", 'a = "0.5"', "DH row 'link2' a"),
        ("a = 0.5", 'a = "q1"', "length 'q1'"),
        ("[dh]", "[dh]\nlengths = {L9 = 1.0}", "no length 'L9'"),
        ("mass = 2.0", "mass = true", r"links\.1\.mass"),
        ("mass = 2.0", "mass = -2.0", "row 'link1' mass: -2 kg"),
        ("com = [0.25, 0.0, 0.0]", "com = [0.25]", r"links\.1\.com"),
        ("position = [-3.14, 3.14]", "position = [3.14, -3.14]", "joint 'joint1' limits"),
        ("position = [-3.14, 3.14]", "position = [nan, 3.14]", "joint 'joint1' limits"),
        ("velocity = 3.0", "velocity = -3.0", r"links\.1\.velocity"),
        ("velocity = 3.0", "velocity = nan", r"links\.1\.velocity"),
        ("acceleration = [10.0, 10.0]", "acceleration = [-1.0, 1.0]", r"limits\.acceleration"),
        ("acceleration = [10.0, 10.0]", "acceleration = [1.0]", "acceleration"),
        ("coulomb = [2.0, 0.9]", "coulomb = [-2.0, 0.9]", r"friction\.coulomb\.1"),
        ("home = [0.0, 0.0]", "home = [nan, 0.0]", r"home\.1"),
        ("home = [0.0, 0.0]", "home = [9.0, 0.0]", "home: 9 for joint 'joint1'"),
        ("home = [0.0, 0.0]", 'log_names = ["a", "a"]', "log_names: 'a' twice"),
        ("[friction]", "[drives]\ngear_ratio = [0.0, 1.0]\n[friction]", "gear_ratio"),
        ("[friction]", "[drives]\neffort_rated = [nan, -5.0]\n[friction]", "effort_rated: -5"),
        ("[friction]", "[drives]\ncoupling = [[1.0], [1.0, 2.0]]\n[friction]", "coupling"),
        ('name = "planar2r"', 'name = ""', "name"),
        ("a = 0.5", "length = 0.5", "length"),
        ("[dh]", 'description = "robot.urdf"\n[dh]', "description"),
    ],
)
def test_a_bad_table_is_named(tmp_path: Path, old: str, new: str, place: str) -> None:
    text = (registry_folder() / "planar2r" / "robot.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "robot.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ModelError, match=place) as error:
        load_robot(tmp_path)
    assert error.value.where.startswith(str(tmp_path / "robot.toml"))


def test_what_a_table_points_to_is_named_with_the_table(tmp_path: Path) -> None:
    table = 'schema = 1\nname = "mine"\ndescription = "sub dir/arm.urdf"\n'
    (tmp_path / "robot.toml").write_text(table)
    with pytest.raises(ModelError, match=r"robot\.toml: .*sub dir/arm\.urdf: .*No such file"):
        load_robot(tmp_path)
    (tmp_path / "sub dir").mkdir()
    urdf = (registry_folder() / "ur5" / "robot.urdf").read_text(encoding="utf-8")
    (tmp_path / "sub dir/arm.urdf").write_text(urdf, encoding="utf-8")
    assert load_robot(tmp_path).n == 6
    (tmp_path / "sub dir/arm.urdf").write_text(urdf.replace("<mass value", "<mass val"))
    with pytest.raises(ModelError, match=r"robot\.toml: .*arm\.urdf: link '.*<mass>"):
        load_robot(tmp_path)


@pytest.mark.parametrize("name", ["none.urdf", "none.toml", "none.xml", "none"])
def test_a_file_that_is_not_there_is_no_robot(tmp_path: Path, name: str) -> None:
    for read in (load_robot, robot_file):
        with pytest.raises(UsageError, match="no robot or file"):
            read(tmp_path / name)
