"""Whether the result may be trusted: pass or fail, with every reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ident.errors import Finding
from ident.fit.estimate import Estimate
from ident.fit.validate import Validation


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Pass or fail; ``reasons`` are empty for a pass."""

    reasons: tuple[str, ...]

    @property
    def name(self) -> Literal["pass", "fail"]:
        """The verdict in a word."""
        return "fail" if self.reasons else "pass"


def judge(
    estimate: Estimate,
    validation: Validation,
    findings: Sequence[Finding],
    *,
    max_error_percent: float = 10.0,
) -> Verdict:
    """Judge a result: solver optimal, links physical, no error found, held-out error small."""
    reasons = []
    physical = estimate.physical
    if physical is None:
        reasons.append("least squares alone: physical consistency was not asked for")
    elif physical.status != "optimal":
        reasons.append(f"solver status is '{physical.status}'")
    elif not physical.consistent:
        reasons.append(f"a link is impossible: smallest eigenvalue {physical.min_eigenvalue:.2e}")
    reasons += [f"{f.where}: {f.found}" for f in findings if f.severity == "error"]
    error, cad = validation.identified.total, validation.cad.total
    if not error <= max_error_percent:
        reasons.append(f"held-out relative error {error:.2f} % is above {max_error_percent:g} %")
    if not error < cad:
        reasons.append(f"held-out relative error {error:.2f} % is no better than CAD's {cad:.2f} %")
    return Verdict(reasons=tuple(reasons))
