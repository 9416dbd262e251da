"""fit(data), fit(frame, y="label", qid="query"), predictions by column name, rank and top_k, for every ranker."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from rankwise import (
    FactorizedRankSVM,
    KernelRankRLS,
    KernelRankSVM,
    RankingData,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    ScaledRanker,
    evaluate,
    load_model,
    load_sample,
    open_chunks,
    save_model,
    write_chunks,
)

DATA = load_sample("test")
NAMES = [f"feature {i}" for i in range(DATA.n_features)]
NAMED = RankingData(DATA.X, DATA.y, DATA.qid, DATA.comments, 1, NAMES)
TURNED = RankingData(np.ascontiguousarray(DATA.X[:, ::-1]), DATA.y, DATA.qid, DATA.comments, 1, NAMES[::-1])
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, len(DATA))
FRAME = pd.DataFrame(DATA.X, columns=NAMES).assign(grade=DATA.y, query=DATA.qid, weight=WEIGHTS, comment="text")
WITH_GAP = FRAME.assign(**{NAMES[1]: np.nan, "weight": np.nan})
RANKERS = [
    RankSVM(C=0.1),
    RankSVMCV([0.01, 0.1], cv=2),
    RankRLS(),
    RankRLSCV(),
    KernelRankSVM(n_components=20, random_state=0),
    KernelRankRLS(n_components=20, random_state=0),
    FactorizedRankSVM(n_components=2, max_iter=5, tol=1.0, random_state=0),
    ScaledRanker(RankSVM(C=0.1), "query-minmax"),
    ScaledRanker(RankRLS(), "zscore"),
]
every = pytest.mark.parametrize("ranker", RANKERS, ids=lambda one: type(one).__name__)
quiet = pytest.mark.filterwarnings(
    "ignore:.*did not converge", "ignore:.* = .* is the (largest|smallest) of the values"
)


def fitted(ranker, *args, **given):
    return clone(ranker).fit(*args, **given)


def scores(ranker):
    return ranker.predict(DATA.X, DATA.qid)


@quiet
@every
@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_fit_takes_ranking_data_and_keeps_its_names(ranker):
    expected = scores(fitted(ranker, DATA.X, DATA.y, DATA.qid))
    model = fitted(ranker, NAMED)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.first_index_ == 1
    np.testing.assert_allclose(model.predict(NAMED), expected, rtol=1e-9)
    np.testing.assert_allclose(model.predict(TURNED), expected, rtol=1e-9)
    np.testing.assert_allclose(model.predict(FRAME, "query"), expected, rtol=1e-9)
    np.testing.assert_allclose(scores(model), expected, rtol=1e-9)
    assert model.score(TURNED) == pytest.approx(evaluate(DATA.y, expected, DATA.qid)["ndcg@10"], rel=1e-12)
    plain = fitted(ranker, RankingData(DATA.X, DATA.y, DATA.qid, None, 0))
    assert plain.first_index_ == 0
    assert not hasattr(plain, "feature_names_in_")


@quiet
@every
def test_fit_takes_columns_of_a_frame_by_name(ranker):
    expected = fitted(ranker, DATA.X, DATA.y, DATA.qid, WEIGHTS)
    model = fitted(ranker, FRAME, y="grade", qid="query", sample_weight="weight")
    assert model.feature_names_in_.tolist() == NAMES
    for frame in (FRAME, FRAME[FRAME.columns[::-1]]):
        np.testing.assert_allclose(model.predict(frame, "query"), scores(expected), rtol=1e-9)
    np.testing.assert_allclose(model.predict(FRAME[NAMES], DATA.qid), scores(expected), rtol=1e-9)
    assert model.score(FRAME, y="grade", qid="query") == pytest.approx(expected.score(DATA.X, DATA.y, DATA.qid))


class ArrowFrame:
    """A frame that has Arrow's interface and no other, as those of Polars have."""

    def __init__(self, frame):
        self.frame, self.columns, self.shape = frame, list(frame.columns), frame.shape

    def __arrow_c_stream__(self, schema=None):
        return self.frame.__arrow_c_stream__(schema)

    def __array__(self, dtype=None, copy=None):
        return self.frame.to_numpy(dtype)

    def __getitem__(self, name):
        return self.frame[name]

    def __len__(self):
        return len(self.frame)

    def select(self, names):
        return ArrowFrame(self.frame[names])


