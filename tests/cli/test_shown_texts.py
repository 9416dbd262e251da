"""What a command prints of data: names, ids, paths and messages with control characters, markup and line ends."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from commands import RANKWISE, run, write_sample

from rankwise import RankingData, load_sample, write_chunks, write_data, write_letor
from rankwise.cli.speech import doing
from rankwise.foundation.texts import latex_text, markdown_text, table, visible

NASTY = [
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "c1 \x9b31m",
    "back\x08space",
    "del\x7f",
    "two\nlines",
    "tab\there",
    "bidi \u202etxt.exe",
    "isolate \u2066x\u2069",
    "para\u2029graph",
    "zero\u200bwidth",
    "[red]x[/red]",
    "[/]",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = write_sample(tmp_path_factory.mktemp("files"))
    data = load_sample("test")
    names = [*NASTY][: data.n_features]
    data = RankingData(data.X, data.y, np.array([f"{q}\u202e\x1b[2J" for q in data.qid]), None, 1, names)
    write_data(folder / "nasty.npz", data)
    return folder


def plain(text):
    """Lines of printable characters."""
    return all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("text", NASTY)
def test_visible(text):
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown
    assert (shown == text) == text.isprintable()
    for made in (table([[text, "1"]], ["a", text]), markdown_text(text), latex_text(text)):
        assert plain(made)
        assert made.count("\n") <= 2


def test_every_byte_of_a_path_can_be_printed():
    assert visible("a\udcff\x00b") == r"a\udcff\x00b"


def test_names_and_ids_are_printed_as_they_are(files, tmp_path):
    model = tmp_path / "m.json"
    told = [run("train", files / "nasty.npz", "-o", model, "--C", 0.01)]
    told.append(run("inspect", model, "--top", 0))
    told.append(run("evaluate", model, files / "nasty.npz", "--per-query"))
    run("train", files / "nasty.npz", "-o", tmp_path / "b.json", "--C", 1)
    rankers = [f"\x1b[31mone\n={model}", f"[/]two={tmp_path / 'b.json'}"]
    for options in ([], ["--markdown"], ["--latex"], ["--json"]):
        told.append(run("compare", *rankers, "--data", files / "nasty.npz", *options))
    for one in told:
        assert plain(one.stdout)
        assert plain(one.stderr)
    lines = told[1].stdout.splitlines()
    assert lines[2 + 13].startswith("written by rankwise ")
    for name in NASTY[:13]:
        assert sum(line.startswith(f"{visible(name)} ") for line in lines) == 1
    assert "[/]two" in told[3].stdout


def test_a_model_s_own_texts(files, tmp_path):
    run("train", files / "train.txt", "-o", tmp_path / "m.json")
    state = json.loads((tmp_path / "m.json").read_text())
    state["fit"]["message"] = "fine\nweight  1e9\x1b[2J"
    (tmp_path / "m.json").write_text(json.dumps(state))
    shown = run("inspect", tmp_path / "m.json").stdout
    assert plain(shown)
    assert r"fine\nweight  1e9\x1b[2J" in shown.splitlines()[0]


@pytest.mark.parametrize("name", [one for one in NASTY if "/" not in one])
def test_paths_in_results_and_errors(files, tmp_path, name):
    """File names, of which patterns of the shell bring any."""
    write_letor(tmp_path / f"{name}.txt", load_sample("train"))
    (tmp_path / f"bad{name}.txt").write_text("1 qid:1 1:x\n")
    model = tmp_path / f"{name}.json"
    done = [run("train", tmp_path / f"{name}.txt", "-o", model)]
    done.append(run("train", tmp_path / f"bad{name}.txt", "-o", model, code=1))
    done.append(run("train", tmp_path / f"{name}.none", "-o", model, code=1))
    done.append(run("predict", model, tmp_path / f"{name}.txt", name, code=2))
    done.append(run("compare", f"{name}={model}", f"{name}={model}", "--data", files / "test.txt", code=2))
    done.append(run("convert", tmp_path / f"{name}.txt", tmp_path / f"{name}.npz"))
    for one in done:
        assert plain(one.stderr)
        assert plain(one.stdout)
    assert done[0].stderr.count("\n") == done[1].stderr.count("\n") == done[2].stderr.count("\n") == 1


def test_progress_reads_no_markup(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with doing("reading [/] [red]x[/red] \x1b[31m") as tell:
        tell("half of [/nothing]")
    assert "reading [/] [red]x[/red] \\x1b[31m" in screen.getvalue()


def test_a_terminal_without_umlauts(files, tmp_path):
    data = load_sample("test")
    write_data(tmp_path / "t.npz", RankingData(data.X, data.y, data.qid, None, 1, ["größe", *"abcdefghijkl"]))
    run("train", tmp_path / "t.npz", "-o", tmp_path / "m.json")
    command = [*RANKWISE, "inspect", str(tmp_path / "m.json"), "--top", "0"]
    shown = subprocess.run(command, env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=True)
    assert rb"gr\xf6\xdfe" in shown.stdout


def test_trec_ids_hold_no_control_characters(tmp_path, files):
    run("train", files / "train.txt", "-o", tmp_path / "m.json")
    (tmp_path / "t.txt").write_text("1 qid:1 1:1 # docid = a\x1b[31m\n0 qid:1 1:2 # docid = b\n")
    told = run("predict", tmp_path / "m.json", tmp_path / "t.txt", "--trec", code=1).stderr
    assert plain(told)
    assert "control characters" in told


def test_zero_steps_are_refused_by_name(files, tmp_path):
    for option in ("--max-iter", "--components"):
        command = ["train", files / "train.txt", "-o", tmp_path / "m.json", "--kernel", "rbf", option, 0]
        told = run(*command, code=2).stderr
        assert f"Invalid value for {option}: it must be a positive whole number, got 0" in told
        assert "it=0" not in told


def test_nan_in_a_chunk_is_called_so(tmp_path):
    data = load_sample("train")
    X = data.X.copy()
    X[7, 3] = np.nan
    with pytest.raises(ValueError, match=r"row 7 of X holds nan: every feature must be a finite number"):
        write_chunks(tmp_path / "never", RankingData(X, data.y, data.qid))
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_in_a_chunk_of_another_writer(tmp_path, monkeypatch, value):
    """Not by us, or by 0.1: the checksums are right, and the number is bad."""
    monkeypatch.setattr("rankwise.data.chunk_files.check_finite", lambda data: None, raising=False)
    data = load_sample("train")
    run("train", tmp_path_text(tmp_path, data), "-o", tmp_path / "m.json")
    X = data.X.copy()
    X[7, 3] = value
    write_chunks(tmp_path / "bad", RankingData(X, data.y, data.qid))
    bad, model = tmp_path / "bad", tmp_path / "m.json"
    (chunk,) = bad.glob("chunk-*.npz")
    by_kernel = ["train", bad, "-o", tmp_path / "n.json", "--kernel", "rbf"]  # reads all rows into memory
    convert = ["convert", bad, tmp_path / "n.csv"]
    for command in (["train", bad, "-o", tmp_path / "n.json"], ["predict", model, bad], by_kernel, convert):
        told = run(*command, code=1).stderr
        assert f"row 7 of X of {chunk} holds {value}: every feature must be a finite number" in told
        assert "overflow" not in told


def tmp_path_text(folder, data):
    write_letor(folder / "t.txt", data)
    return folder / "t.txt"


@pytest.mark.parametrize("command", [[], ["plot"]])
def test_a_command_without_arguments_shows_its_help_line_by_line(command):
    shown = run(*command, code=2).stderr
    assert shown.rstrip("\n") == run(*command, "--help").stdout.rstrip("\n")
