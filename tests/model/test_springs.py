from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.errors import ModelError
from ident.model.dh import DHRow, robot_of_table
from ident.model.registry import load_robot, registry_folder
from ident.model.springs import GasSpring, LinearSpring
from tests.tolerances import FINITE_DIFFERENCE

GAS: dict[str, Any] = {
    **{"joint": "joint1", "anchor": 0.8, "crank": 0.2, "angle": 0.3},
    **{"area": 1.7e-3, "volume": 9.6e-4, "charge": 1.56e4},
}


def test_a_gas_spring_gives_the_slope_of_its_energy() -> None:
    spring = GasSpring(**GAS)

    def energy(q: np.ndarray) -> np.ndarray:
        """Work of isothermal compression, from two anchors drawn in the plane."""
        near = 0.2 * np.exp(1j * (q + 0.3))
        stroke = np.abs(0.8 - near) - 0.6
        return -1.56e4 * np.log(1.0 - 1.7e-3 * stroke / 9.6e-4)

    q = np.linspace(-3.0, 2.5, 12)
    h = 1e-5
    slope = (energy(q + h) - energy(q - h)) / (2.0 * h)
    torque = spring.unit_torque(q)
    assert_allclose(torque, slope, rtol=0, atol=FINITE_DIFFERENCE * np.abs(slope).max())
    # It pulls back to where the anchors are closest.
    assert (np.sign(torque) == np.sign(q + 0.3)).all()


def test_the_gas_spring_of_the_kr300_is_that_of_its_authors() -> None:
    """Pressure and torque by the formula of hydraulic_weight_counterbalance.m, at −90° and −40°."""
    spring = load_robot("kr300").drives.springs[0]
    assert isinstance(spring, GasSpring)
    area = np.pi * (0.055**2 - 0.030**2) / 4
    for degrees in (-90.0, -40.0):
        e = np.radians(degrees + 95.0)
        length = np.sqrt(0.8**2 + 0.2**2 - 2 * 0.8 * 0.2 * np.cos(e))
        pressure = 1.01 * 296.8 * 328 * 2 * 0.0795 / (2 * 0.00048 - (length - 0.6) * area)
        torque = 0.8 * 0.2 * np.sin(e) / length * pressure * area
        assert spring.unit_torque(np.radians([degrees]))[0] == pytest.approx(torque, rel=1e-6)


def test_a_linear_spring_pulls_to_its_rest() -> None:
    spring = LinearSpring(joint="j", rest=0.5, stiffness=3.0)
    assert_allclose(spring.unit_torque([0.5, 1.5]), [0.0, 1.0])
    assert (spring.guess, spring.unit(True), spring.unit(False)) == (3.0, "N·m/rad", "N/m")
    assert np.isnan(LinearSpring(joint="j").guess)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"crank": 0.9}, "crank: 0.9 m"),
        ({"crank": 0.0}, "crank: 0"),
        ({"area": -1.0}, "area: -1"),
        ({"volume": 6e-4}, "volume: 0.0006 m³ for a stroke of up to 0.4 m"),
        ({"angle": np.nan}, "angle: not finite"),
        ({"scale": np.inf}, "scale: not finite"),
        ({"scale": -0.5}, "scale: -0.5"),
    ],
)
def test_a_gas_spring_that_cannot_be_is_named(facts: dict[str, Any], found: str) -> None:
    with pytest.raises(ModelError, match=f"gas spring of joint 'joint1' {found}"):
        GasSpring(**{**GAS, **facts})


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"stiffness": -4.0}, "stiffness: -4 .expected zero or more"),
        ({"stiffness": np.inf}, "stiffness: inf"),
        ({"stiffness": -np.inf}, "stiffness: -inf"),
        ({"stiffness": "soft"}, "stiffness: not numbers"),
        ({"rest": np.inf}, "rest: not finite"),
    ],
)
def test_a_linear_spring_that_cannot_be_is_named(facts: dict[str, Any], found: str) -> None:
    with pytest.raises(ModelError, match=f"spring of joint 'joint1' {found}"):
        LinearSpring(joint="joint1", **facts)
    assert LinearSpring(joint="joint1", stiffness=0.0).guess == 0.0


def test_springs_need_a_joint_each() -> None:
    robot = load_robot("planar2r")
    one = LinearSpring(joint="joint1")
    with pytest.raises(ModelError, match=r"no joint 'joint9' for a spring.*joint1, joint2"):
        replace(robot, drives=replace(robot.drives, springs=(LinearSpring(joint="joint9"),)))
    with pytest.raises(ModelError, match="two of kind 'spring' at 'joint1'"):
        replace(robot.drives, springs=(one, one))
    both = (one, GasSpring(**GAS))
    assert replace(robot, drives=replace(robot.drives, springs=both)).drives.springs == both


TABLE = """
[[drives.springs]]
type = "linear"
joint = "joint2"
rest = 0.2
stiffness = 4.0

[[drives.springs]]
type = "gas"
joint = "joint1"
anchor = 0.8
crank = 0.2
angle = 0.3
area = 1.7e-3
volume = 9.6e-4
charge = 1.56e4
"""


def text() -> str:
    return (registry_folder() / "planar2r" / "robot.toml").read_text(encoding="utf-8") + TABLE


def test_springs_of_a_table_are_read(tmp_path) -> None:
    (tmp_path / "robot.toml").write_text(text(), encoding="utf-8")
    linear, gas = load_robot(tmp_path).drives.springs
    assert (linear.joint, linear.rest, linear.guess) == ("joint2", 0.2, 4.0)
    assert gas.unit_torque([0.4]) == GasSpring(**GAS).unit_torque([0.4])


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('type = "linear"', 'type = "leaf"', r"drives\.springs\.1"),
        ('joint = "joint2"\nrest', 'joint = "joint3"\nrest', "no joint 'joint3'"),
        ("rest = 0.2", "length = 0.2", r"drives\.springs\.1.*length"),
        ("stiffness = 4.0", "stiffness = -4.0", r"drives\.springs\.1.*stiffness"),
        ("crank = 0.2\n", "", r"drives\.springs\.2.*crank"),
        ("crank = 0.2\n", "crank = 0.8\n", "crank: 0.8 m"),
    ],
)
def test_a_bad_spring_is_named(tmp_path, old: str, new: str, place: str) -> None:
    assert old in text()
    (tmp_path / "robot.toml").write_text(text().replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ModelError, match=place) as error:
        load_robot(tmp_path)
    assert error.value.where.startswith(str(tmp_path / "robot.toml"))


def test_a_gas_spring_needs_a_joint_that_turns() -> None:
    row = DHRow(link="l", joint="j", type="prismatic", a=0.0, alpha=0.0, d=0.0, theta=0.0)
    robot = robot_of_table("slide", "modified", [row])
    spring = GasSpring(
        joint="j", anchor=0.8, crank=0.2, angle=0.4, area=1e-3, volume=1e-3, charge=200.0
    )
    with pytest.raises(ModelError, match="which slides"):
        replace(robot, drives=replace(robot.drives, springs=(spring,)))
