import json
from dataclasses import replace

import numpy as np
import pytest

from ident.errors import InfeasibleError, UsageError
from ident.excitation.criteria import Criterion, Information
from ident.excitation.design import DesignOptions, design
from ident.excitation.envelope import Load
from ident.excitation.fourier import RestToRest, Trajectory
from ident.excitation.limits import KINDS, Limits
from ident.model.registry import load_robot
from ident.regressor.rigid import derive

PLANAR = load_robot("planar2r")
FEW = DesignOptions(starts=1)


def case_limits() -> Limits:
    """Give the limits of the case: 1.5 rad, 2 rad/s, 5 rad/s², nothing else."""
    two = np.ones(2)
    return Limits(
        joints=PLANAR.joints,
        turns=PLANAR.turns,
        position=np.array([[-1.5, 1.5]] * 2),
        velocity=2.0 * two,
        acceleration=5.0 * two,
        jerk=np.inf * two,
        torque=np.inf * two,
    )


@pytest.mark.parametrize("seed", range(3))
def test_limits_hold_at_every_tick_of_a_controller(seed: int) -> None:
    made = design(PLANAR, replace(FEW, seed=seed), limits=case_limits())
    _, motion = made.trajectory.sample(1000.0)
    assert (np.abs(motion.q) <= 1.5).all()
    assert (np.abs(motion.dq) <= 2.0).all()
    assert (np.abs(motion.ddq) <= 5.0).all()
    assert [f.name for f in made.findings] == ["no_capsule"]
    assert made.summary()["margins"]["torque"] is None


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_registry_robots_keep_all_limits_with_room_to_spare(name: str) -> None:
    robot = load_robot(name)
    made = design(robot, FEW)
    t, motion = made.trajectory.sample(1000.0)
    assert (motion.q >= robot.position[:, 0]).all()
    assert (motion.q <= robot.position[:, 1]).all()
    jerk = made.trajectory.series.derivative(t, 3)
    limits = (robot.velocity, robot.acceleration, robot.jerk)
    for values, limit in zip((motion.dq, motion.ddq, jerk), limits, strict=True):
        assert (np.abs(values) <= 0.95 * limit * (1 + 1e-9)).all()
    # A grid ten times denser than the one that the torque was certified on.
    load = Load(derive(robot))(made.trajectory.states(np.linspace(0, 10, 10_000)))
    assert (load <= robot.effort).all()
    assert made.quality.level == "good"
    assert min(made.certificate.margins[kind] for kind in KINDS) >= 0.0
    np.testing.assert_allclose(motion.q[0], motion.q[-1], rtol=0, atol=1e-12)
    for rates in (motion.dq, motion.ddq):
        assert np.abs(rates[[0, -1]]).max() <= 1e-9


def test_torque_limits_shrink_the_motion() -> None:
    tight = replace(Limits.of(PLANAR), torque=np.array([16.0, 4.0]))
    made = design(PLANAR, FEW, limits=tight)
    assert made.certificate.findings == ()
    assert made.certificate.used("torque").max() > 0.7


def test_the_toy_robot_ends_with_a_small_normalised_condition() -> None:
    made = design(PLANAR)
    t = np.arange(400) / 400 * made.trajectory.period_s
    W = Criterion.of(derive(PLANAR)).rows(made.trajectory.states(t))
    assert np.linalg.cond(W / np.linalg.norm(W, axis=0)) <= 10.0


def test_the_same_seed_gives_the_same_trajectory_and_more_starts_no_worse() -> None:
    once, again = design(PLANAR, FEW), design(PLANAR, FEW)
    assert once.trajectory.id == again.trajectory.id
    assert design(PLANAR, replace(FEW, seed=1)).trajectory.id != once.trajectory.id
    more = design(PLANAR, replace(FEW, starts=3))
    assert more.quality.condition.scaled <= once.quality.condition.scaled


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"torque": np.array([10.0, 50.0])}, "torque of joint"),
        ({"position": np.array([[0.5, 1.0], [-1.0, 1.0]])}, "position of joint"),
        ({"velocity": np.array([1e-12, 1.0])}, "velocity of joint"),
        ({"jerk": np.array([0.0, 1.0])}, "jerk of joint"),
    ],
)
def test_impossible_limits_are_named_not_answered(change: dict, named: str) -> None:
    with pytest.raises(InfeasibleError, match=named) as caught:
        design(PLANAR, FEW, limits=replace(Limits.of(PLANAR), **change))
    assert caught.value.exit_code == 4


def test_a_start_of_ones_own() -> None:
    made = design(PLANAR, replace(FEW, start=(0.3, -0.4)))
    _, motion = made.trajectory.sample(100.0)
    np.testing.assert_allclose(motion.q[0], [0.3, -0.4], rtol=0, atol=1e-12)
    with pytest.raises(UsageError, match="start"):
        design(PLANAR, replace(FEW, start=(0.3,)))


def test_the_file_holds_trajectory_and_certificate() -> None:
    made = design(PLANAR, FEW)
    facts = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert Trajectory.from_dict(facts).id == made.trajectory.id
    assert facts["certificate"]["condition"]["scaled"] == made.quality.condition.scaled
    assert {"condition", "log_det", "margins", "seconds"} <= set(made.summary())
    assert set(made.summary()["condition"]) == {"scaled", "raw", "raw_inertial"}
    assert set(made.summary()["margins"]) == {*KINDS, "collision"}
    assert made.summary()["margins"]["collision"] is None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"starts": 0}, "starts"),
        ({"harmonics": 1}, "harmonics"),
        ({"periods": 0}, "periods"),
        ({"base_frequency_hz": 0.0}, "base frequency"),
        ({"seed": -1}, "seed"),
        ({"jobs": -1}, "jobs"),
        ({"harmonics": 1000}, "harmonics"),
        ({"periods": 10**9}, "periods"),
        ({"seconds": 0.0}, "seconds"),
        ({"seconds": np.inf}, "seconds"),
        ({"distance": -0.1}, "distance"),
        ({"goal": "speed"}, "goal"),
        ({"scaling": "none"}, "scaling"),
        ({"friction": ("stribeck",)}, "friction"),
        ({"noise": (0.1,)}, "noise"),
    ],
)
def test_options_out_of_range_are_refused(options: dict, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        design(PLANAR, DesignOptions(**{"starts": 1, **options}))


def test_a_design_after_a_run_complements_it() -> None:
    # A run of the first joint alone, at high speed: rich in what that shows, empty of the rest.
    rng, rest = np.random.default_rng(8), RestToRest(PLANAR.joints, 2.0, 5, PLANAR.home)
    free = rng.normal(size=(2, rest.free)) * np.array([[1.0], [0.0]])
    plain = Criterion.of(derive(PLANAR))
    series = rest.series(free)
    rows = plain.rows(series.states(series.times(200)))
    weighted = rows / np.tile(plain.noise, len(rows) // 2)[:, None]
    known = Information(names=plain.names, matrix=100.0 * weighted.T @ weighted)
    alone, after = design(PLANAR, FEW), design(PLANAR, FEW, earlier=[known])
    both = Criterion.of(derive(PLANAR), earlier=[known])
    together = both.quality(alone.trajectory.series, 20_000)
    assert after.quality.condition.scaled < 0.95 * together.condition.scaled
    assert after.trajectory.id != alone.trajectory.id
