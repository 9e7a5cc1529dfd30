import time

import numpy as np
import pytest

from ident.base.basemap import BaseMap
from ident.errors import InfeasibleError
from ident.fit import consistent
from ident.fit.consistent import fit_physical
from ident.fit.options import FitOptions
from ident.fit.prior import mass_powers, prior_of
from ident.leastsquares.factor import Reduction, triangular
from ident.model import inertia
from ident.model.dh import DHRow, robot_of_table
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.regressor.columns import Stack, stack
from ident.regressor.friction import friction_terms
from ident.regressor.rigid import derive
from tests.tolerances import SOLVER

FINGER = inertia.pi_from_com(0.036, [0, 0.005, 0.02], 1e-6 * np.diag([2.375, 2.375, 0.75]))


def one_link(pi: np.ndarray) -> Robot:
    row = DHRow(link="finger", joint="j", a=0.0, alpha=0.0, d=0.0, theta=0.0)
    return robot_of_table("finger", "modified", [row]).with_pi(pi)


def everything(columns: Stack) -> BaseMap:
    p = len(columns.names)
    return BaseMap(columns=columns.names, kept=np.arange(p), grouping=np.eye(p))


def fit(robot: Robot, X: np.ndarray, y: np.ndarray, sigma: float, friction=(), **options):
    columns = stack(derive(robot), armature=False, friction=friction_terms(robot, friction))
    options = FitOptions(**options)
    factor = triangular(np.column_stack([X, y])) / sigma
    return fit_physical(factor, everything(columns), columns, prior_of(columns, options), options)


def test_small_bodies_are_found_as_least_squares_finds_them():
    # Case G1: in raw units a solver reports "optimal" with Izz 64 % off.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    sigma = 1e-6 * np.linalg.norm(FINGER)
    y = X @ FINGER + sigma * rng.normal(size=400)
    plain, *_ = np.linalg.lstsq(X, y, rcond=None)
    robot = one_link(FINGER * np.array([1.3, 1.3, 1.3, 1.3, 1.3, 1, 1, 1.3, 1, 1.3]))
    found = fit(robot, X, y, sigma)
    assert found.status == "optimal"
    assert abs(found.theta[9] / FINGER[9] - 1.0) < 2e-3
    std = sigma * np.sqrt(np.diag(np.linalg.inv(X.T @ X)))
    # The prior is worth one row among 400: far less than a standard error.
    assert np.all(np.abs(found.theta - plain) < 0.1 * std)


@pytest.mark.parametrize("seed", range(5))
def test_every_body_can_exist_by_its_margin(seed):
    rng = np.random.default_rng(seed)
    impossible = inertia.pi_from_com(2.0, [0.1, 0.0, 0.2], np.diag([0.01, 0.02, 0.08]))
    X = rng.normal(size=(60, 10))
    robot = one_link(inertia.nearest_physical(impossible, floor=0.1))
    found = fit(robot, X, X @ impossible, 1e-3, margin=1e-3)
    assert found.status == "optimal"
    assert found.consistent
    size = prior_of(stack(derive(robot), armature=False), FitOptions()).size[:10]
    scaled = inertia.pseudo_inertia(found.theta / size)
    assert np.linalg.eigvalsh(scaled)[0] >= 1e-3 * (1.0 - 1e-3)


def test_negative_friction_ends_at_zero_and_is_said():
    # Case F3: noise drives least squares negative.
    rng = np.random.default_rng(1)
    robot = one_link(FINGER * 100.0)
    X = rng.normal(size=(300, 12))
    truth = np.append(robot.pi, [0.0, 0.5])
    y = X @ truth + 0.1 * rng.normal(size=300)
    y -= 0.05 * X[:, 10]  # a pull below zero
    found = fit(robot, X, y, 0.1, friction=("viscous", "coulomb"))
    assert np.linalg.lstsq(X, y, rcond=None)[0][10] < 0.0
    assert found.theta[10] == 0.0
    assert found.active == ("viscous1",)
    assert found.theta[11] == pytest.approx(0.5, abs=0.05)


def test_weak_data_leave_the_prior():
    robot = one_link(FINGER)
    found = fit(robot, 1e-12 * np.eye(10), np.zeros(10), 1.0)
    np.testing.assert_allclose(
        found.theta / FINGER.clip(1e-9), FINGER / FINGER.clip(1e-9), rtol=SOLVER
    )


def test_prior_makes_impossible_and_missing_bodies_possible():
    flat = inertia.pi_from_com(1.0, [0, 0, 0], np.diag([0.01, 0.01, 0.05]))
    for pi in (flat, np.zeros(10)):
        columns = stack(derive(one_link(pi)), armature=False)
        prior = prior_of(columns, FitOptions())
        assert inertia.smallest_eigenvalue(prior.theta) > 0.0
        assert np.all(prior.size > 0.0)
        np.testing.assert_allclose(prior.size[:10], prior.theta[0] * mass_powers(prior.length)[0])


def test_a_log_of_420_000_rows_is_small_for_the_solver():
    # Case G5: given to cvxpy as rows, this does not compile in any useful time.
    robot = load_robot("panda")
    columns = stack(derive(robot), armature=False, friction=friction_terms(robot))
    options = FitOptions()
    prior = prior_of(columns, options)
    rng = np.random.default_rng(0)
    p, rows, sigma = len(columns.names), 10_000, 1e-3
    assert p == 91
    reduction, gram, moment = Reduction(1, p), np.zeros((p, p)), np.zeros(p)
    for _ in range(42):
        X = rng.normal(size=(p, rows))
        y = prior.theta @ X + sigma * rng.normal(size=rows)
        reduction.add(0, X[None], y[None], np.ones((1, rows), dtype=bool))
        gram += X @ X.T
        moment += X @ y
    start = time.perf_counter()
    factor = reduction.finish().weighted(np.array([1.0 / sigma]))
    found = fit_physical(factor, everything(columns), columns, prior, options)
    assert time.perf_counter() - start < 10.0
    assert found.status == "optimal"
    plain = np.linalg.solve(gram, moment)
    np.testing.assert_allclose(found.theta, plain, rtol=0, atol=1e-6 * np.abs(plain).max())


def test_solvers_that_all_fail_are_named(monkeypatch):
    import cvxpy as cp

    def fail(self, solver, **settings):
        raise cp.SolverError("no")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    robot = one_link(FINGER)
    with pytest.raises(InfeasibleError, match="CLARABEL: no; SCS: no"):
        fit(robot, np.eye(10), np.zeros(10), 1.0)


def test_second_solver_agrees_with_the_first(monkeypatch):
    import cvxpy as cp

    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 10))
    robot = one_link(FINGER * 50.0)
    y = X @ robot.pi + 1e-3 * rng.normal(size=200)
    first = fit(robot, X, y, 1e-3)
    real = cp.Problem.solve
    monkeypatch.setattr(
        cp.Problem,
        "solve",
        lambda self, solver, **s: (
            (_ for _ in ()).throw(cp.SolverError("down"))
            if solver == cp.CLARABEL
            else real(self, solver=solver, **s)
        ),
    )
    second = fit(robot, X, y, 1e-3)
    assert (first.solver, second.solver) == ("CLARABEL", "SCS")
    np.testing.assert_allclose(second.theta, first.theta, rtol=0, atol=1e-4)
    assert consistent.PhysicalFit is type(second)
