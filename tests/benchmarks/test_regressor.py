"""The regressor beside Pinocchio's, called in a loop from Python as its users do."""

import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

from ident.base.sampled import random_states, reduce
from ident.export.urdf import write_urdf
from ident.model.inertia import nearest_physical
from ident.model.registry import load_robot
from ident.regressor.newton_euler import derive_program
from ident.regressor.rigid import derive

SAMPLES = 20_480


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return min(once() for _ in range(repeats))


@pytest.mark.bench
@pytest.mark.parametrize("name", ["ur5", "panda", "iiwa14"])
def test_regressor_is_faster_than_pinocchio_in_a_loop(name: str) -> None:
    robot = load_robot(name)
    regressor = derive(robot)
    motion = random_states(robot, SAMPLES, np.random.default_rng(0))
    # An impossible CAD tensor cannot be written; the regressor does not depend on it.
    possible = np.concatenate([nearest_physical(link) for link in robot.pi.reshape(-1, 10)])
    model = pin.buildModelFromXML(write_urdf(robot.with_pi(possible)))
    data = model.createData()

    def peer() -> None:
        for state in zip(motion.q, motion.dq, motion.ddq, strict=True):
            pin.computeJointTorqueRegressor(model, data, *state)

    cold = seconds(lambda: derive_program(robot), repeats=1)
    ours = seconds(lambda: regressor.by_joint(motion.q, motion.dq, motion.ddq))
    theirs = seconds(peer)
    minimal = seconds(lambda: reduce(robot))
    print(
        f"\n{name}: derived in {cold:.2f} s, {regressor.program.operations} operations; "
        f"{1e6 * ours / SAMPLES:.2f} µs a sample, Pinocchio {1e6 * theirs / SAMPLES:.2f} µs "
        f"({theirs / ours:.1f}×); minimal set in {1e3 * minimal:.0f} ms"
    )
    assert ours < theirs
