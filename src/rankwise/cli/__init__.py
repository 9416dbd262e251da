"""The command line. Nothing heavy is imported before a command needs it."""

import sys


def main() -> None:
    """The `rankwise` command."""
    from rankwise.cli.interrupts import interrupts_end_process

    with interrupts_end_process():
        _run()


def _run() -> None:
    from rankwise.cli.limits import within_limits
    from rankwise.cli.speech import hold_closed_streams, one_sentence, without_complaints
    from rankwise.foundation.compiling import told_of_compiling

    if hasattr(sys.stdout, "reconfigure"):  # names that the terminal's encoding lacks are shown as escapes too
        sys.stdout.reconfigure(errors="backslashreplace")
    hold_closed_streams()
    without_complaints()
    with one_sentence(), within_limits(), told_of_compiling("rankwise: "):
        from rankwise.cli.app import app

        app()
