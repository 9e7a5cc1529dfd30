"""Which gravity applies, of the robot, the logs and the command line."""

import numpy as np
import pytest

from ident.cli.inputs import settled_gravity
from ident.errors import LogError
from ident.logs.recording import Facts, Recording, recording_of_arrays
from ident.model.registry import load_robot

PLANAR = load_robot("planar2r")
OWN, WALL, FLOOR = (0.0, -9.81, 0.0), (9.81, 0.0, 0.0), (0.0, 0.0, -9.81)
NEARLY_OWN = (0.0, -9.80665, 0.0)


def logged(*gravities) -> list[Recording]:
    channels = {name: np.zeros((3, 2)) for name in ("position", "effort")}
    return [
        recording_of_arrays(
            PLANAR, np.arange(3.0), channels, facts=Facts(gravity=g), name=f"log{i}"
        )
        for i, g in enumerate(gravities)
    ]


@pytest.mark.parametrize(
    ("gravities", "keep", "applies", "findings"),
    [
        ([None, OWN], False, OWN, 0),
        ([WALL], False, WALL, 1),
        ([WALL], True, OWN, 0),
        ([None, WALL, WALL], False, WALL, 1),
        ([OWN, NEARLY_OWN], False, OWN, 0),
        ([WALL, FLOOR], True, OWN, 0),
    ],
)
def test_the_gravity_that_applies(gravities, keep, applies, findings) -> None:
    robot, found = settled_gravity(PLANAR, logged(*gravities), keep)
    np.testing.assert_array_equal(robot.gravity, applies)
    assert len(found) == findings


@pytest.mark.parametrize("gravities", [[OWN, WALL], [WALL, OWN], [None, FLOOR, WALL]])
def test_logs_that_contradict_each_other_are_refused(gravities) -> None:
    with pytest.raises(LogError, match=r"log\d: gravity: .*as in log\d"):
        settled_gravity(PLANAR, logged(*gravities), keep=False)