def test_frames_that_have_arrows_interface_only():
    expected = RankSVM(C=0.1).fit(NAMED)
    frame = ArrowFrame(FRAME.drop(columns=["weight", "comment"]))
    model = RankSVM(C=0.1).fit(frame, "grade", "query")
    np.testing.assert_allclose(model.coef_, expected.coef_)
    np.testing.assert_allclose(expected.predict(frame, "query"), expected.predict(NAMED))
    assert expected.top_k(frame, 1, qid="query").row.size == DATA.n_queries


@quiet
@every
def test_rank_gives_the_documents_of_each_query_in_order(ranker):
    model = fitted(ranker, NAMED)
    predicted = model.predict(NAMED)
    ranked = model.rank(NAMED)
    assert len(ranked) == len(DATA)
    np.testing.assert_array_equal(ranked.score, predicted[ranked.row])
    np.testing.assert_array_equal(ranked.query, DATA.qid[ranked.row])
    docids = [comment.split("docid = ")[1].split()[0] for comment in DATA.comments]
    assert ranked.document.tolist() == [docids[row] for row in ranked.row]
    for query in np.unique(DATA.qid):
        own = ranked.for_query(query)
        assert own.rank.tolist() == list(range(1, np.count_nonzero(DATA.qid == query) + 1))
        assert (np.diff(own.score) <= 0).all()
    top = model.top_k(NAMED, 3)
    assert top.rank.max() == 3
    assert top.document.tolist() == [one for one, place in zip(ranked.document, ranked.rank, strict=True) if place <= 3]


def test_rank_of_arrays_and_frames():
    ranker = RankSVM(C=0.1).fit(FRAME, y="grade", qid="query", sample_weight="weight")
    by_array = ranker.rank(FRAME[NAMES], DATA.qid)
    assert by_array.document.tolist() == by_array.row.tolist()
    frame = FRAME.assign(doc=[f"d{i}" for i in range(len(FRAME))])
    by_name = ranker.rank(frame, qid="query", documents="doc")
    assert by_name.document.tolist() == [f"d{row}" for row in by_array.row]
    assert by_name.to_frame().columns.tolist() == ["query", "rank", "document", "score", "row"]
    assert (
        repr(by_name).splitlines()[0]
        == repr(by_array).splitlines()[0]
        == f"{len(DATA)} documents in {DATA.n_queries} queries"
    )
    assert len(repr(by_name).splitlines()) == 13
    assert "<td>d" in by_name._repr_html_()
    alone = ranker.rank(FRAME[NAMES][:5])
    assert sorted(alone.rank.tolist()) == [1, 2, 3, 4, 5]


def test_rank_shows_the_documents_that_a_frame_names():
    ranker = RankSVM(C=0.1).fit(FRAME, y="grade", qid="query", sample_weight="weight")
    rows = ranker.rank(FRAME, qid="query").row
    commented = FRAME.assign(comment=DATA.comments)
    docids = [comment.split("docid = ")[1].split()[0] for comment in DATA.comments]
    assert ranker.rank(commented, qid="query").document.tolist() == [docids[row] for row in rows]
    with_column = commented.assign(docid=[f"d{row}" for row in range(len(DATA))])
    assert ranker.rank(with_column, qid="query").document.tolist() == [f"d{row}" for row in rows]
    again = RankSVM(C=0.1).fit(with_column, y="grade", qid="query", sample_weight="weight")
    np.testing.assert_array_equal(again.coef_, ranker.coef_)


@quiet
@every
def test_columns_in_another_order_are_found_wherever_a_frame_has_others_too(ranker):
    model = fitted(ranker, FRAME[NAMES], DATA.y, DATA.qid)
    turned = FRAME[["query", *NAMES[::-1], "grade"]]
    assert model.score(turned, y="grade", qid="query") == model.score(FRAME, y="grade", qid="query")
    assert model.top_k(turned, 1, "query").row.tolist() == model.top_k(FRAME, 1, "query").row.tolist()
    for use in (lambda X: model.rank(X, DATA.qid), lambda X: model.score(X, DATA.y, DATA.qid)):
        with pytest.raises(ValueError, match="must be in the same order"):
            use(FRAME[NAMES[::-1]])


