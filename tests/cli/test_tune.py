"""`rankwise tune`: what it chooses, writes and shows, and how it goes on after an interruption."""

import json
from dataclasses import replace

import numpy as np
import pytest
from commands import run

from rankwise import RankRLS, RankSVM, RankSVMCV, ScaledRanker, evaluate, load_model, load_sample, write_data
from rankwise.cli.journal import Journal
from rankwise.model_selection import QueryKFold
from rankwise.model_selection.folds import PathFold
from rankwise.model_selection.search import Judged
from rankwise.report import RegularizationDisplay

TRAIN, TEST = load_sample("train"), load_sample("test")
GRID = ["--C", 0.001, "--C", 0.01, "--C", 1, "--loss", "squared_hinge", "--loss", "huber:0.5"]


def told(*args):
    """The report without its times."""
    report = json.loads(run("tune", *args, "--json").stdout)
    for row in report["results"]:
        assert row.pop("seconds") >= 0
    return {key: value for key, value in report.items() if key != "model"}


def test_by_a_validation_file(files, tmp_path, monkeypatch):
    """A choice is made by solutions to SELECTION_TOL; exact ones show that it is by the right rows and measure."""
    monkeypatch.setattr("rankwise.estimators.ranksvm_path.SELECTION_TOL", 1e-9)
    Cs = [0.001, 0.1, 10.0]
    options = [one for C in Cs for one in ("--C", C)] + ["--tol", 1e-9]
    report = told(files / "train.txt", "--valid", files / "test.txt", "-o", tmp_path / "m.json", *options, "-m", "map")
    rankers = [RankSVM(C=C, tol=1e-9).fit(TRAIN.X, TRAIN.y, TRAIN.qid) for C in Cs]
    found = [evaluate(TEST.y, ranker.predict(TEST.X), TEST.qid, ["map"]) for ranker in rankers]
    expected = [one["map"] for one in found]
    np.testing.assert_allclose([row["mean"] for row in report["results"]], expected, rtol=1e-12)
    best = int(np.argmax(expected))
    assert report["chosen"]["C"] == Cs[best]
    values = found[best].per_query["map"]
    assert report["standard_error"] == pytest.approx(values.std(ddof=1) / values.size**0.5)
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").coef_, rankers[best].coef_)
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_by_folds_with_a_scaler_fitted_within_each(files, tmp_path):
    args = [files / "train.txt", "--folds", 3, "-o", tmp_path / "m.json", "--C", 0.01, "--seed", 5]
    report = told(*args, "--normalize", "zscore")
    expected = []
    for train, valid in QueryKFold(3, shuffle=True, random_state=5).split(TRAIN.X, groups=TRAIN.qid):
        ranker = ScaledRanker(RankSVM(C=0.01), "zscore").fit(TRAIN.X[train], TRAIN.y[train], TRAIN.qid[train])
        expected.append(ranker.score(TRAIN.X[valid], TRAIN.y[valid], TRAIN.qid[valid]))
    np.testing.assert_allclose(report["results"][0]["folds"], expected, rtol=1e-9)
    assert report["standard_error"] == pytest.approx(np.std(expected, ddof=1) / 3**0.5)
    model = load_model(tmp_path / "m.json")
    assert (model.scaler, model.ranker.C) == ("zscore", 0.01)
    scores = np.array(run("predict", tmp_path / "m.json", files / "test.txt").stdout.split(), float)
    whole = ScaledRanker(RankSVM(C=0.01), "zscore").fit(TRAIN.X, TRAIN.y, TRAIN.qid)
    np.testing.assert_allclose(scores, whole.predict(TEST.X), rtol=1e-9)


@pytest.mark.parametrize(
    "model", ["rankrls", "ranksvm --kernel rbf --components 20", "factorized --components 2 --tol 1"]
)
def test_other_models_and_combinations(files, tmp_path, model):
    strength = "--alpha" if model == "rankrls" else "--C"
    args = [files / "train.txt", "--folds", 2, "-o", tmp_path / "m.json", "--model", *model.split()]
    report = told(*args, strength, 0.1, strength, 1, "--normalize", "minmax", "--normalize", "query-minmax")
    assert len(report["results"]) == 4
    assert report["mean"] == max(row["mean"] for row in report["results"])
    assert [
        row["mean"] for row in report["results"] if report["chosen"] == {key: row[key] for key in report["chosen"]}
    ] == [report["mean"]]
    load_model(tmp_path / "m.json")


