"""rankwise join, and training on what it writes."""

import csv
import json
import subprocess

import pytest
from commands import RANKWISE, run

from rankwise import load_model, read_data

CASE = "query,docid,rating\nrambo,d1,4\nrambo,d2,0\nthe rock,d1,3\nthe rock,d3,1\nthe rock,d9,2\n"
VALUES = {
    "rambo": {"d1": (9.5, 1.0), "d2": (0.5, None), "d7": (1.0, 1.0)},
    "the rock": {"d1": (7.0, 3.0), "d3": (1.0, 4.0)},
}


def hit(docid, title, age):
    log = [{"name": "title", "value": title}, {"name": "age"} if age is None else {"name": "age", "value": age}]
    return {"_id": docid, "fields": {"_ltrlog": [{"log": log}]}, "matched_queries": ["logged"]}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = [{"hits": {"hits": [hit(d, *both) for d, both in docs.items()]}} for docs in VALUES.values()]
    (tmp_path / "case.csv").write_text(CASE)
    (tmp_path / "log.json").write_text(json.dumps({"responses": found}))
    (tmp_path / "queries.txt").write_text("rambo\r\nthe rock\n")
    return tmp_path


BOTH = ("join", "--judgments", "case.csv", "--features", "log.json", "--queries", "queries.txt")


def test_from_judgements_and_a_log_to_a_model(files):
    told = run(*BOTH, "-o", "train.parquet", "--missing", "age=-1").stdout
    assert told.splitlines() == [
        "judgements: case.csv (quepid), 5 documents of 2 queries",
        "  1 judged document not logged, left out: 'd9' of 'the rock'",
        "features: log.json (elasticsearch), 5 documents of 2 queries",
        "  1 logged document not judged, left out: 'd7' of 'rambo'",
        "  feature 'age' has no value in 1 row, where it is set to -1",
        "joined: 4 rows, 2 queries, 2 features",
    ]
    data = read_data("train.parquet")
    assert list(zip(data.qid, data.docid, data.y, data.X.tolist(), strict=True)) == [
        ("rambo", "d1", 4, [9.5, 1]),
        ("rambo", "d2", 0, [0.5, -1]),
        ("the rock", "d1", 3, [7, 3]),
        ("the rock", "d3", 1, [1, 4]),
    ]
    run("train", "train.parquet", "-o", "model.json")
    assert list(load_model("model.json").feature_names_in_) == ["title", "age"]


def test_what_did_not_match_is_written(files):
    run(*BOTH, "-o", "train.csv", "--missing", 0, "--unmatched", "rest.csv")
    rows = list(csv.reader((files / "rest.csv").open()))
    assert rows == [["side", "query", "docid"], ["judgements", "the rock", "d9"], ["features", "rambo", "d7"]]
    run(*BOTH, "-o", "all.csv", "--missing", 0, "--unjudged", 0, "--unmatched", "rest.csv", "--force")
    assert len(list(csv.reader((files / "rest.csv").open()))) == 2


def test_json_and_pipes(files):
    report = json.loads(run(*BOTH, "-o", "train.csv", "--missing", 0, "--json").stdout)
    assert (report["rows"], report["n_features"], report["features"]["format"]) == (4, 2, "elasticsearch")
    assert report["judgments"]["unmatched"] == {"count": 1, "first": [{"query": "the rock", "docid": "d9"}]}
    assert report["features"]["filled"] == [{"name": "age", "rows": 1, "value": 0.0}]
    piped = [*RANKWISE, "join", "--judgments", "-", *BOTH[3:], "-o", "-", "--to", "csv", "--missing", "0"]
    done = subprocess.run(piped, input=CASE, capture_output=True, text=True)
    assert done.stdout == (files / "train.csv").read_text()
    assert "judgements: standard input (quepid)" in done.stderr


def test_letor_text_has_no_names_and_no_spaces(files):
    told = run(*BOTH, "-o", "train.txt", "--missing", 0, code=1).stderr
    assert "qid 'the rock' cannot be written" in told
    (files / "case.csv").write_text(CASE.replace("the rock", "rock"))
    (files / "queries.txt").write_text("rambo\nrock\n")
    assert "note: letor text numbers its features" in run(*BOTH, "-o", "train.txt", "--missing", 0).stderr
    assert read_data("train.txt", comments=True).docid.tolist() == ["d1", "d2", "d1", "d3"]


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        ((*BOTH, "-o", "t.csv"), 1, "1 feature without a value in some of 4 rows ('age' in 1)"),
        ((*BOTH[:-2], "-o", "t.csv"), 1, "features have 'logged'; if the log does not hold the queries"),
        ((*BOTH, "-o", "t.csv", "--missing", "age=x"), 2, "--missing: 'age=x' is neither a number nor NAME=NUMBER"),
        ((*BOTH, "-o", "t.xyz"), 2, ".xyz is the suffix of no known format"),
        ((*BOTH, "-o", "t.chunks"), 2, "chunks are written by `rankwise convert`"),
        ((*BOTH, "-o", "case.csv"), 1, "case.csv is both read and written"),
        ((*BOTH, "-o", "t.csv", "--unmatched", "t.csv"), 1, "t.csv would be written twice"),
        ((*BOTH, "-o", "t.csv", "--on-conflict", "worst"), 2, "--on-conflict: on_conflict must be one of"),
        ((*BOTH, "-o", "t.csv", "--judgments-format", "quepit"), 2, "Did you mean 'quepid'?"),
        ((*BOTH, "-o", "t.csv", "--log-name", "x"), 1, "has no log 'x'; it has 'log'"),
        ((*BOTH, "-o", "t.csv", "--solr-field", "x"), 1, "to which solr_field does not apply (it does to 'solr')"),
        ((*BOTH, "-o", "t.csv", "--solr-field", "x"), 1, "say features_format=NAME, or --features-format NAME"),
        (("join", "--judgments", "-", "--features", "-", "-o", "t.csv"), 2, "standard input can be only one"),
        (("join", "--judgments", "no.csv", "--features", "log.json", "-o", "t.csv"), 1, "no.csv: No such file"),
    ],
)
def test_what_cannot_be_joined(files, args, code, words):
    before = sorted(files.iterdir())
    assert words in " ".join(run(*args, code=code).stderr.split())
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ratings.csv", "query,docid,rating\nrambo,1,4\n"),
        ("log.jsonl", '{"query": "rambo", "response": {"hits": {}}}\n'),
        ("solr.jsonl", '{"responseHeader": {}, "response": {}}\n'),
    ],
)
def test_training_on_one_side_alone_says_how_to_join(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    done = run("train", tmp_path / name, "-o", tmp_path / "model.json", code=1)
    assert "if these are judgements or logged features, join both by `rankwise join`; else name the" in done.stderr


def test_the_help_offers_what_can_be_written(files):
    assert "chunks" not in run("join", "--help").stdout
    assert "Invalid value for --output: chunks are written by" in run(*BOTH, "-o", "train.chunks", code=2).stderr
    assert "Invalid value for --output: train.xlsx: .xlsx is the" in run(*BOTH, "-o", "train.xlsx", code=2).stderr
