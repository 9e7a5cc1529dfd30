from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

from ident.errors import LogError, UsageError
from ident.fit.estimate import columns_for, estimate
from ident.fit.options import FitOptions
from ident.fit.rows import base_columns, rows
from ident.fit.uncertainty import base_parameters, parameter_table
from ident.logs.dataset import prepare
from ident.logs.preparation import Preparation
from ident.logs.recording import Facts, recording_of_arrays
from ident.model.registry import load_robot
from ident.model.springs import GasSpring, LinearSpring
from ident.regressor.columns import States
from ident.store import load, save
from tests.fit import trial

ROBOT = load_robot("planar2r")
# ZZ1R, mx1R, my1, ZZ2, mx2, my2 of P2, by the name of the kept column.
P2 = {"Izz1R": 0.425, "mx1R": 1.0, "my1": 0.0, "Izz2": 0.06, "mx2": 0.2, "my2": 0.0}
FRICTION = {"viscous1": 0.8, "viscous2": 0.3, "coulomb1": 2.0, "coulomb2": 0.9}


def by_name(fitted, values):
    return dict(zip(fitted.base.names, values, strict=True))


@pytest.mark.parametrize("method", ["ols", "wls", "physical"])
def test_noise_free_data_give_the_truth(method):
    data = prepare(trial.recording(ROBOT), ROBOT)
    fitted = estimate([data], ROBOT, FitOptions(method=method))
    found = by_name(fitted, fitted.beta)
    for name, value in (P2 | FRICTION).items():
        assert found[name] == pytest.approx(value, abs=2e-4), name
    assert found["offset1"] == pytest.approx(0.0, abs=2e-4)


def test_standard_errors_are_those_of_weighted_least_squares():
    data = prepare(trial.recording(ROBOT, noise=0.3), ROBOT)
    fitted = estimate([data], ROBOT, FitOptions(method="wls"))
    Y, tau, weights = [], [], []
    for piece in rows(data, base_columns(fitted.columns, fitted.base), "fit"):
        for j in range(2):
            keep = piece.use[j]
            Y.append(piece.Y[j][:, keep].T)
            tau.append(piece.tau[j][keep])
            weights.append(np.full(keep.sum(), fitted.solution.sigma[j] ** -2.0))
    peer = sm.WLS(np.concatenate(tau), np.vstack(Y), np.concatenate(weights)).fit()
    np.testing.assert_allclose(fitted.solution.theta, peer.params, rtol=1e-7, atol=1e-9)
    # statsmodels rescales by the pooled residual, which is one in units of sigma up to rounding.
    np.testing.assert_allclose(fitted.std, peer.bse / np.sqrt(peer.scale), rtol=1e-6)
    assert peer.scale == pytest.approx(1.0, abs=0.01)


def test_truth_lies_within_the_stated_errors():
    z = []
    for seed in range(12):
        data = prepare(trial.recording(ROBOT, noise=0.5, seed=seed), ROBOT)
        fitted = estimate([data], ROBOT, FitOptions(method="wls"))
        truth = P2 | FRICTION | {"offset1": 0.0, "offset2": 0.0, "armature2": 0.0}
        expected = np.array([truth[name] for name in fitted.base.names])
        z.append((fitted.beta - expected) / fitted.std)
    z = np.abs(np.concatenate(z))
    assert np.mean(z < 3.0) > 0.97
    assert 0.5 < np.median(z) < 0.85  # 0.67 for the normal distribution


def test_error_falls_with_the_square_root_of_the_rows():
    def spread(noise):
        data = prepare(trial.recording(ROBOT, noise=noise), ROBOT)
        return estimate([data], ROBOT, FitOptions(method="wls")).std

    np.testing.assert_allclose(spread(0.4) / spread(0.1), 4.0, rtol=0.05)


def test_standard_parameters_that_differ_are_not_an_error():
    # Case B5: another set of standard parameters with the same base parameters.
    other = np.array(ROBOT.pi).reshape(2, 10)
    other[1, 0], other[0, 1] = 1.3, 0.35
    other[0, 9] = 0.10
    twin = ROBOT.with_pi(other.ravel())
    _, states = trial.motion(2.0)
    np.testing.assert_allclose(
        trial.torque(twin, states), trial.torque(ROBOT, states), rtol=0, atol=1e-11
    )
    fitted = estimate([prepare(trial.recording(ROBOT), ROBOT)], twin)
    table = {row.name: row for row in parameter_table(fitted)}
    for row in base_parameters(fitted):
        if row.name in P2:
            assert row.identified == pytest.approx(row.cad, abs=2e-4)
    assert table["m2"].label == "combination only"
    assert np.isnan(table["m2"].std)
    assert table["Izz2"].label == "identified"
    assert table["Ixx1"].label == "no data"


