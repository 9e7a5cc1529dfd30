from dataclasses import replace

import numpy as np
import pytest

from ident.errors import UsageError
from ident.excitation.limits import KINDS, Limits
from ident.model.registry import load_robot

ROBOT = load_robot("planar2r")
LIMITS = Limits.of(ROBOT)


def test_the_workspace_is_half_a_turn_around_home_within_the_joint_range() -> None:
    ur5, panda = load_robot("ur5"), load_robot("panda")
    middle = Limits.of(ur5).middle
    # The elbow's own range ends at π; the other joints turn further than a workspace needs.
    np.testing.assert_allclose(np.delete(middle, 2), np.delete(ur5.home, 2), rtol=0, atol=1e-12)
    np.testing.assert_allclose(Limits.of(ur5).position[2, 1], np.pi, rtol=0, atol=1e-12)
    assert (Limits.of(panda).position[:, 0] >= panda.position[:, 0]).all()
    assert (Limits.of(panda).position[:, 1] <= panda.position[:, 1]).all()


def test_a_margin_shrinks_every_limit_about_its_middle() -> None:
    whole, less = Limits.of(ROBOT), Limits.of(ROBOT, margin=0.8)
    np.testing.assert_allclose(less.middle, whole.middle, rtol=0, atol=1e-12)
    for kind in KINDS:
        np.testing.assert_allclose(less.largest(kind), 0.8 * whole.largest(kind), rtol=1e-12)
    with pytest.raises(UsageError, match="margin"):
        Limits.of(ROBOT, margin=1.2)


def test_limits_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="jerk limits"):
        replace(LIMITS, jerk=np.array([np.nan, 1.0]))
