"""Run folders: what an identification leaves behind, and how it is found again."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from ident import __version__, store
from ident.cli.inputs import Inputs
from ident.errors import Finding, ModelError, UsageError
from ident.export.urdf import patch_urdf, write_urdf
from ident.files import file_name, write_whole
from ident.fit.estimate import Estimate
from ident.fit.rows import base_columns
from ident.fit.uncertainty import Parameter, parameter_table
from ident.fit.validate import Validation, trace
from ident.fit.verdict import Verdict
from ident.model.robot import Robot
from ident.report import html
from ident.report.html import Report
from ident.report.provenance import Provenance

MARKER = "manifest.json"
EXPORTS = "export"  # where exports of a run go: they are of its model, and go with it
_PACKAGES = ("numpy", "scipy", "sympy", "cvxpy", "clarabel", "pyarrow", "pandas")
_FIGURES = 4  # logs whose torque is drawn; more make the page heavy and say little
_FIELDS = ("name", "joint", "unit", "cad", "identified", "std", "ci_low", "ci_high", "label")


def default_folder(robot: str, logs: Sequence[str]) -> Path:
    """``runs/<robot>/<first log's stem>[+k]``."""
    more = f"+{len(logs) - 1}" if len(logs) > 1 else ""
    return Path("runs") / file_name(robot) / file_name(f"{Path(logs[0]).stem}{more}")


def load_estimate(folder: Path) -> Estimate:
    """The estimate of a run folder.

    Raises
    ------
    UsageError
        The folder is no run.
    ModelError
        Its estimate cannot be read.
    """
    path = folder / "estimate.json"
    if not path.is_file():
        raise UsageError(
            str(folder), "not a run folder", expected="a folder that 'ident identify' wrote"
        )
    estimate = store.load(path)
    if not isinstance(estimate, Estimate):
        raise ModelError(str(path), f"holds a {type(estimate).__name__}", expected="an Estimate")
    return estimate


def identified_urdf(estimate: Estimate) -> tuple[str | None, tuple[Finding, ...]]:
    """URDF of the identified model, or why there is none."""
    if estimate.physical is None or not estimate.physical.consistent:
        found = "least squares alone gives no bodies that can exist"
        return None, (
            Finding(
                name="no_urdf",
                severity="warning",
                where="identified.urdf",
                found=f"not written: {found}",
                remedy="fit with --method physical",
            ),
        )
    springs = tuple(_left_out(estimate.robot))
    if not estimate.robot.description:
        return write_urdf(estimate.identified), springs
    patched = patch_urdf(estimate.robot, estimate.pi)
    return patched.text, (*patched.findings, *springs)


def _left_out(robot: Robot) -> Iterator[Finding]:
    """What a URDF has no place for."""
    for spring in robot.drives.springs:
        yield Finding(
            name="spring_left_out",
            severity="warning",
            where=f"identified.urdf: joint '{spring.joint}'",
            found=f"no place for its {spring.kind}",
            remedy="add its torque where the model is used; parameters.csv has the value",
        )


def write_model(folder: Path, estimate: Estimate) -> tuple[Finding, ...]:
    """Write estimate, parameter table and, where bodies can exist, URDF; what was found on it."""
    store.save(estimate, folder / "estimate.json")
    write_whole(folder / "parameters.csv", parameters_csv(estimate).encode())
    text, findings = identified_urdf(estimate)
    if text is not None:
        write_whole(folder / "identified.urdf", text.encode())
    return findings


def parameters_csv(estimate: Estimate) -> str:
    """Parameter table as CSV, numbers in full, empty where there is none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_FIELDS)
    writer.writerows([_cell(row, field) for field in _FIELDS] for row in parameter_table(estimate))
    return text.getvalue()


def write_report(
    folder: Path,
    inputs: Inputs,
    estimate: Estimate,
    validations: Sequence[Validation],
    verdict: Verdict,
    findings: Sequence[Finding],
) -> None:
    """Write ``report.html``."""
    sets = (*inputs.training, *inputs.validation)
    provenance = Provenance(
        date=_now(),
        command=("ident", *sys.argv[1:]),
        logs=tuple((d.recording.name, d.recording.digest) for d in sets),
        options={
            **{k: str(v) for k, v in asdict(inputs.training[0].filtering).items()},
            "regressor": _backend(estimate),
        },
        versions=_versions(),
    )
    report = Report(
        estimate=estimate,
        validations=tuple(validations),
        verdict=verdict,
        findings=tuple(findings),
        training=tuple(trace(estimate, dataset) for dataset in inputs.training[:_FIGURES]),
        held_out=tuple(trace(estimate, dataset) for dataset in inputs.validation[:_FIGURES]),
        provenance=provenance,
    )
    html.write_report(report, folder / "report.html")


def write_manifest(folder: Path, estimate: Estimate, inputs: Inputs) -> None:
    """What the run came from, and the digest of every file that it left."""
    logs = [
        {"role": role, "path": dataset.recording.path, "sha256": dataset.recording.digest}
        for role, sets in (("train", inputs.training), ("validate", inputs.validation))
        for dataset in sets
    ]
    facts: dict[str, Any] = {
        "schema": store.SCHEMA,
        "platform": platform.platform(),
        "versions": _versions(),
        "command": sys.argv[1:],
        "created": _now(),
        "robot": {"name": estimate.robot.name, "sha256": estimate.robot.digest},
        "inputs": logs,
        "options": asdict(estimate.options),
        "preparation": asdict(inputs.training[0].preparation),
        "regressor": _backend(estimate),
        "files": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.iterdir())
        },
    }
    # Escaped, so that a path which is no text survives too.
    text = json.dumps(facts, indent=1)
    write_whole(folder / MARKER, text.encode())


def _backend(estimate: Estimate) -> str:
    """What evaluated the columns that were fitted."""
    return base_columns(estimate.columns, estimate.base).backend


def _versions() -> dict[str, str]:
    """Versions of ident, Python and the packages that numbers depend on."""
    packages = {name: metadata.version(name) for name in _PACKAGES}
    return {"ident": __version__, "python": platform.python_version(), **packages}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _cell(row: Parameter, field: str) -> str:
    value = getattr(row, field)
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return str(value)
