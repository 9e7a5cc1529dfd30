"""Machine summaries: the stable contract of ``--json``."""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ident.errors import Finding
from ident.fit.estimate import Estimate
from ident.fit.validate import Score, Validation
from ident.fit.verdict import Verdict


def identify_summary(
    estimate: Estimate,
    validation: Validation,
    verdict: Verdict,
    findings: Sequence[Finding],
    out: Path,
    seconds: float,
) -> dict[str, Any]:
    """What ``ident identify --json`` prints."""
    physical = estimate.physical
    delay = estimate.delay
    return {
        "verdict": verdict.name,
        "reasons": verdict.reasons,
        "robot": estimate.robot.name,
        "out": out,
        "joints": estimate.robot.joints,
        "rank": estimate.base.rank,
        "rank_inertial": estimate.rank_inertial,
        "condition": {"scaled": estimate.condition.scaled, "raw": estimate.condition.raw},
        "held_out": held_out(validation),
        "physical": {
            "consistent": physical is not None and physical.consistent,
            "min_eigenvalue": estimate.min_eigenvalue,
        },
        "solver": {
            "name": physical.solver if physical else "least squares",
            "status": physical.status if physical else "solved",
            "seconds": physical.seconds if physical else 0.0,
        },
        "delay_s": delay.seconds if delay else [],
        "findings": [finding(f) for f in findings],
        "seconds": seconds,
        "peak_rss_mib": peak_rss_mib(),
    }


def held_out(validation: Validation) -> dict[str, Any]:
    """Scores of the identified model, least squares and CAD, with their protocol."""
    return {
        "kind": validation.kind,
        **score(validation.identified),
        "least_squares": score(validation.least_squares),
        "cad": score(validation.cad),
        "rows": validation.rows.astype(int),
        "cutoff_hz": validation.cutoff_hz,
    }


def score(value: Score) -> dict[str, Any]:
    """One model's score."""
    return {
        "relative_error_percent": {
            "total": value.total,
            "moving": value.moving,
            "per_joint": value.per_joint,
        },
        "rms": value.rms,
    }


def finding(value: Finding) -> dict[str, Any]:
    """One finding."""
    return {
        "name": value.name,
        "severity": value.severity,
        "where": value.where,
        "message": value.message,
    }


def peak_rss_mib() -> float:
    """Largest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
