"""The command line. Nothing heavy is imported before a command needs it."""


def main() -> None:
    """The `rankwise` command."""
    from rankwise.cli.limits import within_limits
    from rankwise.cli.speech import hold_closed_streams, one_sentence

    hold_closed_streams()
    with one_sentence(), within_limits():
        from rankwise.cli.app import app

        app()
