"""Closed streams, full devices, readers that leave, little memory: a sentence and an exit code, never a traceback."""

import json
import shlex
import subprocess

import pytest
from commands import RANKWISE

COMMAND = " ".join(map(shlex.quote, RANKWISE))


def shell(line, folder):
    line = line.replace("rankwise", COMMAND, 1)
    return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rankwise --version >&-", "standard output: it is closed"),
        ("rankwise --help >&-", "standard output: it is closed"),
        ("rankwise --version >/dev/full", "standard output: No space left on device"),
        ("rankwise train train.txt -o - >&-", "standard output: it is closed"),
        ("rankwise predict model.json test.txt >&-", "standard output: it is closed"),
        ("rankwise predict model.json test.txt --trec >/dev/full", "standard output: No space left on device"),
        ("rankwise inspect model.json --json >/dev/full", "standard output: No space left on device"),
        ("rankwise convert train.txt - --to csv >&-", "standard output: it is closed"),
        ("rankwise train - -o m.json <&-", "standard input: the file cannot be read to its end"),
        ("rankwise evaluate - test.txt <&-", "standard input: it is closed"),
        ("rankwise convert - - --from csv <&-", "standard input: the file cannot be read to its end"),
        ("rankwise convert - x.chunks --to chunks <&-", "standard input: it is closed"),
    ],
)
def test_a_closed_or_full_stream_is_one_sentence(files, line, words):
    done = shell(line, files)
    assert done.returncode == 1
    assert done.stderr.startswith(f"rankwise: {words}"), done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert sorted(path.name for path in files.iterdir()) == ["model.json", "test.txt", "train.txt"]


def test_a_model_never_gets_what_is_meant_for_a_closed_stream(files, tmp_path):
    """With stdout and stderr closed, the next files to be opened would have their numbers."""
    for closed in ("2>&-", "<&- 2>&- >&-"):
        shell(f"rankwise train train.txt -o {tmp_path / 'm.json'} --C 0.01 {closed}", files)
        ours, others = (json.loads(path.read_bytes()) for path in (tmp_path / "m.json", files / "model.json"))
        assert ours | {"run": None} == others | {"run": None}  # the paths differ


@pytest.mark.parametrize("line", ["--help", "demo", "inspect model.json --json", "convert train.txt - --to csv"])
def test_a_reader_that_leaves_early_is_no_error(files, line):
    done = shell(f"rankwise {line} | head -1; exit ${{PIPESTATUS[0]}}", files)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("megabytes", [300, 760, 900])
def test_too_little_memory_is_one_sentence(files, tmp_path, megabytes):
    """At 760 MB OpenBLAS waited for ever, and elsewhere LLVM aborted."""
    done = shell(f"ulimit -v {megabytes * 1024}; rankwise train train.txt -o {tmp_path / 'm.json'}", files)
    assert done.returncode == 1
    expected = f"rankwise: there is not enough memory: a limit of {megabytes} MiB is set (ulimit -v)"
    assert done.stderr == f"{expected}, and 1,024 MiB are needed\n"


def test_an_abort_under_a_limit_is_a_sentence(monkeypatch):
    """As LLVM does where it gets no memory; data that do not fit are NumPy's MemoryError, and a sentence as well."""
    for work, code, words in (
        ("os.abort()", 1, "there is not enough memory: a limit of 3,000 MiB is set (ulimit -v)"),
        ("numpy.ones(10**10)", 1, "there is not enough memory: Unable to allocate 74.5 GiB for an array"),
        ("raise SystemExit(7)", 7, ""),
    ):
        program = "import os, numpy\nfrom rankwise.cli.limits import within_limits\n"
        program += f"from rankwise.cli.speech import one_sentence\nwith one_sentence(), within_limits(): {work}"
        line = f"ulimit -v {3000 * 1024}; rankwise".replace("rankwise", f"{shlex.quote(RANKWISE[0])} -c '{program}'")
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert words in done.stderr
        assert len(done.stderr.splitlines()) <= 1
