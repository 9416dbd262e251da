"""The commands one after the other: columns are named alike on all of them, and document ids and names travel."""

import csv
import json

import numpy as np
import pytest
from commands import run

NAMING = ("--label", "grade", "--qid", "question", "--ignore", "note*")
IDS = ("--doc", "document")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """table.csv, whose columns have names of their own, and model.json, trained on it."""
    folder = tmp_path_factory.mktemp("road")
    rng = np.random.default_rng(0)
    with open(folder / "table.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["document", "question", "title", "note 1", "age", "grade"])
        for i in range(40):
            title, age = rng.normal(size=2).tolist()
            writer.writerow([f"d{i}", f"query {i // 8}", title, "seen", 1000 + age, int(title > 0.2) + int(age > 0.5)])
    run("train", folder / "table.csv", *NAMING, *IDS, "-o", folder / "model.json", "--normalize", "zscore")
    return folder


def test_every_command_names_columns_alike(files, tmp_path):
    model, table = files / "model.json", files / "table.csv"
    run("tune", table, *NAMING, *IDS, "-o", tmp_path / "tuned.json", "--folds", 2, "--C", 0.1)
    told = json.loads(run("evaluate", model, table, *NAMING, *IDS, "-m", "map", "--json").stdout)["measures"]
    compared = run("compare", model, "--baseline-column", "title", "-d", table, *NAMING, *IDS, "-m", "map", "--json")
    assert [one["mean"] for one in json.loads(compared.stdout)["contrasts"] if one["ranker"] == "model"] == [
        told["map"]["mean"]
    ]
    run("plot", "margins", model, "-d", table, *NAMING, *IDS, "-o", tmp_path / "margins.svg")
    run("convert", table, tmp_path / "data.jsonl", *NAMING, *IDS)
    assert json.loads((tmp_path / "data.jsonl").read_text().split("\n")[0])["docid"] == "d0"
    exported = run("export", model, "--to", "sql", "-o", tmp_path / "model.sql", "--check", table, *NAMING, *IDS)
    assert "none of 140 pairs" in exported.stderr
    assert run("check", table, *NAMING, *IDS).stdout.startswith("40 documents, 5 queries, 2 features, 77 pairs\n")


def test_documents_are_called_by_their_ids(files, tmp_path):
    model, table = files / "model.json", files / "table.csv"
    run("predict", model, table, *NAMING, *IDS, "-o", tmp_path / "scores.csv")
    scores = {row["docid"]: float(row["score"]) for row in csv.DictReader((tmp_path / "scores.csv").open())}
    assert len(scores) == 40
    naming = (*NAMING, "--doc-column", "document")
    explained = json.loads(run("explain", model, table, *naming, "--query", "query 1", "--json").stdout)
    assert {one["document"]: one["score"] for one in explained["documents"]} == {
        name: score for name, score in scores.items() if name in [f"d{i}" for i in range(8, 16)]
    }
    pair = json.loads(run("explain", model, table, *naming, "--doc", "d9", "--doc", "d12", "--json").stdout)
    assert pair["difference"] == scores["d9"] - scores["d12"]
    assert {one["feature"] for one in pair["features"]} == {"title", "age"}


def test_exports_have_the_units_of_the_model_file(files, tmp_path):
    run("export", files / "model.json", "--to", "elasticsearch", "--scaling", "engine", "-o", tmp_path / "body.json")
    normalizers = json.loads((tmp_path / "body.json").read_text())["model"]["model"]["feature_normalizers"]
    stored = json.loads((files / "model.json").read_text())["scaler"]
    for place, name in enumerate(("title", "age")):
        units = {unit: stored[unit][place] for unit in ("mean", "standard_deviation")}
        assert normalizers[name] == {"standard": units}


def test_a_run_is_repeated_with_its_columns(files, tmp_path):
    model = files / "model.json"
    assert "to the last bit" in run("train", "--like", model).stderr
    (tmp_path / "run.toml").write_text(
        f'data = "{files / "table.csv"}"\noutput = "model.json"\nlabel = "grade"\nqid = "question"\n'
        'doc-column = "document"\nignore = ["note*"]\nnormalize = "zscore"\n'
    )
    run("train", "--config", tmp_path / "run.toml")
    trained = [json.loads(path.read_text()) for path in (model, tmp_path / "model.json")]
    assert trained[0]["coef"] == trained[1]["coef"]
