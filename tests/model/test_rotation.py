import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ident.model import rotation
from tests.tolerances import ROUNDOFF

EXACT = 1e-14
MEANT = 2e-11  # entries below this may have become zero


@pytest.mark.parametrize("pitch", [0.0, 0.3, 1.5, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-8])
def test_rpy_gives_back_the_rotation_also_near_gimbal_lock(pitch: float) -> None:
    rng = np.random.default_rng(0)
    for roll, yaw in rng.uniform(-np.pi, np.pi, size=(50, 2)):
        R = rotation.about_z(yaw) @ rotation.about_y(pitch) @ rotation.about_x(roll)
        back = rotation.from_rpy(*rotation.to_rpy(R))
        assert_allclose(back, rotation.cleaned(R), rtol=0, atol=MEANT)


def test_angles_written_with_eleven_digits_become_exact() -> None:
    R = rotation.from_rpy(1.57079632679, 0.0, -3.14159265359)
    assert_array_equal(R, [[-1, 0, 0], [0, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize("angle", [1.5708, 1e-6, 3e-6, 3.1416, 1.57079632679, 0.7])
def test_every_angle_gives_a_matrix_that_rotates(angle: float) -> None:
    for about in (rotation.about_x, rotation.about_y, rotation.about_z):
        R = rotation.cleaned(about(angle))
        assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=EXACT)


def test_rodrigues_agrees_with_the_coordinate_rotations() -> None:
    for axis, about in zip(
        np.eye(3), (rotation.about_x, rotation.about_y, rotation.about_z), strict=True
    ):
        assert_allclose(rotation.about(axis, 0.7), about(0.7), rtol=0, atol=ROUNDOFF)
