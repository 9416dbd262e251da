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


FORMS = {"table": "txt", "csv": "csv", "json": "json", "markdown": "md", "latex": "tex"}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_by_option_and_by_suffix(files, expected, tmp_path, form):
    args = ("compare", files / "svm.json", files / "rls.json", "--data", files / "test.txt", *MEASURES)
    text = expected.to_form(form).removesuffix("\n") + "\n"
    assert run(*args, "--format", form).stdout == text
    if form in ("json", "markdown", "latex"):
        assert run(*args, f"--{form}").stdout == text
    values, out = tmp_path / f"values.{FORMS[form]}", tmp_path / f"out.{FORMS[form]}"
    assert run(*args, "--per-query", values, "-o", out).stdout == ""
    assert out.read_text() == text
    table = expected.per_query().to_form(form).removesuffix("\n") + "\n"
    assert values.read_text() == table
    assert run(*args, "--per-query", "-", "--format", form).stdout == table
    run(*args, "--per-query", tmp_path / "plain", "--format", form)
    assert (tmp_path / "plain").read_text() == table


def test_values_per_query_by_trec_eval(files, tmp_path):
    """Both values and their difference, the worst query first; documents that nobody judged count as 0."""
    trec = pytest.importorskip("pytrec_eval")
    lines = (files / "qrels.txt").read_text().splitlines()
    (tmp_path / "some.txt").write_text("\n".join(lines[i] for i in range(len(lines)) if i % 3))
    args = ("--qrels", tmp_path / "some.txt", "--unjudged", 0, "-m", "ndcg@10:trec", "-m", "map:ties=stable")
    runs = files / "svm.run", files / "rls.run"
    rows = list(csv.DictReader(run("compare", *runs, *args, "--per-query", "-", "--format", "csv").stdout.splitlines()))
    judged = trec.parse_qrel((tmp_path / "some.txt").open())
    by_trec = [
        trec.RelevanceEvaluator(judged, {"ndcg_cut_10", "map"}).evaluate(trec.parse_run(one.open())) for one in runs
    ]
    for ours, theirs in (("ndcg@10:trec", "ndcg_cut_10"), ("map:ties=stable", "map")):
        before, after = ([one[row["query"]][theirs] for row in rows] for one in by_trec)
        assert [float(row[f"svm {ours}"]) for row in rows] == pytest.approx(before, rel=1e-12)
        assert [float(row[f"rls {ours}"]) for row in rows] == pytest.approx(after, rel=1e-12)
        assert [float(row[f"rls {ours} difference"]) for row in rows] == pytest.approx(np.subtract(after, before))
    differences = [float(row["rls ndcg@10:trec difference"]) for row in rows]
    assert differences == sorted(differences)
    ranked = trec.parse_run(runs[0].open())
    for row in rows:
        documents = ranked[row["query"]]
        first = sorted(documents, key=documents.get, reverse=True)[:10]
        assert float(row["svm judged@10"]) == pytest.approx(np.mean([one in judged[row["query"]] for one in first]))


def test_the_worst_queries(files, expected):
    args = ("compare", files / "svm.json", files / "rls.json", "--data", files / "test.txt", *MEASURES)
    worst = expected.worst(2)["query"].tolist()
    assert [one["query"] for one in json.loads(run(*args, "--worst", 2, "--json").stdout)["worst"]["queries"]] == worst
    assert "worst by ndcg@10" in run(*args).stdout
    assert "worst" not in run(*args, "--worst", 0).stdout


