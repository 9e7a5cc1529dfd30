from dataclasses import replace

import numpy as np
import pytest

from ident.errors import UsageError
from ident.excitation.approach import Play, play_of
from ident.excitation.campaign import Campaign, CampaignOptions, plan, repeats, warmup_of
from ident.excitation.course import Course
from ident.excitation.design import DesignOptions
from ident.excitation.envelope import Payload
from ident.excitation.following import follow, order_of
from ident.excitation.fourier import RestToRest, Trajectory
from ident.excitation.poses import PoseOptions
from ident.model.registry import load_robot
from tests.tolerances import ROUNDOFF

PLANAR = load_robot("planar2r")
OPTIONS = CampaignOptions(
    design=DesignOptions(periods=3, starts=1),
    payload=Payload(mass=0.5, com=(0.2, 0.0, 0.0)),
    warmup_s=45.0,
    poses=PoseOptions(poses=3),
)


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return plan(PLANAR, OPTIONS)


def of_kind(campaign: Campaign, kind: str) -> list:
    return [step for step in campaign.steps if step.kind == kind]


def log_of(plan: Play | Course, rate_hz: float = 100.0, start: float = 7.3, rest: float = 1.7):
    """Return times and positions as an encoder would give them, at rest before and after."""
    t = np.arange(0.0, plan.duration_s + 2 * rest, 1.0 / rate_hz)
    q = plan.states(t - rest).q
    return start + t, q + 1e-4 * np.random.default_rng(0).normal(size=q.shape)


def test_steps_are_numbered_in_the_order_in_which_they_are_played(campaign) -> None:
    assert [step.name for step in campaign.steps] == [
        "01_warmup",
        "02_static",
        "03_friction_1_joint1",
        "04_friction_2_joint2",
        "05_excitation",
        "06_validation",
        "07_unloaded_a",
        "08_loaded_b",
        "09_loaded_c",
        "10_unloaded_d",
    ]
    assert [step.loaded for step in campaign.steps] == [False] * 7 + [True] * 2 + [False]
    assert campaign.steps[4].log == "logs/05_excitation.*"
    assert campaign.duration_s == pytest.approx(sum(step.duration_s for step in campaign.steps))
    assert campaign.poses == 3
    assert 1.0 <= campaign.gravity_condition < 30.0


def test_every_step_keeps_all_limits_and_goes_from_home_to_home(campaign) -> None:
    for step in campaign.steps:
        assert not step.certificate.findings, step.name
        ends = step.plan.states([0.0, step.duration_s])
        np.testing.assert_allclose(ends.q, np.tile(PLANAR.home, (2, 1)), rtol=0, atol=1e-9)
        assert max(np.abs(ends.dq).max(), np.abs(ends.ddq).max()) <= 1e-9, step.name


def test_the_warm_up_is_the_path_of_the_excitation_at_half_speed(campaign) -> None:
    fast = of_kind(campaign, "excitation")[0].plan.trajectory
    slow = of_kind(campaign, "warmup")[0].plan.trajectory
    assert slow.duration_s == 60.0  # 45 s in whole periods of 20 s
    t = np.linspace(0.0, fast.period_s, 101)
    half, whole = slow.states(2.0 * t), fast.states(t)
    np.testing.assert_allclose(half.q, whole.q, rtol=0, atol=ROUNDOFF)
    np.testing.assert_allclose(2.0 * half.dq, whole.dq, rtol=0, atol=ROUNDOFF)
    assert warmup_of(fast, 1.0).periods == 1


def test_the_validation_is_no_repeat_of_the_excitation(campaign) -> None:
    fitted = of_kind(campaign, "excitation")[0].plan.trajectory
    scored = of_kind(campaign, "validation")[0].plan.trajectory
    assert not repeats(scored, fitted)
    assert repeats(replace(fitted, periods=1), fitted)


def test_the_payload_is_in_the_certificate_of_the_steps_that_carry_it(campaign) -> None:
    bare, loaded, *_ = of_kind(campaign, "payload")
    assert loaded.plan is bare.plan
    assert (loaded.certificate.torque > bare.certificate.torque).all()


