"""The command line. Nothing heavy is imported before a command needs it."""

import sys


def main() -> None:
    """The `rankwise` command."""
    from rankwise.cli.app import app

    if hasattr(sys.stdout, "reconfigure"):  # names that the terminal's encoding lacks are shown as escapes too
        sys.stdout.reconfigure(errors="backslashreplace")
    app()
