import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose, assert_array_equal

from ident.arrays import Array
from ident.errors import UnidentifiableError
from ident.leastsquares.factor import Factors, reduce_rows
from ident.leastsquares.solve import Solution, solve_ols, solve_wls

P, N, JOINTS = 6, 400, 3
NOISE = np.array([0.05, 0.5, 5.0])
TRUTH = np.array([1.0, -0.3, 20.0, 0.01, 4.0, -2.0])
PRIOR = np.zeros(P)


def problem(seed: int = 0, noise: Array = NOISE) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(JOINTS, P, N)) * np.array([1, 3, 0.1, 100, 1, 1])[None, :, None]
    tau = np.einsum("jpk,p->jk", Y, TRUTH) + noise[:, None] * rng.normal(size=(JOINTS, N))
    return Y, tau


def factors_of(Y: Array, tau: Array, groups: int = 4) -> Factors:
    valid = np.ones_like(tau, dtype=bool)
    parts = np.array_split(np.arange(tau.shape[1]), groups)
    pieces = ((g, Y[:, :, k], tau[:, k], valid[:, k]) for g, k in enumerate(parts))
    return reduce_rows(pieces, len(Y), Y.shape[1])


def stacked(Y: Array, tau: Array) -> tuple[Array, Array]:
    return np.concatenate(Y.transpose(0, 2, 1)), tau.ravel()


def test_weighted_is_statsmodels_with_the_same_weights() -> None:
    Y, tau = problem()
    solution = solve_wls(factors_of(Y, tau), PRIOR)
    weights = np.repeat(solution.sigma**-2, N)
    W, y = stacked(Y, tau)
    peer = sm.WLS(y, W, weights=weights).fit()
    assert_allclose(solution.theta, peer.params, rtol=1e-10)
    assert_allclose(solution.covariance, peer.normalized_cov_params, rtol=1e-9, atol=1e-18)
    general = sm.GLS(y, W, sigma=1.0 / weights).fit()
    assert_allclose(solution.theta, general.params, rtol=1e-10)


def test_ordinary_is_statsmodels_ols() -> None:
    Y, tau = problem()
    solution = solve_ols(factors_of(Y, tau), PRIOR)
    peer = sm.OLS(*stacked(Y, tau)[::-1]).fit()
    assert_allclose(solution.theta, peer.params, rtol=1e-10)
    assert_allclose(solution.covariance, peer.cov_params(), rtol=1e-9, atol=1e-18)
    assert_allclose(solution.sigma, np.sqrt(peer.scale), rtol=1e-10)


def test_each_joint_s_noise_is_found_with_its_own_degrees_of_freedom() -> None:
    Y, tau = problem()
    solution = solve_wls(factors_of(Y, tau), PRIOR)
    assert_allclose(solution.sigma, NOISE, rtol=0.1)
    W, _ = stacked(Y, tau)
    weighted = W / np.repeat(solution.sigma, N)[:, None]
    hat = np.sum(weighted @ np.linalg.inv(weighted.T @ weighted) * weighted, axis=1)
    leverage = hat.reshape(JOINTS, N).sum(axis=1)
    assert leverage.sum() == pytest.approx(solution.rank)
    residual = tau - np.einsum("jpk,p->jk", Y, solution.theta)
    wanted = np.sqrt(np.sum(residual**2, axis=1) / (N - leverage))
    assert_allclose(solution.sigma, wanted, rtol=1e-5)


def test_standard_errors_cover_the_truth() -> None:
    z = []
    for seed in range(40):
        solution = solve_wls(factors_of(*problem(seed)), PRIOR)
        z.append((solution.theta - TRUTH) / np.sqrt(np.diag(solution.covariance)))
    assert 0.85 < np.std(z) < 1.15


def test_the_error_falls_with_the_root_of_the_rows() -> None:
    small, large = [], []
    for seed in range(20):
        Y, tau = problem(seed)
        large.append(solve_wls(factors_of(Y, tau), PRIOR).theta - TRUTH)
        small.append(solve_wls(factors_of(Y[:, :, :100], tau[:, :100]), PRIOR).theta - TRUTH)
    ratio = np.linalg.norm(small, axis=0) / np.linalg.norm(large, axis=0)
    assert 1.5 < np.median(ratio) < 2.7


