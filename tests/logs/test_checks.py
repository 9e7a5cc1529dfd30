import numpy as np
import pytest

from ident.errors import Finding, LogError
from ident.logs.checks import check
from ident.logs.dataset import prepare
from ident.logs.recording import Facts


@pytest.fixture
def findings(planar, planar_regressor):
    def run(recording) -> dict[str, Finding]:
        return {f.name: f for f in check(recording, planar, planar_regressor)}

    return run


def wrong_by_a_fifth(trial, regressor, rng) -> np.ndarray:
    """Torque of an arm whose inertial parameters differ from CAD."""
    pi = trial.robot.pi * rng.uniform(0.8, 1.2, trial.robot.pi.shape)
    rigid = (regressor(trial.q, trial.dq, trial.ddq) @ pi).reshape(-1, 2)
    return rigid + 0.5 * trial.dq + np.sign(trial.dq) + 0.1 * rng.normal(size=trial.q.shape)


def test_a_good_log_has_no_findings(trial, findings, planar_regressor, rng) -> None:
    assert findings(trial.recording()) == {}
    tau = wrong_by_a_fifth(trial, planar_regressor, rng)
    assert findings(trial.recording(tau=tau)) == {}


def test_c9_degrees_are_suggested(trial, findings) -> None:
    found = findings(trial.recording(q=np.degrees(trial.q)))
    assert found["degrees"].severity == "error"
    assert "deg" in found["degrees"].remedy


def test_degrees_within_the_range_of_radians_are_found_by_the_model(
    trial, findings, planar_regressor
) -> None:
    # Motion of 2° is 2 rad to a reader that takes it for radians: a plausible range.
    small = 0.02
    q, dq, ddq = small * trial.q, small * trial.dq, small * trial.ddq
    tau = planar_regressor.inverse_dynamics(q, dq, ddq)
    found = findings(trial.recording(q=np.degrees(q), tau=tau))
    assert found["degrees"].severity == "error"
    assert "unexplained" in found["degrees"].found


@pytest.mark.parametrize("both", [True, False])
def test_c1_exchanged_joints_are_named(trial, findings, planar_regressor, rng, both) -> None:
    tau = wrong_by_a_fifth(trial, planar_regressor, rng)[:, ::-1]
    q = trial.q[:, ::-1] if both else trial.q
    found = findings(trial.recording(q=q, tau=tau))
    assert found["swapped_joints"].severity == "warning"
    assert "'joint1' and 'joint2'" in found["swapped_joints"].where


@pytest.mark.parametrize("joint", [0, 1])
def test_e5_a_flipped_sign_names_its_joint(trial, findings, planar_regressor, rng, joint) -> None:
    tau = wrong_by_a_fifth(trial, planar_regressor, rng)
    tau[:, joint] *= -1.0
    found = findings(trial.recording(tau=tau))
    assert f"(joint {joint + 1})" in found["flipped_sign"].where
    assert "swapped_joints" not in found


@pytest.mark.parametrize(
    ("column", "spoil", "name", "severity"),
    [
        ("tau", lambda x: x * [1, np.nan], "all_missing", "error"),
        ("q", lambda x: x * 0.0 + 0.3, "nothing_moves", "error"),
        ("q", lambda x: x * [1, 0], "joint_still", "warning"),
        ("tau", lambda x: x * [0, 1], "effort_constant", "warning"),
        ("q", lambda x: x + np.array([3.0, 0]), "beyond_limits", "warning"),
        ("q", lambda x: (x * 3 + np.pi) % (2 * np.pi) - np.pi, "position_jumps", "error"),
    ],
)
def test_channels_that_hold_nothing_or_the_impossible(
    trial, findings, column: str, spoil, name: str, severity: str
) -> None:
    found = findings(trial.recording(**{column: spoil(getattr(trial, column))}))
    assert found[name].severity == severity
    assert "joint" in found[name].message + found[name].where


@pytest.mark.parametrize(
    ("column", "spoil"),
    [("tau", lambda x: x * [1, np.nan]), ("q", lambda x: x * 0.0), ("t", lambda x: x * 0.0)],
)
def test_what_check_calls_an_error_stops_prepare(trial, findings, column: str, spoil) -> None:
    recording = trial.recording(**{column: spoil(getattr(trial, column))})
    errors = [f for f in findings(recording).values() if f.severity == "error"]
    assert errors
    with pytest.raises(LogError) as raised:
        prepare(recording, trial.robot)
    assert str(raised.value) in [f"{f.where}: {f.message}" for f in errors]


def test_a_short_log_is_said_to_be_short(trial, findings) -> None:
    rows = slice(2000)
    recording = trial.recording(t=trial.t[rows], q=trial.q[rows], tau=trial.tau[rows])
    assert "short_log" in findings(recording)


def test_a_gravity_that_contradicts_the_robot_is_said(trial, findings) -> None:
    assert "gravity_differs" in findings(trial.recording(facts=Facts(gravity=(0.0, 0.0, -9.81))))
    assert "gravity_differs" not in findings(
        trial.recording(facts=Facts(gravity=(0.0, -9.80665, 0.0)))
    )


@pytest.mark.parametrize(
    ("factor", "severity"), [(1e3, "error"), (20.0, "error"), (2.5, "warning"), (1.2, None)]
)
def test_torque_that_no_drive_of_the_robot_gives(trial, findings, factor, severity) -> None:
    # As in mN·m, or as one broken value: both are beyond what the description says of the drive.
    limit = trial.robot.effort[1]
    whole, single = np.array(trial.tau), np.array(trial.tau)
    whole[:, 1] *= factor * limit / np.abs(whole[:, 1]).max()
    single[500, 1] = -factor * limit
    for tau in (whole, single):
        found = findings(trial.recording(tau=tau)).get("effort_beyond_limits")
        assert (found and found.severity) == severity
        assert found is None or "'joint2'" in found.where


def test_current_is_not_measured_against_limits_of_torque(trial, findings) -> None:
    facts = Facts(effort_kind="motor_current")
    found = findings(trial.recording(tau=1e3 * trial.tau, facts=facts))
    assert "effort_beyond_limits" not in found


@pytest.mark.parametrize(("payload", "there"), [("0.5 kg", True), ("none", False), ("", False)])
def test_a_payload_in_the_log_is_said(trial, findings, payload, there) -> None:
    found = findings(trial.recording(facts=Facts(payload=payload)))
    assert ("payload" in found) == there