def test_rankrls_prefers_the_larger_alpha_within_one_error(files, tmp_path):
    args = [files / "train.txt", "--folds", 4, "--model", "rankrls", "--rule", "one-se"]
    report = told(*args, "-o", tmp_path / "m.json")
    best = max(report["results"], key=lambda row: row["mean"])
    near = [row["alpha"] for row in report["results"] if row["mean"] >= best["mean"] - best["standard_error"]]
    assert report["chosen"]["alpha"] == max(near) > best["alpha"]
    assert isinstance(load_model(tmp_path / "m.json"), RankRLS)


def test_the_table(files, tmp_path):
    done = run("tune", files / "train.txt", "--folds", 2, "-o", tmp_path / "m.json", *GRID)
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["loss", "C", "ndcg@10"]
    assert len(lines) == 7
    assert sum(line.endswith("<-") for line in lines) == 1
    chosen = next(line.split() for line in lines if line.endswith("<-"))
    told = f"loss = {chosen[0]}, C = {chosen[1]} (ndcg@10 {chosen[2]} on 2 folds)"
    said = done.stderr.splitlines()
    assert (said[0], said[-1]) == (f"model written to {tmp_path / 'm.json'}", told)


def interrupt_after(monkeypatch, count):
    """A Ctrl-C once so many models are judged."""
    add = Journal.add

    def interrupted(self, entry):
        nonlocal count
        if not count:
            raise KeyboardInterrupt
        count -= 1
        add(self, entry)

    monkeypatch.setattr(Journal, "add", interrupted)


def noted(journal):
    """What a journal holds, without times, in the order of the grid."""
    entries = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    for entry in entries:
        assert entry.pop("seconds") >= 0
    return sorted(entries, key=lambda entry: (entry["family"], entry["fold"], entry["strength"]))


@pytest.mark.parametrize("judge", ["--folds", "--valid"])
@pytest.mark.parametrize("count", [0, 1, 4, 5])
def test_going_on_gives_what_would_have_been(files, tmp_path, monkeypatch, judge, count):
    """The path goes on from the last weights, but without the Hessian it had: the same to its tolerance, and so the
    same choice and model.
    """
    by = ["--folds", 2] if judge == "--folds" else ["--valid", files / "test.txt"]
    args = [files / "train.txt", *by, *GRID, "--jobs", 1]
    expected = told(*args, "-o", tmp_path / "whole.json", "--journal", tmp_path / "whole")
    args += ["-o", tmp_path / "m.json", "--journal", tmp_path / "resumed"]
    with monkeypatch.context() as patch:
        interrupt_after(patch, count)
        run("tune", *args, code=130)
    assert not (tmp_path / "m.json").exists()
    assert len(noted(tmp_path / "resumed")) == count
    with open(tmp_path / "resumed", "a") as file:
        file.write('{"family": 0, "fo')  # killed in the middle of a line
    with monkeypatch.context() as patch:
        interrupt_after(patch, 6 * (2 if judge == "--folds" else 1) - count)
        found = told(*args)
    assert found["chosen"] == expected["chosen"]
    means, wanted = ([row["mean"] for row in report["results"]] for report in (found, expected))
    assert means == pytest.approx(wanted, abs=2e-3)
    places, all_places = (
        [(one["family"], one["fold"], one["strength"]) for one in noted(tmp_path / name)]
        for name in ("resumed", "whole")
    )
    assert places == all_places
    assert (tmp_path / "m.json").read_text() == (tmp_path / "whole.json").read_text()


