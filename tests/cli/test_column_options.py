"""Columns by name on every command, and ids that come out beside the scores."""

import csv
import json
import re
from functools import partial
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
import typer
from commands import run
from typer.testing import CliRunner

from rankwise import RankSVM, from_frame, load_model, read_data
from rankwise.cli.options import Naming, naming_columns

NAMES = ["--label", "grade", "--qid", "query", "--doc", "sku"]
FEATURES = ["--features", "bm25_*,clicks"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A table as a shop logs it: ids and queries of several words, a title, a column that is no feature."""
    folder = tmp_path_factory.mktemp("shop")
    random = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "query": [f"red tea {i // 10}" for i in range(n)],
            "sku": [f"A {i}" for i in range(n)],
            "title": [f'5" pot, no. {i}' for i in range(n)],
            "grade": random.integers(0, 4, n),
            "trust": random.random(n).round(2),
            "bm25_title": random.random(n).round(3),
            "clicks": random.integers(0, 50, n),
            "bm25_body": random.random(n).round(3),
        }
    )
    frame.to_csv(folder / "shop.csv", index=False)
    frame.to_csv(folder / "shop.tsv", index=False, sep="\t")
    frame.to_csv(folder / "semicolons.csv", index=False, sep=";", lineterminator="\r\n", encoding="utf-8-sig")
    frame.to_json(folder / "shop.jsonl", orient="records", lines=True)
    frame.to_parquet(folder / "shop.parquet")
    frame.drop(columns="grade").iloc[:, ::-1].to_csv(folder / "new.csv", index=False)
    with open(folder / "nested.jsonl", "w") as file:
        for row in frame.to_dict("records"):
            features = {name: row.pop(name) for name in ("bm25_title", "clicks", "bm25_body")}
            file.write(json.dumps(row | {"features": features}) + "\n")
    run("train", folder / "shop.csv", "-o", folder / "model.json", *NAMES, *FEATURES, "--C", 0.1)
    return folder


def table(text):
    return list(csv.DictReader(text.splitlines()))


def test_the_same_model_from_every_table(shop, tmp_path):
    expected = (shop / "model.json").read_text()
    assert load_model(shop / "model.json").feature_names_in_.tolist() == ["bm25_title", "bm25_body", "clicks"]
    for file in ("shop.tsv", "semicolons.csv", "shop.jsonl", "nested.jsonl", "shop.parquet"):
        run("train", shop / file, "-o", tmp_path / "m.json", *NAMES, *FEATURES, "--C", 0.1)
        assert json.loads((tmp_path / "m.json").read_text())["coef"] == json.loads(expected)["coef"], file
    run("train", shop / "shop.csv", "-o", tmp_path / "m.json", *NAMES, "--ignore", "title", "--ignore", "trust")
    assert load_model(tmp_path / "m.json").feature_names_in_.tolist() == ["bm25_title", "clicks", "bm25_body"]


@pytest.mark.parametrize("scaling", [[], ["--normalize", "query-zscore"], ["--normalize", "minmax"]])
def test_a_model_finds_its_columns_among_others_of_any_type_and_order(shop, tmp_path, scaling):
    run("train", shop / "shop.csv", "-o", tmp_path / "m.json", *NAMES, *FEATURES, *scaling)
    expected = run("predict", tmp_path / "m.json", shop / "shop.csv", "--qid", "query").stdout
    for file in ("new.csv", "shop.jsonl", "shop.parquet"):  # new.csv has no labels, and the columns turned round
        done = run("predict", tmp_path / "m.json", shop / file, "--qid", "query", "--doc", "sku")
        assert done.stdout == expected
        assert "which are ignored: " in done.stderr
        assert done.stderr.count("\n") == 1
    text = (shop / "new.csv").read_text()
    assert run("predict", tmp_path / "m.json", "-", "--qid", "query", stdin=text).stdout == expected


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_ids_come_out_beside_the_scores(shop, tmp_path, suffix):
    scores = run("predict", shop / "model.json", shop / "shop.csv", "--qid", "query").stdout.split()
    run("predict", shop / "model.json", shop / "new.csv", "-o", tmp_path / f"s.{suffix}", *NAMES)
    read = {
        "csv": partial(pd.read_csv, float_precision="round_trip"),
        "tsv": partial(pd.read_csv, float_precision="round_trip", sep="\t"),
        "jsonl": lambda path: pd.DataFrame(map(json.loads, path.read_text().splitlines())),
        "parquet": pd.read_parquet,
    }[suffix](tmp_path / f"s.{suffix}")
    assert read["qid"].tolist() == [f"red tea {i // 10}" for i in range(120)]
    assert read["docid"].tolist() == [f"A {i}" for i in range(120)]
    assert read["score"].tolist() == list(map(float, scores))
    by_table = run("evaluate", tmp_path / f"s.{suffix}", shop / "shop.csv", *NAMES, *FEATURES, "--json").stdout
    assert by_table == run("evaluate", shop / "model.json", shop / "shop.csv", *NAMES, "--json").stdout


def test_ids_from_text_and_from_row_numbers(files, tmp_path):
    rows = table(run("predict", files / "model.json", files / "test.txt", "--ids").stdout)
    scores = run("predict", files / "model.json", files / "test.txt").stdout.split()
    data = read_data(files / "test.txt", comments=True)
    assert [row["docid"] for row in rows] == [one.split()[-1] for one in data.comments]
    assert [row["score"] for row in rows] == scores
    assert [row["qid"] for row in rows] == [str(one) for one in data.qid]
    (tmp_path / "plain.txt").write_text("1 qid:a 1:1\n0 qid:a 1:2\n")
    run("train", tmp_path / "plain.txt", "-o", tmp_path / "m.json")
    rows = table(run("predict", tmp_path / "m.json", tmp_path / "plain.txt", "--ids").stdout)
    assert [row["docid"] for row in rows] == ["1", "2"]
    (tmp_path / "s.csv").write_text("qid,docid,score\na,2,1\n")
    told = run("evaluate", tmp_path / "s.csv", tmp_path / "plain.txt", code=1).stderr
    assert "s.csv has no document 1 of query a, which the data have" in told
    (tmp_path / "s.csv").write_text("qid,docid,score\na,2,1\na,2,3\n")
    told = run("evaluate", tmp_path / "s.csv", tmp_path / "plain.txt", code=1).stderr
    assert "rows 1 and 2 are both document 2 of query a" in told
    (tmp_path / "scores.csv").write_text("2\n1\n")  # plain scores, whatever the file is called
    run("evaluate", tmp_path / "scores.csv", tmp_path / "plain.txt")


def test_runs_take_the_ids_and_refuse_blanks_in_words(shop, tmp_path):
    command = ["predict", shop / "model.json", shop / "new.csv", *NAMES, "--trec"]
    assert "'A 0' cannot stand in a TREC file" in run(*command, code=1).stderr
    frame = pd.read_csv(shop / "shop.csv")
    frame["sku"] = frame["sku"].str.replace(" ", "-")
    frame.to_csv(tmp_path / "s.csv", index=False)
    command[2] = tmp_path / "s.csv"
    assert "'red tea 0' cannot stand in a TREC file" in run(*command, code=1).stderr
    frame["query"] = frame["query"].str.replace(" ", "-")
    frame.to_csv(tmp_path / "s.csv", index=False)
    lines = run("predict", shop / "model.json", tmp_path / "s.csv", *NAMES, "--trec").stdout.splitlines()
    assert {line.split()[2] for line in lines} == {f"A-{i}" for i in range(120)}
    (tmp_path / "run").write_text("\n".join(lines))
    by_run = run("evaluate", tmp_path / "run", tmp_path / "s.csv", *NAMES, *FEATURES, "--json").stdout
    assert json.loads(by_run) == json.loads(
        run("evaluate", shop / "model.json", tmp_path / "s.csv", *NAMES, "--json").stdout
    )


def test_query_ids_with_spaces_survive_or_are_refused(shop, tmp_path):
    for suffix in ("csv", "tsv", "jsonl", "parquet", "npz", "chunks"):
        run("convert", shop / "shop.csv", tmp_path / f"t.{suffix}", *NAMES, *FEATURES)
        data = read_data(tmp_path / f"t.{suffix}")
        assert (data.qid[0], data.docid[0]) == ("red tea 0", "A 0")
    told = run("convert", tmp_path / "t.csv", tmp_path / "t.txt", code=1).stderr
    assert "qid 'red tea 0' cannot be written" in told
    assert "CSV, JSON lines, Parquet and NPZ take such ids" in told


def test_weights_are_used(shop, tmp_path):
    options = [*NAMES, *FEATURES, "--weight", "trust"]
    frame = pd.read_csv(shop / "shop.csv")
    data = from_frame(frame, label="grade", qid="query", docid="sku", weight="trust", features=["bm25_*", "clicks"])
    expected = RankSVM(C=0.1).fit(data).coef_
    assert not np.allclose(expected, load_model(shop / "model.json").coef_)
    np.testing.assert_array_equal(expected, RankSVM(C=0.1).fit(data.X, data.y, data.qid, data.weight).coef_)
    run("train", shop / "shop.csv", "-o", tmp_path / "m.json", *options, "--C", 0.1)
    np.testing.assert_allclose(load_model(tmp_path / "m.json").coef_, expected, rtol=1e-6)
    run("convert", shop / "shop.csv", tmp_path / "t.chunks", *options)
    run("train", tmp_path / "t.chunks", "-o", tmp_path / "chunks.json", "--C", 0.1)
    np.testing.assert_allclose(load_model(tmp_path / "chunks.json").coef_, expected, rtol=1e-6)
    run("tune", shop / "shop.csv", "-o", tmp_path / "tuned.json", *options, "-C", 0.1, "--folds", 2)
    np.testing.assert_allclose(load_model(tmp_path / "tuned.json").coef_, expected, rtol=1e-6)


def test_every_command_that_reads_data_names_its_columns(shop, tmp_path):
    model, data = shop / "model.json", shop / "shop.csv"
    expected = run("evaluate", model, data, *NAMES, "-m", "ndcg@5").stdout
    assert "120 documents in 12 queries" in expected
    run("predict", model, data, "-o", tmp_path / "scores.txt", *NAMES)
    told = run("compare", model, tmp_path / "scores.txt", "--data", data, *NAMES, *FEATURES, "--json").stdout
    assert json.loads(told)
    options = ["--data", data, *NAMES, "-o"]
    run("plot", "margins", model, *options, tmp_path / "a.png")
    run("plot", "cutoffs", model, *options, tmp_path / "b.png")
    run("plot", "convergence", data, *NAMES, *FEATURES, "--seconds", 1, "-o", tmp_path / "c.png")
    run("train", data, "-o", tmp_path / "m.json", *NAMES, *FEATURES, "--valid", shop / "shop.jsonl")


@pytest.mark.parametrize(
    ("file", "options", "words"),
    [
        (
            "shop.csv",
            NAMES,
            "column 'title': found .*, expected a finite number: leave it out by --ignore title ",
        ),
        ("shop.jsonl", NAMES, "column 'title' holds texts, expected numbers: leave it out by --ignore title"),
        (
            "shop.parquet",
            NAMES,
            "holds (large_)?string, expected numbers: leave it out by --ignore title",
        ),
        ("shop.jsonl", ["--label", "title", "--qid", "query"], "column 'title' holds texts, expected numbers\n"),
        ("shop.csv", [], "has no column 'label' for labels"),
        ("shop.csv", ["--label", "grades"], "has no column 'grades' .* did you mean 'grade'"),
        ("shop.csv", [*NAMES, "--weight", "w"], "has no column 'w' for weights .*: name the column by --weight NAME"),
        ("shop.csv", [*NAMES, "--features", "dense_*"], r"has no column 'dense_\*' for a feature"),
        ("shop.csv", [*NAMES, "--ignore", "tilte"], "has no column 'tilte' for what to leave out .*'title'"),
        ("shop.csv", [*NAMES, "--features", "grade,clicks"], "'grade' is among the features: it cannot be label too"),
        ("shop.csv", ["--label", "grade", "--qid", "grade"], "'grade' is named as label and as qid: give two columns"),
        ("train.txt", ["--weight", "w"], "weight cannot be given for the format 'letor': only tables"),
    ],
)
def test_what_is_wrong_is_told_with_its_cure(shop, files, tmp_path, file, options, words):
    path = shop / file if (shop / file).exists() else files / file
    told = run("train", path, "-o", tmp_path / "m.json", *options, code=1).stderr
    assert told.count("\n") == 1
    assert re.search(words, told), told


TEXTS = "--ignore query,sku,title (ignore=['query', 'sku', 'title'] in Python)"


@pytest.mark.parametrize("file", ["shop.csv", "shop.jsonl", "shop.parquet"])
def test_one_message_names_all_columns_of_text(shop, tmp_path, file):
    told = run("train", shop / file, "-o", tmp_path / "m.json", "--label", "grade", "--qid", "", code=1).stderr
    assert f"leave out all 3 such columns by {TEXTS}, or name one that holds document ids by --doc NAME" in told


@pytest.mark.parametrize("file", ["shop.csv", "shop.jsonl", "shop.parquet"])
def test_document_ids_that_are_known_are_not_asked_for_again(shop, tmp_path, file):
    told = run("train", shop / file, "-o", tmp_path / "m.json", *NAMES, code=1).stderr
    assert told.endswith("leave it out by --ignore title (ignore=['title'] in Python)\n")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("N/A", "write an empty cell, NA, nan, null or none for a missing number"),
        ("-", "write an empty cell, NA, nan, null or none for a missing number"),
        ("true", "write 1 and 0 for true and false"),
        ("No", "write 1 and 0 for yes and no"),
    ],
)
def test_a_cell_that_stands_for_a_number_is_told_how_to_write_it(tmp_path, cell, words):
    (tmp_path / "d.csv").write_text(f"label,qid,stars,title\n1,1,3,0\n0,1,{cell},tea\n")
    told = run("train", tmp_path / "d.csv", "-o", tmp_path / "m.json", code=1).stderr
    cure = f"{words}, or leave out the column by --ignore stars (ignore=['stars'] in Python)\n"
    assert told.endswith(f"line 3, column 'stars': found '{cell}', expected a finite number: {cure}")


def test_only_texts_are_named_to_be_left_out(tmp_path):
    (tmp_path / "d.csv").write_text("label,qid,title,stars,in_stock\n1,1,tea,n/a,true\n")
    told = run("train", tmp_path / "d.csv", "-o", tmp_path / "m.json", code=1).stderr
    assert "leave it out by --ignore title (" in told


def test_many_columns_of_text_are_counted(tmp_path):
    names = [f"t{i}" for i in range(30)]
    (tmp_path / "wide.csv").write_text(f"label,qid,x,{','.join(names)}\n1,1,1,{','.join(names)}\n")
    told = run("train", tmp_path / "wide.csv", "-o", tmp_path / "m.json", code=1).stderr
    assert "found 't0', expected a finite number: 30 columns are like it: choose the others by --features" in told


def test_a_quoted_cell_is_shown_as_it_reads(shop, tmp_path):
    told = run("train", shop / "shop.csv", "-o", tmp_path / "m.json", *NAMES, code=1).stderr
    assert """line 2, column 'title': found '5" pot, no. 0', expected a finite number""" in told


@pytest.mark.parametrize(("separator", "suffix"), [(";", "csv"), ("\t", "csv"), (",", "tsv"), (",", "csv")])
def test_a_table_without_a_known_column_is_cut_by_the_separator_with_the_most_cells(tmp_path, separator, suffix):
    path = tmp_path / f"shop.{suffix}"
    path.write_text(separator.join(["search query", "sku", "price net", "grade"]) + "\n")
    told = run("check", path, code=2).stderr
    assert "has no column 'label' for labels (its columns: 'search query', 'sku', 'price net', 'grade')" in told


def test_a_header_that_no_separator_cuts_keeps_its_own_error(tmp_path):
    (tmp_path / "shop.csv").write_text('query,"sku"x,grade\n')
    assert "line 1: the header cannot be read" in run("check", tmp_path / "shop.csv", code=2).stderr


def test_missing_cells_and_decimal_commas_are_no_texts(tmp_path):
    path = tmp_path / "german.csv"
    path.write_text("label;qid;name;stars;price\n1;1;tea;NA;2,50\n0;1;mug;4.5;3,00\n")
    read = partial(run, "convert", path, tmp_path / "o.csv", "--missing", 0, code=1)
    assert "leave it out by --ignore name (" in read().stderr
    told = read("--ignore", "name").stderr
    assert "'price': found '2,50', expected a number with a decimal point: a decimal comma is not read" in told


@pytest.mark.parametrize("file", ["shop.csv", "shop.jsonl", "shop.parquet"])
def test_rankers_are_judged_whatever_texts_the_data_have(shop, tmp_path, file):
    data, model, scores = shop / file, shop / "model.json", tmp_path / "scores.txt"
    plain = [model, "--data", shop / "shop.csv", *NAMES, "--ignore", "title", "--baseline-column=-trust", "--json"]
    expected = run("compare", *plain).stdout
    assert run("compare", model, "--data", data, *NAMES, "--baseline-column=-trust", "--json").stdout == expected
    run("predict", model, data, "-o", scores, *NAMES)
    run("evaluate", scores, data, *NAMES)
    told = run("compare", model, "--data", data, *NAMES, "--baseline-column=-title", code=1).stderr
    assert re.search("column 'title'.* expected .*: documents are ranked by numbers, such as days", told), told
    told = run("evaluate", scores, data, *NAMES, "--features", "title", code=1).stderr
    assert "leave it out by --ignore title" in told


def test_a_report_on_a_table_with_texts(shop, tmp_path):
    data = ["--data", shop / "shop.csv", "--train", shop / "shop.csv", "--resamples", 0]
    run("report", shop / "model.json", *data, *NAMES, "--baseline-column", "clicks", "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").exists()


def test_a_flag_of_its_own_stays_the_command_s(shop):
    """As --doc in a command that takes documents: the others name columns all the same."""
    got = []

    def rank(columns: Naming, doc: Annotated[list[str] | None, typer.Option()] = None) -> None:
        got.append((doc, columns))

    app = typer.Typer()
    app.command()(naming_columns(rank))
    assert CliRunner().invoke(app, ["--doc", "a", "--doc", "b", "--qid", "q", "--features", 'x,"y,z"']).exit_code == 0
    assert got == [(["a", "b"], Naming(qid="q", features=("x", "y,z")))]
    for bad in ('"a', "a,,b", ""):
        assert CliRunner().invoke(app, ["--features", bad]).exit_code == 2


def test_one_query_without_a_column_of_ids(tmp_path):
    (tmp_path / "t.csv").write_text("label,a\n1,2\n0,1\n")
    run("train", tmp_path / "t.csv", "-o", tmp_path / "m.json", "--qid", "")
    assert "has no column 'qid'" in run("train", tmp_path / "t.csv", "-o", tmp_path / "n.json", code=1).stderr


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("label,qid,a\n1,1,2\n0,1,1\n", []),
        ("label\tqid\ta\n1\t1\t2\n0\t1\t1\n", []),
        ("\ufefflabel;qid;a\r\n1;1;2\r\n0;1;1\r\n", []),
        ('{"label": 1, "qid": 1, "a": 2}\n{"label": 0, "qid": 1, "features": {"a": 1}}\n', []),
        ("1 qid:1 1:2\n0 qid:1 1:1\n", []),
        ("7th,label,qid\n2,1,1\n1,0,1\n", ["--from", "csv"]),
    ],
)
def test_a_pipe_shows_its_format(tmp_path, text, options):
    run("train", "-", "-o", tmp_path / "m.json", *options, stdin=text)
    assert load_model(tmp_path / "m.json").coef_[0] > 0
    run("convert", "-", tmp_path / "t.chunks", *options, stdin=text)
    assert read_data(tmp_path / "t.chunks").y.tolist() == [1, 0]


def test_a_model_scores_without_weights(shop, tmp_path):
    run("train", shop / "shop.csv", "-o", tmp_path / "m.json", *NAMES, *FEATURES, "--weight", "trust")
    frame = pd.read_csv(shop / "shop.csv").drop(columns="trust")
    frame.to_csv(tmp_path / "valid.csv", index=False)
    options = [*NAMES, *FEATURES, "--weight", "trust", "--valid", tmp_path / "valid.csv"]
    run("train", shop / "shop.csv", "-o", tmp_path / "m.json", *options)


def test_columns_are_counted_where_a_model_has_taken_its_features(tmp_path):
    (tmp_path / "t.csv").write_text("grade,qid,a,b\n1,1,2,3\n0,1,1,1\n")
    run("train", tmp_path / "t.csv", "--label", "grade", "-o", tmp_path / "m.json")
    said = run("evaluate", tmp_path / "m.json", tmp_path / "t.csv", code=1).stderr
    assert "has no column 'label' for labels (its columns beside 2 features: 'grade', 'qid'): name the column" in said


def test_commands_say_which_value_a_model_was_trained_with_for_missing_features(tmp_path):
    table, model, target = (str(tmp_path / name) for name in ("gaps.csv", "model.json", "model.sql"))
    rows = [f"{i % 3},{i // 6},{i % 5 or ''},{i % 7}" for i in range(24)]
    (tmp_path / "gaps.csv").write_text("\n".join(["label,qid,stars,clicks", *rows]) + "\n")
    run("train", table, "-o", model, "--missing", "4")
    commands = (["predict", model, table], ["evaluate", model, table])
    for command in (
        *commands,
        ["explain", model, table, "--query", "0"],
        ["compare", model, "--data", table, "--baseline-column", "clicks"],
    ):
        assert "was trained with --missing 4: now it is 0" in run(*command, "--missing", "0").stderr
        assert "was trained with" not in run(*command, "--missing", "4").stderr
    exported = run("export", model, "--to", "sql", "-o", target).stderr
    assert "was trained with --missing 4: give sql 4 for missing values\n" in exported
    engine = run("export", model, "--to", "opensearch", "-o", str(tmp_path / "m.opensearch")).stderr
    assert "give opensearch 4 for missing values; by itself it puts 0\n" in engine
