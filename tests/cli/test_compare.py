"""compare, plot and TREC files on the command line."""

import csv
import json

import numpy as np
import pytest
from commands import run, write_sample

from rankwise import RankSVM, compare, evaluate, load_sample


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two models, scores and a run of the first, judgements, and the data."""
    folder = tmp_path_factory.mktemp("data")
    write_sample(folder)
    run("train", folder / "train.txt", "-o", folder / "svm.json", "--C", "0.01")
    run("train", folder / "train.txt", "-o", folder / "rls.json", "--model", "rankrls", "--alpha", 1000)
    run("predict", folder / "svm.json", folder / "test.txt", "-o", folder / "scores.txt")
    trec = ("--trec", "--tag", "mine", "--qrels", folder / "qrels.txt")
    run("predict", folder / "svm.json", folder / "test.txt", "-o", folder / "svm.run", *trec)
    run("predict", folder / "rls.json", folder / "test.txt", "-o", folder / "rls.run", "--trec")
    return folder


@pytest.fixture(scope="module")
def expected(files):
    train, test = load_sample("train"), load_sample("test")
    svm = RankSVM(C=0.01).fit(train.X, train.y, train.qid).predict(test.X)
    rls = np.array(run("predict", files / "rls.json", files / "test.txt").stdout.split(), float)
    return compare({"svm": svm, "rls": rls}, test.y, test.qid, ["ndcg@10", "map"])


MEASURES = ("-m", "ndcg@10", "-m", "map")


def test_compare_agrees_with_the_library(files, expected):
    shown = run("compare", files / "svm.json", files / "rls.json", "--data", files / "test.txt", *MEASURES).stdout
    assert shown == expected.to_text() + "\n"
    told = json.loads(
        run("compare", files / "svm.json", files / "rls.json", "-d", files / "test.txt", *MEASURES, "--json").stdout
    )
    assert told == json.loads(json.dumps(expected.to_dict()))


def test_markdown_and_latex(files, expected):
    args = ("compare", files / "svm.json", files / "rls.json", "--data", files / "test.txt", *MEASURES)
    assert run(*args, "--markdown").stdout == expected.to_markdown() + "\n"
    assert run(*args, "--latex").stdout == expected.to_latex() + "\n"
    assert "give one of" in run(*args, "--latex", "--json", code=2).stderr


def test_models_scores_and_runs_of_one_ranker_are_the_same(files, tmp_path):
    rankers = [f"one={files / 'svm.json'}", files / "scores.txt", files / "svm.run"]
    out = tmp_path / "q.csv"
    told = json.loads(run("compare", *rankers, "-d", files / "test.txt", "--per-query", out, "--json").stdout)
    assert [row["p_value"] for row in told["contrasts"]] == [None, 1, 1] * 3
    assert {row["ranker"] for row in told["contrasts"]} == {"one", "scores", "svm"}
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    test = load_sample("test")
    found = evaluate(test.y, np.loadtxt(files / "scores.txt"), test.qid, "map")
    assert [float(row["svm map"]) for row in rows] == found.per_query["map"].tolist()
    assert [row["query"] for row in rows] == [str(q) for q in found.query_ids]


def test_runs_on_qrels(files, expected):
    runs = ("compare", files / "svm.run", files / "rls.run", "--qrels", files / "qrels.txt")
    told = json.loads(run(*runs, *MEASURES, "--baseline", files / "rls.run", "--json").stdout)
    assert told["baseline"] == "rls"
    p = [row["p_value"] for row in told["contrasts"] if row["p_value"] is not None]
    assert p == pytest.approx([one.p_value for one in expected.contrasts if one.p_value == one.p_value])


def test_evaluate_runs(files):
    by_model = run("evaluate", files / "svm.json", files / "test.txt", *MEASURES).stdout
    assert run("evaluate", files / "svm.run", files / "test.txt", *MEASURES).stdout == by_model
    assert run("evaluate", files / "svm.run", "--qrels", files / "qrels.txt", *MEASURES).stdout == by_model
    first = (files / "svm.run").read_text().splitlines()[0].split()
    assert first[1] == "Q0"
    assert first[3] == "1"
    assert first[5] == "mine"


def test_a_run_with_gaps(files, tmp_path):
    lines = (files / "svm.run").read_text().splitlines()
    (tmp_path / "part.run").write_text("\n".join([*lines[1:], "81 Q0 unknown 99 -7.5 x"]))
    args = ("evaluate", tmp_path / "part.run", "--qrels", files / "qrels.txt")
    assert "does not judge document unknown of query 81" in run(*args, code=1).stderr
    assert "lacks document book-" in run(*args, "--unjudged", 0, code=1).stderr
    assert "ndcg@10" in run(*args, "--unjudged", 0, "--unretrieved-last").stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["svm.json", "-d", "test.txt"], "a comparison takes two rankers or more"),
        (["svm.json", "rls.json"], "give the labels, either by a ranking file"),
        (["svm.json", "rls.json", "-d", "test.txt", "--qrels", "qrels.txt"], "give the labels, either"),
        (["svm.run", "rls.json", "--qrels", "qrels.txt"], "rls.json is a model, and only a TREC run"),
        (
            ["svm.json", "rls.json", "-d", "test.txt", "--test", "z"],
            "test must be one of 'randomization', 't'; got 'z'",
        ),
        (["svm.json", "rls.json", "-d", "test.txt", "--alpha", "2"], "alpha must be between 0 and 1"),
        (["svm.json", "rls.json", "-d", "test.txt", "--baseline", "x"], "x is none of svm, rls"),
        (["svm.json", "svm.json", "-d", "test.txt"], "svm.json is given twice"),
        (["a=svm.json", "a=rls.json", "-d", "test.txt"], "a is given twice"),
    ],
)
def test_wrong_usage(files, monkeypatch, args, message):
    monkeypatch.chdir(files)
    told = " ".join(run("compare", *args, code=2).stderr.split())
    assert message in told


def test_a_file_that_is_missing(files):
    assert "nowhere.txt" in run("compare", files / "svm.json", "nowhere.txt", "-d", files / "test.txt", code=1).stderr


PLOTS = {
    "weights": ["svm.json", "--top", "4"],
    "margins": ["svm.json", "--data", "test.txt", "--bins", "20"],
    "cutoffs": ["svm.json", "rls.json", "--data", "test.txt", "--depth", "5"],
    "differences": ["svm.run", "rls.run", "--qrels", "qrels.txt", "-m", "map"],
    "convergence": ["train.txt", "--solver", "newton", "--solver", "trust-region", "--C", "0.01"],
}
COLUMNS = {
    "weights": ["feature", "weight"],
    "margins": ["from", "to", "pairs"],
    "cutoffs": ["k", "svm", "rls"],
    "differences": ["query", "svm", "rls", "difference"],
    "convergence": ["solver", "iteration", "seconds", "value", "relative_gap", "gradient_norm"],
}


@pytest.mark.parametrize("kind", PLOTS)
def test_pictures(files, monkeypatch, tmp_path, kind):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(files)
    run("plot", kind, *PLOTS[kind], "-o", tmp_path / "p.svg", "--data-out", tmp_path / "d.csv")
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    with open(tmp_path / "d.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == COLUMNS[kind]
    assert rows


def test_the_path_of_tune(files, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(files)
    tuned = run("tune", "train.txt", "-o", tmp_path / "m.json", "--folds", 3, "-C", 0.001, "-C", 0.01, "--json").stdout
    (tmp_path / "t.json").write_text(tuned)
    run("plot", "path", tmp_path / "t.json", "-o", tmp_path / "p.png", "--data-out", tmp_path / "d.csv")
    with open(tmp_path / "d.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    told = json.loads(tuned)["results"]
    assert [float(row["mean"]) for row in rows] == pytest.approx([one["mean"] for one in told])
    assert [float(row["standard_error"]) for row in rows] == pytest.approx([one["standard_error"] for one in told])
    assert (
        "is not what `rankwise tune --json` prints"
        in run("plot", "path", files / "svm.json", "-o", tmp_path / "q.png", code=1).stderr
    )


def test_a_picture_that_cannot_be_is_refused_before_any_work(files):
    pytest.importorskip("matplotlib")
    told = run("plot", "weights", files / "svm.json", "-o", "w.bmp", code=2).stderr
    assert "w.bmp is not a picture" in told
    gone = run("plot", "weights", files / "svm.json", "-o", files / "no" / "w.png", code=1).stderr
    assert "there is no folder" in gone
