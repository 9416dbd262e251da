"""Displays: their data are right by another way of counting, and what is drawn are their data."""

import csv
import dataclasses
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise import RankRLSCV, RankSVM, RankSVMCV, evaluate, load_sample
from rankwise.clicks import Propensities
from rankwise.data.synthetic import SAMPLE_FEATURES
from rankwise.model_selection import c_path
from rankwise.report import (
    ConvergenceDisplay,
    CutoffDisplay,
    FeaturePathDisplay,
    MarginDisplay,
    PropensityDisplay,
    QueryDifferenceDisplay,
    RegularizationDisplay,
    WeightsDisplay,
)

Figure = pytest.importorskip("matplotlib.figure").Figure

PROPENSITIES = Propensities.of([1, 2, 4], [1, 0.5, 0.25], [1, 0.4, 0.1], [1, 0.625, 0.5])


@pytest.fixture(scope="module")
def sample():
    return load_sample("train")


@pytest.fixture(scope="module")
def ranker(sample):
    return RankSVM(C=0.01).fit(sample.X, sample.y, sample.qid)


@pytest.fixture(scope="module")
def searched(sample):
    return RankSVMCV(Cs=[2.0**k for k in (-10, -6, -2)], cv=3).fit(sample.X, sample.y, sample.qid)


@pytest.fixture(scope="module")
def path(sample):
    return c_path(sample, Cs=[0.01, 0.0003, 0.001], ranker=RankSVM(l1_ratio=1.0), cv=2)


@pytest.fixture(scope="module")
def displays(sample, ranker, searched, path):
    scores = {"RankSVM": ranker.predict(sample.X), "clicks": sample.X[:, 4]}
    return [
        RegularizationDisplay.from_estimator(searched),
        ConvergenceDisplay.from_estimators({"newton": ranker}),
        CutoffDisplay.from_predictions(sample.y, scores, sample.qid),
        QueryDifferenceDisplay.from_predictions(sample.y, *scores.values(), sample.qid, names=tuple(scores)),
        MarginDisplay.from_estimator(ranker, sample.X, sample.y, sample.qid),
        FeaturePathDisplay.from_path(path),
        PropensityDisplay.from_propensities({"harvest": PROPENSITIES, "EM": Propensities.of([1, 2], [1, 0.5])}),
        WeightsDisplay.from_estimator(ranker, SAMPLE_FEATURES),
    ]


def axes():
    return Figure().subplots()


def test_every_display_keeps_scikit_learns_manner(displays, tmp_path):
    for i, display in enumerate(displays):
        ax = axes()
        assert display.plot(ax) is display
        assert display.ax_ is ax
        assert display.figure_ is ax.figure
        columns = display.data
        assert len({len(column) for column in columns.values()}) == 1
        assert list(display.to_frame().columns) == list(columns)
        display.to_csv(tmp_path / f"{i}.csv")
        with open(tmp_path / f"{i}.csv", newline="") as file:
            header, *rows = csv.reader(file)
        assert header == list(columns)
        for name, written in zip(header, zip(*rows, strict=True), strict=True):
            if columns[name].dtype.kind == "f":
                np.testing.assert_array_equal(np.array(written, float), columns[name])


def test_a_path_is_drawn_in_the_order_of_C(path):
    display = FeaturePathDisplay.from_path(path, top=3).plot(axes())
    places = [1, 2, 0]
    np.testing.assert_array_equal(display.data["C"], path.Cs[places])
    np.testing.assert_array_equal(display.data["features"], path.n_kept[places])
    np.testing.assert_array_equal(display.data["mean"], path.cv_values[:, places].mean(axis=0))
    lines = {line.get_label(): line for line in display.ax_.get_lines()}
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    largest = np.argsort(-np.abs(path.coef).max(axis=0))[:3]
    assert sorted(shown) == sorted(SAMPLE_FEATURES[j] for j in largest)
    for name in shown:
        np.testing.assert_array_equal(lines[name].get_ydata(), path.coef[places, SAMPLE_FEATURES.index(name)])
    empty = dataclasses.replace(path, coef=np.where(path.Cs[:, None] == path.Cs.min(), 0.0, path.coef))
    beside = FeaturePathDisplay.from_path(empty).plot(axes()).ax_.figure.axes[-1]
    np.testing.assert_array_equal(beside.get_lines()[0].get_xdata(), path.Cs[places[1:]])  # where there is a ranking
    nameless = dataclasses.replace(path, names=None, cv_values=None, measure=None)
    assert list(FeaturePathDisplay.from_path(nameless).data)[:3] == ["C", "features", "weight feature 0"]


