"""What a compiled MuJoCo model says of its joints: coupling, drives, limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from ident.errors import ModelError
from ident.model.drives import Drives
from ident.model.springs import LinearSpring


@dataclass(frozen=True)
class Follower:
    """A joint that an equality constraint ties to ``gain · q[driver] + offset``; −1 is none."""

    driver: int
    gain: float
    offset: float

    def behind(self, other: Follower) -> Follower:
        """What this joint does where its driver itself is a follower."""
        offset = self.gain * other.offset + self.offset
        return Follower(other.driver, self.gain * other.gain, offset)


def joint_name(model: Any, j: int) -> str:
    """Name of a joint of a model in which each has one."""
    name: str = model.joint(j).name
    return name


def followers(module: ModuleType, model: Any, where: str) -> dict[int, Follower]:
    """Joints that follow another, or stand still, by active equality constraints.

    Raises
    ------
    ModelError
        A constraint that is not linear or not between joints, or joints that follow in a circle.
    """
    direct: dict[int, Follower] = {}
    bits = module.mjtDisableBit
    switched_off = int(bits.mjDSBL_EQUALITY) | int(bits.mjDSBL_CONSTRAINT)
    active = 0 if model.opt.disableflags & switched_off else model.eq_active0
    for i in np.flatnonzero(active):
        name = f"{where}: equality '{model.eq(i).name or i + 1}'"
        if int(model.eq_type[i]) != module.mjtEq.mjEQ_JOINT:
            remedy = "deactivate it (active='false') where the arm alone is wanted"
            found = "a constraint that is not between two joints closes a loop"
            raise ModelError(name, found, expected="a tree", remedy=remedy)
        follower, driver = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
        constant, slope, *higher = model.eq_data[i, :5].tolist()
        if any(higher):
            raise ModelError(name, "a polynomial of joints", expected="a linear one")
        if follower in direct:
            found = f"joint '{joint_name(model, follower)}' follows twice"
            raise ModelError(name, found, expected="one constraint a joint")
        offset = _drawn(model, follower) + constant
        if driver < 0:
            direct[follower] = Follower(-1, 0.0, offset)
        else:
            direct[follower] = Follower(driver, slope, offset - slope * _drawn(model, driver))
    return {j: _resolved(j, direct, model, where) for j in direct}


def _resolved(j: int, direct: Mapping[int, Follower], model: Any, where: str) -> Follower:
    follower, seen = direct[j], {j}
    while follower.driver in direct:
        if follower.driver in seen:
            name = joint_name(model, j)
            raise ModelError(f"{where}: joint '{name}'", "follows itself", expected="a free driver")
        seen.add(follower.driver)
        follower = follower.behind(direct[follower.driver])
    return follower


def _drawn(model: Any, j: int) -> float:
    """Coordinate of a joint in the drawn pose: its ``ref``."""
    return float(model.qpos0[model.jnt_qposadr[j]])


def effort_of(module: ModuleType, model: Any, j: int) -> float:
    """Largest torque or force of a joint's actuators, and of the joint's own limit."""
    own = _magnitude(model.jnt_actfrcrange[j]) if model.jnt_actfrclimited[j] else np.inf
    forces = [_actuator_force(module, model, a) for a in _actuators_of(module, model, j)]
    return float(min(own, sum(forces))) if forces else float(own)


def _actuator_force(module: ModuleType, model: Any, a: int) -> float:
    gear = abs(float(model.actuator_gear[a, 0]))
    if model.actuator_forcelimited[a]:
        return gear * _magnitude(model.actuator_forcerange[a])
    direct = (
        int(model.actuator_gaintype[a]) == module.mjtGain.mjGAIN_FIXED
        and int(model.actuator_biastype[a]) == module.mjtBias.mjBIAS_NONE
        and model.actuator_ctrllimited[a]
    )
    gain = abs(float(model.actuator_gainprm[a, 0]))
    return gear * gain * _magnitude(model.actuator_ctrlrange[a]) if direct else np.inf


def _magnitude(limits: Sequence[float]) -> float:
    """What is available in either direction; of a drive that only pulls, what it pulls."""
    low, high = (float(x) for x in limits)
    return min(-low, high) if low < 0.0 < high else max(abs(low), abs(high))


def _actuators_of(module: ModuleType, model: Any, j: int) -> Iterator[int]:
    kinds = (module.mjtTrn.mjTRN_JOINT, module.mjtTrn.mjTRN_JOINTINPARENT)
    for a in range(model.nu):
        if int(model.actuator_trntype[a]) in kinds and model.actuator_trnid[a, 0] == j:
            yield a


def drives_of(
    module: ModuleType, model: Any, names: Sequence[str], coupled: Mapping[int, Follower]
) -> Drives:
    """Armature, friction and springs of the file as guesses, those of followers at their driver."""
    n = len(names)
    armature, viscous, coulomb, stiffness, pull = np.zeros((5, n))
    for j in range(model.njnt):
        tie = coupled.get(j, Follower(j, 1.0, 0.0))
        if tie.driver < 0:
            continue
        i, dof = names.index(joint_name(model, tie.driver)), int(model.jnt_dofadr[j])
        inertia, damping = float(model.dof_armature[dof]), float(model.dof_damping[dof])
        for a in _actuators_of(module, model, j):
            # Since MuJoCo 4 an actuator may bring its own.
            gear = float(model.actuator_gear[a, 0])
            inertia += gear**2 * float(getattr(model, "actuator_armature", np.zeros(model.nu))[a])
            damping += gear**2 * float(getattr(model, "actuator_damping", np.zeros(model.nu))[a])
        armature[i] += tie.gain**2 * inertia
        viscous[i] += tie.gain**2 * damping
        coulomb[i] += abs(tie.gain) * float(model.dof_frictionloss[dof])
        k, rest = float(model.jnt_stiffness[j]), float(model.qpos_spring[model.jnt_qposadr[j]])
        stiffness[i] += tie.gain**2 * k
        pull[i] += tie.gain * k * (rest - tie.offset)
    plain = Drives.plain(n)
    return Drives(
        coupling=plain.coupling,
        gear_ratio=plain.gear_ratio,
        effort_rated=plain.effort_rated,
        armature=armature,
        viscous=viscous,
        coulomb=coulomb,
        springs=tuple(
            LinearSpring(joint=name, rest=p / k, stiffness=k)
            for name, k, p in zip(names, stiffness.tolist(), pull.tolist(), strict=True)
            if k > 0.0
        ),
    )
