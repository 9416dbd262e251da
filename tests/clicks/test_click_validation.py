"""Cross-validation on clicks: whole queries of the log are held out, and held-out clicks count by their weights."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rankwise import (
    FactorizedRankSVM,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    ScaledRanker,
    evaluate,
    make_ranking,
    open_chunks,
    read_data,
    write_chunks,
    write_data,
)
from rankwise.clicks import click_data, shared_click_data, simulate_clicks
from rankwise.data.fingerprint import content_hash
from rankwise.model_selection import c_path, cross_validate
from rankwise.model_selection.splits import splits_of

CS = [0.001, 0.1]


class ByGroup:
    """A splitter that holds out the queries of the log with id % 3 = 0, 1 and 2."""

    def split(self, X, y=None, groups=None):
        fold = np.array([int(one) % 3 for one in groups])
        for k in range(3):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


@pytest.fixture(scope="module")
def clicks():
    """Clicks with the ranking data for them, and as (query, row of the clicked document, other rows, weight)."""
    ranking = make_ranking(n_queries=9, docs_per_query=7, n_features=4, noise=1.0, random_state=1)
    ranking = replace(ranking, docid=np.arange(len(ranking)))
    scores = np.random.default_rng(1).normal(size=(2, len(ranking)))
    log, _, propensities = simulate_clicks(ranking, scores, 150, depth=5, noise=0.4, random_state=1)
    listed = []
    for i in range(log.n_lists):
        rows = range(log.starts[i], log.starts[i + 1])
        shown = {row: int(log.docs[log.doc[row]]) for row in rows}  # a document's id is its row
        for row in rows:
            if log.click[row]:
                others = [shown[one] for one in rows if one != row]
                weight = 1 / propensities.values[log.position[row] - 1]
                listed.append((int(log.queries[log.query[i]]), shown[row], others, weight))
    shared = shared_click_data(log, ranking, propensities)
    return SimpleNamespace(X=ranking.X, data=click_data(log, ranking, propensities), shared=shared, listed=listed)


@pytest.fixture(scope="module")
def by_hand(clicks):
    """The self-normalised mean reciprocal rank of the clicked documents by fold and C, click by click."""
    values = np.empty((3, len(CS)))
    for k in range(3):
        train = [(a, b, w) for query, a, others, w in clicks.listed if query % 3 != k for b in others]
        better, worse, weights = map(np.array, zip(*train, strict=True))
        for j, C in enumerate(CS):
            ranker = RankSVM(C=C, tol=1e-9).fit(clicks.X, pairs=np.stack([better, worse], 1), pair_weight=weights)
            s = ranker.predict(clicks.X)
            valid = [
                (w, 1 + sum(s[b] > s[a] for b in others)) for query, a, others, w in clicks.listed if query % 3 == k
            ]
            values[k, j] = sum(w / rank for w, rank in valid) / sum(w for w, _ in valid)
    return values


@pytest.mark.parametrize("form", ["dense", "sparse", "npz", "chunks", "shared", "torch"])
def test_c_is_chosen_on_whole_queries_of_the_log(clicks, by_hand, form, tmp_path, monkeypatch):
    monkeypatch.setattr("rankwise.estimators.ranksvm_path.SELECTION_TOL", 1e-9)
    data, ranker = clicks.data, RankSVM(tol=1e-9)
    if form == "sparse":
        data = replace(data, X=sparse.csr_array(data.X))
    elif form == "npz":
        write_data(tmp_path / "some.npz", data)
        data = read_data(tmp_path / "some.npz")
    elif form == "chunks":  # in no order, so that queries are gathered on disk
        shuffled = data.select(np.random.default_rng(0).permutation(len(data)))
        write_chunks(tmp_path / "some.chunks", shuffled, chunk_bytes=2000)
        data = open_chunks(tmp_path / "some.chunks")
    elif form == "shared":
        data = clicks.shared
    elif form == "torch":
        pytest.importorskip("torch")
        ranker = RankSVM(tol=1e-9, device="torch:cpu")
    model = RankSVMCV(CS, ByGroup(), "mrr", ranker=ranker).fit(data)
    np.testing.assert_allclose(model.cv_values_, by_hand, rtol=1e-9)
    assert CS.index(model.C_) == by_hand.mean(axis=0).argmax()


def test_cross_validate(clicks, by_hand):
    ranker = RankSVM(C=CS[1], tol=1e-9)
    found = cross_validate(ranker, clicks.data, cv=ByGroup(), measures="mrr")
    np.testing.assert_allclose(found.by_fold("mrr"), by_hand[:, 1], rtol=1e-9)
    data = clicks.data
    given = {"sample_weight": data.weight, "groups": data.groups.astype(str), "cv": ByGroup(), "measures": "mrr"}
    again = cross_validate(ranker, data.X, data.y, data.qid, **given)
    np.testing.assert_array_equal(again.by_fold("mrr"), found.by_fold("mrr"))


def test_a_path_is_evaluated_on_whole_queries_of_the_log(clicks, by_hand, monkeypatch):
    monkeypatch.setattr("rankwise.estimators.ranksvm_path.SELECTION_TOL", 1e-9)
    path = c_path(clicks.data, Cs=CS, ranker=RankSVM(tol=1e-9), cv=ByGroup(), measure="mrr")
    np.testing.assert_allclose(path.cv_values, by_hand, rtol=1e-9)


def test_documents_of_weight_0_are_not_evaluated(clicks, monkeypatch):
    monkeypatch.setattr("rankwise.estimators.ranksvm_path.SELECTION_TOL", 1e-9)
    data, ranker = clicks.data, RankSVM(C=0.1, tol=1e-9)
    weight = np.where(np.arange(len(data)) % 3, data.weight, 0.0)
    found = cross_validate(ranker, data, sample_weight=weight, cv=ByGroup(), measures="mrr")
    searched = RankSVMCV([0.1], ByGroup(), "mrr", ranker=ranker).fit(data, sample_weight=weight)
    np.testing.assert_allclose(found.by_fold("mrr"), searched.cv_values_[:, 0], rtol=1e-12)


def test_rankrls_by_folds(clicks):
    data = clicks.data
    model = RankRLSCV([1.0], ByGroup(), "mrr").fit(data)
    expected = cross_validate(RankRLS(alpha=1.0), data, cv=ByGroup(), measures="mrr").by_fold("mrr")
    np.testing.assert_allclose(model.cv_values_[:, 0], expected, rtol=1e-12)
    with pytest.raises(ValueError, match="left out one by one, and not by groups: cv=5"):
        RankRLSCV([1.0]).fit(data)


def test_a_number_of_folds_means_folds_of_groups(clicks):
    data = clicks.data
    for train, valid in splits_of(4, data.X, data.y, data.qid, groups=data.groups):
        assert not set(data.groups[train]) & set(data.groups[valid])
    with pytest.raises(ValueError, match="2 folds need as many queries, and there are 1"):
        RankSVMCV(CS, cv=2).fit(data.select(data.groups == data.groups[0]))
    with pytest.raises(ValueError, match="the query '0' has rows of several groups, such as row 1"):
        RankSVMCV(CS).fit(data, groups=np.arange(len(data)))
    with pytest.raises(ValueError, match="groups is the name 'user'"):
        RankSVMCV(CS).fit(data, groups="user")


class Recorder(RankSVMCV):
    """Records the groups that it is fitted with."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y=None, qid=None, sample_weight=None, groups=None):
        self.seen.append((set(groups), sample_weight is not None))
        return super().fit(X, y, qid, sample_weight, groups)


