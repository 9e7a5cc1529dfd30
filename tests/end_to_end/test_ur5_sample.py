"""The sample logs, whose truth is known: from parquet to a model in one go."""

import json
from pathlib import Path

import numpy as np
import pytest

from ident.fit.estimate import estimate
from ident.fit.rows import base_columns, rows
from ident.fit.validate import evaluate
from ident.logs.dataset import prepare
from ident.logs.readers import read_log
from ident.model.registry import load_robot

LOGS = Path(__file__).resolve().parents[2] / "data" / "logs" / "ur5"
ROBOT = load_robot("ur5")


@pytest.fixture(scope="module")
def run():
    return prepare(read_log(LOGS / "run.parquet", ROBOT), ROBOT)


@pytest.fixture(scope="module")
def held_out():
    return prepare(read_log(LOGS / "validate.parquet", ROBOT), ROBOT)


@pytest.fixture(scope="module")
def fitted(run):
    return estimate([run], ROBOT)


@pytest.fixture(scope="module")
def truth(fitted):
    known = json.loads((LOGS / "truth.json").read_text())["parameters"]
    return fitted.base.reduce([known[name] for name in fitted.columns.names])


def test_base_parameters_lie_within_their_errors(fitted, truth):
    for beta in (fitted.beta, fitted.solution.theta):
        z = np.abs(beta - truth) / fitted.std
        assert np.mean(z < 3.0) >= 0.95
        assert 0.4 < np.median(z) < 1.0


def test_held_out_error_is_that_of_the_truth(run, held_out, fitted, truth):
    score = evaluate(fitted, [held_out], training=[run])
    assert score.kind == "trajectory"
    error, torque = np.zeros(6), np.zeros(6)
    for piece in rows(held_out, base_columns(fitted.columns, fitted.base), "score"):
        error += np.sum((piece.use * (piece.tau - truth @ piece.Y)) ** 2, axis=1)
        torque += np.sum((piece.use * piece.tau) ** 2, axis=1)
    best = 100.0 * np.sqrt(error / torque)
    assert np.all(score.identified.per_joint < 1.1 * best)
    assert score.identified.total < 0.6 * score.cad.total
    assert np.all(score.identified.per_joint < score.cad.per_joint)


def test_result_is_physical_and_certified(fitted):
    assert fitted.physical.status == "optimal"
    assert fitted.min_eigenvalue > 0.0
    assert fitted.base.rank == 58 and fitted.rank_inertial == 36
    assert not fitted.delay.clear.any()
    assert len(fitted.inputs[0]) == 64


def test_same_input_same_numbers(run, fitted):
    again = estimate([run], ROBOT)
    np.testing.assert_array_equal(again.theta, fitted.theta)
    np.testing.assert_array_equal(again.std, fitted.std)
