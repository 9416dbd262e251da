"""Should I use Factorized RankSVM: gains paired by query, choices by validation."""

import numpy as np
import pytest
from experiments import factorized_figure_1 as synthetic
from experiments import factorized_table_1 as real
from experiments import pages
from experiments.factorized import MEASURES, STARTS


def found_with(shift):
    """What the units could have returned: RankSVM's values, and for each start noise without mean plus `shift`."""
    found = {}
    for unit in real.units(quick=False):
        one = {"components": 5} | unit.options
        values = np.random.default_rng(one["fold"]).uniform(0.3, 0.5, (len(MEASURES), 40))
        rng = np.random.default_rng([one["fold"], one["components"]])
        starts = range(STARTS if one["components"] else 1)
        noise = [rng.permuted(np.repeat([0.02, -0.02], 20)) if one["components"] else 0.0 for _ in starts]
        found[unit.name] = {
            "C": 0.01,
            "excess": [0.1 for _ in starts],
            "validation": [0.4 + one["components"] / 1000 + start / 10_000 for start in starts],
            "seconds": [1.0 for _ in starts],
            "test": [(values + noise[start] + shift(one, start)).tolist() for start in starts],
        }
    return found


def test_a_gain_in_every_query_is_clear_and_named():
    report = real.report(found_with(lambda one, _: 0.01 * (one["name"] == "mq2008" and one["components"] == 2)))
    assert len(report.rows) == (3 * 5 + 2) * len(MEASURES)
    for row in report.rows:
        gains = (row["data"], row["setting"]) == ("MQ2008", "K = 2")
        assert (row["p, Holm"] < 0.05) == gains
        assert row["gain"] == pytest.approx(0.01 if gains else 0.0, abs=1e-12)
    assert "- Clearly better than RankSVM in 5 of 85 comparisons: MQ2008, K = 2, MAP, by 0.0100; " in report.claim
    assert "- None of 85 comparisons with RankSVM shows a clear loss." in report.claim


def test_starts_that_disagree_are_no_gain():
    """Half of the starts up, half down: the page says how far apart they are."""
    report = real.report(found_with(lambda one, start: 0.01 * (start - 2) * (one["components"] > 0)))
    fixed = [row for row in report.rows if row["setting"] != real.CHOSEN]
    for row in fixed:
        assert (row["lowest start"], row["highest start"]) == pytest.approx((-0.02, 0.02))
    assert "- In 70 of 70 comparisons with a fixed K one random start gains and another loses." in report.claim
    assert "0.0400 apart on average; the mean gain or loss is 0.0000." in report.claim


def test_validation_chooses_components_and_start():
    best = (20, STARTS - 1)  # as found_with has it
    report = real.report(found_with(lambda one, start: 0.01 * ((one["components"], start) == best)))
    for row in report.rows:
        if row["setting"] == real.CHOSEN:
            assert row["gain"] == pytest.approx(0.01)
            assert row["lowest start"] == row["highest start"]


def test_a_missing_unit_leaves_its_data_set_out():
    found = found_with(lambda one, _: 0.0)
    late = real.unit_name("mq2007", 3, 10)
    report = real.report(found | {late: None})
    assert {row["data"] for row in report.rows} == {"OHSUMED", "MQ2008"}
    assert f"1 of 85 units ({late})" in report.claim


def test_synthetic_data_are_as_described():
    setting = synthetic.Setting(queries=200, decay=1.0, signal=(0, 3))
    train, _, test = synthetic.drawn(setting, 0)
    assert (train.n_queries, test.n_queries) == (200, synthetic.TEST_QUERIES)
    assert np.bincount(train.y[train.qid == 0].astype(int)).tolist() == [12, 5, 3]
    np.testing.assert_allclose(train.X.std(axis=0) * np.arange(1, 31), 1, atol=0.06)
    correlation = [abs(np.corrcoef(train.X[:, k], train.y)[0, 1]) for k in range(30)]
    assert max(correlation[:3]) > 0.2 > 0.07 > max(correlation[3:])
    turn, differences = synthetic.root_of_scatter(train), []
    for query in range(200):
        X, y = train.X[train.qid == query], train.y[train.qid == query]
        differences += [X[i] - X[j] for i in range(20) for j in range(20) if y[i] > y[j]]
    scatter = np.array(differences).T @ np.array(differences)
    np.testing.assert_allclose(turn @ turn, scatter / np.linalg.eigvalsh(scatter)[-1], atol=1e-9)


def test_a_quick_run_on_synthetic_data(tmp_path):
    unit, *others = synthetic.units(quick=True)
    found = {unit.name: unit.work(None, **unit.options)} | {one.name: None for one in others}
    assert all(0.5 < value < 1 for starts in found[unit.name].values() for values in starts for value in values)
    pages.write("x", synthetic.TITLE, synthetic.report(found), tmp_path)
    assert "synthetic" in (tmp_path / "x.md").read_text()
    assert (tmp_path / "x.png").stat().st_size > 5000
