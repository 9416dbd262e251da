"""The command line. Nothing heavy is imported before a command needs it."""


def main() -> None:
    """The `rankwise` command."""
    from rankwise.cli.app import app

    app()
