"""Read MJCF through MuJoCo's own parser and compiler, without the meshes of the file.

What does not bear on the dynamics (meshes, textures, materials, geoms of bodies whose inertia is
given, sensors, tuples) is dropped before the model is compiled, so that a vendor's file loads
alone; geoms that a tendon may wrap around stay. Masses that geoms of simple shape imply are kept,
and so are the compiler's own settings (``balanceinertia``, ``settotalmass`` and the like).

A moving link is named after its body, and its frame has the body's axes and the joint's anchor as
its origin. Of several joints in one body, all but the last move links without mass. What has no
name in the file gets one that is free there. ``ref`` shifts a joint's coordinate against the drawn
pose, ``springref`` is the rest position of its spring.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ident.arrays import Array
from ident.errors import Finding, ModelError, UsageError
from ident.model import inertia, rotation
from ident.model.joints import Joint, JointKind
from ident.model.mjcf_joints import drives_of, effort_of, followers, joint_name
from ident.model.robot import Robot
from ident.model.tree import Edge, assemble


def mujoco(purpose: str) -> ModuleType:
    """Give the module, or say what is missing for ``purpose``."""
    try:
        import mujoco
    except ImportError as e:
        raise UsageError(
            purpose,
            "MuJoCo is not installed",
            expected="the extra mujoco",
            remedy="pip install 'ident-robot[mujoco]'",
        ) from e
    module: ModuleType = mujoco
    return module


def read_mjcf(path: Path) -> Robot:
    """Robot of an MJCF file.

    Raises
    ------
    ModelError
        The file cannot be read, describes something that is not a tree of hinges and slides, or
        leaves a mass to a mesh that is not there.
    UsageError
        MuJoCo is not installed.
    """
    module = mujoco(str(path))
    try:
        spec = module.MjSpec.from_file(str(path))
    except ValueError as e:
        raise ModelError(str(path), f"MuJoCo: {_line(e)}", expected="an MJCF file") from e
    return _robot(module, spec, str(path), path.parent)


def parse_mjcf(text: str, *, where: str = "MJCF") -> Robot:
    """Robot of an MJCF text; see ``read_mjcf``."""
    module = mujoco(where)
    try:
        spec = module.MjSpec.from_string(text)
    except ValueError as e:
        raise ModelError(where, f"MuJoCo: {_line(e)}", expected="an MJCF file") from e
    return _robot(module, spec, where, Path())


def _robot(module: ModuleType, spec: Any, where: str, folder: Path) -> Robot:
    needing = _strip(module, spec)
    try:
        spec.compile()  # as it is: a name that is made up must not be one that the file misses
        _name(spec)
        model = spec.compile()
    except ValueError as e:
        raise _not_compiled(e, needing, spec, where, folder) from e
    inertials, edges = _described(module, model, where)
    notes = tuple(_notes(model, where))
    robot = assemble(spec.modelname or "robot", inertials, edges, where=where, notes=notes)
    drives = drives_of(module, model, robot.joints, followers(module, model, where))
    off = model.opt.disableflags & int(module.mjtDisableBit.mjDSBL_GRAVITY)
    gravity = np.zeros(3) if off else np.array(model.opt.gravity)
    robot = replace(robot, gravity=gravity, drives=drives)
    return _at_keyframe(model, robot)


def _line(error: ValueError) -> str:
    return " ".join(str(error).split())


def _delete(spec: Any, elements: Any) -> None:
    for element in list(elements):
        # Before MuJoCo 3.3.3 elements deleted themselves.
        spec.delete(element) if hasattr(spec, "delete") else element.delete()


def _strip(module: ModuleType, spec: Any) -> dict[str, list[str]]:
    """Drop what the dynamics do not need; bodies (name → meshes) whose mass a mesh decides."""
    kinds = module.mjtInertiaFromGeom
    low, high = spec.compiler.inertiagrouprange
    from_geoms = spec.compiler.inertiafromgeom
    weighed: dict[str, list[str]] = {}
    spec.compiler.fusestatic = False
    for body in spec.bodies:
        given = body.explicitinertial and from_geoms != kinds.mjINERTIAFROMGEOM_TRUE
        unasked = body.name == "world" or given or from_geoms == kinds.mjINERTIAFROMGEOM_FALSE
        for geom in list(body.geoms):
            weightless = geom.mass == 0.0 or (np.isnan(geom.mass) and geom.density == 0.0)
            if unasked or weightless or not low <= geom.group <= high:
                if not _may_be_wrapped(module, geom):
                    _delete(spec, [geom])
                elif geom.meshname:  # fitted to it, which bears on lengths of tendons alone
                    geom.meshname, geom.size = "", np.ones(3)
            elif geom.meshname:
                weighed.setdefault(body.name, []).append(geom.meshname)
    used = {mesh for meshes in weighed.values() for mesh in meshes}
    _delete(spec, (mesh for mesh in spec.meshes if mesh.name not in used))
    for elements in (spec.sensors, spec.pairs, spec.skins, spec.hfields, spec.tuples):
        _delete(spec, elements)
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    _delete(spec, spec.textures)
    return weighed


def _may_be_wrapped(module: ModuleType, geom: Any) -> bool:
    """Whether a tendon can run around a geom, which it then calls by name."""
    round_ones = (module.mjtGeom.mjGEOM_SPHERE, module.mjtGeom.mjGEOM_CYLINDER)
    return bool(geom.name) and geom.type in round_ones


def _name(spec: Any) -> None:
    """Name the bodies and joints that have no name, by their place in the compiled model."""
    bodies = list(_depth_first(spec.worldbody))
    joints = [joint for body in bodies for joint in body.joints]
    for kind, elements, first in (("body", bodies, 0), ("joint", joints, 1)):
        taken = {element.name for element in elements}
        for number, element in enumerate(elements, first):
            if not element.name:
                element.name = _free(f"{kind}{number}", taken)
                taken.add(element.name)


def _depth_first(body: Any) -> Iterator[Any]:
    yield body
    for child in body.bodies:
        yield from _depth_first(child)


def _free(name: str, taken: Container[str]) -> str:
    """``name``, with underscores behind it until nothing else is called so."""
    while name in taken:
        name += "_"
    return name


def _not_compiled(
    error: ValueError, needing: dict[str, list[str]], spec: Any, where: str, folder: Path
) -> ModelError:
    """Error of a model that does not compile: a mesh that decides a mass, or MuJoCo's own words."""
    files = {mesh.name: mesh.file for mesh in spec.meshes}
    for body, meshes in needing.items():
        for mesh in meshes:
            file = folder / spec.meshdir / files.get(mesh, "")
            if files.get(mesh) and not file.is_file():
                return ModelError(
                    f"{where}: body '{body}'",
                    f"no <inertial>, and its mesh '{files[mesh]}' is missing",
                    expected="masses in the file, or the meshes beside it",
                    remedy="give the body an <inertial>, or put the mesh in place",
                )
    return ModelError(where, f"MuJoCo: {_line(error)}", expected="a model that MuJoCo takes")


