"""Figures in README and docs are those of the results' files, written as the results' own pages write them."""

import csv
import re
import tomllib
from pathlib import Path

import pytest
from benchmarks import report

from rankwise.solvers import automatic

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = report.read(ROOT / "benchmarks" / "results")
TARGETS = tomllib.loads((ROOT / "benchmarks" / "targets.toml").read_text())["target"]
QUALITY = ROOT / "experiments" / "results" / "good_enough_figure_1.csv"
LIBLINEAR, PAIRS = "LIBLINEAR ranking extension", "LinearSVC on all pairs"
SPARSE = ("sparse-20k", "sparse-50k", "words-8k", "words-100k")
SETS = ("OHSUMED", "MQ2008", "MQ2007")


def ratios(than, *cases):
    """How many times as long another solver takes, by every target of these cases."""
    found = [one for one in TARGETS if one["case"] in cases and one.get("than") == than]
    return sorted(report.measured(BENCHMARKS, one)[0] for one in found)


def times(case, than):
    (ratio,) = ratios(than, case)
    return report.number(ratio)


def seconds(case, solver="rankwise RankSVM"):
    return report.number(report.at_goal(report.by_solver(BENCHMARKS, case)[solver])["value"])


def quality():
    """(data, method) -> the row over all folds."""
    with open(QUALITY, newline="") as file:
        return {(row["data"], row["method"]): row for row in csv.DictReader(file) if row["folds"]}


def trees(method):
    """The cells of one ensemble of trees: training time and NDCG@10."""
    rows = quality()
    spent, ours = (float(rows["MQ2007", one]["CPU s to train"]) for one in (method, "RankSVM"))
    differences = ", ".join(f"{float(rows[one, method]['difference']):+.4f} on {one}" for one in SETS)
    return f"{spent:.2g} CPU s on MQ2007, ours {ours:.2g}", differences


def cells():
    """The first cell of each row of the README's table -> the last two."""
    text = (ROOT / "README.md").read_text()
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {line[0]: tuple(line[2:]) for line in lines}


def test_the_table_of_the_readme():
    same = "0: same optimum"
    least, *_, most = map(report.number, ratios(LIBLINEAR, *SPARSE))
    liblinear = (
        f"{times('mq2007', LIBLINEAR)} x ours on MQ2007, {times('ohsumed', LIBLINEAR)} x on OHSUMED; "
        f"synthetic data: {times('small', LIBLINEAR)} x on 9,000 x 40, {least} to {most} x on sparse"
    )
    pairs = f"{times('mq2007-hinge', PAIRS)} x ours on MQ2007, {times('mq2008-hinge', PAIRS)} x on MQ2008 (hinge)"
    survival = f"{times('distinct', 'FastSurvivalSVM')} x ours on one synthetic query of 100,000 documents"
    assert cells() == {
        "ranker": ("training time", "NDCG@10 minus ours"),
        "**rankwise**": (f"{seconds('mq2007')} s on MQ2007", "0"),
        "LIBLINEAR's ranking extension": (liblinear, same),
        "LinearSVC on listed pairs": (pairs, same),
        "FastSurvivalSVM (scikit-survival)": (survival, "0 if no labels are equal: same optimum"),
        "LightGBM lambdarank": trees("LightGBM lambdarank"),
        "XGBoost rank:ndcg": trees("XGBoost rank:ndcg"),
        "SVM^rank": ("not measured", "not measured"),
    }


def test_what_the_readme_says_about_the_table():
    text = " ".join((ROOT / "README.md").read_text().split())
    start = next(one for one in TARGETS if one.get("what") == "first fit by the command, kernels cached")
    assert f"the {report.number(report.measured(BENCHMARKS, start)[0])} s that ours takes to start" in text
    end = text[text.index("python -m benchmarks NAME") :]
    names = set(re.findall(r"`([a-z0-9-]+)`", end))
    assert names > {"mq2007", *SPARSE}
    used = [row for row in BENCHMARKS if row["case"] in names]
    assert {row["case"] for row in used} == names
    commits = {row["versions"].partition("commit ")[2] for row in used}
    assert set(re.findall(r"\b[0-9a-f]{7}\b", end)) == commits
    both = [row for (_, method), row in quality().items() if method in ("LightGBM lambdarank", "XGBoost rank:ndcg")]
    assert len(both) == 2 * len(SETS)
    assert all(float(row["difference, low"]) < 0 < float(row["difference, high"]) for row in both)


def test_when_the_span_of_the_rows_is_used():
    text = " ".join((ROOT / "docs" / "theory.md").read_text().split())
    assert f"With more than {automatic.FEWER} times as many features as rows" in text
    assert f"if the decomposition takes no longer than {automatic.AT_ONCE} products" in text


@pytest.mark.parametrize(
    ("page", "results"),
    [
        ("good-enough", "good_enough_figure_1"),
        ("good-enough", "good_enough_figure_2"),
        ("factorized", "factorized_table_1"),
        ("factorized", "factorized_figure_1"),
    ],
)
def test_pages_quote_the_verdict_of_the_results(page, results):
    lines = (ROOT / "experiments" / "results" / f"{results}.md").read_text().splitlines()
    verdict = [line for line in lines if line.startswith("- ")]
    assert verdict
    text = " ".join((ROOT / "docs" / f"{page}.md").read_text().split())
    assert [line for line in verdict if line not in text] == []


def test_times_of_a_path():
    path, alone = (seconds("path", f"26 fits, {how}") for how in ("warm-started", "each from zero"))
    one = seconds("path")
    text = " ".join((ROOT / "docs" / "selection.md").read_text().split())
    assert f"the path takes {path} s where 26 fits from zero take {alone} s and one fit {one} s" in text
