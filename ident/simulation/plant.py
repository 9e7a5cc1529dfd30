"""A robot in MuJoCo, built from our own model: no file, no mesh, no contact.

Coulomb friction is MuJoCo's ``frictionloss``, a constraint that is soft near standstill. With a
time constant of two steps and an impedance near one the sign law is exact above |dq| of about 1e-3
rad/s; the default softness (20 ms) would shift every reversal by some 0.05 rad/s.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.errors import ModelError
from ident.model import inertia
from ident.model.mjcf import mujoco
from ident.model.robot import Link, Robot

TIMESTEP = 1e-4  # s
_IMPEDANCE = (0.9999, 0.9999, 1e-3, 0.5, 2.0)
# MuJoCo refuses bodies without mass. What a link without mass gets instead moves no torque by
# more than 1e-10 N·m.
_NOTHING = 1e-12


class Plant:
    """MuJoCo model and state of a robot; joint coordinates in the robot's order.

    Attributes
    ----------
    model, data
        ``mujoco.MjModel`` and ``mujoco.MjData``.
    """

    def __init__(self, robot: Robot, timestep: float = TIMESTEP) -> None:
        """Build the plant of a robot with independent drives and possible bodies.

        Raises
        ------
        ModelError
            Coupled drives, mimic joints, or a body that cannot exist.
        UsageError
            MuJoCo is not installed.
        """
        self._mj = mujoco("simulation")
        self.robot = robot
        self.model: Any = _compiled(self._mj, robot, timestep)
        self.data: Any = self._mj.MjData(self.model)
        # Coordinates are numbered as the joints stand in the tree, which MuJoCo does by itself too.
        self._order = [self.model.joint(name).dofadr[0] for name in robot.joints]
        self._springs = [(robot.joints.index(s.joint), s) for s in robot.drives.springs]

    def place(self, q: Array, dq: Array | None = None) -> None:
        """Put the joints at positions (n,) and velocities (n,), by default at rest."""
        self._mj.mj_resetData(self.model, self.data)
        self.data.qpos[self._order] = q
        if dq is not None:
            self.data.qvel[self._order] = dq
        self._mj.mj_forward(self.model, self.data)

    def drive(self, tau: Array, steps: int) -> None:
        """Hold torques (n,) for a number of steps."""
        # Springs follow the motion, and a gas spring is nothing that MuJoCo knows.
        for count in [1] * steps if self._springs else [steps]:
            self.data.qfrc_applied[self._order] = tau - self._elastic(self.q)
            self._mj.mj_step(self.model, self.data, count)

    @property
    def q(self) -> Array:
        """Positions (n,)."""
        return np.asarray(self.data.qpos[self._order])

    @property
    def dq(self) -> Array:
        """Velocities (n,)."""
        return np.asarray(self.data.qvel[self._order])

    def inverse(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Torque (n,) that gives accelerations (n,), by MuJoCo's own inverse dynamics."""
        self.place(q, dq)
        self.data.qacc[self._order] = ddq
        self._mj.mj_inverse(self.model, self.data)
        return np.asarray(self.data.qfrc_inverse[self._order]) + self._elastic(q)

    def _elastic(self, q: Array) -> Array:
        """What the drives give (n,) against the springs; a spring without a guess has none."""
        tau = np.zeros(self.robot.n)
        for j, spring in self._springs:
            tau[j] += np.nan_to_num(spring.guess) * spring.unit_torque(q[j])
        return tau


def _compiled(mj: ModuleType, robot: Robot, timestep: float) -> Any:
    if robot.drives.coupled:
        raise ModelError(f"robot '{robot.name}'", "coupled drives", expected="independent ones")
    spec = mj.MjSpec()
    option = spec.option
    option.timestep = timestep
    option.gravity = robot.gravity
    option.integrator = mj.mjtIntegrator.mjINT_IMPLICITFAST
    option.solver = mj.mjtSolver.mjSOL_NEWTON
    option.iterations, option.tolerance = 100, 1e-15
    option.ls_iterations, option.ls_tolerance = 100, 1e-6
    option.disableflags |= mj.mjtDisableBit.mjDSBL_CONTACT | mj.mjtDisableBit.mjDSBL_LIMIT
    bodies: list[Any] = []
    for link in robot.links:
        parent = bodies[link.parent] if link.parent >= 0 else spec.worldbody
        bodies.append(_add(mj, robot, parent, link, timestep))
    try:
        model = spec.compile()
    except ValueError as e:
        raise ModelError(f"robot '{robot.name}'", f"MuJoCo refuses it: {e}") from e
    for joint, viscous in zip(robot.joints, robot.drives.viscous, strict=True):
        model.dof_damping[model.joint(joint).dofadr[0]] = viscous
    return model


def _add(mj: ModuleType, robot: Robot, parent: Any, link: Link, timestep: float) -> Any:
    """Add the body and the joint of a link."""
    joint, where = link.joint, f"robot '{robot.name}': link '{link.name}'"
    if joint.mimics:
        raise ModelError(where, f"joint '{joint.name}' mimics", expected="a joint of its own")
    com, axes, moments = _principal(link, where)
    body = parent.add_body(
        name=link.name,
        pos=joint.p0,
        quat=_quaternion(mj, joint.R0),
        mass=max(link.pi[0], _NOTHING),
        ipos=com,
        iquat=_quaternion(mj, axes),
        inertia=moments,
        explicitinertial=True,
    )
    kind = mj.mjtJoint.mjJNT_HINGE if joint.turns else mj.mjtJoint.mjJNT_SLIDE
    body.add_joint(
        name=joint.name,
        type=kind,
        axis=joint.axis,
        armature=robot.drives.armature[joint.coordinate],
        frictionloss=robot.drives.coulomb[joint.coordinate],
        # Two steps is the stiffest that MuJoCo allows.
        solref_friction=[2.0 * timestep, 1.0],
        solimp_friction=_IMPEDANCE,
    )
    return body


def _principal(link: Link, where: str) -> tuple[Array, Array, Array]:
    """COM (3,), principal axes (3, 3) and moments (3,) of a link."""
    if link.pi[0] == 0.0 and not link.pi.any():
        return np.zeros(3), np.eye(3), np.full(3, _NOTHING)
    moments, axes = np.linalg.eigh(inertia.inertia_c_of(link.pi))
    slack = moments[0] + moments[1] - moments[2]
    if link.pi[0] <= 0.0 or min(moments[0], slack) < -1e-12 * moments[2]:
        raise ModelError(
            where,
            "no body has this mass and inertia",
            expected="a positive definite pseudo-inertia",
            remedy="project it with nearest_physical first",
        )
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    return inertia.com_of(link.pi), axes, np.maximum(moments, _NOTHING)


def _quaternion(mj: ModuleType, R: Array) -> Array:
    """Unit quaternion (w, x, y, z) of a rotation matrix."""
    quaternion = np.empty(4)
    mj.mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
    return quaternion