def test_equal_scores_are_ranked_in_the_order_of_their_rows():
    ranker = RankRLS().fit(DATA.X, DATA.y, DATA.qid)
    assert ranker.rank(np.zeros((4, DATA.n_features)), [1, 2, 1, 2]).row.tolist() == [0, 2, 1, 3]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: RankSVM().fit(NAMED, DATA.y), "a RankingData has labels and query ids already: give X alone"),
        (lambda: RankSVM().fit(NAMED, qid=DATA.qid), "a RankingData has labels and query ids already: give X alone"),
        (lambda: RankSVM().fit(NAMED, sample_weight="w"), "sample_weight is the name 'w', and X is no DataFrame"),
        (lambda: RankRLS().fit(NAMED).score(NAMED, sample_weight="w"), "sample_weight is the name 'w', and X is no"),
        (lambda: RankSVM().fit(FRAME, "grade", "query", "w"), "sample_weight is 'w', and X has no such column"),
        (lambda: RankSVM().fit(FRAME, "grade", "grade"), "y='grade', qid='grade': no two can be one column"),
        (lambda: RankSVM().fit(DATA.X, "grade", "query"), "y is the name 'grade', and X has no named columns"),
        (lambda: RankSVM().fit(FRAME, "label", "query"), "y is 'label', and X has no such column: it has feature 0"),
        (lambda: RankSVM().fit(FRAME, "Grade", "query"), "y is 'Grade', .*: did you mean 'grade'"),
        (lambda: RankSVM().fit(NAMED).predict(WITH_GAP), f"missing values in the column '{NAMES[1]}': fill them, by"),
        (lambda: KernelRankRLS().fit(NAMED).predict(WITH_GAP), f"missing values in the column '{NAMES[1]}': fill them"),
        (lambda: RankSVM().fit(NAMED).predict(RankingData(DATA.X[:, :5], DATA.y, DATA.qid)), "the data has .*features"),
        (lambda: RankSVM().fit(NAMED).rank(NAMED, documents=[1]), "documents must hold one id for each of the"),
        (lambda: RankSVM().fit(NAMED).rank(FRAME, qid="qid"), "X has no column 'qid'"),
        (lambda: RankSVM().fit(NAMED).top_k(NAMED, 0), "k must be a positive whole number; got 0"),
        (lambda: RankSVM().fit(NAMED).rank(NAMED).for_query("none"), "no document of query 'none'"),
        (lambda: RankSVM().fit(NAMED).predict(FRAME.drop(columns=NAMES[0])), "missing"),
    ],
)
def test_mistakes_are_one_sentence(call, words):
    with pytest.raises((ValueError, KeyError), match=words):
        call()


def test_sparse_ranking_data_and_rows_on_disk(tmp_path):
    rows = RankingData(sparse.csr_array(DATA.X), DATA.y, DATA.qid, None, 1, NAMES)
    model = RankSVM(C=0.1).fit(rows)
    np.testing.assert_allclose(model.predict(TURNED), model.predict(rows), rtol=1e-12)
    write_chunks(tmp_path / "chunks", rows)
    stored = open_chunks(tmp_path / "chunks")
    again = RankSVM(C=0.1).fit(stored)
    assert again.score(stored) == pytest.approx(model.score(rows), abs=1e-3)
    assert again.rank(stored).query.tolist() == model.rank(rows).query.tolist()
    save_model(model, tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(FRAME), model.predict(rows))


def test_partial_fit_takes_ranking_data():
    ranker = RankSVM(C=0.1, solver="sgd", random_state=0)
    queries = np.unique(DATA.qid)
    first, second = (np.isin(DATA.qid, part) for part in (queries[:20], queries[20:]))
    ranker.partial_fit(NAMED.select(first)).partial_fit(TURNED.select(second))
    plain = RankSVM(C=0.1, solver="sgd", random_state=0)
    for part in (first, second):
        plain.partial_fit(DATA.X[part], DATA.y[part], DATA.qid[part])
    np.testing.assert_array_equal(ranker.coef_, plain.coef_)
    assert ranker.n_queries_ == queries.size
    assert ranker.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("labels", [DATA.y - 1.5, DATA.y * 0.3])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_score_takes_every_valid_label(labels, weights):
    ranker = RankSVM(C=0.1).fit(DATA.X, labels, DATA.qid)
    found = evaluate(labels, ranker.predict(DATA.X), DATA.qid, "pairwise-accuracy")
    expected = found["pairwise-accuracy"]
    if weights is not None:
        ids, codes = np.unique(DATA.qid, return_inverse=True)
        own = []
        for q in range(ids.size):
            given, of_query = labels[codes == q], WEIGHTS[codes == q]
            better = given > given.min()
            own.append((of_query[better] if better.any() else of_query).mean())
        places = [found.query_ids.tolist().index(one) for one in ids]
        pairs, values = found.weights["pairwise-accuracy"][places], found.per_query["pairwise-accuracy"][places]
        counted = ~np.isnan(values)
        expected = np.sum((own * pairs * values)[counted]) / np.sum((own * pairs)[counted])
    assert ranker.score(DATA.X, labels, DATA.qid, weights) == pytest.approx(expected, rel=1e-12)


