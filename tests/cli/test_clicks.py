"""`rankwise clicks`, `train --clicks` and `evaluate --clicks`: as the library does it, and one sentence per error."""

import json

import numpy as np
import pytest
from commands import run, write_sample

from rankwise import RankSVM, RankSVMCV, ScaledRanker, load_model, read_data
from rankwise.clicks import (
    Propensities,
    click_data,
    em_bias,
    evaluate_clicks,
    harvested_bias,
    read_clicks,
    swap_bias,
)
from rankwise.data.repeated import SharedData

FIRST = ("--first-position", 1)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with the sample, a log of clicks on it, and the propensities of its positions."""
    folder = write_sample(tmp_path_factory.mktemp("shop"))
    run(*("clicks", "simulate", folder / "train.txt", "--by", "f1", "--by", "f6", "--by", "-f8", "--lists", 1500),
        *("--depth", 5, "--swapped", folder / "swaps.csv", "-o", folder / "log.csv"))  # fmt: skip
    run("clicks", "bias", folder / "log.csv", *FIRST, "-o", folder / "bias.csv", "--resamples", 20)
    run("convert", folder / "train.txt", folder / "train.csv")
    lines = (folder / "train.csv").read_text().splitlines()  # label, qid, docid, features; now without labels
    header, *rows = [line.partition(",")[2] for line in lines]
    (folder / "docs.csv").write_text(
        "\n".join([header.replace("docid", "book").replace("qid", "search"), *rows]) + "\n"
    )
    return folder


@pytest.fixture(scope="module")
def log(shop):
    return read_clicks(shop / "log.csv", first_position=1)


@pytest.fixture(scope="module")
def data(shop):
    return read_data(shop / "train.txt", comments=True)


NAMING = ("--qid", "search", "--doc", "book")


def corrected(shop):
    return ("--clicks", shop / "log.csv", *FIRST, "--propensities", shop / "bias.csv")


@pytest.mark.parametrize(
    ("args", "estimator"),
    [
        ((), harvested_bias),
        (("--method", "em", "--top", 3), lambda log, **options: em_bias(log.top(3), **options)),
        (("--method", "swap", "--over", "lists"), None),
    ],
)
def test_bias(shop, log, tmp_path, args, estimator):
    if estimator is None:
        rows = np.loadtxt(shop / "swaps.csv", delimiter=",", skiprows=1, dtype=int)
        swapped = {str(one): int(position) for one, position in rows}
        expected = swap_bias(log, swapped, over="lists", n_resamples=10, random_state=0)
        args = (*args, "--swapped", shop / "swaps.csv")
    else:
        expected = estimator(log, n_resamples=10, random_state=0)
    files = ("-o", tmp_path / "b.csv", "--plot", tmp_path / "b.svg")
    done = run("clicks", "bias", shop / "log.csv", *FIRST, *args, "--resamples", 10, *files)
    found = Propensities.load(tmp_path / "b.csv")
    for name in ("positions", "values", "lower", "upper"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert expected.to_text() in done.stdout
    assert b"<svg" in (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("features", [("train.txt",), ("--features", "docs.csv", *NAMING)])
def test_train(shop, log, data, tmp_path, features):
    """From DATA or --features, text or a table without labels, with the weights of the library; the model tells how."""
    paths = [shop / one if str(one).endswith((".txt", ".csv")) else one for one in features]
    model = tmp_path / "m.json"
    told = json.loads(run("train", *corrected(shop), *paths, "-o", model, "--C", 0.01, "--json").stdout)
    expected = RankSVM(C=0.01).fit(click_data(log, data, Propensities.load(shop / "bias.csv")))
    np.testing.assert_allclose(load_model(model).coef_, expected.coef_, rtol=1e-9)
    assert told["problems"] == len(np.unique(click_data(log, data, None).qid))
    origin = run("inspect", model).stdout
    for name in ("log.csv", "bias.csv", features[0 if len(features) == 1 else 1]):
        assert f"  {shop / name}\n" in origin
    assert "to the last bit" in run("train", "--like", model).stderr


@pytest.mark.parametrize("scaling", [(), ("--normalize", "zscore")])
def test_queries_of_the_log_are_not_left_out_in_parts(shop, tmp_path, scaling):
    args = ("train", *corrected(shop), shop / "train.txt", "--model", "rankrls-cv", *scaling, "-o", tmp_path / "m.json")
    assert "not by groups: cv=5 chooses by folds instead (`rankwise tune" in run(*args, code=1).stderr
    assert not list(tmp_path.iterdir())


def test_train_without_correction(shop, log, data, tmp_path, monkeypatch):
    """The features of a document are not copied into every problem in which it occurs."""
    expected = RankSVM(C=0.01).fit(click_data(log, data, None))
    monkeypatch.setattr(SharedData, "read", None)
    args = ("--clicks", shop / "log.csv", *FIRST, "--naive", shop / "train.txt", "--C", 0.01)
    done = run("train", *args, "-o", tmp_path / "m.json", "--valid", shop / "test.txt", "-m", "map")
    np.testing.assert_allclose(load_model(tmp_path / "m.json").coef_, expected.coef_, rtol=1e-9)
    assert "measure   valid\nmap" in done.stdout


def test_train_on_scaled_features(shop, log, data, tmp_path):
    run("train", *corrected(shop), shop / "train.txt", "-o", tmp_path / "m.json", "--C", 0.01, "--normalize", "zscore")
    problems = click_data(log, data, Propensities.load(shop / "bias.csv"))
    expected = ScaledRanker(RankSVM(C=0.01), "zscore").fit(problems)
    np.testing.assert_allclose(load_model(tmp_path / "m.json").ranker_.coef_, expected.ranker_.coef_, rtol=1e-9)


def test_tune(shop, log, data, tmp_path):
    """Folds are of whole queries of the log, and measures are weighted, as in the library."""
    args = ("tune", *corrected(shop), "--features", shop / "train.txt", "-o", tmp_path / "m.json", "--json")
    told = json.loads(run(*args, "--C", 0.001, "--C", 0.01, "--folds", 3, "-m", "mrr").stdout)
    training = click_data(log, data, Propensities.load(shop / "bias.csv"))
    expected = RankSVMCV(Cs=[0.001, 0.01], cv=3, measure="mrr").fit(training)
    np.testing.assert_allclose(np.transpose([row["folds"] for row in told["results"]]), expected.cv_values_)
    assert told["chosen"] == {"C": expected.C_}
    naive = RankSVMCV(Cs=[0.001, 0.01], cv=3, measure="mrr").fit(training.X, training.y, training.qid)
    assert not np.allclose(naive.cv_values_, expected.cv_values_)
    assert "use minmax or zscore" in run(*args, "--normalize", "minmax", "--normalize", "query-minmax", code=2).stderr


def test_evaluate(shop, log, data, tmp_path):
    """A model, a column, and scores of every form: the library's estimates."""
    model = tmp_path / "m.json"
    run("train", *corrected(shop), shop / "train.txt", "-o", model)
    known = Propensities.load(shop / "bias.csv")

    def estimated(scores):
        measures = ["dcg@3", "average-rank"]
        return evaluate_clicks(log, data, scores, known, measures, random_state=0).to_dict()

    def told(*args):
        done = run("evaluate", *args, *corrected(shop), "-m", "dcg@3", "-m", "average-rank", "--json")
        return json.loads(done.stdout)

    by_model = estimated(load_model(model).predict(data.X))
    assert told(model, shop / "train.txt") == by_model
    assert told(model, "--features", shop / "docs.csv", *NAMING) == by_model
    assert told("column:-f8", shop / "train.txt") == estimated(-data.X[:, 7])
    for name, options in {"s.csv": (), "s.run": ("--trec",)}.items():
        run("predict", model, shop / "train.txt", "-o", tmp_path / name, *options)
        assert told(tmp_path / name) == by_model
    text = run("evaluate", model, shop / "train.txt", *corrected(shop)).stdout
    assert "effective sample size" in text.partition("\n")[0]
    assert "clicks" in text.splitlines()[-1]


