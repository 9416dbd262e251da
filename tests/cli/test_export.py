"""`rankwise export`: every target from a file, the options, and what is refused before anything is written."""

import json
import subprocess

import numpy as np
import pytest
from commands import RANKWISE, run

from rankwise import load_sample
from rankwise.exporting.targets import TARGETS


@pytest.fixture(scope="module")
def files(files):
    """With model.json, which knows numbers only, named.json with names, and names.txt."""
    (files / "names.txt").write_text("\n".join(load_sample("test").names) + "\n")
    run(
        "train",
        files / "train.txt",
        "-o",
        files / "named.json",
        "--names",
        files / "names.txt",
        "--normalize",
        "zscore",
    )
    return files


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_target(files, tmp_path, target):
    out = tmp_path / "out"
    done = run("export", files / "named.json", "--to", target.upper(), "-o", out, "--check", files / "test.txt")
    assert f"{target} model written to {out}" in done.stderr
    assert f"{files / 'test.txt'}: none of 4,042 pairs of documents of the same query changes its order" in done.stderr
    assert "warning" not in done.stderr
    assert out.stat().st_size > 100


def test_to_standard_output_with_the_request_beside_it(files):
    done = run("export", files / "named.json", "--to", "opensearch", "--name", "best", "--feature-set", "books")
    assert json.loads(done.stdout)["model"]["name"] == "best"
    assert done.stderr == "next: POST _ltr/_featureset/books/_createmodel\n"


def test_the_python_function_scores_as_predict_does(files, tmp_path):
    run("export", files / "named.json", "--to", "python", "-o", tmp_path / "ranker.py")
    run("predict", files / "named.json", files / "test.txt", "-o", tmp_path / "scores.txt")
    module = {}
    exec((tmp_path / "ranker.py").read_text(), module)
    scores = [module["score"](row) for row in load_sample("test").X.tolist()]
    assert np.allclose(scores, np.loadtxt(tmp_path / "scores.txt"), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="expected 13 features, got 2"):
        module["score"]([1.0, 2.0])
    with pytest.raises(KeyError, match="title_match"):
        module["score"]({"clicks": 1.0})


def test_names(files):
    done = run("export", files / "model.json", "--to", "solr")
    assert "warning: the model has no feature names: solr gets f1 to f13; names (--names FILE) gives" in done.stderr
    done = run("export", files / "model.json", "--to", "solr", "--names", files / "names.txt")
    assert "warning" not in done.stderr
    assert json.loads(done.stdout)["features"][0]["name"] == "title_match"


def test_the_feature_map(files, tmp_path):
    file = tmp_path / "map.json"
    file.write_text('{"title_match": "bm25(title)"}')
    args = ["export", files / "named.json", "--to", "vespa", "--feature-map", file]
    assert "* (bm25(title))" in run(*args).stdout
    for text in ("", "[", '["a"]', '{"title_match": 1}', '{"title_match": "a", "title_match": "b"}', "[" * 9999):
        file.write_text(text)
        assert "map.json" in run(*args, code=1).stderr
    file.write_text('{"title_match": "a)"}')
    assert "its brackets must match" in run(*args, code=1).stderr
    assert "map.json" in run(*args[:-1], tmp_path / "no" / "map.json", code=1).stderr


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--to", "lucene"], 2, "target must be one of"),
        (["--to", "solr", "--scaling", "x"], 2, "scaling must be one of 'fold', 'engine'; got 'x'"),
        (["--to", "solr", "--precision", "float64"], 2, "precision must be 'float32'; got 'float64'"),
        (["--to", "ranklib", "--scaling", "engine"], 1, "ranklib cannot scale features"),
        (["--to", "solr", "--name", ""], 1, "name must be a text of printable characters"),
        (["--to", "vespa", "--name", "a b"], 1, "cannot name a rank profile"),
        (["--to", "solr", "--check", "missing.txt"], 1, "missing.txt"),
    ],
)
def test_wrong_options_write_nothing(files, tmp_path, args, code, message):
    done = run("export", files / "named.json", "-o", tmp_path / "out", *args, code=code)
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(files, tmp_path):
    (tmp_path / "mine").write_text("mine")
    assert "mine exists" in run("export", files / "named.json", "--to", "sql", "-o", tmp_path / "mine", code=1).stderr
    run("export", files / "named.json", "--to", "sql", "-o", tmp_path / "mine", "--force")
    args = ["export", files / "named.json", "--to", "sql", "-o", files / "named.json", "--force"]
    assert "is both read and written" in run(*args, code=1).stderr


def test_what_is_no_model(files, tmp_path):
    for text in ("", "{", "[]", '{"format": "rankwise-model"}', "2 qid:1 1:1\n"):
        (tmp_path / "m.json").write_text(text)
        done = run("export", tmp_path / "m.json", "--to", "solr", code=1)
        assert done.stderr.count("\n") == 1
        assert "m.json" in done.stderr


def test_a_package_that_is_missing(files, monkeypatch):
    monkeypatch.setattr("rankwise.exporting.targets.find_spec", lambda name: None)
    done = run("export", files / "named.json", "--to", "onnx", code=1)
    assert done.stderr == "rankwise: onnx needs a package: pip install onnx onnxruntime\n"


def test_a_closed_pipe(files):
    command = [*RANKWISE, "export", str(files / "named.json"), "--to", "sql"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("sql", "next: SELECT ..., (EXPRESSION) AS score"),
        ("python", "score(features)"),
        ("onnx", "'features' (float32,"),
    ],
)
def test_what_to_do_next_is_said(files, tmp_path, target, words):
    assert words in run("export", files / "named.json", "--to", target, "-o", tmp_path / "out").stderr
