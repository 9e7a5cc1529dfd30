import numpy as np
import pytest

from ident.errors import LogError, UsageError
from ident.fit.estimate import estimate
from ident.fit.options import FitOptions
from ident.fit.rows import Split, base_columns, rows, split_for
from ident.fit.validate import evaluate, evaluate_by_kind, is_repeat, trace
from ident.fit.verdict import judge
from ident.logs.dataset import prepare
from ident.logs.recording import Facts, recording_of_arrays
from ident.model.registry import load_robot
from tests.fit import trial

ROBOT = load_robot("planar2r")


@pytest.fixture(scope="module")
def data():
    return {
        name: prepare(trial.recording(ROBOT, noise=noise, seed=seed, name=name), ROBOT)
        for name, noise, seed in (("run", 0.2, 0), ("other", 0.2, 7))
    }


@pytest.fixture(scope="module")
def fitted(data):
    return estimate([data["run"]], ROBOT)


def test_relative_error_is_what_it_is_called(data, fitted):
    score = evaluate(fitted, [data["other"]]).identified
    pieces = list(rows(data["other"], base_columns(fitted.columns, fitted.base), "score"))
    use = np.hstack([p.use for p in pieces])
    tau = np.hstack([p.tau for p in pieces])
    error = tau - np.hstack([fitted.beta @ p.Y for p in pieces])
    for j in range(2):
        e, x = error[j][use[j]], tau[j][use[j]]
        assert score.per_joint[j] == pytest.approx(100 * np.linalg.norm(e) / np.linalg.norm(x))
        assert score.rms[j] == pytest.approx(np.sqrt(np.mean(e**2)))
        assert score.r_squared[j] == pytest.approx(1 - np.var(e) / np.var(x), abs=1e-3)
    total = 100 * np.linalg.norm(error[use]) / np.linalg.norm(tau[use])
    assert score.total == pytest.approx(total)


def test_reversals_are_left_out_of_the_error_while_moving(data, fitted):
    score = evaluate(fitted, [data["other"]]).identified
    pieces = list(rows(data["other"], base_columns(fitted.columns, fitted.base), "fit"))
    use = np.hstack([p.use for p in pieces])
    error = np.hstack([p.tau - fitted.beta @ p.Y for p in pieces])[use]
    tau = np.hstack([p.tau for p in pieces])[use]
    moving = 100 * np.linalg.norm(error) / np.linalg.norm(tau)
    assert score.moving == pytest.approx(moving)
    assert score.moving < score.total


def test_a_repeat_is_told_from_another_motion(data):
    again = prepare(trial.recording(ROBOT, noise=0.2, seed=0, name="again"), ROBOT)
    assert is_repeat([again], [data["run"]])
    assert not is_repeat([data["other"]], [data["run"]])


def test_a_repeat_that_starts_later_is_still_a_repeat(data):
    t, states = trial.motion()
    later = np.roll(states.q, 3000, axis=0)[3000:]
    tau = trial.torque(ROBOT, states)
    log = recording_of_arrays(ROBOT, t[3000:], {"position": later, "effort": tau[3000:]})
    assert is_repeat([prepare(log, ROBOT)], [data["run"]])


def test_rest_in_the_same_place_makes_no_repeat():
    # Two motions from one home, the second after a long wait there.
    log = {}
    for name, wait, seed in (("run", 2000, 0), ("other", 100_000, 7)):
        t, states = trial.motion(seed=seed)
        away = np.sin(np.pi * t / t[-1])[:, None] ** 4 * (states.q - states.q[0])
        q = np.vstack([np.zeros((wait, 2)), away])
        log[name] = recording_of_arrays(
            ROBOT, np.arange(len(q)) * 1e-3, {"position": q, "effort": np.cos(q)}, name=name
        )
    run, other = (prepare(log[name], ROBOT) for name in log)
    assert not is_repeat([other], [run])
    assert is_repeat([run], [run])


def test_a_log_without_a_row_to_score_is_refused(fitted):
    t, states = trial.motion(10.0)
    creep = states.q[0] + 0.01 * np.sin(t)[:, None]
    log = recording_of_arrays(ROBOT, t, {"position": creep, "effort": np.ones_like(creep)})
    with pytest.raises(LogError, match="no row to score"):
        evaluate(fitted, [prepare(log, ROBOT)])


