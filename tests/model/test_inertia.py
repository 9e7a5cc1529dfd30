import numpy as np
import pinocchio
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.arrays import Array
from ident.conventions import INERTIAL
from ident.model import inertia
from tests.random_robots import random_body, random_rotation
from tests.tolerances import ROUNDOFF

BODIES = [random_body(np.random.default_rng(seed)) for seed in range(20)]


def test_parallel_axis_theorem_adds() -> None:
    pi = inertia.pi_from_com(2.0, [0.0, 0.0, 0.3], np.diag([0.05, 0.05, 0.01]))
    assert_allclose(inertia.tensor(pi[4:]), np.diag([0.23, 0.23, 0.01]), rtol=0, atol=1e-15)
    assert_allclose(pi[:4], [2.0, 0.0, 0.0, 0.6], rtol=0, atol=1e-15)


@pytest.mark.parametrize("pi", BODIES)
def test_com_form_round_trips(pi: Array) -> None:
    back = inertia.pi_from_com(pi[0], inertia.com_of(pi), inertia.inertia_c_of(pi))
    assert_allclose(back, pi, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pi", BODIES)
def test_pseudo_inertia_is_symmetric_and_round_trips(pi: Array) -> None:
    J = inertia.pseudo_inertia(pi)
    assert_array_equal(J, J.T)
    assert_allclose(inertia.from_pseudo_inertia(J), pi, rtol=0, atol=1e-14)
    assert inertia.smallest_eigenvalue(pi) == pytest.approx(np.linalg.eigvalsh(J)[0], abs=1e-15)


def test_pseudo_inertia_is_the_second_moment_of_point_masses() -> None:
    rng = np.random.default_rng(1)
    masses, points = rng.uniform(0.1, 1.0, size=12), rng.normal(size=(12, 3))
    pi = sum(
        inertia.pi_from_com(m, p, np.zeros((3, 3))) for m, p in zip(masses, points, strict=True)
    )
    homogeneous = np.column_stack([points, np.ones(12)])
    J = (homogeneous.T * masses) @ homogeneous
    assert_allclose(inertia.pseudo_inertia(pi), J, rtol=0, atol=ROUNDOFF)


def test_a_negative_eigenvalue_means_no_such_body() -> None:
    possible = inertia.pi_from_com(1.0, np.zeros(3), np.diag([0.02, 0.03, 0.04]))
    impossible = inertia.pi_from_com(1.0, np.zeros(3), np.diag([0.01, 0.02, 0.04]))
    assert inertia.smallest_eigenvalue(possible) > 0.0
    assert inertia.triangle_violation(possible) == 0.0
    assert inertia.smallest_eigenvalue(impossible) == pytest.approx(-0.005, abs=1e-15)
    assert inertia.triangle_violation(impossible) == pytest.approx(0.01, abs=1e-15)


@pytest.mark.parametrize("seed", range(10))
def test_change_of_frame_is_pinocchio_s(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pi, R, p = random_body(rng), random_rotation(rng), rng.normal(size=3)
    body = pinocchio.Inertia.FromDynamicParameters(inertia.to_pinocchio(pi))
    moved = pinocchio.SE3(R, p).act(body).toDynamicParameters()
    assert_allclose(
        inertia.transformed(pi, R, p), inertia.from_pinocchio(moved), rtol=0, atol=ROUNDOFF
    )


def test_pinocchio_s_order_is_permuted_by_name_and_back() -> None:
    named = dict(
        zip(
            ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz"),
            range(10),
            strict=True,
        )
    )
    ours = inertia.from_pinocchio(list(named.values()))
    assert [named[name] for name in INERTIAL] == ours.tolist()
    assert_array_equal(inertia.to_pinocchio(ours), np.arange(10))


def test_nearest_physical_keeps_mass_and_com_and_leaves_possible_bodies_alone() -> None:
    pi = BODIES[0]
    assert_allclose(inertia.nearest_physical(pi), pi, rtol=0, atol=1e-12)
    bad = inertia.pi_from_com(2.0, [0.1, 0.0, 0.2], np.diag([0.001, 0.002, 0.04]))
    mended = inertia.nearest_physical(bad)
    assert_allclose(mended[:4], bad[:4], rtol=0, atol=1e-15)
    assert inertia.smallest_eigenvalue(mended) > 0.0
