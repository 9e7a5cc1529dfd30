"""The verbs of ``ident``."""

from __future__ import annotations

import typer

from ident import __version__
from ident.cli import (
    check,
    derive,
    excite,
    export,
    identify,
    importing,
    plan,
    reduce,
    robots,
    samples,
    validate,
)

app = typer.Typer(
    name="ident",
    help="Robot dynamic parameter identification: from a log to a model that can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command("robots")(robots.robots)
app.command("show")(robots.show)
app.command("derive")(derive.derive)
app.command("reduce")(reduce.reduce)
app.command("plan")(plan.plan)
app.command("excite")(excite.excite)
app.command("import")(importing.import_log)
app.command("check")(check.check)
app.command("identify")(identify.identify)
app.command("validate")(validate.validate)
app.command("export")(export.export)
app.command("simulate-samples")(samples.simulate_samples)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ident {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Robot dynamic parameter identification: from a log to a model that can be trusted."""
