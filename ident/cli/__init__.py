"""The command line: one small file per verb; each loads, calls one stage, saves and prints."""


def main() -> None:
    """Entry point of the ``ident`` command."""
    from ident.cli.app import app

    app()
