import dataclasses

import numpy as np
import pytest
from scipy import signal

from ident.errors import LogError, UsageError
from ident.logs.dataset import Block, Dataset, prepare
from ident.logs.preparation import Preparation
from ident.logs.recording import Facts, recording_of_arrays
from tests.tolerances import ROUNDOFF

BLOCKWISE = 1e-9
"""A block's numbers beside those of its segment filtered whole, relative to the largest."""

SIGNALS = ("q", "dq", "ddq", "tau")


def joined(dataset: Dataset, name: str) -> np.ndarray:
    return np.concatenate([getattr(block, name)[block.core] for block in dataset])


def only(dataset: Dataset) -> Block:
    (block,) = dataset
    return block


@pytest.mark.parametrize("jitter", [0.0, 1e-4])
@pytest.mark.parametrize("rows", [700, 4096])
def test_blocks_equal_the_segment_filtered_whole(trial, rng, rows: int, jitter: float) -> None:
    t = trial.t + jitter * rng.uniform(-1, 1, trial.t.shape)
    tau = trial.tau.copy()
    tau[5000:5030, 1] = np.nan
    recording = trial.recording(t=t, tau=tau, facts=Facts(torque_timing="held"))
    options = Preparation(torque_delay_s=(0.004, 0.0007))
    whole = prepare(recording, trial.robot, dataclasses.replace(options, block_rows=10**6))
    parts = prepare(recording, trial.robot, dataclasses.replace(options, block_rows=rows))
    block = only(whole)
    for name in SIGNALS:
        expected = getattr(block, name)
        scale = np.abs(expected[block.settled]).max()
        np.testing.assert_allclose(
            joined(parts, name), expected, rtol=0, atol=BLOCKWISE * scale, err_msg=name
        )
    for name in ("valid", "scored", "settled"):
        np.testing.assert_array_equal(joined(parts, name), getattr(block, name), err_msg=name)
    fir = whole.decimator
    decimated = [fir(b.ddq.T, b, b.valid.T) for b in parts]
    expected = fir(block.ddq.T, block, block.valid.T)
    atol = BLOCKWISE * np.abs(expected).max()
    np.testing.assert_allclose(np.hstack(decimated), expected, rtol=0, atol=atol)
    np.testing.assert_array_equal(np.vstack([fir.valid(b) for b in parts]), fir.valid(block))


def test_position_is_scipys_filter_and_derivatives_are_those_of_the_motion(trial) -> None:
    dataset = prepare(trial.recording(), trial.robot)
    sos = signal.butter(4, 20.0, fs=1000.0, output="sos")
    expected = signal.sosfiltfilt(sos, trial.q, axis=0)
    settled = joined(dataset, "settled")
    np.testing.assert_allclose(
        joined(dataset, "q")[settled], expected[settled], rtol=0, atol=ROUNDOFF
    )
    for name, truth in (("dq", trial.dq), ("ddq", trial.ddq)):
        error = np.abs(joined(dataset, name) - truth)[settled].max()
        assert error < 1e-4, name


def test_a_dataset_is_iterated_again_and_holds_locked_arrays(trial) -> None:
    dataset = prepare(trial.recording(), trial.robot)
    np.testing.assert_array_equal(joined(dataset, "tau"), joined(dataset, "tau"))
    assert dataset.rows == len(trial.t) == len(joined(dataset, "t"))
    block = next(iter(dataset))
    with pytest.raises(ValueError, match="read-only"):
        block.q[0, 0] = 1.0


def test_the_digest_follows_log_and_options_but_not_the_block_size(trial) -> None:
    def digest(**options: object) -> str:
        return prepare(trial.recording(), trial.robot, Preparation(**options)).digest

    assert digest() == digest(block_rows=1000)
    assert digest() != digest(cutoff_hz=10.0)
    other = trial.recording(tau=trial.tau + 1.0)
    assert prepare(other, trial.robot).digest != digest()


def test_skipped_and_unsettled_rows_are_not_scored(trial) -> None:
    dataset = prepare(trial.recording(), trial.robot, Preparation(skip_s=(2.5, 0.5)))
    scored = joined(dataset, "scored").all(axis=1)
    t = joined(dataset, "t")[scored]
    assert t[0] == pytest.approx(2.5, abs=1e-9)
    assert t[-1] == pytest.approx(19.999 - 0.5, abs=1e-9)
    plain = prepare(trial.recording(), trial.robot)
    assert joined(plain, "t")[joined(plain, "scored").all(axis=1)][0] == pytest.approx(
        plain.filtering.trim_s, abs=1e-3
    )


