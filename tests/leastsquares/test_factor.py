import numpy as np
import pytest
from numpy.testing import assert_allclose

from ident.arrays import Array, Mask
from ident.errors import LogError
from ident.leastsquares.condition import condition_numbers
from ident.leastsquares.factor import (
    Factors,
    Reduction,
    concatenate,
    merge_tree,
    reduce_rows,
    residual_norms,
    triangular,
)

P, N, JOINTS = 7, 300, 2


def rows(seed: int = 0) -> tuple[Array, Array]:
    """Y (joints, P, N) with columns of very different size, and tau (joints, N)."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(JOINTS, P, N)) * 10.0 ** np.arange(-3, P - 3)[None, :, None]
    return Y, rng.normal(size=(JOINTS, N))


def in_groups(groups: int = 6, valid: Mask | None = None) -> Factors:
    Y, tau = rows()
    valid = np.ones_like(tau, dtype=bool) if valid is None else valid
    parts = np.array_split(np.arange(N), groups)
    pieces = ((g, Y[:, :, k], tau[:, k], valid[:, k]) for g, k in enumerate(parts))
    return reduce_rows(pieces, JOINTS, P)


def solved(R: Array) -> Array:
    return np.linalg.solve(R[:P, :P], R[:P, P])


def by_lstsq(Y: Array, tau: Array) -> Array:
    """Answer of NumPy's own solver on all rows (SVD, another algorithm)."""
    scale = np.linalg.norm(Y, axis=0)
    return np.linalg.lstsq(Y / scale, tau, rcond=None)[0] / scale


@pytest.mark.parametrize("groups", [1, 2, 5, 64, 300])
def test_any_split_into_groups_gives_the_answer_of_all_rows(groups: int) -> None:
    Y, tau = rows()
    merged = in_groups(groups).merged()
    assert merged.rows.tolist() == [[N, N]]
    for j in range(JOINTS):
        assert_allclose(solved(merged.R[0, j]), by_lstsq(Y[j].T, tau[j]), rtol=1e-10)


def test_order_and_shape_of_the_merge_do_not_matter() -> None:
    Y, tau = rows()
    stacked = np.vstack([Y[0], tau[:1]]).T
    pieces = [triangular(part) for part in np.array_split(stacked, 11)]
    wanted = stacked.T @ stacked
    size = np.abs(np.outer(*[np.linalg.norm(stacked, axis=0)] * 2))
    shuffled = [pieces[i] for i in np.random.default_rng(1).permutation(11)]
    chain = pieces[0]
    for piece in pieces[1:]:
        chain = merge_tree([chain, piece])
    for R in (merge_tree(pieces), merge_tree(shuffled), chain):
        assert_allclose((R.T @ R) / size, wanted / size, rtol=0, atol=1e-13)
        assert not np.tril(R, -1).any()


def test_rows_may_come_in_pieces_and_with_gaps() -> None:
    Y, tau = rows()
    valid = np.random.default_rng(2).random((JOINTS, N)) > 0.3
    valid[1, :100] = False
    reduction = Reduction(JOINTS, P)
    for k in np.array_split(np.arange(N), 7):
        reduction.add(4, Y[:, :, k], tau[:, k], valid[:, k])
    factors = reduction.finish()
    assert factors.rows.tolist() == [valid.sum(axis=1).tolist()]
    for j in range(JOINTS):
        wanted = by_lstsq(Y[j][:, valid[j]].T, tau[j, valid[j]])
        assert_allclose(solved(factors.R[0, j]), wanted, rtol=1e-10)


def test_selecting_and_repeating_groups_is_selecting_and_repeating_rows() -> None:
    Y, tau = rows()
    factors, parts = in_groups(6), np.array_split(np.arange(N), 6)
    drawn = np.random.default_rng(3).integers(6, size=6)
    assert len(set(drawn.tolist())) < 6
    k = np.concatenate([parts[g] for g in drawn])
    chosen = factors.select(drawn).merged()
    assert chosen.rows[0, 0] == len(k)
    assert_allclose(solved(chosen.R[0, 0]), by_lstsq(Y[0][:, k].T, tau[0, k]), rtol=1e-10)
    held_out = np.arange(6) != 2
    k = np.concatenate([parts[g] for g in np.flatnonzero(held_out)])
    left = factors.select(held_out).merged()
    assert_allclose(solved(left.R[0, 1]), by_lstsq(Y[1][:, k].T, tau[1, k]), rtol=1e-10)