def _described(module: ModuleType, model: Any, where: str) -> tuple[dict[str, Array], list[Edge]]:
    """Links and joints of a compiled model, in the file's order."""
    bodies = [model.body(b).name for b in range(model.nbody)]
    inertials: dict[str, Array] = {bodies[0]: np.zeros(10)}
    edges: list[Edge] = []
    coupled = followers(module, model, where)
    # Origin of each body's own frame in the link frame, which sits at the joint's anchor.
    inside = [np.zeros(3)]
    for b in range(1, model.nbody):
        name, parent = bodies[b], int(model.body_parentid[b])
        carrier, R = bodies[parent], _rotation(model.body_quat[b])
        p, anchor = inside[parent] + model.body_pos[b], np.zeros(3)
        joints = model.body_jntadr[b] + np.arange(model.body_jntnum[b])
        for j in joints.tolist():
            before, anchor = anchor, _anchor(module, model, j, anchor)
            joint = _joint(module, model, j, where)
            tie = coupled.get(j)
            if tie is not None and tie.driver >= 0:
                driver = joint_name(model, tie.driver)
                joint = replace(joint, mimics=driver, multiplier=tie.gain, offset=tie.offset)
            fixed = tie is not None and tie.driver < 0
            R_j, p_j = joint.placement(tie.offset) if fixed and tie else (joint.R0, joint.p0)
            joint = replace(joint, R0=R @ R_j, p0=p + R @ (anchor - before + p_j))
            link = name if j == joints[-1] else _free(f"{name}/{joint.name}", {*bodies, *inertials})
            edges.append(Edge(parent=carrier, child=link, joint=joint, fixed=fixed))
            inertials[link] = np.zeros(10)
            carrier, R, p = link, np.eye(3), np.zeros(3)
        if not len(joints):
            weld = Joint(name=f"{name}/weld", kind="revolute", R0=R, p0=p, axis=np.eye(3)[2])
            edges.append(Edge(parent=carrier, child=name, joint=weld, fixed=True))
        inertials[name] = inertia.transformed(_pi(model, b), np.eye(3), -anchor)
        inside.append(-anchor)
    return inertials, edges


