"""`rankwise explain`: agrees with the library, for every kind of model, and says what is wrong in one sentence."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from commands import run
from scipy import sparse

from rankwise import load_model, load_sample, read_data, write_data


@pytest.fixture(scope="module")
def models(files):
    train = files / "train.txt"
    run("train", train, "-o", files / "query.json", "--normalize", "query-zscore")
    run("train", train, "-o", files / "scaled.json", "--normalize", "zscore")
    run("train", train, "-o", files / "kernel.json", "--kernel", "rbf", "--components", 50)
    run("train", train, "-o", files / "both.json", "--kernel", "rbf", "--components", 50, "--normalize", "minmax")
    return files


@pytest.mark.parametrize("model", ["model", "query", "scaled", "kernel", "both"])
def test_it_agrees_with_the_library(models, model):
    file, data = models / f"{model}.json", read_data(models / "test.txt", dense=True, comments=True)
    ranker, query = load_model(file), data.qid[200]
    expected = ranker.explain(data, query=query)
    shown = json.loads(run("explain", file, models / "test.txt", "--query", query, "--json").stdout)
    assert shown == json.loads(json.dumps(expected.to_dict()))
    assert run("explain", file, models / "test.txt", "--query", query).stdout == f"{expected}\n"
    a, b = expected.documents[:2]
    pair = run("explain", file, models / "test.txt", "--query", query, "--doc", a, "--doc", b).stdout
    assert pair == f"{ranker.explain_pair(a, b, data=data, query=query)}\n"
    one = run("explain", file, models / "test.txt", "--query", query, "--doc", a).stdout
    assert one == f"{expected.document(a)}\n"


def test_the_sum_of_a_table_is_the_difference_of_scores(files, tmp_path):
    out = tmp_path / "why.csv"
    args = ("explain", files / "model.json", files / "test.txt", "-q", "81", "--doc", "book-122", "--doc", "book-17")
    told = json.loads(run(*args, "--json", "-o", out).stdout)
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["contribution"]) for row in rows] == [one["contribution"] for one in told["features"]]
    np.testing.assert_allclose(sum(float(row["contribution"]) for row in rows), told["difference"], atol=1e-12)
    scores = np.array(run("predict", files / "model.json", files / "test.txt").stdout.split(), float)
    test = read_data(files / "test.txt", comments=True)
    places = [int(np.flatnonzero((test.qid == 81) & (test.docid == one))[0]) for one in ("book-122", "book-17")]
    assert told["scores"] == scores[places].tolist()


def test_ids_in_comments_of_a_table_are_found_as_in_python(files, tmp_path):
    test = load_sample("test").select(slice(0, 30))
    comments = [f"docid = {one}" for one in test.docid]
    write_data(tmp_path / "commented.csv", type(test)(test.X, test.y, test.qid, comments))
    data, query = read_data(tmp_path / "commented.csv", comments=True), test.qid[0]
    expected = load_model(files / "model.json").explain(data, query=query)
    shown = run("explain", files / "model.json", tmp_path / "commented.csv", "--query", query).stdout
    assert shown == f"{expected}\n"
    assert str(test.docid[0]) in shown


def test_documents_without_ids_are_numbered_from_1_as_in_a_run(files, tmp_path):
    test = load_sample("test").select(slice(0, 30))
    write_data(tmp_path / "plain.txt", type(test)(test.X, test.y, test.qid, names=None))
    told = json.loads(
        run("explain", files / "model.json", tmp_path / "plain.txt", "--doc", 2, "--doc", 1, "--json").stdout
    )
    assert told["documents"] == [2, 1]
    scores = run("predict", files / "model.json", tmp_path / "plain.txt").stdout.split()
    assert told["scores"] == [float(scores[1]), float(scores[0])]


@pytest.mark.parametrize("scaler", ["zscore", "query-minmax"])
def test_sparse_rows_of_a_scaler_that_moves_zeros(files, tmp_path, scaler):
    """The rows of the query become dense, not those of the file."""
    test = load_sample("test")
    X = test.X * (np.random.default_rng(0).random(test.X.shape) < 0.1)
    train = type(test)(np.ascontiguousarray(X), test.y, test.qid)
    write_data(tmp_path / "dense.npz", train)
    write_data(tmp_path / "sparse.npz", type(test)(sparse.csr_array(X), test.y, test.qid))
    run("train", tmp_path / "dense.npz", "-o", tmp_path / "model.json", "--normalize", scaler)
    shown = [
        run("explain", tmp_path / "model.json", tmp_path / f"{kind}.npz", "-q", 90, "--json").stdout
        for kind in ("dense", "sparse")
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("html", b"<!DOCTYPE html>")])
def test_pictures_and_pages(files, tmp_path, ending, magic):
    pytest.importorskip("matplotlib")
    out = tmp_path / f"why.{ending}"
    args = ("explain", files / "model.json", files / "test.txt", "--query", "82", "-o", out)
    assert f"explanation written to {out}" in run(*args, "--top", 3).stderr
    assert out.read_bytes().startswith(magic)
    assert "exists: give another name, or --force" in run(*args, code=1).stderr
    run(*args, "--force")


def test_mistakes_get_one_sentence(files, tmp_path):
    def said(*args, code=1):
        error = run("explain", *args, code=code).stderr
        assert code == 2 or error.count("\n") == 1
        return error

    model, test = files / "model.json", files / "test.txt"
    assert "query '8111' is not in the data: did you mean '111' or '81'?" in said(model, test, "--query", "8111")
    assert "the data have 40 queries: say which one, such as '81', '82'" in said(model, test)
    assert "document 'book' is not in query '81'" in said(model, test, "--query", 81, "--doc", "book")
    (tmp_path / "nameless.txt").write_text(test.read_text().partition("#")[0] + "\n")
    assert "name their column by --doc-column COLUMN" in said(model, tmp_path / "nameless.txt", "--doc", "sku")
    assert "give one document, or two" in said(model, test, *["--doc", "a"] * 3, code=2)
    assert "name it *.png, *.svg, *.pdf, *.html, *.csv" in said(model, test, "-o", tmp_path / "x.gif", code=2)
    assert f"{model} is a model, and {test} is not: the order is MODEL DATA" in said(test, model)
    (tmp_path / "empty.txt").touch()
    assert "empty" in said(model, tmp_path / "empty.txt")
    assert r"query 'a\nb' is not in the data" in said(model, test, "--query", "a\nb")


def test_linear_models_are_explained_without_scikit_learn(files):
    code = f"""
import sys
sys.argv = ["rankwise", "explain", {str(files / "model.json")!r}, {str(files / "test.txt")!r}, "--query", "81"]
from rankwise.cli import main
try:
    main()
finally:
    assert not {{"sklearn", "numba", "matplotlib"}} & set(sys.modules), sys.modules.keys()
"""
    assert "book-122" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
