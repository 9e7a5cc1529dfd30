"""Results of every stage, made from model and noise alone: no log is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from ident.arrays import Array
from ident.base.minimal import reduce_stack
from ident.errors import Finding
from ident.fit.consistent import fit_physical
from ident.fit.delay import Delay
from ident.fit.estimate import Estimate, columns_for
from ident.fit.options import FitOptions
from ident.fit.prior import prior_of
from ident.fit.validate import Score, Trace, Validation
from ident.fit.verdict import judge
from ident.leastsquares.factor import reduce_rows
from ident.leastsquares.solve import solve_wls
from ident.model import inertia
from ident.model.dh import DHRow, robot_of_table
from ident.model.registry import load_robot
from ident.model.robot import Robot
from ident.regressor.columns import States
from ident.report.html import Report
from ident.report.provenance import Provenance


@pytest.fixture(scope="session")
def report_of() -> Callable[..., Report]:
    """Give the maker of reports, which remembers what it made."""
    return cache(fabricate)


def fabricate(name: str, *, still: tuple[int, ...] = (), sensor: str = "joint_torque") -> Report:
    """Report on a robot whose links are 5-20 % off and whose ``still`` joints rest."""
    return fabricate_robot(lift() if name == "lift" else load_robot(name), still, sensor)


def lift() -> Robot:
    """One sliding joint, straight up."""
    row = DHRow(
        link="carriage",
        joint="lift",
        type="prismatic",
        a=0.0,
        alpha=0.0,
        d=0.0,
        theta=0.0,
        mass=5.0,
        inertia_c=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1),
        effort=100.0,
    )
    return robot_of_table("lift", "modified", [row])


def fabricate_robot(robot: Robot, still: tuple[int, ...], sensor: str) -> Report:
    rng = np.random.default_rng(7)
    columns = columns_for(robot, FitOptions(), sensor)
    base = reduce_stack(columns)
    prior = prior_of(columns, FitOptions())
    truth = base.reduce(true_theta(columns.guess, columns.inertial, rng))
    noise = 0.01 * np.maximum(np.abs(robot.effort), 1.0)
    sampled = {}
    for log in ("run", "validate"):
        motion = wander(robot, still, rng)
        Y = columns.evaluate(motion)[:, base.kept]
        clean = np.einsum("jbm,b->jm", Y, truth)
        sampled[log] = motion, Y, clean + noise[:, None] * rng.standard_normal(clean.shape)
    motion, Y, tau = sampled["run"]
    factors = reduce_rows([(0, Y, tau, np.ones(tau.shape, dtype=bool))], robot.n, base.rank)
    solution = solve_wls(factors, base.reduce(prior.theta))
    estimate = Estimate(
        robot=robot,
        options=FitOptions(),
        effort_kind=sensor,
        base=base,
        prior=prior,
        solution=solution,
        physical=fit_physical(solution.factor, base, columns, prior, FitOptions()),
        delay=Delay(
            seconds=np.linspace(2e-3, -1e-4, robot.n),
            std=np.full(robot.n, 1e-4),
            explained=np.full(robot.n, 0.9),
        ),
        inputs=("5f" * 32,),
    )
    findings = (
        Finding(
            name="jitter",
            severity="warning",
            where="run: time",
            found="samples come up to 1.8 ms late",
            expected="under 0.5 ms",
            remedy="use the device's clock",
        ),
    )
    traces = {log: trace_of(estimate, log, *parts) for log, parts in sampled.items()}
    validation = validation_of(traces["validate"], rows=len(motion.q))
    return Report(
        estimate=estimate,
        validations=(validation,),
        verdict=judge(estimate, validation, findings, max_error_percent=30.0),
        findings=findings,
        training=(traces["run"],),
        held_out=(traces["validate"],),
        provenance=Provenance(
            date="2025-01-31 12:00 UTC",
            command=("ident", "identify", robot.name, "run.parquet"),
            logs=(("run", "5f" * 32), ("validate", "a0" * 32)),
            versions={"ident": "0.1.0", "python": "3.11.9", "numpy": "2.1.0"},
            seed=0,
        ),
    )


def true_theta(guess: Array, inertial: Array, rng: np.random.Generator) -> Array:
    """Parameters 5-20 % off, by congruence of each pseudo-inertia, so that they stay physical."""
    theta = np.array(guess)
    links = theta[inertial].reshape(-1, 10)
    for i, link in enumerate(links):
        A = np.eye(4) + 0.06 * rng.standard_normal((4, 4))
        links[i] = inertia.from_pseudo_inertia(A @ inertia.pseudo_inertia(link) @ A.T)
    theta[inertial] = links.ravel()
    drives = theta[~inertial]
    theta[~inertial] = drives * rng.uniform(0.7, 1.3, drives.shape)
    return theta


def wander(robot: Robot, still: tuple[int, ...], rng: np.random.Generator) -> States:
    """A smooth motion (800 samples, 20 s) of five harmonics per joint."""
    w = 2.0 * np.pi * 0.1 * np.arange(1, 6)
    a = rng.uniform(-0.6, 0.6, (5, robot.n)) / np.arange(1, 6)[:, None] ** 0.5
    a[:, list(still)] = 0.0
    phase = w * times()[:, None] + rng.uniform(0.0, 2.0 * np.pi, 5)
    return States(q=np.sin(phase) @ a, dq=(np.cos(phase) * w) @ a, ddq=-(np.sin(phase) * w**2) @ a)


def times() -> Array:
    return 0.025 * np.arange(800)


def trace_of(estimate: Estimate, log: str, motion: States, Y: Array, tau: Array) -> Trace:
    """Trace of one log: measured torque and that of the three models."""
    betas = {
        "identified": estimate.beta,
        "least_squares": estimate.solution.theta,
        "cad": estimate.beta_cad,
    }
    predicted = {name: np.einsum("jbm,b->mj", Y, beta) for name, beta in betas.items()}
    return Trace(t=times(), dq=motion.dq, measured=tau.T, log=log, **predicted)


def validation_of(trace: Trace, *, rows: int) -> Validation:
    """Scores of the three models on all rows of a trace."""
    return Validation(
        kind="trajectory",
        logs=(trace.log,),
        rows=np.full(trace.measured.shape[1], float(rows)),
        cutoff_hz=20.0,
        identified=score(trace.measured, trace.identified),
        least_squares=score(trace.measured, trace.least_squares),
        cad=score(trace.measured, trace.cad),
    )


def score(measured: Array, predicted: Array) -> Score:
    error = measured - predicted
    return Score(
        total=float(100.0 * np.linalg.norm(error) / np.linalg.norm(measured)),
        moving=float(90.0 * np.linalg.norm(error) / np.linalg.norm(measured)),
        per_joint=100.0 * np.linalg.norm(error, axis=0) / np.linalg.norm(measured, axis=0),
        rms=np.sqrt(np.mean(error**2, axis=0)),
        r_squared=1.0 - error.var(axis=0) / measured.var(axis=0),
    )


def renamed(result: Report, joint: str) -> Report:
    """Return the same result on a robot whose first joint has another name."""
    robot = result.estimate.robot
    first = replace(robot.links[0], joint=replace(robot.links[0].joint, name=joint))
    robot = replace(robot, links=(first, *robot.links[1:]), log_names=())
    return replace(result, estimate=replace(result.estimate, robot=robot))
