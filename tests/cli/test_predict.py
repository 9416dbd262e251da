"""`rankwise predict` block by block: the same scores however the text is cut, and a pipe gets them early."""

import json
import subprocess
from math import copysign

import numpy as np
import pytest
from commands import RANKWISE, run

from rankwise import load_model, load_sample, read_letor, write_letor
from rankwise.data import letor, streams


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(streams, "PIECE", 5_000)
    monkeypatch.setattr(letor, "BLOCK_VALUES", 200)


@pytest.fixture(scope="module")
def scaled(files, tmp_path_factory):
    """A model that scales by query."""
    model = tmp_path_factory.mktemp("scaled") / "m.json"
    run("train", files / "train.txt", "-o", model, "--normalize", "query-zscore", "--C", "0.01")
    return model


@pytest.fixture(scope="module")
def expected(files, scaled):
    return {model: run("predict", model, files / "test.txt").stdout for model in (files / "model.json", scaled)}


def test_scores_do_not_depend_on_the_blocks(files, expected, small_blocks):
    text = (files / "test.txt").read_text()
    for model, scores in expected.items():
        assert run("predict", model, files / "test.txt").stdout == scores
        assert run("predict", model, "-", stdin=text).stdout == scores


def test_a_pipe_gets_scores_before_its_end(files, expected):
    model = files / "model.json"
    text = (files / "test.txt").read_bytes() * 2
    with subprocess.Popen([*RANKWISE, "predict", model, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(text[: streams.FIRST_PIECE + 4096])
        process.stdin.flush()
        first = process.stdout.readline()
        process.stdin.write(text[streams.FIRST_PIECE + 4096 :])
        process.stdin.close()
        rest = process.stdout.read()
    assert (first + rest).decode() == 2 * expected[model]


def test_a_fault_names_its_line_of_the_whole_input(files, tmp_path, small_blocks):
    lines = (files / "test.txt").read_text().splitlines()
    lines[400] = lines[400].replace("2:", "x:")
    (tmp_path / "bad.txt").write_text("\n".join(lines))
    (tmp_path / "scores.txt").write_text("old")
    done = run("predict", files / "model.json", tmp_path / "bad.txt", "-o", tmp_path / "scores.txt", "--force", code=1)
    assert "bad.txt, line 401, column " in done.stderr
    assert (tmp_path / "scores.txt").read_text() == "old"
    done = run("predict", files / "model.json", "-", stdin="\n".join(lines), code=1)
    assert "standard input, line 401, column " in done.stderr
    weights = json.loads((files / "model.json").read_text())["coef"]
    features = (f"{i}:{copysign(1.7e308, weight)}" for i, weight in enumerate(weights, start=1))
    lines[400] = " ".join([*lines[400].split()[:2], *features])
    done = run("predict", files / "model.json", "-", stdin="\n".join(lines), code=1)
    assert "gives row 401 of -" in done.stderr


def test_without_rows_there_is_nothing_to_predict(files):
    assert (
        "standard input: there are no rows to read"
        in run("predict", files / "model.json", "-", stdin="#", code=1).stderr
    )


def test_scaling_by_query_needs_the_rows_of_a_query_together(files, scaled, tmp_path, small_blocks):
    test = load_sample("test")
    shuffled = test.select(np.random.default_rng(0).permutation(len(test)))
    write_letor(tmp_path / "shuffled.txt", shuffled)
    assert len(run("predict", scaled, tmp_path / "shuffled.txt").stdout.splitlines()) == len(test)
    told = run("predict", scaled, "-", stdin=(tmp_path / "shuffled.txt").read_text(), code=1).stderr
    assert "goes on after another query, and the model scales by query: sort the rows by query, or give a file" in told


def test_a_wide_model_takes_sparse_rows(tmp_path, small_blocks):
    lines = [f"{i % 3} qid:{i // 6} {7 * i + 1}:0.5 {8 * i + 4200}:{i % 5}" for i in range(60)]
    (tmp_path / "wide.txt").write_text("\n".join(lines))
    run("train", tmp_path / "wide.txt", "-o", tmp_path / "m.json")
    scores = np.array(run("predict", tmp_path / "m.json", "-", stdin="\n".join(lines)).stdout.split(), float)
    expected = load_model(tmp_path / "m.json").predict(read_letor(tmp_path / "wide.txt").X)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("content", ["", "qid,f1,f2\n"])
def test_a_table_without_rows_is_an_error_from_a_file_and_a_pipe(files, tmp_path, content):
    """The command ended well, with a note that all features were 0."""
    table = tmp_path / "none.csv"
    table.write_text(content)
    assert f"{table}: there are no rows to read" in run("predict", files / "model.json", table, code=1).stderr
    told = run("predict", files / "model.json", "-", stdin=content, code=1).stderr
    assert "standard input: there are no rows to read" in told
