"""A real robot: logs 1 and 2 repeat one trajectory, log 3 is another.

Protocol: 8 Hz low-pass, 2.5 s skipped at the start and 0.5 s at the end of every log, all rows
scored, options as they are by default.
"""

import numpy as np
import pytest

from ident.fit.estimate import estimate
from ident.fit.validate import evaluate
from ident.logs.dataset import prepare
from ident.logs.preparation import Preparation
from ident.logs.readers import read_log
from ident.model.registry import load_robot

ROBOT = load_robot("kuka_lwr4")
PROTOCOL = Preparation(cutoff_hz=8.0, decimation_hz=8.0, skip_s=(2.5, 0.5))


@pytest.fixture(scope="module")
def logs(shared):
    folder = shared / "data" / "kuka_lwr4_flobaroid"
    return {
        i: prepare(read_log(folder / f"measurements_{i}.npz", ROBOT), ROBOT, PROTOCOL)
        for i in (1, 2, 3)
    }


def score(logs, train, test):
    training = [logs[i] for i in train]
    return evaluate(estimate(training, ROBOT), [logs[test]], training=training)


@pytest.mark.parametrize(
    ("train", "test", "bound"), [((1, 2), 3, 4.6), ((3,), 1, 3.1), ((3,), 2, 3.1)]
)
def test_bodies_that_can_exist_predict_another_motion(logs, train, test, bound):
    found = score(logs, train, test)
    assert found.kind == "trajectory"
    assert found.identified.total <= bound
    # Plain least squares explains its own log and fails on the other motion.
    assert found.least_squares.total > 2.0 * found.identified.total
    assert found.cad.total > 2.0 * found.identified.total
    assert np.all(found.identified.rms < 2.0)


def test_a_repeat_is_reported_as_repeatability(logs):
    found = score(logs, (2, 3), 1)
    assert found.kind == "repeat"
    assert found.identified.total < 2.6


def test_link_sensors_do_not_show_armature(logs):
    fitted = estimate([logs[3]], ROBOT)
    assert fitted.base.rank == 64 and fitted.rank_inertial == 43
    assert fitted.physical.status == "optimal" and fitted.physical.consistent
