"""Signs of weights and few features on the command line: train, tune, inspect, plot features."""

import json

import numpy as np
import pytest
from commands import run

from rankwise import RankSVM, load_model, load_sample
from rankwise.model_selection import c_path

TRAIN = load_sample("train")
NAMES = list(TRAIN.names)
SIGNS = {"price": 1, "rating": 1, "clicks": -1}
OPTIONS = ("--C", 0.002, "--l1-ratio", 0.5)
NAMED = (*OPTIONS, "--increasing", "price,rating", "--decreasing", "clicks")


@pytest.fixture
def names(tmp_path):
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    return tmp_path / "names.txt"


def test_train_inspect_and_repeat(files, tmp_path, names):
    model = tmp_path / "model.json"
    told = json.loads(run("train", files / "train.txt", "-o", model, "--names", names, *NAMED, "--json").stdout)
    expected = RankSVM(C=0.002, l1_ratio=0.5, monotonic_cst=SIGNS).fit(TRAIN)
    np.testing.assert_allclose(load_model(model).coef_, expected.coef_, rtol=1e-12)
    assert told["features_kept"] == np.count_nonzero(expected.coef_) < len(NAMES)
    assert load_model(model).monotonic_cst == SIGNS
    shown = run("inspect", model).stdout.splitlines()
    assert shown[0].startswith("RankSVM(C=0.002, l1_ratio=0.5), 13 features")
    assert shown[1].startswith(f"{told['features_kept']} of 13 features kept")
    assert shown[2:4] == ["increasing: rating, price", "decreasing: clicks"]
    assert json.loads(run("inspect", model, "--json").stdout)["features_kept"] == told["features_kept"]
    assert "to the last bit" in run("train", "--like", model).stderr


def test_options_from_a_file_and_by_number(files, tmp_path):
    (tmp_path / "run.toml").write_text('increasing = ["8", "6"]\ndecreasing = "f5"\nl1-ratio = 0.5\nC = 0.002\n')
    run("train", files / "train.txt", "-o", tmp_path / "a.json", "--config", tmp_path / "run.toml")
    expected = RankSVM(C=0.002, l1_ratio=0.5, monotonic_cst=SIGNS).fit(TRAIN)
    np.testing.assert_allclose(load_model(tmp_path / "a.json").coef_, expected.coef_, rtol=1e-12)


def test_tune_over_both(files, tmp_path, names):
    common = (files / "train.txt", "--folds", 2, "--names", names, "--decreasing", "clicks")
    grid = ("--C", 0.001, "--C", 0.1, "--l1-ratio", 0, "--l1-ratio", 1)
    told = json.loads(run("tune", *common, *grid, "-o", tmp_path / "m.json", "--json").stdout)
    rows = told["results"]
    assert [(row["l1_ratio"], row["C"]) for row in rows] == [(0, 0.001), (0, 0.1), (1, 0.001), (1, 0.1)]
    assert rows[2]["features_kept"] < rows[0]["features_kept"] == 12
    best = max(rows, key=lambda row: row["mean"])
    assert told["chosen"] == {"l1_ratio": best["l1_ratio"], "C": best["C"]}
    alone = RankSVM(**told["chosen"], monotonic_cst={"clicks": -1}).fit(TRAIN)
    np.testing.assert_allclose(load_model(tmp_path / "m.json").coef_, alone.coef_, rtol=1e-9)
    assert "features" in run("tune", *common, *grid, "-o", tmp_path / "m.json", "--force").stdout.splitlines()[0]


def test_plot_features(files, tmp_path, names):
    pytest.importorskip("matplotlib")
    common = (files / "train.txt", "-o", tmp_path / "f.png", "--data-out", tmp_path / "f.csv", "--names", names)
    run("plot", "features", *common, "--C", 0.001, "--C", 0.0003, "--folds", 2, "-m", "map", "--increasing", "price")
    header, *rows = (line.split(",") for line in (tmp_path / "f.csv").read_text().splitlines())
    assert header == ["C", "features", "mean", "standard_error", *(f"weight {name}" for name in NAMES)]
    ranker = RankSVM(l1_ratio=1.0, tol=1e-5, monotonic_cst={"price": 1}, random_state=0)
    path = c_path(TRAIN, Cs=[0.0003, 0.001], ranker=ranker, cv=2, measure="map")
    np.testing.assert_allclose(np.array(rows, float)[:, 4:], path.coef, rtol=1e-12)
    np.testing.assert_allclose(np.array(rows, float)[:, 2], path.cv_values.mean(axis=0))


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("--increasing", "8", "--decreasing", "8"), 2, "'8' is given to --increasing too"),
        (("--increasing", "price"), 1, "--increasing or --decreasing: no column 'price' in the data: its features are"),
        (("--increasing", "8", "--decreasing", "f8"), 1, "the sign of one feature twice: as '8' and as 'f8'"),
        (("--increasing", ""), 2, "a name is empty"),
        (("--increasing", "8", "--model", "rankrls"), 2, "--model rankrls has no such option"),
        (("--l1-ratio", "2"), 2, "must be a number from 0 to 1, got 2.0"),
        (("--l1-ratio", "nan"), 2, "must be a number from 0 to 1, got nan"),
        (("--l1-ratio", "1", "--kernel", "rbf"), 2, "with --kernel has no such option"),
        (("--l1-ratio", "1", "--solver", "dual"), 2, "solver 'dual' takes neither"),
    ],
)
@pytest.mark.parametrize("command", ["train", "tune"])
def test_what_cannot_be_is_one_sentence(files, tmp_path, command, args, code, words):
    done = run(command, files / "train.txt", "-o", tmp_path / "m.json", *args, code=code)
    assert words in " ".join(done.stderr.split())
    assert not list(tmp_path.glob("m.json*"))
