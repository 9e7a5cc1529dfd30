"""Estimate: identified parameters, how sure they are, and what they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ident.arrays import Array, locked
from ident.base.basemap import BaseMap
from ident.base.magnitudes import magnitudes
from ident.base.minimal import reduce_stack
from ident.errors import Finding, LogError, UsageError
from ident.fit.consistent import PhysicalFit, fit_physical
from ident.fit.delay import Delay, estimate_delay
from ident.fit.options import FitOptions
from ident.fit.prior import Evidence, Prior, prior_of
from ident.fit.rows import base_columns, factors_of
from ident.leastsquares.condition import Condition, condition_numbers
from ident.leastsquares.solve import Solution, solve_ols, solve_wls
from ident.logs.dataset import Dataset
from ident.model.inertia import smallest_eigenvalue
from ident.model.robot import Robot
from ident.regressor.columns import Stack, stack
from ident.regressor.friction import friction_terms
from ident.regressor.rigid import derive
from ident.regressor.springs import with_values

# Least squares and the constrained estimate of the same white data differ by one or two.
_TENSION = 3.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate:
    """The result of a fit. It certifies itself: inputs, options, solver, covariance.

    Attributes
    ----------
    robot : Robot
        The description that was fitted, with its CAD values.
    effort_kind : str
        What the logs' torque means; decides which parameters it can show.
    base : BaseMap
        The minimal set of the parameters.
    prior : Prior
        What was believed beforehand.
    solution : Solution
        Least squares in base parameters, with its covariance.
    physical : PhysicalFit or None
        The physically consistent estimate; None where least squares alone was asked for.
    delay : Delay or None
        Lag of torque behind position that is left in the data.
    inputs : tuple of str
        Digests of the logs.
    """

    robot: Robot
    options: FitOptions
    effort_kind: str
    base: BaseMap
    prior: Prior
    solution: Solution
    physical: PhysicalFit | None
    delay: Delay | None
    inputs: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    @cached_property
    def columns(self) -> Stack:
        """All parameters that were fitted, in order."""
        return columns_for(self.robot, self.options, self.effort_kind)

    @cached_property
    def theta(self) -> Array:
        """All parameters (p,): the physical estimate, else CAD moved as little as the data ask."""
        if self.physical is not None:
            return self.physical.theta
        return locked(self.base.expand(self.solution.theta, self.prior.theta))

    @cached_property
    def beta(self) -> Array:
        """Base parameters (b,) of ``theta``."""
        return locked(self.base.reduce(self.theta))

    @cached_property
    def beta_cad(self) -> Array:
        """Base parameters (b,) of the description, its friction guess included."""
        return locked(self.base.reduce(self.columns.guess))

    @cached_property
    def pi(self) -> Array:
        """Inertial parameters (10·links,)."""
        return locked(self.theta[self.columns.inertial])

    @cached_property
    def identified(self) -> Robot:
        """The robot with its identified inertias, armature, friction and springs."""
        values: dict[str, Any] = {
            kind: self.theta[self.columns.which(kind)]
            for kind in ("armature", "viscous", "coulomb")
            if self.columns.which(kind).any()
        }
        values["springs"] = with_values(self.robot, self.columns.names, self.theta)
        robot = self.robot.with_pi(self.pi)
        return replace(robot, drives=replace(robot.drives, **values))

    @cached_property
    def min_eigenvalue(self) -> float:
        """Smallest eigenvalue of all links' pseudo-inertias (SI); negative: a body cannot exist."""
        return min(smallest_eigenvalue(link) for link in self.pi.reshape(-1, 10))

    @cached_property
    def std(self) -> Array:
        """Standard errors (b,) of the base parameters, from least squares."""
        return locked(np.sqrt(np.diag(self.solution.covariance)))

    @cached_property
    def condition(self) -> Condition:
        """Condition numbers of the weighted regressor of the data, in base columns."""
        b = self.base.rank
        sizes = magnitudes(self.columns, self.base, self.solution.sigma)
        return condition_numbers(self.solution.factor[:b, :b], sizes)

    @property
    def rank_inertial(self) -> int:
        """Number of base parameters that are inertial."""
        return int(np.count_nonzero(self.columns.inertial[self.base.kept]))


def columns_for(robot: Robot, options: FitOptions, effort_kind: str) -> Stack:
    """The columns that torque of the given kind can show.

    Raises
    ------
    LogError
        The log holds motor currents, which need torque constants first.
    """
    if effort_kind == "motor_current":
        raise LogError(
            "effort",
            "motor currents",
            expected="torque",
            remedy="give torque constants in a profile, or convert the log",
        )
    return stack(
        derive(robot),
        friction=friction_terms(robot, options.friction),
        armature=effort_kind != "link_torque_sensor",
    )


