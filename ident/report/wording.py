"""Numbers and sentences that the terminal and the page share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ident.conventions import INERTIAL
from ident.model import inertia

if TYPE_CHECKING:
    from ident.arrays import Array
    from ident.base.basemap import BaseMap
    from ident.errors import Finding, Severity
    from ident.fit.estimate import Estimate
    from ident.fit.validate import Kind, Score, Validation
    from ident.fit.verdict import Verdict
    from ident.model.robot import Robot

NOTHING = "–"
MOVING = "while moving"
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")

# What each kind of test measures: its name, and what it was scored on.
KINDS: dict[Kind, tuple[str, str]] = {
    "trajectory": ("held-out relative error", "a trajectory that was not trained on"),
    "blocks": (
        "held-out relative error",
        "blocks of the training log that were not trained on",
    ),
    "repeat": (
        "repeatability, relative error",
        "a training trajectory run again; this is the floor that no model can beat, "
        "and says nothing of other motions",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One line of a summary; ``note`` says what the value means."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Body:
    """Whether one link can exist: smallest eigenvalue of its pseudo-inertia (SI) and its mass."""

    link: str
    cad: float
    identified: float
    mass: float
    mass_standing: str


def number(value: float, digits: int = 4) -> str:
    """``value`` to so many significant digits, never fewer before the point; a dash for NaN."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0.0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if not -4 <= exponent < 6:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - exponent, 0)}f}"


def interval(low: float, high: float) -> str:
    """An interval to two digits of its half-width, or a dash where it is not finite."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return NOTHING
    half = 0.5 * (high - low)
    if half <= 0.0 or (decimals := 1 - math.floor(math.log10(half))) > 6:
        return f"{number(low)} … {number(high)}"
    decimals = max(decimals, 0)
    return f"{low:.{decimals}f} … {high:.{decimals}f}"


def percent(value: float) -> str:
    """A relative error in percent, without the sign."""
    return f"{value:.2f}" if math.isfinite(value) else number(value)


def effort_unit(robot: Robot, joint: int) -> str:
    """Unit of the effort of a joint, by its index."""
    return "N·m" if robot.turns[joint] else "N"


def effort_units(robot: Robot) -> str:
    """Units of the efforts of all joints."""
    return " or ".join(sorted({effort_unit(robot, j) for j in range(robot.n)}, reverse=True))


def models(validation: Validation) -> tuple[tuple[str, Score], ...]:
    """Names and scores of the models that were compared."""
    return (
        ("identified", validation.identified),
        ("least squares", validation.least_squares),
        ("CAD", validation.cad),
    )


def headline(validation: Validation) -> str:
    """The result in one sentence."""
    name, _ = KINDS[validation.kind]
    error, cad = validation.identified.total, validation.cad.total
    return f"{name} {percent(error)} % (CAD {percent(cad)} %)"


def protocol(validation: Validation) -> str:
    """What was scored, on which rows, and how."""
    _, sentence = KINDS[validation.kind]
    low, high = int(np.min(validation.rows)), int(np.max(validation.rows))
    rows = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return (
        f"Scored on {', '.join(validation.logs)}: {sentence}. {rows} rows per joint, the same for "
        f"every model; torque and prediction low-passed at {number(validation.cutoff_hz, 3)} Hz. "
        f"Relative error is 100·‖error‖/‖torque‖; '{MOVING}' leaves out what friction does at "
        "reversals of each joint."
    )


def reasons(verdict: Verdict) -> tuple[str, ...]:
    """Reasons of a verdict; a pass has the sum of what was checked."""
    return verdict.reasons or (
        "solver optimal, every link physically possible, no error found, "
        "held-out error within its bound and below CAD's",
    )


def facts(estimate: Estimate) -> tuple[Fact, ...]:
    """Rank, condition numbers, physical consistency and solver, one fact each."""
    base, condition, physical = estimate.base, estimate.condition, estimate.physical
    unseen = base.rank - estimate.solution.rank
    rank = f"{base.rank} of {len(base.columns)} parameters ({estimate.rank_inertial} inertial)"
    lines = [
        Fact(
            label="base parameters",
            value=rank + (f", {unseen} not in the data" if unseen else ""),
            note="what torque can show: a minimal set of combinations of all parameters",
        ),
        *_merged(base),
        Fact(
            label="condition number",
            value=f"{number(condition.scaled, 3)} scaled, {number(condition.raw, 3)} raw",
            note="of the weighted regressor; scaled: columns divided by prior magnitudes",
        ),
    ]
    if physical is None:
        plain = f"least squares alone ({estimate.options.method})"
        return (*lines, Fact(label="physical consistency", value="not asked for", note=plain))
    return (
        *lines,
        Fact(
            label="smallest eigenvalue",
            value=f"{number(physical.min_eigenvalue, 3)} (SI)",
            note="of all links' pseudo-inertias; positive where every link can exist"
            if physical.consistent
            else "of all links' pseudo-inertias: negative, so a link is impossible",
        ),
        Fact(
            label="solver",
            value=f"{physical.solver}, {physical.status}, {number(physical.seconds, 2)} s",
        ),
    )


def _merged(base: BaseMap) -> tuple[Fact, ...]:
    """Which rotor inertias and friction terms torque cannot tell from inertias."""
    drive = [name for name in base.columns if name.rstrip("0123456789") not in INERTIAL]
    joined = [f"{name} in {into}" for name, into in base.merged(drive).items()]
    note = "torque shows only their sum with the inertia of the link"
    return (Fact(label="merged", value=", ".join(joined), note=note),) if joined else ()


def delays(estimate: Estimate) -> tuple[tuple[str, str, str, bool], ...]:
    """Per joint: name, torque lag and its standard error in ms, and whether it is beyond doubt."""
    delay = estimate.delay
    if delay is None:
        return ()
    parts = zip(estimate.robot.joints, delay.seconds, delay.std, delay.clear, strict=True)
    return tuple(
        (joint, milliseconds(s), milliseconds(e), bool(clear)) for joint, s, e, clear in parts
    )


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds, two decimals."""
    return f"{1e3 * seconds:.2f}" if math.isfinite(seconds) else number(seconds)


def bodies(estimate: Estimate) -> tuple[Body, ...]:
    """Physical consistency of every moving link."""
    identified = estimate.pi.reshape(-1, 10)
    return tuple(
        Body(
            link=link.name,
            cad=inertia.smallest_eigenvalue(link.pi),
            identified=inertia.smallest_eigenvalue(pi),
            mass=float(pi[0]),
            mass_standing=estimate.base.standing[f"m{i + 1}"],
        )
        for i, (link, pi) in enumerate(zip(estimate.robot.links, identified, strict=True))
    )


def by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """Findings, the worst first; equal ones in their order."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def count_findings(findings: Sequence[Finding]) -> str:
    """How many findings of each severity: ``1 error, 2 warnings``."""
    counts = [(s, sum(f.severity == s for f in findings)) for s in SEVERITIES]
    words = [f"{n} {s}{'s' if n > 1 and s != 'info' else ''}" for s, n in counts if n]
    return ", ".join(words) or "no findings"


def largest_delay(estimate: Estimate) -> str:
    """The clear delay that is largest in size, in a sentence."""
    delay = estimate.delay
    if delay is None:
        return "not estimated"
    clear: Array = np.where(delay.clear, np.abs(delay.seconds), 0.0)
    if not clear.any():
        return "none beyond doubt"
    j = int(np.argmax(clear))
    lag = f"{milliseconds(delay.seconds[j])} ± {milliseconds(delay.std[j])} ms"
    return f"{lag} at {estimate.robot.joints[j]} (torque behind position)"
