"""The identified URDF in the programs that load it: the torque is ours."""

import mujoco
import numpy as np
import pinocchio as pin

from ident.export.urdf import patch_urdf
from ident.fit.estimate import estimate
from ident.logs.dataset import prepare
from ident.logs.readers import read_log
from ident.model.registry import load_robot
from ident.model.urdf import parse_urdf
from ident.regressor.rigid import derive
from tests.end_to_end.test_ur5_sample import LOGS
from tests.tolerances import TORQUE


def test_pinocchio_and_mujoco_reproduce_the_identified_torque():
    robot = load_robot("ur5")
    fitted = estimate([prepare(read_log(LOGS / "run.parquet", robot), robot)], robot)
    text = patch_urdf(robot, fitted.pi).text
    regressor = derive(fitted.identified)
    model = pin.buildModelFromXML(text)
    data = model.createData()
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    spec.compiler.balanceinertia = False
    plant = spec.compile()
    plant.opt.gravity[:] = robot.gravity
    state = mujoco.MjData(plant)
    assert list(model.names)[1:] == list(robot.joints)
    rng = np.random.default_rng(0)
    for q, dq, ddq in rng.uniform(-2.0, 2.0, size=(20, 3, 6)):
        ours = regressor.inverse_dynamics(q, dq, ddq)[0]
        np.testing.assert_allclose(pin.rnea(model, data, q, dq, ddq), ours, rtol=0, atol=TORQUE)
        state.qpos[:], state.qvel[:], state.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(plant, state)
        passive = state.qfrc_inverse + state.qfrc_passive + state.qfrc_constraint
        np.testing.assert_allclose(passive, ours, rtol=0, atol=TORQUE)
    np.testing.assert_allclose(parse_urdf(text).pi, fitted.pi, rtol=1e-12, atol=1e-15)
