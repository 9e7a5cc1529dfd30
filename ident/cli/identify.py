"""``ident identify``: from logs to a model that can be trusted."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from ident.cli import common, references
from ident.errors import UsageError

FAILED = 5


@common.guarded
def identify(
    robot: common.RobotName,
    logs: common.Logs,
    validate: common.Validate = None,
    out: common.Out = None,
    method: Annotated[str, typer.Option(help="physical, wls or ols.")] = "physical",
    friction: Annotated[
        str, typer.Option(metavar="TERM,…", help="Friction terms to fit, or none.")
    ] = "viscous,coulomb,offset",
    max_error: Annotated[
        float, typer.Option(metavar="PERCENT", help="Held-out relative error that still passes.")
    ] = 10.0,
    gravity: common.Gravity = None,
    mount: common.Mount = None,
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
    """Identify ROBOT from logs: fit, validate, write a run folder, print the verdict.

    Without --validate, every fifth block of the logs is held out. Exit code 5: the verdict is fail.
    """
    started = time.perf_counter()
    logs, validate = common.expanded(logs), common.expanded(validate or [])
    if both := common.shared(logs, validate):
        raise UsageError(both, "given for training and for validation", expected="one of them")
    if not max_error > 0.0:
        raise UsageError("--max-error", f"{max_error:g}", expected="a percentage above zero")
    preparation = common.preparation(skip, cutoff_hz, score_hz, delay_ms, reversal_speed)
    options = common.fit_options(method, friction)

    from ident.cli import run_folder
    from ident.cli.inputs import load_inputs
    from ident.cli.summary import identify_summary
    from ident.files import whole_folder
    from ident.fit.estimate import estimate as fit
    from ident.fit.validate import evaluate_by_kind
    from ident.fit.verdict import judge
    from ident.report.tables import print_summary

    model = references.load_robot(robot, gravity, mount)
    target = out or run_folder.default_folder(model.name, logs)
    with (
        whole_folder(target, run_folder.MARKER, own=[run_folder.EXPORTS]) as folder,
        common.progress(quiet=quiet or json) as show,
    ):
        show("reading and checking logs")
        inputs = load_inputs(
            model, logs, validate, preparation, profile=profile, keep_gravity=bool(gravity or mount)
        )
        show("fitting")
        estimate = fit(inputs.training, inputs.robot, options, hold_out=not validate)
        show("validating")
        scores = evaluate_by_kind(estimate, inputs.training, inputs.validation)
        findings = [*inputs.findings, *estimate.findings, *common.repeat_findings(scores)]
        findings += run_folder.write_model(folder, estimate)
        verdict = judge(estimate, scores[0], findings, max_error_percent=max_error)
        show("writing the report")
        run_folder.write_report(folder, inputs, estimate, scores, verdict, findings)
        run_folder.write_manifest(folder, estimate, inputs)
    seconds = time.perf_counter() - started
    if json:
        common.print_json(identify_summary(estimate, scores[0], verdict, findings, target, seconds))
    elif not quiet:
        console = common.console()
        print_summary(console, estimate, scores[0], verdict, findings, also=scores[1:])
        console.print(f"\n{target}/report.html, in {seconds:.1f} s", soft_wrap=True)
    if verdict.reasons:
        raise typer.Exit(FAILED)
