"""Findings against naive versions by pandas, on small integers, dense and sparse."""

import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rankwise import RankingData, check, load_sample, make_ranking
from rankwise.checking import CODES, leaks
from rankwise.checking.features import LEAST_ROWS, LEAST_SUPPORT, are_proportional


@st.composite
def data_sets(draw):
    n, p = draw(st.integers(1, 40)), draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = random.integers(-1, 2, (n, p)).astype(draw(st.sampled_from([np.float32, np.float64])))
    X[:, random.random(p) < 0.3] = random.integers(-1, 2)
    if draw(st.booleans()):
        X[:, p // 2] = X[:, 0]
    if draw(st.booleans()):
        X[random.random((n, p)) < 0.1] = np.nan
    qid = random.integers(0, draw(st.integers(1, 6)), n)
    if draw(st.booleans()):  # a feature of the query
        X[:, -1] = qid % 3
    X = X if draw(st.booleans()) else csr_array(X)
    return RankingData(X, random.integers(0, 3, n).astype(float), qid)


def dense(data):
    return data.X if isinstance(data.X, np.ndarray) else data.X.toarray()


def found(report, code):
    """The finding with this code; None if there is none."""
    return next((one for one in report.findings if one.code == code), None)


def names(report, code):
    finding = found(report, code)
    return set() if finding is None else set(finding.features)


def numbers(report, code):
    finding = found(report, code)
    return {} if finding is None else finding.numbers


@given(data_sets())
@settings(max_examples=80, deadline=None)
def test_features(data):
    report, X = check(data), pd.DataFrame(dense(data), columns=[f"f{j + 1}" for j in range(data.n_features)])
    assert numbers(report, "missing-values").get("values", 0) == X.isna().to_numpy().sum()
    assert names(report, "missing-values") == set(X.columns[X.isna().any()])
    if len(X) < LEAST_ROWS:
        assert set(report.codes).isdisjoint({"constant-feature", "duplicate-features", "proportional-features"})
        return
    constant = X.nunique() <= 1
    assert names(report, "constant-feature") == set(X.columns[X.nunique() == 1])
    within = (X.groupby(data.qid).nunique() <= 1).all()
    expected = set(X.columns[within & ~constant]) if data.n_queries > 1 else set()
    assert names(report, "constant-within-queries") == expected
    support = X.count() - [max((X[name] == X[name].min()).sum(), (X[name] == X[name].max()).sum()) for name in X]
    varying = X.loc[:, support >= LEAST_SUPPORT]
    copies = {b for a, b in combinations(varying.columns, 2) if X[a].equals(X[b])}
    assert names(report, "duplicate-features") == copies
    kept = varying.loc[:, [name for name in varying.columns if name not in copies and not X[name].isna().any()]]
    near = kept.corr().abs()
    expected = {b for a, b in combinations(kept.columns, 2) if near.loc[a, b] > 1 - 1e-9}
    assert names(report, "proportional-features") == expected


@given(data_sets())
@settings(max_examples=80, deadline=None)
def test_queries_and_rows(data):
    report, X = check(data), pd.DataFrame(dense(data)).fillna(99)
    rows = X.assign(qid=data.qid, y=data.y)
    pairs = tied = 0
    for a, b in combinations(rows.itertuples(index=False), 2):
        differ = a.qid == b.qid and a.y != b.y
        pairs += differ
        tied += differ and a[: X.shape[1]] == b[: X.shape[1]]
    assert report.size.pairs == pairs
    assert (found(report, "no-pairs") is not None) == (pairs == 0)
    assert (found(report, "few-pairs") is not None) == (0 < pairs < 100)
    assert numbers(report, "contradicting-labels").get("pairs", 0) == tied
    of_query = rows.groupby("qid").y
    if pairs:
        lacking = numbers(report, "queries-without-pairs")
        assert lacking.get("queries", 0) == (of_query.nunique() == 1).sum()
        assert lacking.get("single_document", 0) == (of_query.size() == 1).sum()
    groups = rows.groupby([*X.columns, "qid"]).y.agg(["size", "nunique"])
    copies = (groups["size"] - 1)[groups["nunique"] == 1].sum()
    assert numbers(report, "duplicate-rows").get("documents", 0) == copies


@given(data_sets(), st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_accuracy_of_a_feature(data, j):
    column = dense(data)[:, j % data.n_features].astype(float)
    pairs = leaks.Pairs(data.y, data.qid)
    gaps = [
        np.sign((data.y[a] - data.y[b]) * (column[a] - column[b]))
        for a, b in combinations(range(len(data)), 2)
        if data.qid[a] == data.qid[b] and data.y[a] != data.y[b]
    ]
    assert pairs.number == len(gaps)
    if gaps:
        assert pairs.accuracy(column) == pytest.approx(np.mean([0.5 if np.isnan(x) else (1 + x) / 2 for x in gaps]))


@pytest.fixture(scope="module")
def base():
    return make_ranking(n_queries=40, n_features=4, noise=2.0, random_state=0)


def with_column(data, column, sparse=False):
    X = np.column_stack([dense(data), column])
    return RankingData(csr_array(X) if sparse else X, data.y, data.qid)


def codes(report):
    return {one.code for one in report.findings}


@pytest.mark.parametrize("sparse", [False, True])
def test_leaks(base, sparse, monkeypatch):
    random = np.random.default_rng(0)
    noise = random.random(len(base))
    shuffled = np.where(random.random(len(base)) < 0.003, random.permutation(base.y), base.y)
    for sample in (20_000, 200):  # all rows, or some queries first
        monkeypatch.setattr(leaks, "SAMPLE", sample)
        for column, code in (
            (base.y, "label-copy"),
            (-3 * base.y + 7, "label-copy"),
            (np.exp(base.y), "perfect-feature"),
            (-base.y - 0.5 * noise, "perfect-feature"),
            (shuffled + 0.5 * noise, "near-perfect-feature"),
        ):
            report = check(with_column(base, column, sparse))
            assert names(report, code) == {"f5"}
            assert len(codes(report) & {"label-copy", "perfect-feature", "near-perfect-feature"}) == 1
        assert not codes(check(base)) & {"label-copy", "perfect-feature", "near-perfect-feature", "reversed-labels"}


def test_a_leak_with_missing_values_is_one_still(base):
    column = np.exp(base.y)
    column[3] = np.nan
    assert names(check(with_column(base, column)), "near-perfect-feature") == {"f5"}


def test_chance_is_no_leak():
    random = np.random.default_rng(0)
    y = np.zeros(150)
    y[0] = 1.0  # one of 300 random features puts it first: 149 pairs
    report = check(RankingData(random.random((150, 300)), y, np.zeros(150, int)))
    assert not codes(report) & {"perfect-feature", "near-perfect-feature"}


def test_reversed_labels():
    data = load_sample()
    assert "reversed-labels" not in codes(check(data))
    X = np.column_stack([data.y + np.random.default_rng(j).normal(size=len(data)) for j in range(9)])
    assert "reversed-labels" not in codes(check(RankingData(X, data.y, data.qid)))
    assert len(names(check(RankingData(X, 2 - data.y, data.qid)), "reversed-labels")) == 9


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_values(base, sparse, scale):
    random = np.random.default_rng(0)
    plain = random.normal(size=len(base))
    placeholder, outlier, few = plain.copy(), plain.copy(), random.integers(0, 3, len(base)).astype(float)
    placeholder[::20] = 500.0
    outlier[7] = 1e5
    for column, code in ((plain, None), (placeholder, "placeholder-values"), (outlier, "outliers"), (few, None)):
        data = RankingData(np.column_stack([plain + 1, column]) * scale, base.y, base.qid)
        data = with_column(data, 2 * scale * plain[::-1], sparse)
        report = check(data)
        assert codes(report) & {"placeholder-values", "outliers", "different-scales"} == ({code} if code else set())
        assert code is None or names(report, code) == {"f2"}


def test_known_placeholders(base):
    counts = np.random.default_rng(0).integers(0, 1000, len(base)).astype(float)
    signs = np.random.default_rng(0).integers(-1, 2, len(base)).astype(float)
    for column, is_one in (
        (np.where(np.arange(len(base)) % 9, counts, -1), True),
        (np.where(np.arange(len(base)) % 9, counts, 9999), True),
        (np.where(np.arange(len(base)) % 9, counts, 2500), False),  # not far, and no usual number
        (np.where(np.arange(len(base)) % 9, counts + 5000, 0), False),  # no match is no placeholder
        (np.where(np.arange(len(base)) < 3, 9999, counts), False),  # not often
        (signs, False),
    ):
        assert ("placeholder-values" in codes(check(with_column(base, column)))) == is_one


@pytest.mark.parametrize(
    ("name", "is_one"), [("product_id", True), ("productId", True), ("SKU", True), ("bid", False), ("clicks", False)]
)
@pytest.mark.parametrize("sparse", [False, True])
def test_ids_that_became_features(base, name, is_one, sparse):
    ids = 100_000.0 + np.random.default_rng(0).permutation(len(base))
    for column, whole in ((ids, True), (ids + 0.5, False)):
        data = with_column(base, column, sparse)
        labels = [*(f"x{j}" for j in range(data.n_features - 1)), name]
        data = RankingData(data.X, data.y, data.qid, names=labels)
        report = check(data)
        assert names(report, "id-as-feature") == {name} if is_one and whole else "id-as-feature" not in codes(report)
        assert not (is_one and whole and "different-scales" in codes(report))


def test_scales_and_offsets(base):
    random = np.random.default_rng(0)
    report = check(with_column(base, 1e6 * random.random(len(base))))
    assert found(report, "different-scales").features[0] == "f5"
    assert found(report, "different-scales").advice.count("--normalize") == 1
    assert names(check(with_column(base, 1.7e9 + random.random(len(base)))), "large-offset") == {"f5"}
    assert not codes(check(with_column(base, 100 + random.random(len(base))))) & {"large-offset", "different-scales"}


def test_a_shared_large_value_makes_no_columns_proportional():
    a, b = np.random.default_rng(0).normal(size=(2, 500))
    a[3] = b[3] = 1e12
    assert abs(np.corrcoef(a, b)[0, 1]) > 1 - 1e-12
    assert not are_proportional(a, b)
    assert are_proportional(a, 3 - 2 * a)
    assert are_proportional(a.astype(np.float32).astype(float), (1 - a).astype(np.float32).astype(float))


def test_labels(base):
    for y, expected in (
        (base.y + 0.5, {"fractional-labels"}),
        (base.y - 1, {"negative-labels"}),
        (base.y * 50, {"large-labels"}),
        (base.y, set()),
    ):
        report = check(RankingData(base.X, y, base.qid))
        assert codes(report) & {"fractional-labels", "negative-labels", "large-labels"} == expected


def test_missing_labels_are_left_out(base):
    y = base.y.copy()
    y[:30] = np.nan
    y[30] = np.inf
    report = check(RankingData(base.X, y, base.qid))
    assert found(report, "missing-labels").rows == list(range(30))
    assert found(report, "infinite-labels").numbers == {"rows": 1}
    y[100] = 0.5
    report = check(RankingData(base.X, y, base.qid))
    assert found(report, "fractional-labels").rows == [100]
    rest = check(RankingData(base.X, y, base.qid).select(slice(31, None)))
    assert codes(report) == codes(rest) | {"missing-labels", "infinite-labels"}
    assert report.size.pairs == rest.size.pairs
    assert codes(check(RankingData(base.X, np.full(len(base), np.nan), base.qid))) == {"missing-labels"}


def test_dominant_and_single_queries(base):
    random = np.random.default_rng(0)
    qid = np.where(np.arange(300) < 200, 0, np.arange(300) // 10)
    data = RankingData(random.random((300, 2)), random.integers(0, 3, 300), qid)
    finding = found(check(data), "dominant-query")
    assert finding.queries == [0]
    assert finding.numbers["share"] > 0.9
    assert "dominant-query" not in codes(check(base))
    assert "one-query" in codes(check(RankingData(data.X, data.y, np.zeros(300, int))))


def test_documents_that_occur_twice(base):
    docid = np.arange(len(base))
    docid[1] = docid[0]
    y = base.y.copy()
    y[1] = y[0] + 1
    finding = found(check(RankingData(base.X, y, base.qid, docid=docid)), "duplicate-documents")
    assert finding.numbers == {"documents": 1, "different_labels": 1}
    comments = [f"docid = {one}" for one in docid]
    assert found(check(RankingData(base.X, y, base.qid, comments)), "duplicate-documents").rows == [0]
    assert "duplicate-documents" not in codes(check(RankingData(base.X, y, base.qid, docid=np.arange(len(base)))))


def test_scattered_rows_and_threads_change_nothing(base):
    order = np.random.default_rng(0).permutation(len(base))
    data = with_column(base, np.repeat(3.0, len(base)))
    scattered = RankingData(data.X[order], data.y[order], data.qid[order].astype(str))
    whole = check(data)
    assert codes(check(scattered)) == codes(whole)
    assert check(data, n_jobs=1).to_dict() == check(data, n_jobs=3).to_dict() == whole.to_dict()


def test_report(base):
    report = check(with_column(base, base.y), base)
    text = report.to_text()
    assert repr(report) == text
    severities = [one.severity for one in report.findings]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert max(map(len, text.splitlines())) <= 100
    assert not report.passes()
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["data"] == {"documents": len(base), "queries": 40, "features": 5, "pairs": report.size.pairs}
    assert plain["counts"]["error"] == report.count("error") == severities.count("error")
    assert [one["code"] for one in plain["findings"]] == report.codes
    assert list(report.to_frame().code) == report.codes
    assert set(report.codes) <= set(CODES)


def test_strict():
    y, X = np.tile([0.0, 1.0], 100), np.random.default_rng(0).random((200, 2))
    X[:, 1] = 5
    report = check(RankingData(X, y, np.arange(200) // 4))
    assert report.codes == ["constant-feature"]
    assert report.passes()
    assert not report.passes(strict=True)
    assert check(RankingData(X[:, :1], y, np.arange(200) // 4)).summary() == "nothing found"


def test_many_names_are_cut_short():
    X = np.zeros((20, 700))
    report = check(RankingData(X, np.tile([0.0, 1.0], 10), np.zeros(20, int)))
    finding = found(report, "constant-feature")
    assert "f5 and 695 more" in finding.message
    assert len(finding.features) == 700


def test_what_cannot_be_checked():
    with pytest.raises(TypeError, match=r"^data must be RankingData.*got ndarray"):
        check(np.zeros((3, 3)))
    empty = RankingData(np.zeros((0, 2)), np.zeros(0), np.zeros(0, int))
    with pytest.raises(ValueError, match=r"^against has no rows"):
        check(load_sample(), empty)
    assert "no-pairs" in check(RankingData(np.zeros((1, 0)), np.zeros(1), np.zeros(1, int))).codes


def test_the_document_lists_every_code():
    text = (Path(__file__).parents[2] / "docs" / "checking.md").read_text()
    assert re.findall(r"^\| `([\w-]+)` \| (error|warning|note) \| (.*) \|$", text, re.M) == [
        (code, kind.severity, kind.meaning) for code, kind in CODES.items()
    ]


def test_every_code_is_used():
    source = "".join(path.read_text() for path in Path(leaks.__file__).parent.glob("*.py"))
    assert [code for code in CODES if source.count(f'"{code}"') != 2] == []  # in the table, and where it is found


def test_advice_is_for_python_and_for_the_command_line():
    source = "".join(path.read_text() for path in Path(leaks.__file__).parent.glob("*.py"))
    assert re.findall(r"\w+ \(--[\w-]+", source)
    assert re.findall(r"[^(]--[a-z][\w-]*", source) == []  # a flag stands in brackets after the name in Python
