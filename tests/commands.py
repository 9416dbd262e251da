"""The command line as tests call it."""

import sys

from typer.testing import CliRunner

from rankwise import load_sample, write_letor
from rankwise.cli.app import app

RANKWISE = [sys.executable, "-c", "from rankwise.cli import main; main()"]  # in a process of its own


def run(*args, stdin=None, code=0):
    done = CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)
    assert done.exit_code == code, done.stderr
    return done


def write_sample(folder):
    for split in ("train", "test"):
        write_letor(folder / f"{split}.txt", load_sample(split))
    return folder
