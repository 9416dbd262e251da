"""Is a linear ranker good enough: equal budgets, trees trained again as chosen, sentences that follow the figures."""

import numpy as np
import pytest
from experiments import good_enough_figure_1 as bars
from experiments import good_enough_figure_2 as curves
from experiments import pages
from experiments.good_enough import ALL, FOLDS, NEEDS, SIZES, points, some_queries
from experiments.good_enough_methods import BUDGET, METHODS, TREES

from rankwise import load_sample


def outcome(values, queries=100):
    setting = {"weight": 1.0}
    return {
        "queries": queries,
        "setting": setting,
        "validation": 0.5,
        "test": list(values),
        "seconds": 1.0,
        "seconds per 1,000": 1.0,
    }


def found_with(shift, module=bars):
    """What the units could have returned: equal values per query, plus noise without mean, plus shift(options)."""
    found = {}
    for unit in module.units(quick=False):
        options = unit.options
        values = np.random.default_rng(options["fold"]).uniform(0.3, 0.5, 8)
        rng = np.random.default_rng([options["fold"], list(METHODS).index(options["method"])])
        noise = rng.permuted(np.repeat([0.01, -0.01], 4))
        found[unit.name] = outcome(values + noise + shift(options), options["queries"] or 900)
    return found


def test_budgets_are_equal():
    for method in METHODS.values():
        tried = [tuple(setting.items()) for setting in method.settings(BUDGET)]
        assert len(set(tried)) == BUDGET


@pytest.mark.parametrize("method", TREES)
def test_chosen_trees_trained_again_are_the_same(method):
    """The timed ranker is the one that was chosen, though no validation data stop it."""
    train, valid = load_sample("train"), load_sample("vali")
    setting = METHODS[method].settings(2)[1]
    stopped = METHODS[method].train(train, valid, **setting)
    again = METHODS[method].train(train, None, **stopped.setting)
    assert stopped.setting == again.setting
    assert np.allclose(stopped.scores(valid.X), again.scores(valid.X), rtol=1e-6)


def test_training_queries_are_whole_and_nested():
    train = load_sample("train")
    few, more = some_queries(train, 10), some_queries(train, 20)
    assert (few.n_queries, more.n_queries) == (10, 20)
    assert set(few.qid) < set(more.qid)
    assert len(more) == np.isin(train.qid, more.qid).sum()
    assert some_queries(train, ALL) is train


def test_sentences_name_who_is_clearly_better():
    gains = {("mq2007", "LightGBM lambdarank"): 0.02, ("mq2008", "ridge regression"): -0.03}
    report = bars.report(found_with(lambda one: gains.get((one["name"], one["method"]), 0.0)))
    enough, better, worse = sorted(
        report.claim.splitlines(), key=lambda line: ("worse" in line, "clearly better than RankSVM:" in line)
    )
    assert "On OHSUMED and MQ2008 a linear ranker is good enough" in enough
    assert better.startswith("- On MQ2007 clearly better than RankSVM: LightGBM lambdarank, by 0.020 (0.0")
    assert worse.startswith("- On MQ2008 clearly worse than RankSVM: ridge regression, by 0.030 (0.0")
    assert ";" not in better + worse


def test_a_missing_unit_leaves_its_point_out():
    """Folds are not equally hard: a mean over some of them must not stand beside means over all."""
    found = found_with(lambda one: 0.1 * one["fold"])
    late = "mq2008, RankRLS, fold 3, all queries"
    report = bars.report(found | {late: None})
    assert f"1 of {len(found)} units ({late})" in report.claim
    assert {row["data"] for row in report.rows} == {"OHSUMED", "MQ2007"}
    assert all(point.folds == list(FOLDS) for point in points(found, ALL))


def test_trees_overtake_where_they_stay_ahead():
    def shift(one):
        if one["method"] != "XGBoost rank:ndcg":
            return 0.0
        ahead = {10: 0.05, 20: -0.05, 50: 0.0005}.get(one["queries"], 0.05)  # ahead at 10 by chance
        return ahead if one["name"] == "mq2008" else -0.05

    report = curves.report(found_with(shift, curves))
    sentences = dict(line.removeprefix("- ").split(":", 1) for line in report.claim.splitlines())
    assert "XGBoost rank:ndcg overtakes RankSVM for good at 100." in sentences["MQ2008"]
    assert "XGBoost rank:ndcg is clearly ahead at 10, 100, 200 and 900 and clearly behind at 20." in sentences["MQ2008"]
    assert "no ensemble of trees overtakes RankSVM for good." in sentences["OHSUMED"]
    assert "XGBoost rank:ndcg is clearly behind at 10, 20" in sentences["OHSUMED"]
    assert len(report.rows) == sum(len(SIZES[name]) for name in NEEDS) * len(METHODS)


def test_quick_run_needs_no_data(tmp_path):
    found = {unit.name: unit.work(None, **unit.options) for unit in curves.units(quick=True)}
    assert all(0.5 < np.mean(one["test"]) < 1 for one in found.values())
    for module in (bars, curves):
        pages.write("x", module.TITLE, module.report(found), tmp_path)
        page = (tmp_path / "x.md").read_text()
        assert "synthetic sample" in page
        assert all(f"| {method} |" in page for method in METHODS)
        assert (tmp_path / "x.png").stat().st_size > 5000
    assert {unit.name for unit in bars.units(quick=True)} < found.keys()