def test_a_poor_search_is_said_with_its_name() -> None:
    # A period of four minutes shows little but weight.
    slow = DesignOptions(periods=1, starts=1, base_frequency_hz=0.004)
    found = plan(PLANAR, replace(OPTIONS, design=slow, warmup_s=0.0, payload=None)).findings
    poor = [f.where for f in found if f.name == "poor_condition"]
    assert poor == ["excitation trajectory", "validation trajectory"]


def test_the_same_options_plan_the_same_campaign(campaign) -> None:
    again = plan(PLANAR, OPTIONS)
    ids = [[step.plan.trajectory.id for step in c.steps] for c in (campaign, again)]
    assert ids[0] == ids[1]


def test_what_cannot_be_played_is_left_out_and_said() -> None:
    # A joint of some hundredths of a radian shows no friction, and stands where it is.
    first, second = PLANAR.links
    short = replace(second, joint=replace(second.joint, lower=-0.04, upper=0.04))
    robot = replace(PLANAR, links=(first, short))
    campaign = plan(robot, replace(OPTIONS, warmup_s=0.0, payload=None))
    assert [s.name for s in campaign.steps] == [
        "01_friction_1_joint1",
        "02_excitation",
        "03_validation",
    ]
    said = [f.where for f in campaign.findings if f.name == "step_left_out"]
    assert said == ["static poses of 'planar2r'", "friction sweep of joint 'joint2'"]
    assert campaign.poses == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"warmup_s": -1.0}, "warm-up: -1 s"),
        ({"validation_periods": 0}, "periods: 0"),
        ({"payload": Payload(mass=0.0)}, "payload mass: 0 kg"),
        ({"design": DesignOptions(payload=Payload(mass=1.0))}, "expected one of the bare arm"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CampaignOptions(**options)


def test_a_log_follows_its_own_plan_wherever_its_clock_starts(campaign) -> None:
    for step in campaign.steps:
        placed = follow(*log_of(step.plan), step.plan)
        assert placed.follows, step.name
        assert placed.shift_s == pytest.approx(9.0, abs=5e-3)
        np.testing.assert_allclose(placed.covered_s, (0.0, step.duration_s), atol=0.05)


def test_a_log_follows_no_other_plan(campaign) -> None:
    for step in campaign.steps:
        t, q = log_of(step.plan)
        others = {
            other.plan.trajectory.id for other in campaign.steps if follow(t, q, other.plan).follows
        }
        same_path = {"excitation", "payload"}  # of an arm that no torque limit holds back
        if step.kind not in same_path:
            assert others == {step.plan.trajectory.id}, step.name


@pytest.mark.parametrize("part", [slice(0, 1500), slice(900, None), slice(700, 1900)])
def test_a_part_of_a_log_is_found_on_its_plan(campaign, part: slice) -> None:
    step = of_kind(campaign, "excitation")[0]
    t, q = log_of(step.plan)
    placed = follow(t[part], q[part], step.plan)
    assert placed.follows
    first, last = placed.covered_s
    held = min(t[part][-1] - 9.0, step.duration_s) - max(t[part][0] - 9.0, 0.0)
    assert last - first == pytest.approx(held, abs=0.1)


def test_joints_in_another_order_are_told() -> None:
    rng = np.random.default_rng(4)
    ur5 = load_robot("ur5")
    rest = RestToRest(ur5.joints, 2 * np.pi * 0.1, 5, ur5.home)
    series = rest.series(0.2 * rng.normal(size=(6, rest.free)))
    play = play_of(Trajectory(series=series, periods=1, rate_hz=500.0, robot="ur5"), ur5)
    t, q = log_of(play)
    order = np.array([0, 1, 4, 3, 5, 2])
    assert not follow(t, q[:, order], play).follows
    np.testing.assert_array_equal(order_of(t, q[:, order], play), np.argsort(order))
    assert order_of(t, q + rng.normal(size=q.shape), play) is None


def test_half_speed_does_not_follow(campaign) -> None:
    step = of_kind(campaign, "excitation")[0]
    t, q = log_of(step.plan)
    assert not follow(2.0 * t, q, step.plan).follows