def test_of_several_ratios_the_chosen_one_is_drawn(sample):
    Cs = [0.001, 0.01, 0.1]
    found = RankSVMCV(Cs, cv=3, l1_ratio=[1.0, 0.0]).fit(sample.X, sample.y, sample.qid)
    place = [1.0, 0.0].index(found.l1_ratio_)
    for display in (
        RegularizationDisplay.from_estimator(found),
        RegularizationDisplay.from_cv_results(found.cv_results_),
    ):
        np.testing.assert_array_equal(display.values, found.cv_values_[:, place])
        assert display.chosen == found.C_


def test_pictures_in_every_format(displays, tmp_path):
    for ending, magic in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        displays[-1].save(tmp_path / f"p.{ending}", dpi=50)
        assert (tmp_path / f"p.{ending}").read_bytes().startswith(magic)
    with pytest.raises(ValueError, match=r"p.gif is not a picture that can be drawn: name it \*.png, \*.svg"):
        displays[0].save(tmp_path / "p.gif")
    assert len(list(tmp_path.iterdir())) == 3


def test_a_figure_of_its_own(displays):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    display = displays[-1].plot()
    assert display.ax_ is display.figure_.axes[0]
    pyplot.close(display.figure_)


def test_without_matplotlib(displays, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"a figure needs matplotlib: pip install matplotlib"):
        displays[0].save(tmp_path / "p.png")


def test_nothing_is_drawn_off_the_figure(displays):
    """Legends and labels lie within the figure once it is laid out."""
    for display in displays:
        figure = Figure(figsize=display._inches(), layout="constrained")
        display.plot(figure.subplots())
        figure.draw_without_rendering()
        inside = figure.bbox.padded(2)
        box = display.ax_.get_tightbbox()
        assert box.x0 >= inside.x0
        assert box.y0 >= inside.y0
        assert box.x1 <= inside.x1
        assert box.y1 <= inside.y1


def test_the_intervals_of_propensities():
    """They are drawn from lower to upper, which are not equally far from the estimate."""
    display = PropensityDisplay.from_propensities(PROPENSITIES).plot(axes())
    (curve,) = display.ax_.containers
    np.testing.assert_array_equal(
        curve.lines[0].get_xydata(), np.stack((PROPENSITIES.positions, PROPENSITIES.values), 1)
    )
    (bars,) = curve.lines[2]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, np.stack((PROPENSITIES.lower, PROPENSITIES.upper), 1))
    assert display.ax_.get_legend() is None


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-4, 4), st.integers(0, 1)), min_size=2, max_size=14),
    st.integers(5, 30),
)
def test_margins_against_all_pairs_listed(rows, bins):
    y, scores, qid = (np.array(column, float) for column in zip(*rows, strict=True))
    scores = scores / 2 + 1000 * qid
    pairs = [scores[i] - scores[j] for i in range(y.size) for j in range(y.size) if qid[i] == qid[j] and y[i] > y[j]]
    if not pairs:
        with pytest.raises(ValueError, match="y has no preference pair"):
            MarginDisplay.from_predictions(y, scores, qid, bins)
        return
    found = MarginDisplay.from_predictions(y, scores, qid, bins)
    assert found.tied == pairs.count(0)
    assert {0.0, 1.0} <= set(found.edges)
    assert (np.diff(found.edges) > 0).all()
    near = 1e-9  # a margin on an edge may be counted on either side of it by rounding, but for 0
    for low, high, count in zip(found.edges, found.edges[1:], found.counts, strict=False):
        surely = sum(low + near < one < high - near for one in pairs)
        perhaps = sum(low - near <= one <= high + near for one in pairs)
        assert surely <= count <= perhaps
    assert found.counts.sum() == len(pairs)
    assert found.counts[found.edges[1:] <= 0].sum() == sum(one < 0 for one in pairs)


