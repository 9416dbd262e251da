"""The command line as tests call it."""

import ctypes
import sys

from typer.testing import CliRunner

from rankwise import load_sample, write_letor
from rankwise.cli.app import app

RANKWISE = [sys.executable, "-c", "from rankwise.cli import main; main()"]  # in a process of its own


def run(*args, stdin=None, code=0):
    done = CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)
    assert done.exit_code == code, done.stderr
    return done


def obey_modes():
    """In a process about to start a program: root loses the right to write where modes forbid it."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def write_sample(folder):
    for split in ("train", "test"):
        write_letor(folder / f"{split}.txt", load_sample(split))
    return folder
