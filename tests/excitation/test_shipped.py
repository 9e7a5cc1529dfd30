"""The trajectories of the registry keep what their certificates say, for the robots as they are."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from ident.excitation.approach import play_of
from ident.excitation.collision import Clearance
from ident.excitation.criteria import Criterion
from ident.excitation.envelope import Envelope, Load
from ident.excitation.fourier import Trajectory
from ident.excitation.limits import KINDS, Limits
from ident.excitation.surroundings import Surroundings, floor
from ident.model.registry import load_robot, robot_names
from ident.regressor.rigid import derive

FOLDER = Path(__file__).resolve().parents[2] / "trajectories"
NAMES = [(robot, name) for robot in robot_names() for name in ("excitation", "validation")]


def read(robot: str, name: str) -> dict:
    return json.loads((FOLDER / robot / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "kind"), NAMES)
def test_a_shipped_trajectory_keeps_its_certificate(name: str, kind: str) -> None:
    facts, robot = read(name, kind), load_robot(name)
    trajectory, stated = Trajectory.from_dict(facts), facts["certificate"]
    assert (facts["robot"], stated["model"]) == (robot.name, robot.digest)
    assert stated["complete"]
    words = shlex.split(facts["command"])
    around = Surroundings(walls=(floor(),)) if "--floor" in words else None
    options = stated["options"]
    envelope = Envelope.around(
        robot.home,
        Limits.of(robot, margin=options["margin"]),
        Load(derive(robot)),
        Clearance.of(robot, around),
        options["distance"],
    )
    play = play_of(trajectory, robot)
    moves = play.approach.states(np.linspace(0.0, play.approach.duration_s, 400))
    certificate = envelope.certify(trajectory.series, moves)
    assert certificate.findings == ()
    for limit in KINDS:
        reached = stated["limits"][limit]["reached"]
        np.testing.assert_allclose(getattr(certificate, limit), reached, rtol=1e-6)
    clear = [pair["reached"] for pair in stated["limits"]["distance"].values()]
    np.testing.assert_allclose(certificate.clear, clear, rtol=0, atol=1e-6)
    quality = Criterion.of(derive(robot)).quality(
        trajectory.series, round(trajectory.duration_s * trajectory.rate_hz)
    )
    assert quality.condition.scaled == pytest.approx(stated["condition"]["scaled"], rel=1e-6)
    assert quality.level != "poor"


@pytest.mark.parametrize("name", robot_names())
def test_validation_is_another_motion(name: str) -> None:
    one, other = (Trajectory.from_dict(read(name, kind)) for kind in ("excitation", "validation"))
    t = np.linspace(0.0, one.period_s, 200)
    gap = np.abs(one.states(t).q - other.states(t).q).max(axis=0)
    assert (gap > 0.1 * np.ptp(one.states(t).q, axis=0)).all()