def test_margins_of_large_and_of_tiny_scores(sample):
    for scale in (1e-6, 1.0, 1e6):
        found = MarginDisplay.from_predictions(sample.y, scale * sample.X[:, 0], sample.qid)
        assert 5 <= found.counts.size <= 130
        assert 0 in found.edges
        inside = found.counts[1:-1].sum()
        assert inside >= 0.99 * found.counts.sum()
        found.plot(axes())


def test_regularization_of_every_search(searched, sample):
    found = RegularizationDisplay.from_estimator(searched)
    np.testing.assert_allclose(found.data["mean"], searched.scores_)
    np.testing.assert_allclose(found.data["standard_error"], searched.standard_errors_)
    np.testing.assert_array_equal(found.data["fold_2"], searched.cv_values_[1])
    again = RegularizationDisplay.from_cv_results(searched.cv_results_)
    np.testing.assert_array_equal(again.values, found.values)
    assert again.chosen == found.chosen == searched.C_
    rls = RankRLSCV(measure="ndcg@10").fit(sample.X, sample.y, sample.qid)
    by_query = RegularizationDisplay.from_estimator(rls)
    np.testing.assert_allclose(by_query.mean, rls.scores_)
    assert "fold_1" not in by_query.data
    with pytest.raises(ValueError, match="RankSVM has no path to draw"):
        RegularizationDisplay.from_estimator(RankSVM())
    with pytest.raises(ValueError, match="no column param_gamma"):
        RegularizationDisplay.from_cv_results(searched.cv_results_, "gamma")


def test_grid_search_of_scikit_learn():
    grid = {"param_ranker__C": [1, 2.5], "split0_test_score": [0.1, 0.2], "split1_test_score": [0.3, 0.2]}
    found = RegularizationDisplay.from_cv_results(grid | {"mean_test_score": [0.2, 0.2]})
    assert found.chosen == 1
    ax = axes()
    found.plot(ax)
    assert ax.get_xscale() == "log"
    np.testing.assert_allclose(found.standard_error, [0.1, 0.0], atol=1e-15)  # |0.1 - 0.3| / √2 / √2


def test_convergence_measures_the_gap_from_the_best(sample):
    with warnings.catch_warnings(action="ignore"):
        rankers = {
            s: RankSVM(C=0.01, solver=s, max_iter=3).fit(sample.X, sample.y, sample.qid) for s in ("newton", "bmrm")
        }
    found = ConvergenceDisplay.from_results({name: one.result_ for name, one in rankers.items()})
    best = min(step.value for one in rankers.values() for step in one.result_.history)
    own = found.data["solver"] == "bmrm"
    expected = [step.value / best - 1 for step in rankers["bmrm"].result_.history]
    np.testing.assert_allclose(found.data["relative_gap"][own], expected, atol=1e-15)
    assert found.data["relative_gap"].min() == 0
    given = ConvergenceDisplay.from_estimators(rankers, optimum=best / 2, quantity="gradient_norm").plot(axes())
    assert given.data["relative_gap"].min() == pytest.approx(1)
    assert [line.get_label() for line in given.ax_.lines] == ["newton", "bmrm"]
    with pytest.raises(ValueError, match=r"quantity must be one of .*; got 'x'"):
        ConvergenceDisplay.from_estimators(rankers, quantity="x")
    with pytest.raises(ValueError, match="a has no history: models from files have none"):
        ConvergenceDisplay({"a": []})