def _rotation(quaternion: Array) -> Array:
    """Rotation matrix of a unit quaternion (w, x, y, z)."""
    w, v = float(quaternion[0]), np.asarray(quaternion[1:], dtype=np.float64)
    S = inertia.skew(v)
    return rotation.cleaned(np.eye(3) + 2.0 * w * S + 2.0 * S @ S)


def _pi(model: Any, b: int) -> Array:
    """Parameters of a body in its own frame."""
    R = _rotation(model.body_iquat[b])
    about_com = R @ np.diag(model.body_inertia[b]) @ R.T
    return inertia.pi_from_com(float(model.body_mass[b]), model.body_ipos[b], about_com)


def _anchor(module: ModuleType, model: Any, j: int, before: Array) -> Array:
    """Anchor of a joint in its body's frame; a slide has none and stays where the last one was."""
    hinge = int(model.jnt_type[j]) == module.mjtJoint.mjJNT_HINGE
    return np.array(model.jnt_pos[j]) if hinge else before


def _joint(module: ModuleType, model: Any, j: int, where: str) -> Joint:
    """Joint whose frame has the body's axes; it stands at the identity where ``ref`` is zero."""
    name, kinds = joint_name(model, j), module.mjtJoint
    kind = int(model.jnt_type[j])
    if kind not in (kinds.mjJNT_HINGE, kinds.mjJNT_SLIDE):
        word = "free" if kind == kinds.mjJNT_FREE else "ball"
        remedy = "fix the base" if word == "free" else "replace it by three hinges"
        found, expected = f"a {word} joint", "hinge or slide"
        raise ModelError(f"{where}: joint '{name}'", found, expected=expected, remedy=remedy)
    hinge, axis = kind == kinds.mjJNT_HINGE, rotation.cleaned(model.jnt_axis[j])
    drawn = float(model.qpos0[model.jnt_qposadr[j]])
    limited = bool(model.jnt_limited[j])
    lower, upper = model.jnt_range[j].tolist() if limited else (-np.inf, np.inf)
    turning: JointKind = "revolute" if limited else "continuous"
    return Joint(
        name=name,
        kind=turning if hinge else "prismatic",
        R0=rotation.about(axis, -drawn) if hinge else np.eye(3),
        p0=np.zeros(3) if hinge else -drawn * axis,
        axis=axis,
        lower=lower,
        upper=upper,
        effort=effort_of(module, model, j),
    )


def _at_keyframe(model: Any, robot: Robot) -> Robot:
    """Robot at rest in the keyframe 'home', where the file has one within its limits."""
    names = [model.key(k).name for k in range(model.nkey)]
    if "home" not in names:
        return robot
    qpos = model.key_qpos[names.index("home")]
    at = {joint_name(model, j): qpos[model.jnt_qposadr[j]] for j in range(model.njnt)}
    home = np.array([at[name] for name in robot.joints])
    low, high = robot.position.T
    return replace(robot, home=home) if ((low <= home) & (home <= high)).all() else robot


def _notes(model: Any, where: str) -> Iterator[Finding]:
    """What the file says of the dynamics and a Robot cannot hold."""
    polynomials = [getattr(model, name, np.zeros(0)) for name in _POLYNOMIALS]
    tendons = [getattr(model, name, np.zeros(0)) for name in _TENDONS]
    for found, present in {
        "gravity compensation": np.any(model.body_gravcomp),
        "springs, damping or friction of tendons": any(np.any(x) for x in tendons),
        "polynomials of joint springs or damping": any(np.any(x) for x in polynomials),
        "a surrounding fluid": model.opt.density > 0.0 or model.opt.viscosity > 0.0,
    }.items():
        if present:
            remedy = "torques are those without it"
            yield Finding(
                name="not_modelled", severity="warning", where=where, found=found, remedy=remedy
            )


_POLYNOMIALS = ("dof_dampingpoly", "jnt_stiffnesspoly", "actuator_dampingpoly")
_TENDONS = ("tendon_stiffness", "tendon_damping", "tendon_frictionloss", "tendon_armature")