@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: ScaledRanker(one, "zscore"), "pipeline"])
def test_groups_reach_the_search_within_a_fold(clicks, wrap):
    ranker = Recorder(CS, cv=2)
    ranker.seen.clear()
    if wrap == "pipeline":
        with config_context(enable_metadata_routing=True):
            wrapped = make_pipeline(FunctionTransformer(), ranker.set_fit_request(sample_weight=True))
    else:
        wrapped = wrap(ranker)
    cross_validate(wrapped, clicks.data, cv=ByGroup(), measures="mrr")
    assert [(len(groups), weighted) for groups, weighted in ranker.seen] == [(6, True)] * 3


def test_groups_are_held_out_for_early_stopping(clicks, monkeypatch):
    held_out = []

    def evaluated(y, scores, qid, measure):
        held_out.append(len(y))
        return {measure: 0.0}

    monkeypatch.setattr("rankwise.estimators.factorized.evaluate", evaluated)
    FactorizedRankSVM(validation_fraction=1 / 9, max_iter=2, measure="mrr", random_state=0).fit(clicks.data)
    _, sizes = np.unique(clicks.data.groups, return_counts=True)
    assert held_out[0] in sizes


def test_other_groups_are_other_data(clicks):
    """A search that is resumed must not find the folds of other groups in its journal."""
    hashes = {content_hash(replace(clicks.data, groups=one)) for one in (None, clicks.data.groups, clicks.data.qid)}
    assert len(hashes) == 3


def test_formats_without_groups_refuse_them(clicks, tmp_path):
    for name in ("some.csv", "some.jsonl", "some.parquet", "some.txt"):
        with pytest.raises(ValueError, match="has no place for groups: write NPZ or chunks"):
            write_data(tmp_path / name, clicks.data)
    with pytest.raises(ValueError, match="has no place for groups"):
        clicks.data.to_frame()


@settings(max_examples=25)
@given(st.data())
def test_the_mean_of_a_measure_is_self_normalised(drawn):
    n = drawn.draw(st.integers(2, 12))

    def column(low, high):
        return np.array(drawn.draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), float)

    y, scores, qid, weight = column(0, 2), column(0, 3), column(0, 3), column(0, 3)
    measure = drawn.draw(st.sampled_from(["mrr", "dcg@2", "pairwise-accuracy"]))
    found = evaluate(y, scores, qid, measure, sample_weight=weight)
    top = bottom = 0.0
    for query, value in zip(found.query_ids, found.per_query[measure], strict=True):
        rows = np.flatnonzero(qid == query)
        better = [weight[i] for i in rows if y[i] > min(y[rows])]
        own = np.mean(better or weight[rows])
        if measure == "pairwise-accuracy":
            own *= sum(y[i] > y[j] for i in rows for j in rows)
        if not np.isnan(value):
            top, bottom = top + own * value, bottom + own
    np.testing.assert_allclose(found[measure], top / bottom if bottom else np.nan, rtol=1e-12)


@pytest.mark.parametrize("scaler", [None, "zscore"])
def test_a_path_is_evaluated_on_folds_of_groups(clicks, scaler):
    ranker = RankSVM() if scaler is None else ScaledRanker(RankSVM(), scaler)
    path = c_path(clicks.data, Cs=CS, ranker=ranker, cv=3, measure="mrr")
    same = cross_validate(
        clone(ranker).set_params(**{"C" if scaler is None else "ranker__C": CS[0]}), clicks.data, cv=3, measures="mrr"
    )
    assert path.cv_values[:, 0].mean() == pytest.approx(same.mean("mrr"), rel=1e-3)