def test_d1_one_nan_stays_one_masked_spot(trial) -> None:
    q, tau = trial.q.copy(), trial.tau.copy()
    q[7000, 0] = tau[9000, 1] = np.nan
    dataset = prepare(trial.recording(q=q, tau=tau), trial.robot)
    clean = prepare(trial.recording(), trial.robot)
    assert any(finding.name == "missing_values" for finding in dataset.findings)
    for name in SIGNALS:
        assert np.isfinite(joined(dataset, name)).all()
    scored = joined(dataset, "scored")
    lost = np.argwhere(~scored & joined(clean, "scored"))
    # Torque depends on the motion of all joints, and is each joint's own.
    assert set(map(tuple, lost)) == {(7000, 0), (7000, 1), (9000, 1)}
    np.testing.assert_allclose(joined(dataset, "q"), joined(clean, "q"), rtol=0, atol=1e-9)


def test_rows_beside_a_long_run_of_missing_values_are_masked_too(trial) -> None:
    q, tau = trial.q.copy(), trial.tau.copy()
    q[7000:7040, 0] = tau[9000:9005, 1] = np.nan  # 40 ms, 5 ms
    dataset = prepare(trial.recording(q=q, tau=tau), trial.robot)
    clean = prepare(trial.recording(), trial.robot)
    lost = np.argwhere(~joined(dataset, "scored") & joined(clean, "scored"))
    assert set(map(tuple, lost)) == {(k, j) for k in range(6975, 7065) for j in (0, 1)} | {
        (k, 1) for k in range(9000, 9005)
    }


@pytest.mark.parametrize("share", [0.01, 0.05, 0.1])
def test_rows_lost_one_by_one_cost_no_more_than_themselves(trial, rng, share: float) -> None:
    # A log by UDP: one row in twenty lost left none, each with 25 ms on either side.
    kept = rng.random(len(trial.t)) > share
    kept[[0, -1]] = True
    log = trial.recording(t=trial.t[kept], q=trial.q[kept], tau=trial.tau[kept])
    dataset = prepare(log, trial.robot)
    usable = np.concatenate([dataset.decimator.valid(block) for block in dataset])
    clean = prepare(trial.recording(), trial.robot)
    all_of_them = np.concatenate([clean.decimator.valid(block) for block in clean])
    assert usable.sum() > (1.0 - 2.0 * share) * all_of_them.sum()


def test_held_torque_is_half_a_sample_late_and_no_delay(trial) -> None:
    # Row k of a held log: the mean torque from k to k + 1.
    smooth = trial.q
    held = 0.5 * (smooth[1:] + smooth[:-1])
    held = np.vstack([held, held[-1:]])
    recording = trial.recording(tau=held, facts=Facts(torque_timing="held"))
    dataset = prepare(recording, trial.robot)
    settled = joined(dataset, "settled")
    error = np.abs(joined(dataset, "tau") - joined(dataset, "q"))[settled].max()
    assert error < 1e-6
    late = prepare(trial.recording(tau=held), trial.robot)
    assert np.abs(joined(late, "tau") - joined(late, "q"))[settled].max() > 1e-4


def test_a_stated_delay_is_taken_out(trial) -> None:
    lags = (0.008, 0.0025)
    late = np.column_stack(
        [np.interp(trial.t - lag, trial.t, trial.q[:, j]) for j, lag in enumerate(lags)]
    )
    dataset = prepare(trial.recording(tau=late), trial.robot, Preparation(torque_delay_s=lags))
    settled = joined(dataset, "settled")
    assert np.abs(joined(dataset, "tau") - joined(dataset, "q"))[settled].max() < 1e-5


def test_measured_velocity_is_used_where_asked(trial) -> None:
    recording = recording_of_arrays(
        trial.robot,
        trial.t,
        {"position": trial.q, "effort": trial.tau, "velocity": 2.0 * trial.dq},
    )
    dataset = prepare(recording, trial.robot, Preparation(velocity="measured"))
    settled = joined(dataset, "settled")
    for name, truth in (("dq", trial.dq), ("ddq", trial.ddq)):
        assert np.abs(joined(dataset, name) - 2.0 * truth)[settled].max() < 1e-3
    with pytest.raises(LogError, match="no velocity channel"):
        prepare(trial.recording(), trial.robot, Preparation(velocity="measured"))


def friction_fit(dataset: Dataset, name: str) -> np.ndarray:
    rows, torque = [], []
    for block in dataset:
        mask = getattr(block, name)[:, 0].copy()
        mask[: block.core.start] = mask[block.core.stop :] = False
        dq = block.dq[mask, 0]
        rows.append(np.column_stack([dq, np.sign(dq)]))
        torque.append(block.tau[mask, 0])
    return np.linalg.lstsq(np.vstack(rows), np.concatenate(torque), rcond=None)[0]