@pytest.fixture(scope="module")
def table(files):
    """The test data with names, where every fifth document was not judged."""
    data = load_sample("test")
    frame = data.to_frame()
    frame["label"] = frame["label"].astype(object)
    frame.loc[::5, "label"] = None
    frame.to_csv(files / "table.csv", index=False)
    frame.astype({"label": float}).to_parquet(files / "table.parquet", index=False)
    y = data.y.copy()
    y[::5] = np.nan
    return data, y


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_as_rankers(files, table, kind):
    data, y = table
    options = ("-d", files / f"table.{kind}", "--unjudged", 0, "-m", "ndcg@5", "--json")
    told = json.loads(
        run("compare", "x=column:title_match", "column:-price", *options, "--baseline-column", "clicks").stdout
    )
    columns = {"clicks": data.X[:, 4], "x": data.X[:, 0], "-price": -data.X[:, 7]}
    expected = compare(columns, y, data.qid, ["ndcg@5", "judged@5"], unjudged=0)
    assert told == json.loads(json.dumps(expected.to_dict()))
    by_name = run("compare", "column:clicks", "x=column:title_match", "column:price:ascending", *options).stdout
    assert [one["mean"] for one in json.loads(by_name)["contrasts"]] == [one["mean"] for one in told["contrasts"]]
    found = evaluate(y, data.X[:, 4], data.qid, ["ndcg@5", "judged@5"], unjudged=0)
    args = ("evaluate", "column:clicks", *options[1:])
    assert json.loads(run(*args).stdout) == json.loads(found.to_json())


def test_labels_may_be_missing_only_if_it_is_said(files, table):
    args = ("evaluate", "column:clicks", files / "table.csv")
    assert "line 2, column 'label': found ''" in run(*args, code=1).stderr
    assert "row 0 has no label" in run(*args[:2], files / "table.parquet", code=1).stderr
    assert "judged@10" in run(*args, "--unjudged", 0).stdout
    assert "unjudged must be a finite number; got nan" in run(*args, "--unjudged", "nan", code=1).stderr


def test_evaluate_in_every_form(files, tmp_path):
    args = ("evaluate", "column:5", files / "test.txt", *MEASURES)
    test = load_sample("test")
    found = evaluate(test.y, test.X[:, 4], test.qid, ["ndcg@10", "map"])
    for form, suffix in FORMS.items():
        run(*args, "--per-query", "-o", tmp_path / f"e.{suffix}")
        expected = found.query_table().to_form(form).removesuffix("\n")
        if form == "json":
            expected = json.dumps(found.to_dict(per_query=True), indent=1)
        assert (tmp_path / f"e.{suffix}").read_text() == expected + "\n"
        assert run(*args, "--format", form).stdout.removesuffix("\n") == found.to_form(form).removesuffix("\n")
    assert "e.txt exists" in run(*args, "-o", tmp_path / "e.txt", code=1).stderr
    run(*args, "-o", tmp_path / "e.txt", "--force")


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
        (["svm.json", "-d", "test.txt"], "a comparison needs two rankers or more"),
        (["svm.json", "rls.json"], "give the labels: a ranking file"),
        (["svm.json", "rls.json", "-d", "test.txt", "--qrels", "qrels.txt"], "give the labels: "),
        (["svm.run", "rls.json", "--qrels", "qrels.txt"], "rls.json is a model, and only a TREC run"),
        (
            ["svm.json", "rls.json", "-d", "test.txt", "--test", "z"],
            "test must be one of 'randomization', 't'; got 'z'",
        ),
        (["svm.json", "rls.json", "-d", "test.txt", "--alpha", "2"], "alpha must be between 0 and 1"),
        (["svm.json", "rls.json", "-d", "test.txt", "--baseline", "x"], "x is none of svm, rls"),
        (["svm.json", "svm.json", "-d", "test.txt"], "svm.json is given twice"),
        (["svm.json", "column:5", "-d", "test.txt", "--baseline-column", "5"], "column:5 is given twice"),
        (["svm.json", "-d", "test.txt", "--baseline-column", "5", "--baseline", "svm"], "give one of --baseline and"),
        (["svm.run", "--qrels", "qrels.txt", "--baseline-column", "5"], "column:5 is a column, and only a TREC run"),
        (["svm.json", "-d", "-", "--baseline-column", "5"], "give a file in place of stdin"),
        (["svm.json", "rls.json", "-d", "test.txt", "--format", "xls"], "format must be one of 'table', 'csv', 'json'"),
        (["svm.json", "rls.json", "-d", "test.txt", "--format", "csv", "--json"], "give one of --format, --json"),
        (["svm.json", "rls.json", "-d", "test.txt", "-o", "x.doc"], "x.doc must end in .txt, .csv, .json, .md, .tex"),
        (["svm.json", "rls.json", "-d", "test.txt", "--per-query", "x.doc"], "x.doc must end in .txt, .csv"),
        (["a=svm.json", "a=rls.json", "-d", "test.txt"], "a is given twice"),
    ],
)
def test_wrong_usage(files, monkeypatch, args, message):
    monkeypatch.chdir(files)
    told = " ".join(run("compare", *args, code=2, stdin=(files / "test.txt").read_text()).stderr.split())
    assert message in told


