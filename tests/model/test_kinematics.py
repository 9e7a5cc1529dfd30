import numpy as np
import pinocchio
import pytest

from ident.errors import ModelError
from ident.model.kinematics import frames, frames_and_base
from ident.model.registry import load_robot, load_symbolic
from tests.oracles import Pinocchio
from tests.random_robots import random_tree, with_mimics
from tests.tolerances import ROUNDOFF


@pytest.mark.parametrize("name", ["ur5", "panda", "kuka_lwr4", "kinova_jaco"])
def test_frames_are_those_of_pinocchio(name: str) -> None:
    robot = load_robot(name)
    oracle = Pinocchio(robot.description, robot)
    q = np.random.default_rng(0).uniform(-2.0, 2.0, size=(20, robot.n))
    R, p = frames(robot, q)
    for k, x in enumerate(q):
        full, *_ = oracle._state(x, np.zeros_like(x), np.zeros_like(x))
        pinocchio.forwardKinematics(oracle.model, oracle.data, full)
        for i, link in enumerate(robot.links):
            placement = oracle.data.oMi[oracle.model.getJointId(link.joint.name)]
            np.testing.assert_allclose(R[k, i], placement.rotation, rtol=0, atol=ROUNDOFF)
            np.testing.assert_allclose(p[k, i], placement.translation, rtol=0, atol=ROUNDOFF)


@pytest.mark.parametrize("seed", range(12))
def test_frames_multiply_the_placements_of_the_joints(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = with_mimics(random_tree(rng), rng)
    q = rng.normal(size=(5, robot.n))
    R, p = frames_and_base(robot, q)
    assert (R[:, -1] == np.eye(3)).all() and not p[:, -1].any()
    for k in range(len(q)):
        for i, link in enumerate(robot.links):
            R_ab, p_ab = link.joint.placement(q[k, link.joint.coordinate])
            R_0a, p_0a = R[k, link.parent], p[k, link.parent]
            np.testing.assert_allclose(R[k, i], R_0a @ R_ab, rtol=0, atol=ROUNDOFF)
            np.testing.assert_allclose(p[k, i], p_0a + R_0a @ p_ab, rtol=0, atol=ROUNDOFF)


def test_no_configuration_has_no_frames() -> None:
    R, p = frames(load_robot("ur5"), np.empty((0, 6)))
    assert R.shape == (0, 6, 3, 3) and p.shape == (0, 6, 3)


def test_what_has_no_frames_is_refused() -> None:
    with pytest.raises(ModelError, match=r"q: shape 6.*any×6"):
        frames(load_robot("ur5"), np.zeros(6))
    with pytest.raises(ModelError, match="no value for length a2"):
        frames(load_symbolic("planar2r"), np.zeros((1, 2)))
