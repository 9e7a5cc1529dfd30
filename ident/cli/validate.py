"""``ident validate``: score an identified model on other logs, now or later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ident.cli import common


@common.guarded
def validate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of ident identify.")],
    logs: common.Logs,
    profile: common.Profile = None,
    skip: common.Skip = None,
    cutoff_hz: common.CutoffHz = None,
    score_hz: common.ScoreHz = None,
    delay_ms: common.DelayMs = None,
    reversal_speed: common.ReversalSpeed = None,
    json: common.Json = False,
    quiet: common.Quiet = False,
    config: common.Config = None,
) -> None:
    """Score the model of RUN on logs, beside plain least squares and CAD."""
    logs = common.expanded(logs)
    preparation = common.preparation(skip, cutoff_hz, score_hz, delay_ms, reversal_speed)

    from ident.cli.inputs import load_inputs
    from ident.cli.run_folder import load_estimate
    from ident.cli.summary import finding, held_out
    from ident.fit.validate import evaluate
    from ident.report.tables import print_errors, print_findings

    estimate = load_estimate(run)
    with common.progress(quiet=quiet or json) as show:
        show("scoring")
        inputs = load_inputs(
            estimate.robot, [], logs, preparation, profile=profile, keep_gravity=True
        )
        score = evaluate(estimate, inputs.validation)
    if json:
        summary = {"run": run, "robot": estimate.robot.name, "held_out": held_out(score)}
        common.print_json({**summary, "findings": [finding(f) for f in inputs.findings]})
    elif not quiet:
        console = common.console()
        print_errors(console, estimate.robot, score)
        print_findings(console, inputs.findings)