def test_only_logs_of_the_same_joints_and_effort_are_scored(fitted):
    other = load_robot("ur5")
    t, states = trial.motion(10.0)
    six = np.tile(states.q, (1, 3))
    log = recording_of_arrays(other, t, {"position": six, "effort": six})
    with pytest.raises(UsageError, match="a log of joints"):
        evaluate(fitted, [prepare(log, other)])
    facts = Facts(effort_kind="link_torque_sensor")
    log = recording_of_arrays(
        ROBOT, t, {"position": states.q, "effort": np.cos(states.q)}, facts=facts
    )
    with pytest.raises(LogError, match="link_torque_sensor"):
        evaluate(fitted, [prepare(log, ROBOT)])
    with pytest.raises(UsageError, match="no log"):
        evaluate(fitted, [])


def test_held_out_motions_come_before_repeats(data, fitted):
    again = prepare(trial.recording(ROBOT, noise=0.2, seed=0, name="again"), ROBOT)
    scores = evaluate_by_kind(fitted, [data["run"]], [again, data["other"]])
    assert [(s.kind, s.logs) for s in scores] == [
        ("trajectory", ("other",)),
        ("repeat", ("again",)),
    ]


def test_without_another_log_blocks_are_held_out(data):
    fitted = estimate([data["run"]], ROBOT, hold_out=True)
    (score,) = evaluate_by_kind(fitted, [data["run"]], [])
    assert score.kind == "blocks"
    whole = evaluate(fitted, [data["run"]])
    assert np.all(score.rows < 0.3 * whole.rows)


def test_held_out_blocks_keep_their_distance_from_training():
    split = Split(length_s=2.0, guard_s=0.5)
    t = np.linspace(0.0, 60.0, 6001)
    held, trained = split.held_out(t), split.training(t)
    assert held.mean() == pytest.approx(0.2, abs=0.01)
    distance = np.abs(t[held][:, None] - t[trained][None, :]).min()
    assert distance >= 0.5 - 0.02
    assert trained.mean() > 0.6


def test_split_is_longer_than_its_guards(data):
    split = split_for(data["run"])
    assert split.length_s >= 4.0 * split.guard_s


def test_no_sample_is_behind_both_a_training_and_a_held_out_row(data):
    dataset = data["run"]
    split, reach = split_for(dataset), dataset.decimator.reach / dataset.rate_hz
    t = np.concatenate([b.t[dataset.decimator.rows(b)] for b in dataset])
    held, trained = t[split.held_out(t)], t[split.training(t)]
    assert np.abs(held[:, None] - trained).min() >= 2.0 * reach - 1e-9


@pytest.mark.parametrize("duration_s", [4.0, 6.0, 9.0, 11.0])
@pytest.mark.parametrize("start_s", [0.0, 1.7e9 + 3.3, -5.0])
def test_short_logs_hold_something_out_whenever_they_were_made(duration_s, start_s):
    t, states = trial.motion(duration_s)
    log = recording_of_arrays(
        ROBOT, t + start_s, {"position": states.q, "effort": trial.torque(ROBOT, states)}
    )
    dataset = prepare(log, ROBOT)
    score = evaluate(estimate([dataset], ROBOT, hold_out=True), [dataset], hold_out=True)
    assert np.all(score.rows >= 8) and score.identified.total < 1.0


def test_verdict_names_every_reason(data, fitted):
    score = evaluate(fitted, [data["other"]])
    assert judge(fitted, score, []).name == "pass" or score.identified.total >= score.cad.total
    strict = judge(fitted, score, [], max_error_percent=1e-6)
    assert strict.name == "fail" and "held-out relative error" in strict.reasons[0]
    plain = estimate([data["run"]], ROBOT, FitOptions(method="wls"))
    assert "physical consistency" in judge(plain, score, []).reasons[0]


def test_trace_stops_at_its_limit(data, fitted):
    part = trace(fitted, data["other"], limit=50)
    assert len(part.t) == len(part.measured) == len(part.cad) == 50