@pytest.mark.parametrize("method", ["wls", "physical"])
def test_springs_are_fitted_with_the_rest(method, tmp_path):
    gas = {"anchor": 0.8, "crank": 0.2, "angle": 0.4, "area": 1e-3, "volume": 1e-3, "charge": 200.0}
    springs = (LinearSpring(joint="joint2", rest=0.3), GasSpring(joint="joint1", **gas))
    sprung = replace(ROBOT, drives=replace(ROBOT.drives, springs=springs))
    theta = np.array(columns_for(sprung, FitOptions(), "joint_torque").guess)
    theta[-2:] = 0.7, 4.0  # counterbalance1, spring2
    t, states = trial.motion()
    tau = trial.torque(sprung, states, theta)
    log = recording_of_arrays(sprung, t, {"position": states.q, "effort": tau})
    fitted = estimate([prepare(log, sprung)], sprung, FitOptions(method=method))
    linear, balance = fitted.identified.drives.springs
    assert (linear.guess, balance.guess) == pytest.approx((4.0, 0.7), rel=0.01)
    table = {row.name: row for row in parameter_table(fitted)}
    assert {table[name].label for name in ("spring2", "counterbalance1")} == {"identified"}
    assert table["spring2"].unit == "N·m/rad"
    save(fitted, tmp_path / "estimate.json")
    back = load(tmp_path / "estimate.json").identified.drives.springs
    assert [(s.joint, s.guess) for s in back] == [(s.joint, s.guess) for s in (linear, balance)]


def test_joint_that_never_moves_is_named():
    t, states = trial.motion()
    still = np.array(states.q)
    still[:, 1] = 0.4
    moved = np.column_stack([states.dq[:, 0], np.zeros_like(t)])
    pushed = np.column_stack([states.ddq[:, 0], np.zeros_like(t)])
    tau = trial.torque(ROBOT, States(q=still, dq=moved, ddq=pushed))
    log = recording_of_arrays(ROBOT, t, {"position": still, "effort": tau})
    fitted = estimate([prepare(log, ROBOT)], ROBOT)
    said = next(f for f in fitted.findings if f.name == "no_data")
    assert "viscous2" in said.found and "coulomb2" in said.found
    labels = {row.name: row.label for row in parameter_table(fitted)}
    assert labels["viscous2"] == "no data"
    assert labels["viscous1"] == "identified"
    assert np.isfinite(fitted.theta).all()
    assert fitted.condition.scaled == fitted.condition.raw == np.inf


def test_a_log_given_twice_counts_once():
    log = trial.recording(ROBOT, noise=0.2)
    once = estimate([prepare(log, ROBOT)], ROBOT)
    copy = trial.recording(ROBOT, noise=0.2, name="copy")
    twice = estimate([prepare(log, ROBOT), prepare(copy, ROBOT)], ROBOT)
    np.testing.assert_array_equal(twice.std, once.std)
    said = next(f for f in twice.findings if f.name == "log_given_twice")
    assert said.where == "copy" and "trial" in said.found
    # Another stretch of the same log is not the same rows.
    halves = [prepare(log, ROBOT, Preparation(skip_s=skip)) for skip in ((0.0, 10.0), (10.0, 0.0))]
    assert not any(f.name == "log_given_twice" for f in estimate(halves, ROBOT).findings)


def test_a_log_of_other_joints_is_refused():
    panda, iiwa = load_robot("panda"), load_robot("iiwa14")
    t, states = trial.motion(10.0)
    seven = np.tile(states.q, (1, 4))[:, :7]
    log = recording_of_arrays(panda, t, {"position": seven, "effort": seven})
    with pytest.raises(UsageError, match="those of robot 'iiwa14'"):
        estimate([prepare(log, panda)], iiwa)
    with pytest.raises(UsageError, match="no log"):
        estimate([], ROBOT)


def test_link_torque_sensors_leave_armature_out():
    facts = Facts(robot="planar2r", effort_kind="link_torque_sensor")
    t, states = trial.motion()
    log = recording_of_arrays(
        ROBOT, t, {"position": states.q, "effort": trial.torque(ROBOT, states)}, facts=facts
    )
    fitted = estimate([prepare(log, ROBOT)], ROBOT)
    assert not fitted.columns.which("armature").any()
    labels = {row.name: row.label for row in parameter_table(fitted)}
    assert labels["armature2"] == "not seen by this sensor"
    assert any(f.name == "not_seen_by_this_sensor" for f in fitted.findings)


def test_motor_currents_are_refused():
    with pytest.raises(LogError, match="motor currents"):
        columns_for(ROBOT, FitOptions(), "motor_current")


def test_delay_of_the_torque_is_measured():
    t, states = trial.motion()
    tau = trial.torque(ROBOT, states)
    delayed = np.column_stack([np.interp(t - 0.008, t, tau[:, j]) for j in range(2)])
    log = recording_of_arrays(
        ROBOT, t, {"position": states.q, "effort": delayed}, facts=Facts(highest_harmonic_hz=0.5)
    )
    fitted = estimate([prepare(log, ROBOT)], ROBOT)
    np.testing.assert_allclose(fitted.delay.seconds, 0.008, rtol=0, atol=1e-3)
    assert any(f.name == "torque_delay" for f in fitted.findings)


def test_estimate_does_not_depend_on_the_size_of_blocks():
    log = trial.recording(ROBOT, noise=0.2)
    whole = estimate([prepare(log, ROBOT)], ROBOT)
    small = estimate([prepare(log, ROBOT, Preparation(block_rows=3000))], ROBOT)
    np.testing.assert_allclose(small.beta, whole.beta, rtol=1e-6, atol=1e-8)
