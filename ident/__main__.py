"""``python -m ident``."""

from ident.cli import main

main()