def test_ubi(shop, tmp_path):
    """The same log as events and queries of User Behavior Insights, and as JSON lines with names of their own."""
    log = read_clicks(shop / "log.csv", first_position=1)
    rows = list(zip(*log.table_columns().values(), strict=True))
    shown, events, lines = {}, [], []
    for query, doc, position, click, one in rows:
        shown.setdefault(str(one), (str(query), []))[1].append(str(doc))
        lines.append(
            {"query": str(query), "book": str(doc), "rank": int(position) - 1, "hit": int(click), "list": str(one)}
        )
        if click:
            attributes = {"object": {"object_id": str(doc)}, "position": {"ordinal": int(position) - 1}}
            events.append({"action_name": "click", "query_id": str(one), "event_attributes": attributes})
    queries = [
        {"query_id": one, "user_query": query, "query_response_hit_ids": docs} for one, (query, docs) in shown.items()
    ]
    for name, values in {"events": events, "queries": queries, "log": lines}.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(value) + "\n" for value in values))
    options = ("--first-position", 0, "--resamples", 5, "--json")
    ubi = run("clicks", "bias", tmp_path / "events.jsonl", "--queries", tmp_path / "queries.jsonl", *options)
    named = run("clicks", "bias", tmp_path / "log.jsonl", "--log-columns", "doc=book,click=hit", *options)
    expected = run("clicks", "bias", shop / "log.csv", *FIRST, "--resamples", 5, "--json").stdout
    assert json.loads(ubi.stdout) == json.loads(named.stdout) == json.loads(expected)