def test_weights_multiply_the_rows_of_a_joint() -> None:
    Y, tau = rows()
    weights = np.array([2.0, 0.1])
    R = in_groups(5).weighted(weights)
    stacked = np.vstack([w * Y[j].T for j, w in enumerate(weights)])
    wanted = by_lstsq(stacked, np.concatenate(weights[:, None] * tau))
    assert_allclose(solved(R), wanted, rtol=1e-10)


def test_concatenated_sets_keep_their_groups() -> None:
    factors = in_groups(6)
    both = concatenate([factors.select(np.arange(2)), factors.select(np.arange(2, 6))])
    assert_allclose(both.R, factors.R, rtol=0, atol=0)


def test_residual_norms_are_those_of_the_rows() -> None:
    Y, tau = rows()
    theta = np.random.default_rng(4).normal(size=P) / 10.0 ** np.arange(-3, P - 3)
    wanted = [np.linalg.norm(tau[j] - theta @ Y[j]) for j in range(JOINTS)]
    assert_allclose(residual_norms(in_groups(4), theta), wanted, rtol=1e-12)


def test_no_rows_are_a_factor_of_zeros() -> None:
    nothing = reduce_rows([], JOINTS, P)
    none = in_groups(3, valid=np.zeros((JOINTS, N), dtype=bool))
    for factors in (nothing, none, in_groups(3).select(np.zeros(3, dtype=bool))):
        whole = factors.merged()
        assert (whole.joints, whole.parameters) == (JOINTS, P)
        assert not whole.R.any()
        assert not whole.rows.any()
    assert triangular(np.ones((2, 5))).shape == (5, 5)
    assert not triangular(np.empty((0, 5))).any()


def test_rows_of_the_wrong_shape_are_refused() -> None:
    Y, tau = rows()
    good = np.ones_like(tau, dtype=bool)
    reduction = Reduction(JOINTS, P)
    for wrong in ((Y[:1], tau, good), (Y[:, :3], tau, good), (Y, tau[:, :9], good[:, :9])):
        with pytest.raises(LogError, match="rows"):
            reduction.add(0, *wrong)


def test_a_big_problem_becomes_a_small_factor() -> None:
    rng = np.random.default_rng(5)
    p, block, blocks = 91, 10_000, 42
    truth = rng.normal(size=p)
    reduction = Reduction(1, p)
    gram, moment = np.zeros((p, p)), np.zeros(p)
    for _ in range(blocks):
        Y = rng.standard_normal((1, p, block))
        tau = np.einsum("jpk,p->jk", Y, truth) + 0.1 * rng.standard_normal((1, block))
        gram += Y[0] @ Y[0].T
        moment += Y[0] @ tau[0]
        reduction.add(0, Y, tau, np.ones((1, block), dtype=bool))
    factors = reduction.finish()
    assert factors.R.shape == (1, 1, p + 1, p + 1)
    R = factors.R[0, 0]
    theta = np.linalg.lstsq(R[:p, :p], R[:p, p], rcond=None)[0]
    # Columns are near orthogonal, so that the normal equations are as good as lstsq on all rows.
    assert_allclose(theta, np.linalg.solve(gram, moment), rtol=0, atol=1e-6)


def test_condition_numbers_say_their_scaling() -> None:
    R = np.diag([1.0, 10.0, 1000.0])
    condition = condition_numbers(R, magnitudes=np.array([1.0, 0.1, 0.001]))
    assert condition.raw == pytest.approx(1000.0)
    assert condition.scaled == pytest.approx(1.0)
    assert condition_numbers(np.zeros((2, 2)), np.ones(2)).raw == np.inf
