"""Dynamics by programs that nobody here wrote, asked joint by joint name."""

import mujoco
import numpy as np
import pinocchio

from ident.arrays import Array
from ident.model.inertia import from_pinocchio
from ident.model.robot import Robot

# What MuJoCo needs to take a URDF as it is.
_AS_IT_IS = """<mujoco><compiler balanceinertia="false" boundmass="0" boundinertia="0"
  discardvisual="true" fusestatic="true"/></mujoco>"""


class Pinocchio:
    """A URDF in Pinocchio, with the joint order, gravity and mimics of ``robot``."""

    def __init__(self, urdf: str, robot: Robot) -> None:
        self.model = pinocchio.buildModelFromXML(urdf)
        self.model.gravity.linear = np.array(robot.gravity)
        self.data = self.model.createData()
        joints = [link.joint for link in robot.links]
        self._joints = [self.model.joints[self.model.getJointId(j.name)] for j in joints]
        # Mimic joints move freely here: coordinates and torques are coupled by hand.
        self._gain = np.zeros((len(joints), robot.n))
        self._gain[np.arange(len(joints)), [j.coordinate for j in joints]] = [
            j.multiplier for j in joints
        ]
        self._offset = np.array([j.offset for j in joints])

    def _state(self, q: Array, dq: Array, ddq: Array) -> tuple[Array, Array, Array]:
        full_q = pinocchio.neutral(self.model)
        full_dq, full_ddq = np.zeros((2, self.model.nv))
        for i, joint in enumerate(self._joints):
            x = self._gain[i] @ q + self._offset[i]
            full_q[joint.idx_q : joint.idx_q + joint.nq] = (
                [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
            )
            full_dq[joint.idx_v] = self._gain[i] @ dq
            full_ddq[joint.idx_v] = self._gain[i] @ ddq
        return full_q, full_dq, full_ddq

    def torque(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Inverse dynamics (N, n)."""
        rows = [joint.idx_v for joint in self._joints]
        return np.array(
            [
                self._gain.T @ pinocchio.rnea(self.model, self.data, *self._state(*state))[rows]
                for state in zip(q, dq, ddq, strict=True)
            ]
        )

    def gravity(self, q: Array) -> Array:
        """Gravity torque (N, n)."""
        rows = [joint.idx_v for joint in self._joints]
        states = ((x, np.zeros_like(x), np.zeros_like(x)) for x in q)
        full = (self._state(*state)[0] for state in states)
        return np.array(
            [
                self._gain.T @ pinocchio.computeGeneralizedGravity(self.model, self.data, at)[rows]
                for at in full
            ]
        )

    def mass_matrix(self, q: Array) -> Array:
        """Mass matrix (N, n, n)."""
        rows = [joint.idx_v for joint in self._joints]
        found = []
        for x in q:
            at, *_ = self._state(x, np.zeros_like(x), np.zeros_like(x))
            upper = np.triu(pinocchio.crba(self.model, self.data, at))
            M = (upper + np.triu(upper, 1).T)[np.ix_(rows, rows)]
            found.append(self._gain.T @ M @ self._gain)
        return np.array(found)

    def coriolis(self, q: Array, dq: Array) -> Array:
        """Coriolis matrix (N, n, n) by Christoffel symbols; of robots without mimic joints."""
        rows = [joint.idx_v for joint in self._joints]
        found = []
        for x, dx in zip(q, dq, strict=True):
            at, rate, _ = self._state(x, dx, np.zeros_like(x))
            C = pinocchio.computeCoriolisMatrix(self.model, self.data, at, rate)
            found.append(C[np.ix_(rows, rows)])
        return np.array(found)

    def regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Stacked regressor (N·n, 10·links), columns in our order."""
        rows = [joint.idx_v for joint in self._joints]
        bodies = [joint.id - 1 for joint in self._joints]
        blocks = []
        for state in zip(q, dq, ddq, strict=True):
            full = pinocchio.computeJointTorqueRegressor(
                self.model, self.data, *self._state(*state)
            )
            Y = from_pinocchio(full.reshape(self.model.nv, -1, 10))[rows][:, bodies]
            blocks.append(self._gain.T @ Y.reshape(len(rows), -1))
        return np.concatenate(blocks)


class MuJoCo:
    """A URDF in MuJoCo, with the joint order and gravity of ``robot``; no contacts, no damping."""

    def __init__(self, urdf: str, robot: Robot) -> None:
        head, robot_tag, rest = urdf.partition("<robot")
        attributes, _, body = rest.partition(">")
        self.model = mujoco.MjModel.from_xml_string(
            f"{head}{robot_tag}{attributes}>{_AS_IT_IS}{body}"
        )
        self.model.opt.gravity = robot.gravity
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        for name in ("dof_damping", "dof_armature", "dof_frictionloss"):
            getattr(self.model, name)[:] = 0.0
        self.data = mujoco.MjData(self.model)
        joints = [self.model.joint(name) for name in robot.joints]
        self._qpos = [int(joint.qposadr[0]) for joint in joints]
        self._dof = [int(joint.dofadr[0]) for joint in joints]

    def torque(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Inverse dynamics (N, n)."""
        tau = np.empty_like(q)
        for k in range(len(q)):
            self.data.qpos[self._qpos] = q[k]
            self.data.qvel[self._dof] = dq[k]
            self.data.qacc[self._dof] = ddq[k]
            mujoco.mj_inverse(self.model, self.data)
            tau[k] = self.data.qfrc_inverse[self._dof]
        return tau