def test_the_journal_beside_the_model(files, tmp_path, monkeypatch):
    """Stays after an interruption, goes when the model is there."""
    args = ["tune", files / "train.txt", "--folds", 2, "--C", 1, "-o", tmp_path / "m.json"]
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1)
        said = run(*args, "--jobs", 1, code=130).stderr
    assert f"1 fit recorded in {tmp_path / 'm.json.journal'}: give the same command to resume" in said
    assert "rankwise: interrupted" in said
    assert [path.name for path in tmp_path.iterdir()] == ["m.json.journal"]
    run(*args)
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_a_journal_that_was_named_is_kept_and_serves_again(files, tmp_path, monkeypatch):
    args = [files / "train.txt", "--folds", 2, "--C", 0.01, "--C", 1, "--journal", tmp_path / "j"]
    expected = told(*args, "-o", tmp_path / "m.json")
    assert len((tmp_path / "j").read_text().splitlines()) == 5
    interrupt_after(monkeypatch, 0)
    assert told(*args, "-o", tmp_path / "other.json", "--rule", "best", "--jobs", 2) == expected


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (["--C", 2], "grid"),
        (["--folds", 3], "folds"),
        (["--measure", "map"], "measure"),
        (["--float32"], "float32"),
        (["--seed", 1], "seed"),
        (["test.txt"], "data"),
    ],
)
def test_a_journal_of_another_job_is_refused(files, tmp_path, change, what):
    args = [
        "tune",
        files / "train.txt",
        "--folds",
        2,
        "--C",
        0.01,
        "-o",
        tmp_path / "m.json",
        "--journal",
        tmp_path / "j",
    ]
    run(*args)
    before = (tmp_path / "j").read_bytes()
    change = [files / one if one == "test.txt" else one for one in change]
    message = run(*args, *change, code=1).stderr
    assert "the journal of another job (other " in message
    assert what in message
    assert (tmp_path / "j").read_bytes() == before