def test_a_kernel_ranker_passes_its_random_state_on():
    few = DATA.select(slice(0, 60))
    one, same, other = (
        KernelRankSVM(solver="sgd", C=0.01, max_iter=2, random_state=seed).fit(few).dual_coef_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_query_weights_are_a_column_too():
    weights = 1.0 + DATA.qid % 3
    expected = RankSVM(C=0.1).fit(DATA.X, DATA.y, DATA.qid, query_weight=weights)
    frame = FRAME.drop(columns="weight").assign(importance=weights)
    model = RankSVM(C=0.1).fit(frame, "grade", "query", query_weight="importance")
    np.testing.assert_allclose(model.coef_, expected.coef_)
    with pytest.raises(ValueError, match="query_weight is 'worth', and X has no such column"):
        RankSVM().fit(frame, "grade", "query", query_weight="worth")


@pytest.mark.parametrize("ranker", [RankSVM(), KernelRankSVM(), ScaledRanker(RankSVM(), "zscore")])
def test_texts_and_missing_values_are_named_by_column(ranker):
    texts = FRAME.assign(sku=[f"SKU-{i}" for i in range(len(FRAME))])
    with pytest.raises(ValueError, match="'SKU-0', a text in the column 'sku': leave the column out, as by from_frame"):
        ranker.fit(texts, "grade", "query")
    dates = FRAME.assign(listed=np.datetime64("2024-01-01"))
    with pytest.raises(ValueError, match="X has a date or time in the column 'listed': put a number in its place"):
        ranker.fit(dates, "grade", "query")
    gaps = FRAME.assign(**{NAMES[1]: np.where(FRAME[NAMES[1]] > 0, FRAME[NAMES[1]], np.nan)})
    with pytest.raises(ValueError, match=r"NaN.* (column 'feature 1': fill them, by from_frame|row 0, column 1: )"):
        ranker.fit(gaps, "grade", "query")


def test_rank_of_a_frame_with_several_queries_needs_their_column():
    ranker = RankSVM(C=0.1).fit(FRAME, "grade", "query")
    for rank in (ranker.rank, ranker.top_k):
        with pytest.raises(ValueError, match="X has a column 'query' of several query ids: pass qid='query'"):
            rank(FRAME)
    one = FRAME[FRAME["query"] == FRAME["query"].iloc[0]]
    assert ranker.rank(one).row.tolist() == ranker.rank(one, qid="query").row.tolist()


def odd_rows(X):
    """Arrays that `predict` takes or refuses; the first four pass its short check."""
    holes = {where: X.copy() for where in (np.nan, np.inf, -np.inf)}
    for value, array in holes.items():
        array[1, 2] = value
    both = holes[np.inf].copy()
    both[0, 0] = -np.inf
    plain = [X, X.astype(np.float32), np.ascontiguousarray(X[::2]), X[:1]]
    readable = [np.asfortranarray(X), X[::2], X.astype(int), X.astype(">f8"), X.tolist(), np.full_like(X, 1e308)]
    return plain, [*readable, *holes.values(), both, X[0], X[:0], X[:, 1:], X + 0j, X.astype(object), X[None]]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("named", [False, True])
def test_the_short_check_of_predict_refuses_what_scikit_learn_refuses(monkeypatch, named):
    X = np.arange(24.0).reshape(8, 3) % 7
    ranker = RankSVM().fit(pd.DataFrame(X, columns=["a", "b", "c"]) if named else X, np.arange(8) % 3)

    def outcome(rows):
        try:
            return ranker.predict(rows).tolist()
        except ValueError as error:
            return str(error)

    plain, others = odd_rows(X)
    short = [outcome(rows) for rows in plain + others]
    assert [ranker._is_plain(rows) for rows in plain + others] == [not named] * len(plain) + [False] * len(others)
    monkeypatch.setattr(RankSVM, "_is_plain", lambda self, rows: False)
    assert short == [outcome(rows) for rows in plain + others]


def test_a_frame_or_a_path_alone_says_what_to_give():
    frame = pd.DataFrame({"label": [0, 1], "qid": ["a", "a"], "bm25": [1.0, 2.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"y is not given: .* as in fit\(frame, y='label', qid='qid'\)"):
            RankSVM().fit(frame)
    with pytest.raises(TypeError, match=r"'train\.csv': read files by rankwise\.read_data"):
        RankSVM().fit("train.csv")
