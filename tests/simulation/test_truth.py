import json

import numpy as np
import pytest

from ident.errors import UsageError
from ident.model import inertia
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.regressor.columns import stack
from ident.regressor.friction import friction_terms
from ident.regressor.rigid import derive
from ident.simulation.truth import Truth, perturb

UR5 = load_robot("ur5")


def truth(robot: Robot = UR5, seed: int = 0) -> Truth:
    return perturb(robot, np.random.default_rng(seed))


def moments(pi: np.ndarray) -> np.ndarray:
    return np.linalg.eigvalsh(inertia.inertia_c_of(pi))


@pytest.mark.parametrize("name", ["ur5", "panda", "kuka_lwr4", "planar2r"])
@pytest.mark.parametrize("seed", range(5))
def test_every_link_can_exist(name: str, seed: int) -> None:
    for link in truth(load_robot(name), seed).robot.links:
        assert inertia.smallest_eigenvalue(link.pi) > 0.0, link.name
        a, b, c = moments(link.pi)
        assert a + b > c > 0.0, link.name


@pytest.mark.parametrize("seed", range(5))
def test_masses_inertias_and_drives_are_off_by_as_much_as_promised(seed: int) -> None:
    true = truth(seed=seed).robot
    for link, cad in zip(true.links, UR5.links, strict=True):
        assert 0.05 <= abs(link.pi[0] / cad.pi[0] - 1.0) <= 0.20
        off = np.abs(moments(link.pi) / moments(cad.pi) - 1.0)
        assert (off > 0.04).all()
        assert (off < 0.21).all()
        assert 1e-4 < np.linalg.norm(inertia.com_of(link.pi) - inertia.com_of(cad.pi)) < 0.1
    for kind in ("armature", "viscous", "coulomb"):
        off = np.abs(getattr(true.drives, kind) / getattr(UR5.drives, kind) - 1.0)
        assert ((off >= 0.05) & (off <= 0.30)).all()


def test_the_same_seed_gives_the_same_truth() -> None:
    assert truth(seed=3).parameters == truth(seed=3).parameters
    assert truth(seed=3).parameters != truth(seed=4).parameters


def test_parameters_are_the_columns_of_the_regressor() -> None:
    t = truth()
    columns = stack(derive(UR5), friction=friction_terms(UR5))
    assert tuple(t.parameters) == columns.names
    true = stack(derive(t.robot), friction=friction_terms(t.robot))
    np.testing.assert_array_equal(t.vector(columns.names)[:-6], true.guess[:-6])
    np.testing.assert_array_equal(t.vector(columns.names)[-6:], t.offset)


def test_a_truth_survives_json_exactly() -> None:
    before = truth()
    after = Truth.from_dict(json.loads(json.dumps(before.to_dict())), UR5)
    assert after.parameters == before.parameters
    np.testing.assert_array_equal(after.robot.pi, before.robot.pi)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 9}, "schema 9"),
        ({"robot": "panda"}, "of robot 'panda'"),
        ({"parameters": {"m1": 1.0}}, "no parameter 'mx1'"),
    ],
)
def test_facts_that_are_no_truth_of_this_robot_are_refused(change: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Truth.from_dict({**truth().to_dict(), **change}, UR5)


def test_a_link_without_mass_stays_without() -> None:
    pi = UR5.pi.copy()
    pi[:10] = 0.0
    assert not truth(UR5.with_pi(pi)).robot.links[0].pi.any()