def test_a_journal_with_other_groups_is_refused(tmp_path):
    """The rows are the same, and the folds are others."""
    groups = np.unique(TRAIN.qid, return_inverse=True)[1]
    args = ["tune", tmp_path / "data.npz", "--folds", 2, "--C", 0.01, "-o", tmp_path / "m.json"]
    for other, code in ((groups, 0), (groups // 2, 1)):
        write_data(tmp_path / "data.npz", replace(TRAIN, groups=other))
        done = run(*args, "--journal", tmp_path / "j", "--force", code=code)
    assert "the journal of another job (other data)" in done.stderr


def falling(monkeypatch):
    """The weaker the regularisation, the worse every model is judged."""

    def path(self, strengths, start):
        return (Judged(1 / (2 + strength), 0.01, np.zeros(TRAIN.n_features)) for strength in strengths)

    monkeypatch.setattr(PathFold, "path", path)


def test_early_stopping(files, tmp_path, monkeypatch):
    """What is left out has no mean; the same journal serves a search that leaves nothing out."""
    falling(monkeypatch)
    Cs = [option for C in range(1, 9) for option in ("--C", C)]
    args = [files / "train.txt", "--folds", 3, *Cs, "--journal", tmp_path / "j", "--force", "-o", tmp_path / "m.json"]
    report = told(*args)
    assert [row["mean"] for row in report["results"]] == [pytest.approx(1 / (2 + C)) for C in range(1, 6)] + [None] * 3
    assert [row["standard_error"] for row in report["results"][5:]] == [None] * 3
    assert report["results"][7]["folds"] == [None] * 3
    assert report["chosen"] == {"C": 1.0}
    done = run("tune", *args)
    assert "note: 3 models skipped, as ndcg@10 had passed its best: --no-early-stopping" in done.stderr
    assert done.stdout.splitlines()[-1].split() == ["8", "-", "-", "0.00"]
    assert len(noted(tmp_path / "j")) == 15
    drawn = RegularizationDisplay.from_tuning(report)
    assert np.isnan(drawn.mean).tolist() == [False] * 5 + [True] * 3
    full = told(*args, "--no-early-stopping")
    assert [row["mean"] for row in full["results"]] == [pytest.approx(1 / (2 + C)) for C in range(1, 9)]
    assert len(noted(tmp_path / "j")) == 24


@pytest.mark.parametrize("change", [{"coef": "???"}, {"coef": 7}, {"score": "high"}, {"fold": None}, {"fold": 2}])
def test_a_damaged_journal_is_one_sentence(files, tmp_path, change):
    args = ["tune", files / "train.txt", "--folds", 2, "--C", 1, "-o", tmp_path / "m.json", "--journal", tmp_path / "j"]
    run(*args)
    head, line, *_ = (tmp_path / "j").read_text().splitlines()
    (tmp_path / "j").write_text(f"{head}\n{json.dumps(json.loads(line) | change)}\n")
    assert "j is damaged: remove it, or give another --journal" in run(*args, "--force", code=1).stderr


def test_labels_that_are_no_grades(tmp_path):
    lines = [f"{1000.5 * (i % 9)} qid:{i // 10} 1:{i % 7} 2:{i % 9}\n" for i in range(60)]
    (tmp_path / "t.txt").write_text("".join(lines))
    report = told(tmp_path / "t.txt", "--folds", 3, "-o", tmp_path / "m.json")
    assert report["measure"] == "pairwise-accuracy"
    assert len(report["results"]) == 26


def test_queries_that_do_not_count(tmp_path):
    """All labels are equal where the model is judged: there is nothing to choose by."""
    (tmp_path / "t.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n")
    (tmp_path / "v.txt").write_text("1 qid:1 1:1\n1 qid:1 1:0\n")
    args = [tmp_path / "t.txt", "--valid", tmp_path / "v.txt", "-o", tmp_path / "m.json", "-m", "pairwise-accuracy"]
    assert "no fold gave the measure a value" in run("tune", *args, "--C", 2, "--C", 1, code=1).stderr
    assert not (tmp_path / "m.json").exists()


def test_a_warning_about_one_fold_does_not_speak_of_all_queries(tmp_path):
    """One of three queries has equal labels, so one of three folds has nothing to choose by."""
    lines = [f"{1 if qid == 1 else i} qid:{qid} 1:{i * i % 3} 2:{i}\n" for qid in (1, 2, 3) for i in range(3)]
    (tmp_path / "t.txt").write_text("".join(lines))
    for model in ("ranksvm", "rankrls"):
        said = run("tune", tmp_path / "t.txt", "--folds", 3, "-o", tmp_path / "m.json", "-m", "map", "--model", model)
        assert "map on one set of held-out queries: within every query all labels are equal, so" in said.stderr
        assert said.stderr.count("labels are equal") == 1


def test_faults(files, tmp_path):
    (tmp_path / "j").write_text("a diary\n")
    given = ["tune", files / "train.txt", "-o", tmp_path / "m.json"]
    assert "is not a journal" in run(*given, "--journal", tmp_path / "j", code=1).stderr
    assert (tmp_path / "j").read_text() == "a diary\n"
    assert "no folder" in run(*given[:2], "-o", tmp_path / "nowhere" / "m.json", code=1).stderr
    for wrong, words in [
        (["--folds", 2, "--valid", files / "test.txt"], "--valid or --folds"),
        (["--rule", "worst"], "rule must be one of 'best', 'one-se'; got 'worst'"),
        (["--measure", "ndgc"], "Did you mean 'ndcg'?"),
        (["--model", "rankrls-cv"], "chooses alpha itself"),
        (["--model", "rankrls", "--C", 1], "has no such option"),
        (["--C", 1, "--C", -1], "positive"),
        (["--loss", "hinge", "--loss", "square"], "square"),
        (["-o", "-"], "cannot be written to stdout"),
    ]:
        assert words in " ".join(run(*given, *wrong, code=2).stderr.split()), wrong
    assert "folds need as many queries" in run(*given, "--folds", 100, code=1).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["j"]


def test_the_usual_grid_is_that_of_the_weighted_pairs(tmp_path):
    data = replace(TRAIN, weight=np.full(len(TRAIN), 1e-6))
    write_data(tmp_path / "train.csv", data)
    report = told(tmp_path / "train.csv", "--folds", 3, "-o", tmp_path / "m.json")
    ranker = RankSVMCV(cv=3).fit(data)
    np.testing.assert_allclose([row["C"] for row in report["results"]], ranker.Cs_)