def test_a_column_that_is_missing(files):
    args = ("compare", files / "svm.json", "-d", files / "test.txt", "--baseline-column")
    assert "no column '99' in " in run(*args, "99", code=1).stderr
    assert "its features are f1 to f13" in run(*args, "-clicks", code=1).stderr


def test_a_file_that_is_missing(files):
    told = run("compare", files / "svm.json", "clicks", "-d", files / "test.txt", code=1).stderr
    assert "there is no file clicks; a column of the data is written column:clicks" in told
    assert "nowhere.txt" in run("compare", files / "svm.json", "nowhere.txt", "-d", files / "test.txt", code=1).stderr


PLOTS = {
    "weights": ["svm.json", "--top", "4"],
    "margins": ["svm.json", "--data", "test.txt", "--bins", "20"],
    "cutoffs": ["svm.json", "rls.json", "--data", "test.txt", "--depth", "5"],
    "differences": ["svm.run", "rls.run", "--qrels", "qrels.txt", "-m", "map"],
    "columns": ["svm.json", "price=column:-8", "--data", "test.txt"],
    "convergence": ["train.txt", "--solver", "newton", "--solver", "trust-region", "--C", "0.01"],
}
COLUMNS = {
    "weights": ["feature", "weight"],
    "margins": ["from", "to", "pairs"],
    "cutoffs": ["k", "svm", "rls"],
    "differences": ["query", "svm", "rls", "difference"],
    "columns": ["query", "svm", "price", "difference"],
    "convergence": ["solver", "iteration", "seconds", "value", "relative_gap", "gradient_norm"],
}


@pytest.mark.parametrize("kind", PLOTS)
def test_pictures(files, monkeypatch, tmp_path, kind):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(files)
    run(
        "plot",
        "differences" if kind == "columns" else kind,
        *PLOTS[kind],
        "-o",
        tmp_path / "p.svg",
        "--data-out",
        tmp_path / "d.csv",
    )
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
        "is not the output of `rankwise tune --json`"
        in run("plot", "path", files / "svm.json", "-o", tmp_path / "q.png", code=1).stderr
    )


def test_a_picture_that_cannot_be_is_refused_before_any_work(files):
    pytest.importorskip("matplotlib")
    told = run("plot", "weights", files / "svm.json", "-o", "w.bmp", code=2).stderr
    assert "w.bmp is not a picture" in told
    gone = run("plot", "weights", files / "svm.json", "-o", files / "no" / "w.png", code=1).stderr
    assert "there is no folder" in gone


def test_data_that_the_model_was_trained_on_are_noticed(files, tmp_path):
    model, train, test = tmp_path / "model.json", tmp_path / "train.txt", files / "test.txt"
    train.write_bytes((files / "train.txt").read_bytes())
    run("train", train, "--valid", test, "-o", model, "--C", "0.01")
    note = f"note: {model} was trained on {train}: expect lower values on queries that it has not seen\n"
    assert note in run("evaluate", model, train).stderr
    assert note in run("compare", model, "--baseline-column", "5", "--data", train).stderr
    assert "trained on" not in run("evaluate", model, test).stderr
    copy = tmp_path / "copy.txt"
    copy.write_bytes(train.read_bytes())
    assert f"trained on {copy}" in run("evaluate", model, copy).stderr
    told = run("report", model, "--data", copy, "-o", tmp_path / "report.html").stderr
    assert "note: model was trained on these queries" in told
    train.write_bytes(test.read_bytes())  # other content under the same name
    assert "trained on" not in run("evaluate", model, train).stderr
