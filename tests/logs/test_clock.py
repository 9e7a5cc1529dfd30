import numpy as np
import pytest

from ident.errors import LogError
from ident.logs.clock import cubic
from ident.logs.dataset import prepare
from ident.logs.preparation import Preparation
from ident.logs.survey import CHUNK, survey

FAST = Preparation(cutoff_hz=40.0)


def names(dataset) -> list[str]:
    return [finding.name for finding in dataset.findings]


def cut(trial, rows) -> dict:
    return {"t": trial.t[rows], "q": trial.q[rows], "tau": trial.tau[rows]}


def spans(dataset) -> list[tuple[int, int]]:
    return [(segment.first, segment.stop) for segment in dataset.segments]


def test_c5_a_backward_step_starts_a_segment_and_nothing_is_sorted(trial) -> None:
    t = trial.t[:2000].copy()
    t[1000:] -= 5.0
    recording = trial.recording(**{**cut(trial, slice(2000)), "t": t})
    dataset = prepare(recording, trial.robot, FAST)
    assert spans(dataset) == [(0, 1000), (1000, 2000)]
    assert "clock_breaks" in names(dataset)
    first, second = dataset
    assert (first.segment, second.segment) == (0, 1)
    np.testing.assert_allclose(second.t, t[1000:], rtol=0, atol=1e-9)
    assert not first.settled[-1]
    assert not second.settled[0]


def test_segments_do_not_see_each_other(trial) -> None:
    rows = slice(4000)
    t, q = trial.t[rows].copy(), trial.q[rows].copy()
    t[2000:] += 1.0
    apart = prepare(trial.recording(**{**cut(trial, rows), "t": t}), trial.robot, FAST)
    q[:2000] = q[:2000] * 3.0 + 0.5
    other = prepare(trial.recording(**{**cut(trial, rows), "t": t, "q": q}), trial.robot, FAST)
    np.testing.assert_array_equal(list(apart)[1].ddq, list(other)[1].ddq)


def test_a_gap_splits_and_a_few_lost_rows_do_not(trial) -> None:
    keep = np.ones(6000, dtype=bool)
    keep[[1000, 1001, 1500]] = False
    keep[3000:3100] = False
    dataset = prepare(trial.recording(**cut(trial, np.flatnonzero(keep))), trial.robot, FAST)
    assert len(dataset.segments) == 2
    first, second = dataset
    scored = first.scored.all(axis=1)
    assert not scored[1000:1002].any()
    assert not scored[1500]
    settled = first.settled & second.settled[0] | first.settled
    error = np.abs(first.q - trial.q[: len(first.q)])[settled].max()
    assert error < 1e-4
    np.testing.assert_allclose(second.t[0], 3.1, rtol=0, atol=1e-9)


def test_duplicate_stamps_are_dropped(trial) -> None:
    rows = np.sort(np.concatenate([np.arange(4000), [700, 700, 2500]]))
    recording = trial.recording(**cut(trial, rows))
    dataset = prepare(recording, trial.robot, FAST)
    assert "duplicate_stamps" in names(dataset)
    assert dataset.rows == 4000
    plain = prepare(trial.recording(**cut(trial, slice(4000))), trial.robot, FAST)
    (block,), (expected,) = dataset, plain
    np.testing.assert_allclose(block.q, expected.q, rtol=0, atol=1e-9)


def test_a_long_run_of_nan_splits(trial) -> None:
    tau = trial.tau[:6000].copy()
    tau[2000:2500, 0] = np.nan
    tau[:3] = tau[-40:] = np.nan
    recording = trial.recording(**{**cut(trial, slice(6000)), "tau": tau})
    dataset = prepare(recording, trial.robot, FAST)
    assert spans(dataset) == [(3, 2000), (2500, 5960)]
    assert all(np.isfinite(block.tau).all() for block in dataset)


def test_jitter_is_resampled_and_stated(trial, rng) -> None:
    jittered = trial.t + 3e-4 * rng.uniform(-1, 1, trial.t.shape)
    q = np.column_stack([np.interp(jittered, trial.t, trial.q[:, j]) for j in range(2)])
    jitter = prepare(trial.recording(t=jittered, q=q), trial.robot)
    finding = next(f for f in jitter.findings if f.name == "jitter")
    assert 0.25 < float(finding.found.split()[4]) < 0.65
    t = np.concatenate([block.t[block.core] for block in jitter])
    assert np.ptp(np.diff(t)) < 1e-9
    ddq = np.concatenate([block.ddq[block.core] for block in jitter])
    truth = np.column_stack([np.interp(t, trial.t, trial.ddq[:, j]) for j in range(2)])
    inside = slice(500, -500)
    assert np.abs(ddq - truth)[inside].max() < 0.01
    ignored = prepare(trial.recording(q=q), trial.robot)
    wrong = np.concatenate([block.ddq[block.core] for block in ignored])
    assert np.abs(wrong - trial.ddq)[inside].max() > 3.0 * np.abs(ddq - truth)[inside].max()