def test_f1_chatter_at_standstill_is_masked(planar, rng) -> None:
    t = np.arange(0.0, 20.0, 1e-3)
    moving = t >= 10.0
    q = np.where(moving, 1.0 - np.cos(0.5 * np.pi * (t - 10.0)), 0.0)
    dq = np.where(moving, 0.5 * np.pi * np.sin(0.5 * np.pi * (t - 10.0)), 0.0)
    tau = np.where(moving, 0.8 * dq + 2.0 * np.sign(dq), 0.0)
    noisy = q + 3e-6 * rng.normal(size=t.shape)
    recording = recording_of_arrays(
        planar, t, {"position": np.stack([noisy, q], 1), "effort": np.stack([tau, tau], 1)}
    )
    naive = friction_fit(prepare(recording, planar, Preparation(reversal_speed=0.0)), "valid")
    dataset = prepare(recording, planar)
    masked = friction_fit(dataset, "valid")
    resting = np.concatenate([b.t[b.core][~b.scored[b.core, 0]] for b in dataset])
    assert 8.5 < np.sum((resting > 0.5) & (resting < 10.0)) * 1e-3 < 9.5
    assert naive[1] < 1.3
    np.testing.assert_allclose(masked, [0.8, 2.0], rtol=5e-3)


def test_masking_both_sides_keeps_a_sticking_joint_out_of_its_neighbours(planar) -> None:
    # A joint that sticks: while it rests, its torque is anything below Coulomb friction.
    t = np.arange(0.0, 30.0, 1e-3)
    speed = 0.8 * np.sin(0.9 * np.pi * t)
    dq = np.sign(speed) * np.maximum(np.abs(speed) - 0.2, 0.0)
    q = np.cumsum(dq) * 1e-3
    tau = np.where(dq == 0.0, 0.0, 0.8 * dq + 2.0 * np.sign(dq))
    both = {"position": np.stack([q, q], 1), "effort": np.stack([tau, tau], 1)}
    dataset = prepare(recording_of_arrays(planar, t, both), planar)
    estimates = {}
    for masked in (False, True):
        rows, torque = [], []
        for block in dataset:
            mask = block.valid[:, 0] if masked else None
            fir, kept = dataset.decimator, dataset.decimator.valid(block)[:, 0]
            dq = block.dq[:, 0]
            rows.append(fir(np.stack([dq, np.sign(dq)]), block, mask)[:, kept])
            torque.append(fir(block.tau[:, 0], block, mask)[kept])
        Y, y = np.hstack(rows).T, np.concatenate(torque)
        estimates[masked] = np.linalg.lstsq(Y, y, rcond=None)[0]
    error = {k: np.abs(v / [0.8, 2.0] - 1.0).max() for k, v in estimates.items()}
    assert error[True] < 0.01
    assert error[False] > 5.0 * error[True]


@pytest.mark.parametrize(
    ("highest", "rate", "cutoff"), [(None, 1000.0, 20.0), (0.3, 1000.0, 12.0), (5.0, 200.0, 20.0),
                                    (0.01, 1000.0, 10.0), (None, 40.0, 16.0)]
)  # fmt: skip
def test_the_cut_off_follows_the_excitation(highest, rate: float, cutoff: float) -> None:
    filtering = Preparation().resolved(Facts(highest_harmonic_hz=highest), rate)
    assert filtering.cutoff_hz == pytest.approx(cutoff)
    assert filtering.decimation_hz == pytest.approx(0.5 * cutoff)


@pytest.mark.parametrize(
    "options",
    [{"cutoff_hz": -1.0}, {"block_rows": 0}, {"skip_s": (-1.0, 0.0)}, {"velocity": "guessed"}],
)
def test_options_that_no_filter_can_do_are_refused(options: dict) -> None:
    with pytest.raises(UsageError, match="option"):
        Preparation(**options)


def test_delays_are_one_per_joint(trial) -> None:
    with pytest.raises(UsageError, match="expected 2, one per joint"):
        prepare(trial.recording(), trial.robot, Preparation(torque_delay_s=(0.1,)))


def test_rows_near_the_reversal_of_any_drive_of_a_joint_are_masked(trial) -> None:
    # Drive 2 turns by q1 + q2, and drags on both joints where it reverses.
    drives = dataclasses.replace(trial.robot.drives, coupling=np.array([[1.0, 0.0], [1.0, 1.0]]))
    coupled = dataclasses.replace(trial.robot, drives=drives)
    dataset = prepare(trial.recording(), coupled)
    valid, dq = joined(dataset, "valid"), joined(dataset, "dq")
    scored = joined(dataset, "scored")
    own, both = np.abs(dq[:, 0]) < 0.05, np.abs(dq.sum(axis=1)) < 0.05
    assert (both & ~own & (np.abs(dq[:, 1]) > 0.1) & scored.all(axis=1)).sum() > 100
    assert not valid[own | both, 0].any() and not valid[both, 1].any()
    # Joint 2 moves drive 2 alone: its own reversal is none of a drive.
    still = (np.abs(dq[:, 1]) < 0.04) & (np.abs(dq.sum(axis=1)) > 0.3) & scored[:, 1]
    assert still.sum() > 100 and valid[still, 1].all()