HEAD = "query,doc,position,click,impression\n"
LOGS = {
    "two.csv": "query,doc,position,click,clicked\n1,a,1,0,0\n",
    "none.csv": "query,doc,click\n1,a,0\n",
    "nan.csv": f"{HEAD}1,a,nan,0,s\n",
    "twice.csv": f"{HEAD}1,a,1,0,s\n1,a,1,0,s\n",
    "empty.csv": "",
    "header.csv": HEAD,
    "latin.csv": b"query,doc,position,click\n\xff,a,1,0\n",
    "unclicked.csv": f"{HEAD}1,book-514,1,0,s\n1,book-404,2,0,s\n",
    "unknown.csv": f"{HEAD}1,book-514,1,1,s\n1,nobook,2,0,s\n",
    "deep.csv": f"{HEAD}1,book-514,1,0,s\n1,book-404,99,1,s\n",
}
MESSAGES = {
    "two.csv": r"several columns that could be meant ('click', 'clicked') for click",
    "none.csv": "--log-columns position=NAME",
    "nan.csv": "nan.csv, line 2: position must be a whole number, found 'nan'",
    "twice.csv": "twice.csv, line 3: the document 'a' occurs twice in the list 's'",
    "empty.csv": "empty.csv is empty",
    "header.csv": "header.csv has a header and no rows",
    "latin.csv": "latin.csv, line 2: the file is not text in UTF-8",
    "unclicked.csv": "the log has no click",
    "unknown.csv": "features lacks 1 of 2 documents of lists with clicks, first the document 'nobook' of query '1'",
    "deep.csv": "no propensity is known for position 99 (known: 1 to 5): log.top(k) (--top k) leaves out",
}