def test_cutoffs_are_the_measures_means(sample, ranker):
    found = CutoffDisplay.from_estimators({"r": ranker}, sample.X, sample.y, sample.qid, measure="ndcg:letor")
    expected = evaluate(sample.y, ranker.predict(sample.X), sample.qid, ["ndcg@1:letor", "ndcg@20:letor"])
    assert found.data["k"].tolist() == list(range(1, 21))
    assert found.data["r"][[0, 19]].tolist() == list(expected.means.values())
    precision = CutoffDisplay.from_predictions(sample.y, {"r": sample.X[:, 0]}, sample.qid, "precision", [2, 4]).plot(
        axes()
    )
    assert precision.ax_.get_ylabel() == "precision@k"
    np.testing.assert_array_equal(precision.ax_.lines[0].get_ydata(), precision.data["r"])
    with pytest.raises(ValueError, match="map takes no cutoff"):
        CutoffDisplay.from_predictions(sample.y, {}, sample.qid, "map")
    with pytest.raises(ValueError, match="cutoffs must be whole numbers from 1"):
        CutoffDisplay.from_predictions(sample.y, {}, sample.qid, cutoffs=[0])


def test_differences_are_sorted_and_told(sample):
    a, b = sample.X[:, 0], sample.X[:, 4]
    found = QueryDifferenceDisplay.from_predictions(sample.y, a, b, sample.qid, "pairwise-accuracy").plot(axes())
    one, two = (evaluate(sample.y, s, sample.qid, "pairwise-accuracy") for s in (a, b))
    height = found.data["difference"]
    assert (np.diff(height) <= 0).all()
    by_query = dict(zip(found.data["query"].tolist(), height.tolist(), strict=True))
    values = one.per_query["pairwise-accuracy"] - two.per_query["pairwise-accuracy"]
    told = zip(one.query_ids.tolist(), values.tolist(), strict=True)
    assert by_query == pytest.approx({query: value for query, value in told if value == value})
    labels = found.ax_.get_legend_handles_labels()[1]
    mean = one["pairwise-accuracy"] - two["pairwise-accuracy"]  # of pairs, as the measure's own mean
    assert any(f"mean {mean:+.4f}" in label for label in labels)
    assert f"A better: {np.sum(values > 0)}" in labels
    other = evaluate(sample.y[30:], a[30:], sample.qid[30:], "pairwise-accuracy")
    with pytest.raises(ValueError, match="the two evaluations have different queries"):
        QueryDifferenceDisplay.from_evaluations(one, other)


def test_weights_by_size_and_name(ranker):
    found = WeightsDisplay.from_estimator(ranker, SAMPLE_FEATURES, top=3).plot(axes())
    order = np.argsort(-np.abs(ranker.coef_))
    assert found.data["feature"].tolist() == [SAMPLE_FEATURES[i] for i in order]
    np.testing.assert_array_equal(found.data["weight"], ranker.coef_[order])
    assert [text.get_text() for text in found.ax_.get_yticklabels()] == [SAMPLE_FEATURES[i] for i in order[:3]]
    assert "10 smaller ones not shown" in found.ax_.get_xlabel()
    assert WeightsDisplay.from_estimator(ranker).names[0] == "feature 1"
    with pytest.raises(ValueError, match="names has 1 names, the ranker has 13 features"):
        WeightsDisplay.from_estimator(ranker, ["x"])
    with pytest.raises(ValueError, match="has no weights of features"):
        WeightsDisplay.from_estimator(object())


def test_displays_have_short_reprs_and_show_their_picture_in_notebooks(monkeypatch):
    display = WeightsDisplay(["a", "<b>"], np.array([1.0, -2.0]))
    assert repr(display) == "<WeightsDisplay: 2 rows of feature, weight>"
    assert display._repr_html_().startswith('<img alt="WeightsDisplay: 2 rows of feature, weight" src="data:image/png')
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "<td>&lt;b&gt;</td><td>-2</td>" in display._repr_html_()
