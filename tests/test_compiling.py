"""Kernels are compiled once: stderr says so, by a bar at a terminal and in one line elsewhere; no time includes it."""

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import time

import pytest
from numba import njit

import rankwise.foundation.jit  # noqa: F401  it listens to Numba
from rankwise.foundation import compiling
from rankwise.foundation.compiling import NOTICE, clock, told_of_compiling


def test_compiling_is_told_once_and_left_out_of_times(capsys):
    def double(x):
        return 2 * x

    with told_of_compiling("so: "):
        njit(double)(1)
        assert capsys.readouterr() == ("", "")  # a kernel of others
        double.__module__ = "rankwise.doubling"
        compiled = njit(double)
        began = time.perf_counter(), clock()
        assert (compiled(1), compiled(2.5), compiled(3)) == (2, 5.0, 6)
        took, counted = time.perf_counter() - began[0], clock() - began[1]
    assert capsys.readouterr() == ("", f"so: {NOTICE}\n")
    assert counted < took / 2
    njit(double)(1j)
    assert capsys.readouterr() == ("", "")


def test_the_clock_stands_still_while_another_thread_compiles():
    times = [clock()]
    compiling.begin()
    times += [clock(), clock()]
    compiling.begin()
    time.sleep(0.02)
    compiling.end()
    times.append(clock())
    compiling.end()
    times.append(clock())
    assert times == sorted(times)
    assert times[1] == times[2] == times[3]
    assert times[-1] - times[0] < 0.015


# In place of a command: a spinner, kernels that take a while, a result on stdout
COMPILING = """
import time
import rankwise.cli.app
from rankwise.cli import main, speech
import rankwise.foundation.jit  # noqa: F401  it listens to Numba
from rankwise.foundation import compiling

def app():
    with speech.doing("training") as report:
        for _ in range(2):
            compiling.begin()
            for _ in range(15):
                compiling.begin()
                time.sleep(0.01)
                compiling.end()
            compiling.end()
            report("a step")
            time.sleep(0.1)
    speech.answer_json({"a": 1})

rankwise.cli.app.app = app
main()
"""


def on_a_terminal(code, **environment):
    """(what a process prints on stdout, a pipe; on stderr, a terminal)"""
    ours, theirs = pty.openpty()
    known = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM", "FORCE_COLOR")}
    known |= {"TERM": "xterm-256color", "COLUMNS": "120"} | environment
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=known)
    os.close(theirs)
    told = b""
    with contextlib.suppress(OSError):  # as a terminal says that nobody writes any more
        while some := os.read(ours, 4096):
            told += some
    os.close(ours)
    out, _ = process.communicate()
    assert process.returncode == 0, told
    return out.decode(), told.decode()


def test_a_pipe_gets_one_line_about_compiling():
    done = subprocess.run([sys.executable, "-c", COMPILING], capture_output=True, text=True)
    assert (json.loads(done.stdout), done.stderr) == ({"a": 1}, f"rankwise: {NOTICE}\n")


def test_a_dumb_terminal_gets_one_line_about_compiling():
    out, told = on_a_terminal(COMPILING, TERM="dumb")
    assert (json.loads(out), told) == ({"a": 1}, f"rankwise: {NOTICE}\r\n")


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}], ids=["colours", "no colours"])
def test_a_terminal_gets_a_bar_about_compiling(environment):
    out, told = on_a_terminal(COMPILING, **environment)
    assert json.loads(out) == {"a": 1}
    colour = re.compile(r"\x1b\[[\d;]*[1-9][\d;]*m")  # all but the reset
    counts = [int(done) for done in re.findall(r"(\d+) of about 40", colour.sub("", told).replace("\x1b[0m", ""))]
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == 32
    assert len(set(counts)) >= 3
    assert bool(re.search(r"\x1b\[[\d;]*3[0-9]", told)) != bool(environment)
    assert "training: a step" in told.rpartition("of about")[2]  # the spinner is back
    assert told.count("\x1b[?25l") == told.count("\x1b[?25h")  # the cursor too