def deficient() -> tuple[Array, Array]:
    """Parameter 4 and 5 only as a sum, parameter 1 not at all."""
    Y, _ = problem()
    Y[:, 5] = Y[:, 4]
    Y[:, 1] = 0.0
    tau = np.einsum("jpk,p->jk", Y, TRUTH)
    return Y, tau + 0.01 * np.random.default_rng(9).normal(size=tau.shape)


@pytest.mark.parametrize("solve", [solve_ols, solve_wls])
def test_what_data_do_not_show_keeps_the_prior_and_has_no_finite_variance(solve: object) -> None:
    assert callable(solve)
    prior = np.array([0.0, 7.0, 0.0, 0.0, 3.0, 1.0])
    solution: Solution = solve(factors_of(*deficient()), prior)
    assert solution.rank == 4
    assert solution.theta[1] == 7.0
    assert solution.theta[4] + solution.theta[5] == pytest.approx(TRUTH[4] + TRUTH[5], abs=0.01)
    assert solution.theta[4] - solution.theta[5] == pytest.approx(2.0, abs=1e-9)
    variances = np.diag(solution.covariance)
    assert_array_equal(np.isinf(variances), [False, True, False, False, True, True])
    assert (variances[[0, 2, 3]] > 0).all()


def test_what_a_filter_leaves_of_a_joint_that_stood_still_is_no_data() -> None:
    Y, tau = problem()
    clean = Y.copy()
    clean[:, 1] = 0.0
    tau = tau - TRUTH[1] * Y[:, 1]
    residue = clean.copy()
    residue[:, 1] = 1e-16 * np.random.default_rng(3).normal(size=(JOINTS, N))
    prior = np.full(P, 7.0)
    wanted, found = (solve_wls(factors_of(each, tau), prior) for each in (clean, residue))
    assert found.rank == wanted.rank == P - 1
    assert found.theta[1] == 7.0
    assert found.covariance[1, 1] == np.inf
    assert_allclose(found.theta, wanted.theta, rtol=1e-10)


def test_units_do_not_matter() -> None:
    Y, tau = problem()
    units = np.array([1e-5, 1e4, 1.0, 1e-3, 1e3, 1.0])
    plain = solve_wls(factors_of(Y, tau), PRIOR)
    other = solve_wls(factors_of(Y * units[None, :, None], tau), PRIOR)
    assert other.rank == plain.rank == P
    assert_allclose(other.theta * units, plain.theta, rtol=1e-9)


@pytest.mark.parametrize("solve", [solve_ols, solve_wls])
def test_noise_free_data_give_the_truth(solve: object) -> None:
    assert callable(solve)
    Y, tau = problem(noise=np.zeros(JOINTS))
    solution: Solution = solve(factors_of(Y, tau), PRIOR)
    assert_allclose(solution.theta, TRUTH, rtol=1e-10)
    assert (solution.sigma > 0).all()
    assert solution.sigma.max() < 1e-11 * np.abs(tau).max()
    assert np.isfinite(solution.covariance).all()


@pytest.mark.parametrize("solve", [solve_ols, solve_wls])
def test_a_robot_without_torque_has_no_parameters(solve: object) -> None:
    assert callable(solve)
    Y, tau = problem()
    solution: Solution = solve(factors_of(Y, 0.0 * tau), PRIOR)
    assert_allclose(solution.theta, 0.0, rtol=0, atol=1e-15)


@pytest.mark.parametrize("solve", [solve_ols, solve_wls])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_too_few_rows_are_said(solve: object, rows: int) -> None:
    assert callable(solve)
    Y, tau = problem()
    factors = factors_of(Y[:, :, :rows], tau[:, :rows], groups=1)
    with pytest.raises(UnidentifiableError, match=f"{3 * rows} usable rows for 6 parameters"):
        solve(factors, PRIOR)


def test_a_joint_without_rows_is_left_to_the_others() -> None:
    Y, tau = problem()
    valid = np.ones_like(tau, dtype=bool)
    valid[1] = False
    factors = reduce_rows([(0, Y, tau, valid)], JOINTS, P)
    solution = solve_wls(factors, PRIOR)
    W, y = stacked(Y[[0, 2]], tau[[0, 2]])
    peer = sm.WLS(y, W, weights=np.repeat(solution.sigma[[0, 2]] ** -2, N)).fit()
    assert_allclose(solution.theta, peer.params, rtol=1e-10)
