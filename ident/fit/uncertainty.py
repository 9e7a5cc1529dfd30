"""What may be said of each parameter: value, interval, and a label that keeps it honest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ident.fit.estimate import Estimate, unseen_names
from ident.regressor.columns import Armature, Column

Label = Literal[
    "identified", "combination only", "prior-dominated", "no data", "not seen by this sensor"
]
_NAN = float("nan")
# Two-sided 95 % of the normal distribution; rows are many, so Student's t is no different.
_Z95 = 1.959963984540054


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One row of the parameter table; NaN where a number would mislead.

    ``std`` and the 95 % interval are those of least squares around the estimate; a parameter that
    motion shows in combination only has none of its own.
    """

    name: str
    joint: str
    unit: str
    cad: float
    identified: float
    std: float
    ci_low: float
    ci_high: float
    label: Label
    expression: str = ""

    @property
    def is_base(self) -> bool:
        """Whether this is a base parameter."""
        return bool(self.expression)


def parameter_table(estimate: Estimate) -> tuple[Parameter, ...]:
    """All rows: standard parameters, armature, friction; then base parameters."""
    base_rows = base_parameters(estimate)
    own = {
        estimate.base.columns[k]: row for k, row in zip(estimate.base.kept, base_rows, strict=True)
    }
    rows = [
        _standard(estimate, i, column, own.get(column.name))
        for i, column in enumerate(estimate.columns.columns)
    ]
    return (*rows, *_hidden(estimate), *base_rows)


def base_parameters(estimate: Estimate) -> tuple[Parameter, ...]:
    """Rows of the base parameters."""
    base, columns = estimate.base, estimate.columns.columns
    unseen = set(unseen_names(base, estimate.solution))
    prior_std = estimate.prior.base_std(base)
    rows = []
    for i, k in enumerate(base.kept):
        std = float(estimate.std[i])
        label: Label = "identified"
        if base.names[i] in unseen:
            label, std = "no data", _NAN
        elif std > prior_std[i]:
            label = "prior-dominated"
        value = float(estimate.beta[i])
        rows.append(
            Parameter(
                name=base.names[i],
                joint=columns[k].of,
                unit=columns[k].unit,
                cad=float(estimate.beta_cad[i]),
                identified=value,
                std=std,
                ci_low=value - _Z95 * std,
                ci_high=value + _Z95 * std,
                label=label,
                expression=base.expressions[i],
            )
        )
    return tuple(rows)


def _standard(estimate: Estimate, i: int, column: Column, own: Parameter | None) -> Parameter:
    standing = estimate.base.standing[column.name]
    value = float(estimate.theta[i])
    if standing == "alone" and own is not None:
        std, low, high, label = own.std, own.ci_low, own.ci_high, own.label
    else:
        std = low = high = _NAN
        label = "no data" if standing == "none" else "combination only"
    return Parameter(
        name=column.name,
        joint=column.of,
        unit=column.unit,
        cad=column.guess,
        identified=value,
        std=std,
        ci_low=low,
        ci_high=high,
        label=label,
    )


def _hidden(estimate: Estimate) -> list[Parameter]:
    """Armature that the sensor does not see, so that nobody looks for it in vain."""
    if estimate.columns.which("armature").any():
        return []
    return [
        Parameter(
            name=column.name,
            joint=column.of,
            unit=column.unit,
            cad=column.guess,
            identified=_NAN,
            std=_NAN,
            ci_low=_NAN,
            ci_high=_NAN,
            label="not seen by this sensor",
        )
        for column in Armature(estimate.robot).columns
    ]
