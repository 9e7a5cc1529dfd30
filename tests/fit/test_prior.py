"""What CAD does not say has no size in SI: robots of any size, with any part of CAD missing."""

import numpy as np
import pytest

from ident.base.basemap import BaseMap
from ident.fit.estimate import columns_for, estimate
from ident.fit.options import FitOptions
from ident.fit.prior import Evidence, prior_of
from ident.logs.dataset import prepare
from ident.logs.recording import Facts, recording_of_arrays
from ident.model import inertia
from ident.model.dh import DHRow, robot_of_table
from ident.model.robot import Robot
from ident.regressor.columns import States
from tests.fit import trial

# A gripper's finger, an arm, an excavator.
SIZES = [(1e-6, 0.01), (1.0, 0.4), (500.0, 2.0)]


def arm(mass: float, length: float) -> Robot:
    """A swivel and a boom on it, of bodies that are alike at every size."""

    def row(link, **geometry):
        return DHRow(
            link=link,
            joint=f"to_{link}",
            mass=mass,
            com=(0.4 * length, 0.1 * length, 0.1 * length),
            inertia_c=(0.1 * mass * length**2, 0.0, 0.0) * 2,
            d=0.0,
            theta=0.0,
            **geometry,
        )

    rows = [row("swivel", a=0.0, alpha=0.0), row("boom", a=length, alpha=np.pi / 2)]
    return robot_of_table("arm", "modified", rows)


def fitted(true: Robot, described: Robot, noise: float = 0.01):
    """Estimate of a described robot from a log of the true one, and its true base parameters."""
    columns = columns_for(true, FitOptions(), "joint_torque")
    t, states = trial.motion()
    moment = true.pi[10] * 9.81 * np.abs(true.links[1].joint.p0).max()
    theta = np.array(columns.guess)
    theta[columns.which("viscous", "coulomb")] = 0.2 * moment
    tau = np.einsum("jpk,p->kj", columns.evaluate(states), theta)
    tau += noise * moment * np.random.default_rng(5).normal(size=tau.shape)
    facts = Facts(highest_harmonic_hz=0.5)
    log = recording_of_arrays(described, t, {"position": states.q, "effort": tau}, facts=facts)
    found = estimate([prepare(log, described)], described)
    return found, found.base.reduce(theta)


@pytest.mark.parametrize(("mass", "length"), SIZES)
@pytest.mark.parametrize("described", [(1.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_a_robot_of_any_size_is_found_whatever_cad_leaves_out(mass, length, described):
    true = arm(mass, length)
    known = true.with_pi(np.concatenate([s * true.pi[:10] for s in described]))
    found, truth = fitted(true, known)
    z = np.abs(found.beta - truth) / found.std
    assert z.max() < 3.5 and np.median(z) < 1.0
    assert found.min_eigenvalue > 0.0
    assert not any(name.startswith(("viscous", "coulomb")) for name in found.physical.active)


def test_sizes_of_what_is_unknown_follow_the_torque():
    columns = columns_for(arm(0.0, 0.3), FitOptions(), "joint_torque")
    rng = np.random.default_rng(2)
    q, dq, ddq = rng.uniform(-1.0, 1.0, size=(3, 200, 2))
    Y = columns.evaluate(States(q=q, dq=dq, ddq=ddq))
    tau = rng.normal(size=(2, 200))
    stacked = np.concatenate([Y, tau[:, None]], axis=1).transpose(0, 2, 1)
    R = np.linalg.qr(stacked, mode="r")
    p = len(columns.names)
    base = BaseMap(columns=columns.names, kept=np.arange(p), grouping=np.eye(p))
    one, thousand = (
        prior_of(columns, FitOptions(), Evidence.of(R * np.append(np.ones(p), scale), base))
        for scale in (1.0, 1000.0)
    )
    np.testing.assert_allclose(thousand.size, 1000.0 * one.size, rtol=1e-9)
    np.testing.assert_allclose(thousand.theta, 1000.0 * one.theta, rtol=1e-9)
    np.testing.assert_array_equal(thousand.std, one.std)
    offset = one.size[columns.names.index("offset2")]
    assert offset == pytest.approx(0.1 * np.sqrt(np.mean(tau[1] ** 2)))


@pytest.mark.parametrize("com", [(0.0, 0.0, 0.0), (0.2, 0.0, 0.0)])
def test_a_point_mass_gets_a_body(com):
    true = arm(1.0, 0.4)
    point = inertia.pi_from_com(1.0, com, np.zeros((3, 3)))
    found, truth = fitted(true, true.with_pi(np.concatenate([true.pi[:10], point])))
    assert np.all(found.prior.size > 0.0)
    assert all(
        inertia.smallest_eigenvalue(pi) > 0.0 for pi in found.prior.theta[:20].reshape(2, 10)
    )
    assert np.all(np.abs(found.beta - truth) < 3.5 * found.std)


def test_cad_in_a_wrong_unit_is_said():
    true = arm(1.0, 0.4)
    found, _ = fitted(true, true)
    assert not any(f.name == "beyond_standard_errors" for f in found.findings)
    found, truth = fitted(true, true.with_pi(true.pi / 1000.0))  # tons for kilograms
    assert np.abs((found.beta - truth) / found.std).max() > 3.0
    said = next(f for f in found.findings if f.name == "beyond_standard_errors")
    assert said.severity == "warning" and "wrong unit" in said.remedy
