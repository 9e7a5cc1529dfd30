import ast
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.model.registry import load_robot
from ident.regressor.named import regressor_function
from ident.regressor.newton_euler import derive_program
from ident.regressor.python_ import python_module
from ident.regressor.rigid import derive
from tests.random_robots import random_motion
from tests.regressor.compiling import assert_close, robots
from tests.tolerances import BACK_END

UR5 = python_module("ur5", [regressor_function(derive_program(load_robot("ur5")))])


def loaded(text: str) -> ModuleType:
    module = ModuleType("generated")
    exec(compile(text, "generated.py", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("name", robots())
def test_the_module_computes_what_the_regressor_does(name: str) -> None:
    robot = robots()[name]
    regressor = derive(robot)
    module = loaded(python_module(name, [regressor_function(regressor.program)]))
    motion = random_motion(robot, 6, np.random.default_rng(0))
    ours = getattr(module, f"{name}_regressor")(*motion)
    assert_close(ours.transpose(1, 2, 0), regressor.by_joint(*motion), BACK_END)


def test_samples_are_broadcast() -> None:
    run = loaded(UR5).ur5_regressor
    q, dq, ddq = random_motion(load_robot("ur5"), 6, np.random.default_rng(1))
    assert run(q[0], dq[0], ddq[0]).shape == (6, 60)
    many = run(q.reshape(2, 3, 6), dq[0], ddq[0])
    assert many.shape == (2, 3, 6, 60)
    assert_allclose(many[1, 2], run(q[5], dq[0], ddq[0]), rtol=0, atol=1e-13)


def test_derivatives_by_complex_step_are_possible() -> None:
    run = loaded(UR5).ur5_regressor
    q, dq, ddq = random_motion(load_robot("ur5"), 1, np.random.default_rng(2))
    step = np.eye(6)[1]
    slope = run(q[0] + 1e-30j * step, dq[0], ddq[0]).imag / 1e-30
    both = [run(q[0] + h * step, dq[0], ddq[0]) for h in (1e-6, -1e-6)]
    assert_allclose(slope, (both[0] - both[1]) / 2e-6, rtol=0, atol=1e-6)


def test_it_needs_numpy_alone_and_stays_the_same() -> None:
    imports = [n for n in ast.walk(ast.parse(UR5)) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(n) for n in imports] == ["import numpy as np"]
    assert python_module("ur5", [regressor_function(derive_program(load_robot("ur5")))]) == UR5


@pytest.mark.parametrize("robot", ['"""', "a\\", 'x"', "lambda", ""])
def test_any_robot_name_gives_a_module(robot: str) -> None:
    program = derive_program(load_robot("planar2r"))
    module = loaded(python_module(robot, [regressor_function(program)]))
    (function,) = [f for name, f in vars(module).items() if name.endswith("_regressor")]
    wanted = derive(load_robot("planar2r"))(np.ones(2), np.ones(2), np.ones(2))
    assert_array_equal(function(np.ones(2), np.ones(2), np.ones(2)).shape, wanted.shape)
