"""The gradient that designs follow, against finite differences of the cost."""

from dataclasses import replace

import numpy as np
import pytest

from ident.excitation.collision import Clearance
from ident.excitation.criteria import Criterion, Information
from ident.excitation.envelope import Envelope, Load, Payload
from ident.excitation.fourier import RestToRest
from ident.excitation.limits import Limits
from ident.excitation.search import STAGES, Search
from ident.leastsquares.condition import condition_number
from ident.model.registry import load_robot
from ident.regressor.rigid import derive
from tests.tolerances import FINITE_DIFFERENCE


def search(
    name: str, torque: float = 1.0, distance: float | None = None, **options: object
) -> Search:
    """The problem of a robot; without a distance to keep, nothing collides."""
    robot = load_robot(name)
    if distance is None:
        robot, distance = replace(robot, capsules=(), never_meet=()), 0.0
    limits = Limits.of(robot)
    return Search(
        rest=RestToRest(robot.joints, 2 * np.pi * 0.1, 5, robot.home, shifts=True),
        envelope=Envelope(
            limits=replace(limits, torque=torque * limits.torque),
            load=Load(derive(robot), Payload(mass=1.0, com=(0.0, 0.0, 0.1))),
            clearance=(clearance := Clearance.of(robot)),
            distance=np.full(len(clearance.names), distance),
        ),
        criterion=Criterion.of(derive(robot), **options),  # type: ignore[arg-type]
        samples=20_000,
    )


KNOWN = Information(names=("Izz2", "mx2"), matrix=np.diag([1e4, 1e3]))
CASES = {
    "planar": search("planar2r"),
    "plain": search("ur5"),
    "log det": search("ur5", goal="log_det"),
    "variances": search("ur5", goal="a_optimality"),
    "inertial, SI": search("ur5", scaling="si", friction=(), armature=False),
    "coupled drives": search("tx40"),
    "gas spring": search("kr300"),
    "too little torque": search("panda", torque=0.2),
    "too little room": search("panda", distance=0.3),
    "after a run": search("planar2r", earlier=[KNOWN]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stage", [STAGES[0], STAGES[-1]], ids=["first", "last"])
def test_the_gradient_is_that_of_finite_differences(case: str, stage) -> None:
    problem, rng = CASES[case], np.random.default_rng(3)
    z = rng.normal(size=(len(problem.rest.joints), problem.rest.free))
    z *= 0.8 / problem.gauge.size(z)[:, None]

    def cost(z: np.ndarray) -> float:
        return problem.evaluate(problem.gauge.inside(z, stage.limits)[0], stage).cost

    x, pullback = problem.gauge.inside(z, stage.limits)
    gradient = pullback(problem.evaluate(x, stage).slopes)
    for _ in range(6):
        direction = rng.normal(size=z.shape)
        direction /= np.linalg.norm(direction)
        # The fourth-order central difference: tanh within 0.02 rad/s has large third derivatives.
        h = 1e-4
        near, far = (
            (cost(z + s * h * direction) - cost(z - s * h * direction)) / (2 * s * h)
            for s in (1, 2)
        )
        expected = (4.0 * near - far) / 3.0
        scale = max(np.linalg.norm(gradient), 1.0)
        assert (gradient * direction).sum() == pytest.approx(
            expected, rel=FINITE_DIFFERENCE, abs=FINITE_DIFFERENCE * scale
        )


def test_the_value_is_the_condition_number_that_is_reported() -> None:
    problem = CASES["plain"]
    z = np.random.default_rng(0).normal(size=(6, problem.rest.free))
    x, _ = problem.gauge.inside(z, 64.0)
    found = problem.evaluate(x, STAGES[-1])
    quality = problem.criterion.quality(problem.rest.series(x), 20_000)
    assert np.exp(found.value) == pytest.approx(quality.condition.scaled, rel=1e-6)
    # Sharper is nearer, from above.
    costs = [problem.evaluate(x, replace(STAGES[-1], goal=g)).cost for g in (4.0, 16.0, 64.0)]
    assert costs[0] > costs[1] > costs[2] > found.value


def test_the_log_det_and_the_variances_are_those_that_are_reported() -> None:
    x = None
    for case in ("log det", "variances"):
        problem = CASES[case]
        if x is None:
            z = np.random.default_rng(0).normal(size=(6, problem.rest.free))
            x, _ = problem.gauge.inside(z, 64.0)
        value = problem.evaluate(x, STAGES[-1]).value
        quality = problem.criterion.quality(problem.rest.series(x), 20_000)
        if case == "log det":
            assert value == pytest.approx(-0.5 * quality.log_det, rel=1e-9)
        else:
            variances = (quality.standard_errors / quality.magnitudes) ** 2
            assert np.exp(2.0 * value) == pytest.approx(variances.sum(), rel=1e-6)


def test_what_earlier_runs_know_is_not_sought_again() -> None:
    plain, after = CASES["planar"], CASES["after a run"]
    z = np.random.default_rng(0).normal(size=(2, plain.rest.free))
    series = plain.rest.series(plain.gauge.inside(z, 64.0)[0])
    alone, both = (s.criterion.quality(series, 20_000) for s in (plain, after))
    gain = both.standard_errors / alone.standard_errors
    known = [name in ("Izz2", "mx2") for name in both.names]
    assert (gain[known] < 0.999).all()
    assert (gain <= 1.0 + 1e-9).all()
    at = both.names.index("Izz2")
    assert both.standard_errors[at] <= 1e-2
    rows = plain.criterion.rows(series.states(series.times(40)))
    assert condition_number(rows) == pytest.approx(both.condition.raw, rel=1e-9)


def test_a_search_ends_within_all_limits_and_better_than_it_began() -> None:
    problem = CASES["too little torque"]
    found = problem.best_of(np.random.SeedSequence(0))
    assert found.certificate.findings == ()
    assert found.certificate.used("torque").max() > 0.5
    assert np.exp(found.value) < 100.0


def test_the_same_seed_gives_the_same_search() -> None:
    problem = CASES["planar"]
    once, again = (problem.best_of(np.random.SeedSequence(5)) for _ in range(2))
    np.testing.assert_array_equal(once.free, again.free)
    assert once.ended == "converged"


def test_a_search_without_time_gives_what_it_has() -> None:
    found = CASES["plain"].best_of(np.random.SeedSequence(0), deadline=0.0)
    assert found.ended == "time"
    assert found.evaluations == 0
    assert found.certificate.findings == ()