@pytest.mark.parametrize("name", LOGS)
def test_logs_that_are_refused(shop, tmp_path, name):
    text = LOGS[name]
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    args = ("--clicks", tmp_path / name, *FIRST, "--propensities", shop / "bias.csv", shop / "train.txt")
    column = ("evaluate", "column:f1", *args)
    for done in (run("train", *args, "-o", tmp_path / "m.json", code=1), run(*column, code=1)):
        assert done.stderr.startswith("rankwise: ")
        assert MESSAGES[name] in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not done.stdout
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["clicks", "bias", "LOG"], "say whether the top position of the log is numbered 0 or 1"),
        (["clicks", "bias", "LOG", "--first-position", 2], "it is not guessed; got 2"),
        (["clicks", "bias", "LOG", *FIRST, "--method", "swap"], "give --swapped FILE"),
        (["clicks", "bias", "LOG", *FIRST, "--swapped", "LOG"], "only --method swap uses this file, not harvest"),
        (["clicks", "bias", "-", *FIRST, "--method", "swap", "--swapped", "-"], "can be only one of the files"),
        (["clicks", "bias", "-", *FIRST, "--queries", "-"], "can be only one of the files"),
        (["clicks", "bias", "LOG", *FIRST, "--over", "users"], "over must be one of 'queries', 'lists'"),
        (["clicks", "bias", "LOG", *FIRST, "--top", 0], "it must be 1 or more"),
        (["clicks", "bias", "LOG", *FIRST, "--log-columns", "who=x"], "expected NAME=COLUMN"),
        (["clicks", "bias", "LOG", *FIRST, "--plot", "x.gif"], "x.gif is not a picture"),
        (["train", "--clicks", "LOG", "TRAIN", "-o", "OUT"], "say whether the top position"),
        (["train", "--clicks", "LOG", "TRAIN", "-o", "OUT", *FIRST], "--naive to take clicks as they are"),
        (["train", "--clicks", "LOG", "-o", "OUT", *FIRST, "--naive"], "features of the documents shown"),
        (["train", "TRAIN", "-o", "OUT", "--clip", 0], "it needs a click log, --clicks"),
        (["train", "TRAIN", "-o", "OUT", "--first-position", 0], "it needs a click log, --clicks"),
        (["train", "--clicks", "LOG", "TRAIN", "-o", "OUT", *FIRST, "--naive", "--clip", 0], "above 0 and at most 1"),
        (["train", "--clicks", "LOG", "TRAIN", "-o", "OUT", *FIRST, "--naive", "-m", "map"], "it needs --valid"),
        (["train", "--clicks", "LOG", "TRAIN", "-o", "OUT", *FIRST, "--naive", "--dask", "local:1"], "not available"),
        (
            ["train", "--clicks", "LOG", "TRAIN", "-o", "OUT", *FIRST, "--naive", "--normalize", "query-zscore"],
            "use minmax or zscore",
        ),
        (["evaluate", "column:f1", "--clicks", "LOG", *FIRST, "--naive"], "give the features of the documents"),
        (["evaluate", "column:f1", "TRAIN", "--clicks", "LOG", *FIRST, "--naive", "-m", "ndcg@5"], "use 'dcg@5'"),
        (["evaluate", "column:f1", "TRAIN", "--over", "lists"], "it needs a click log"),
        (
            ["evaluate", "column:f1", "TRAIN", "--clicks", "LOG", *FIRST, "--naive", "--per-query"],
            "takes no --per-query",
        ),
    ],
)
def test_wrong_usage(shop, tmp_path, args, message):
    places = {"LOG": shop / "log.csv", "TRAIN": shop / "train.txt", "OUT": tmp_path / "m.json"}
    assert message in run(*(places.get(one, one) for one in args), code=2).stderr
    assert not list(tmp_path.iterdir())


def test_positions_that_may_be_counted_from_another_number(shop, tmp_path):
    done = run("train", "--clicks", shop / "log.csv", "--first-position", 0, "--naive", shop / "train.txt", "-o", "-")
    assert "has no document at position 0: is --first-position right?" in done.stderr
    done = run("clicks", "bias", shop / "log.csv", "--first-position", 0, code=1)
    assert "no document at the top position" in done.stderr


def test_nothing_read_is_written(shop):
    for target in ("log.csv", "bias.csv", "train.txt"):
        args = ("train", *corrected(shop), shop / "train.txt", "-o", shop / target, "--force")
        assert "is both read and written" in run(*args, code=1).stderr
    for args in (("clicks", "bias", shop / "log.csv", *FIRST), ("evaluate", "column:f1", *corrected(shop))):
        assert "is both read and written" in run(*args, "-o", shop / "log.csv", "--force", code=1).stderr