def estimate(
    datasets: Sequence[Dataset],
    robot: Robot,
    options: FitOptions | None = None,
    *,
    hold_out: bool = False,
) -> Estimate:
    """Fit a model to prepared logs; two passes over the data (fit, delay).

    Parameters
    ----------
    hold_out : bool
        Fit the training part of each log only; the rest is for ``evaluate(…, hold_out=True)``.

    Raises
    ------
    LogError
        The logs hold different kinds of effort, or one that cannot be fitted.
    UsageError
        No log, or one of other joints than the robot's.
    UnidentifiableError
        Fewer usable rows than parameters.
    InfeasibleError
        No solver finds a physically possible estimate.
    """
    options = options or FitOptions()
    if not datasets:
        raise UsageError("fit", "no log", expected="one log or more")
    require_joints(datasets, robot)
    kind = effort_kind(datasets)
    datasets, repeated = _each_once(datasets)
    columns = columns_for(robot, options, kind)
    base = reduce_stack(columns)
    factors = factors_of(datasets, base_columns(columns, base), robot.n, hold_out=hold_out)
    prior = prior_of(columns, options, Evidence.of(factors.merged().R[0], base))
    solve = solve_ols if options.method == "ols" else solve_wls
    solution = solve(factors, base.reduce(prior.theta))
    physical = None
    if options.method == "physical":
        physical = fit_physical(solution.factor, base, columns, prior, options)
    delay = estimate_delay(datasets, columns, base, solution, hold_out=hold_out)
    return Estimate(
        robot=robot,
        options=options,
        effort_kind=kind,
        base=base,
        prior=prior,
        solution=solution,
        physical=physical,
        delay=delay,
        inputs=tuple(dataset.recording.digest for dataset in datasets),
        findings=(*repeated, *_findings(columns, base, solution, physical, delay, kind)),
    )


def effort_kind(datasets: Sequence[Dataset]) -> str:
    """What the torque of several logs means; LogError where they do not agree."""
    kinds = sorted({dataset.recording.facts.effort_kind for dataset in datasets})
    if len(kinds) > 1:
        raise LogError("logs", f"efforts of kind {' and '.join(kinds)}", expected="one kind")
    return kinds[0]


def require_joints(datasets: Sequence[Dataset], robot: Robot) -> None:
    """Raise UsageError where a log is of other joints than the robot's."""
    for dataset in datasets:
        if dataset.robot.joints != robot.joints:
            raise UsageError(
                dataset.recording.path,
                f"a log of joints {', '.join(dataset.robot.joints)}",
                expected=f"those of robot '{robot.name}': {', '.join(robot.joints)}",
            )


def _each_once(datasets: Sequence[Dataset]) -> tuple[list[Dataset], list[Finding]]:
    """Datasets without those that are there already: rows taken twice would look twice as sure."""
    kept: dict[str, Dataset] = {}
    found = []
    for dataset in datasets:
        first = kept.setdefault(dataset.digest, dataset)
        if first is not dataset:
            found.append(
                Finding(
                    name="log_given_twice",
                    severity="warning",
                    where=dataset.recording.path,
                    found=f"the same rows as {first.recording.path}",
                    expected="each log once",
                    remedy="it is fitted once",
                )
            )
    return list(kept.values()), found


def _findings(
    columns: Stack,
    base: BaseMap,
    solution: Solution,
    physical: PhysicalFit | None,
    delay: Delay,
    effort_kind: str,
) -> list[Finding]:
    found = []
    if effort_kind == "link_torque_sensor":
        found.append(
            Finding(
                name="not_seen_by_this_sensor",
                severity="info",
                where="effort",
                found="link torque sensors see neither rotor inertia nor motor friction",
                remedy="armature is left out; friction is what is left beyond the sensor",
            )
        )
    if unseen := unseen_names(base, solution):
        found.append(
            Finding(
                name="no_data",
                severity="warning",
                where="log",
                found=f"no data for {', '.join(unseen)}",
                expected="motion that shows every base parameter",
                remedy="these keep their prior values; move those joints, or give --reversal-speed "
                "where they move slowly",
            )
        )
    found += _delay_findings(columns.robot, delay)
    if physical is not None:
        found += _tension(base, solution, physical)
    for name in physical.active if physical else ():
        found.append(
            Finding(
                name="bound_active",
                severity="info",
                where=name,
                found="least squares asks for a negative value",
                remedy="held at zero, its physical bound",
            )
        )
    return found


def _tension(base: BaseMap, solution: Solution, physical: PhysicalFit) -> list[Finding]:
    """Say so where possible bodies do not fit within the errors that are stated for them."""
    b = base.rank
    gap = solution.factor[:b, :b] @ (base.reduce(physical.theta) - solution.theta)
    distance = float(np.linalg.norm(gap) / np.sqrt(solution.rank or 1))
    if distance <= _TENSION:
        return []
    return [
        Finding(
            name="beyond_standard_errors",
            severity="warning",
            where="physical fit",
            found=f"possible bodies near CAD lie {distance:.1f} standard errors (root mean square) "
            "from least squares",
            expected=f"{_TENSION:g} at most",
            remedy="standard errors are too small here; look for what the model lacks (friction, "
            "delay, a payload), or for CAD in a wrong unit",
        )
    ]


def _delay_findings(robot: Robot, delay: Delay) -> list[Finding]:
    return [
        Finding(
            name="torque_delay",
            severity="warning",
            where=f"joint '{joint}'",
            found=f"torque lags position by {1e3 * d:.1f} ± {1e3 * s:.1f} ms",
            expected="none",
            remedy="friction that the model lacks can look alike; give --delay-ms if it is real",
        )
        for joint, d, s, clear in zip(
            robot.joints, delay.seconds, delay.std, delay.clear, strict=True
        )
        if clear
    ]


def unseen_names(base: BaseMap, solution: Solution) -> tuple[str, ...]:
    """Base parameters of which the data show nothing, or only a sum with others."""
    share = np.linalg.norm(solution.unseen, axis=1)
    return tuple(name for name, s in zip(base.names, share, strict=True) if s > 1e-6)
