"""Robots and bodies drawn from a seed: trees of all joint kinds, possible inertias."""

from dataclasses import replace

import numpy as np

from ident.arrays import Array
from ident.model import inertia, rotation
from ident.model.joints import KINDS, Joint
from ident.model.robot import Robot
from ident.model.tree import Edge, assemble


def random_body(rng: np.random.Generator) -> Array:
    """Draw a possible body of about 1 kg and 0.1 m."""
    A = rng.normal(size=(4, 4)) * np.array([0.1, 0.1, 0.1, 0.5])[:, None]
    return inertia.from_pseudo_inertia(A @ A.T + np.diag([1e-3, 1e-3, 1e-3, 0.1]))


def perturbed(pi: Array, rng: np.random.Generator, size: float = 0.1) -> Array:
    """Bodies near the possible ones of ``pi``, by congruence, so that they stay possible."""
    rows = [
        T @ _solid(inertia.pseudo_inertia(inertia.nearest_physical(body))) @ T.T
        for body in pi.reshape(-1, 10)
        for T in [np.eye(4) + size * rng.normal(size=(4, 4))]
    ]
    return np.concatenate([inertia.from_pseudo_inertia(J) for J in rows])


def _solid(J: Array) -> Array:
    """A pseudo-inertia with mass and extent also where a description gives a point or nothing."""
    if np.linalg.eigvalsh(J)[0] > 1e-12:
        return J
    mass = max(J[3, 3], 0.01)
    return J + np.diag([1e-3 * mass] * 3 + [mass - J[3, 3]])


def random_rotation(rng: np.random.Generator) -> Array:
    """Draw quarter turns half of the time, as real robots have them, else any rotation."""
    if rng.random() < 0.5:
        return rotation.from_rpy(*rng.integers(-1, 3, size=3) * np.pi / 2)
    return rotation.from_rpy(*rng.uniform(-np.pi, np.pi, size=3))


def random_axis(rng: np.random.Generator) -> Array:
    """Draw a coordinate axis half of the time, else any direction."""
    if rng.random() < 0.5:
        return np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    return rng.normal(size=3)


def random_tree(rng: np.random.Generator, moving: int | None = None) -> Robot:
    """Draw a branching tree of 2 to 6 moving links, some of them carrying fixed ones."""
    moving = moving or int(rng.integers(2, 7))
    inertials = {"base": random_body(rng)}
    edges: list[Edge] = []

    def attach(name: str, kind: str) -> None:
        parent = list(inertials)[-min(int(rng.integers(1, 4)), len(inertials))]
        joint = Joint(
            name=f"to_{name}",
            kind="revolute" if kind == "fixed" else kind,
            R0=random_rotation(rng),
            p0=rng.uniform(-0.4, 0.4, size=3),
            axis=random_axis(rng),
            lower=-2.0,
            upper=2.0,
            velocity=3.0,
            effort=100.0,
        )
        inertials[name] = random_body(rng)
        edges.append(Edge(parent=parent, child=name, joint=joint, fixed=kind == "fixed"))

    for i in range(moving):
        if rng.random() < 0.3:
            attach(f"bracket{i}", "fixed")
        attach(f"link{i}", str(rng.choice(KINDS)))
    robot = assemble("tree", inertials, edges, where="tree")
    return robot.with_gravity(rng.normal(size=3) * 6.0)


def random_motion(robot: Robot, count: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Draw states (count, n) of unit scale."""
    q, dq, ddq = rng.uniform(-1.5, 1.5, size=(3, count, robot.n))
    return q, dq, ddq


def with_mimics(robot: Robot, rng: np.random.Generator) -> Robot:
    """Let some joints of a tree follow others, of any kind and anywhere in it."""
    inertials = {"base": np.zeros(10), **{link.name: link.pi for link in robot.links}}
    names = list(inertials)
    edges: list[Edge] = []
    for link in robot.links:
        joint = link.joint
        leaders = [edge.joint.name for edge in edges if not edge.joint.mimics]
        if leaders and rng.random() < 0.5:
            joint = replace(
                joint,
                mimics=str(rng.choice(leaders)),
                multiplier=float(rng.choice([-1.0, 1.0, 0.5, 2.0, -0.25])),
                offset=float(rng.choice([0.0, np.pi / 2, 0.3])),
            )
        parent = names[link.parent + 1]
        edges.append(Edge(parent=parent, child=link.name, joint=joint, fixed=False))
    return assemble("coupled", inertials, edges, where="coupled").with_gravity(robot.gravity)