def test_the_rate_of_coarse_stamps_is_their_mean(trial) -> None:
    every = slice(0, None, 4)
    t = 2.5e-3 * np.arange(len(trial.t[every]))
    recording = trial.recording(t=np.round(t, 3), q=trial.q[every], tau=trial.tau[every])
    dataset = prepare(recording, trial.robot)
    assert dataset.rate_hz == pytest.approx(400.0, rel=1e-4)
    assert len(dataset.segments) == 1


def test_rounded_stamps_of_a_unix_clock_are_on_the_grid(trial) -> None:
    dataset = prepare(trial.recording(t=trial.t + 1.46003486e9), trial.robot)
    assert dataset.segments[0].on_grid
    assert dataset.rate_hz == pytest.approx(1000.0, rel=1e-7)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t, rng: np.zeros_like(t), "time never advances|stamps repeat"),
        (lambda t, rng: np.repeat(t[::4], 4)[: len(t)], "stamps repeat"),
        (lambda t, rng: t * 1000.0, "a rate of 1 Hz"),
        (lambda t, rng: t * 1e-3, "a rate of 1e"),
        (lambda t, rng: rng.permutation(t), "gaps or backward steps|a rate of"),
        (lambda t, rng: t - t % 0.01 + (t % 0.01) * 0.05, "gaps or backward steps"),
        (lambda t, rng: np.where(t == t[7], np.nan, t), "nan in row 8"),
    ],
)
def test_time_that_is_no_clock_is_refused(trial, rng, spoil, message: str) -> None:
    with pytest.raises(LogError, match=message):
        prepare(trial.recording(t=spoil(trial.t, rng)), trial.robot)


@pytest.mark.parametrize("column", ["q", "tau"])
def test_infinite_values_are_refused_by_place(trial, column: str) -> None:
    values = getattr(trial, column).copy()
    values[41, 1] = np.inf
    with pytest.raises(LogError, match="joint 'joint2': inf in row 42"):
        prepare(trial.recording(**{column: values}), trial.robot)


def test_a_log_shorter_than_its_filter_settles_is_refused(trial) -> None:
    with pytest.raises(LogError, match="longest stretch without a break"):
        prepare(trial.recording(**cut(trial, slice(300))), trial.robot)


def test_short_segments_are_left_out_and_said(trial) -> None:
    t = trial.t[:6000].copy()
    t[5900:] += 1.0
    dataset = prepare(trial.recording(**{**cut(trial, slice(6000)), "t": t}), trial.robot, FAST)
    assert spans(dataset) == [(0, 5900)]
    assert "short_segments" in names(dataset)


def test_a_survey_sees_every_step_once_across_chunks(planar) -> None:
    from ident.logs.recording import recording_of_arrays

    rows = 2 * CHUNK + 100
    t = np.arange(rows) * 1e-3
    t[CHUNK:] += 1.0
    q = np.zeros((rows, 2))
    q[CHUNK - 2 : CHUNK + 3, 0] = np.nan
    q[2 * CHUNK, 1] = 4.0
    found = survey(recording_of_arrays(planar, t, {"position": q, "effort": q}))
    np.testing.assert_array_equal(found.cuts, [0, CHUNK])
    np.testing.assert_array_equal(found.runs, [[CHUNK - 2, CHUNK + 3]])
    np.testing.assert_array_equal(found.spans["position"].missing, [5, 0])
    np.testing.assert_array_equal(found.spans["position"].high, [0.0, 4.0])
    assert found.period == pytest.approx(1e-3)


def test_cubic_interpolation_is_exact_for_cubics(rng) -> None:
    t = np.sort(rng.uniform(0.0, 1.0, 20))
    at = np.linspace(t[0], t[-1], 77)

    def f(x):
        return np.stack([x**3 - x, 2.0 * x**2], axis=1)

    np.testing.assert_allclose(cubic(t, f(t), at), f(at), rtol=0, atol=1e-9)
