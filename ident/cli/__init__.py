"""The command line: one small file per verb; each loads, calls one stage, saves and prints."""

import os
import signal
import sys
from io import TextIOWrapper

# Matrices here are small: BLAS threads wait for each other longer than they work (fourteen times
# slower on two busy cores). Read when NumPy is first imported; whoever sets it is left alone.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    """Entry point of the ``ident`` command."""
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")
    # What a terminal's encoding lacks, or a file name that is no text, is no reason to fail.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # None where the caller closed it
            stream.reconfigure(errors="replace")
    # Whoever stops the command, a terminal or what runs it: tidy up, exit 130.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        from ident.cli.app import app
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
    app()
