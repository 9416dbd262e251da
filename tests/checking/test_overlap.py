"""Training data against test data: features, queries and documents that both have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rankwise import RankingData, check, load_sample, make_ranking


def found(report, code):
    return next((one for one in report.findings if one.code == code), None)


@pytest.fixture(scope="module")
def base():
    return make_ranking(n_queries=30, n_features=4, random_state=0)


def test_no_overlap():
    report = check(load_sample("train"), load_sample("test"))
    assert not {"shared-documents", "shared-queries", "missing-features", "feature-order"} & set(report.codes)
    assert report.against.queries == 40


@pytest.mark.parametrize("sparse", [False, True])
def test_the_same_queries(base, sparse):
    part = base.select(base.qid <= 5)
    other = RankingData(csr_array(part.X) if sparse else part.X.astype(np.float64), part.y, part.qid.astype(str))
    finding = found(check(base, other), "shared-documents")
    assert finding.numbers == {"queries": 5, "documents": len(part)}
    renamed = RankingData(part.X, part.y, part.qid + 1000)
    assert found(check(base, renamed), "shared-documents").numbers["queries"] == 5


def test_split_by_rows(base):
    half = np.arange(len(base)) % 2 == 0
    report = check(base.select(half), base.select(~half))
    assert found(report, "shared-documents") is None
    assert found(report, "shared-queries").numbers == {"queries": 30, "documents": 0}


def test_the_same_documents_with_other_features(base):
    docid = np.array([f"d{i % 25}" for i in range(len(base))])
    train = RankingData(base.X, base.y, base.qid, docid=docid)
    test = RankingData(base.X + 1, base.y, base.qid.astype(str), [f"docid = {one}" for one in docid])
    assert found(check(train, test), "shared-documents").numbers == {"queries": 30, "documents": len(base)}
    elsewhere = RankingData(base.X + 1, base.y, base.qid + 1000, docid=docid)
    assert found(check(train, elsewhere), "shared-documents") is None


def test_rows_of_zeros_are_no_shared_documents(base):
    X = base.X.copy()
    X[0] = 0
    train, test = RankingData(X, base.y, base.qid), RankingData(X + (X != 0), base.y, base.qid)
    assert found(check(train, test), "shared-documents") is None


def test_equal_rows_of_many_queries_are_no_shared_documents(base):
    X = np.round(base.X[:, :1] > 0)  # every query has the same two rows
    first = base.qid < 15
    data = RankingData(X, base.y, base.qid)
    assert found(check(data.select(first), data.select(~first)), "shared-documents") is None


def test_single_queries_share_no_id(base):
    one = RankingData(base.X, base.y, np.zeros(len(base), int))
    half = np.arange(len(base)) % 2 == 0
    assert not {"shared-documents", "shared-queries"} & set(check(one.select(half), one.select(~half)).codes)
    assert found(check(one, one), "shared-documents").numbers["queries"] == 1


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_ids_against_sets(seed):
    random = np.random.default_rng(seed)
    sides = [
        RankingData(random.random((20, 2)), random.integers(0, 2, 20), random.integers(0, 30, 20)) for _ in range(2)
    ]
    shared = set(sides[0].qid) & set(sides[1].qid)
    finding = found(check(*sides), "shared-queries")
    assert (set() if finding is None else set(finding.queries)) == shared


def named(data, names):
    order = [int(name[1:]) for name in names]
    return RankingData(data.X[:, order], data.y, data.qid + 100, names=list(names))


def test_features_of_both_sides(base):
    train = named(base, ["a0", "a1", "a2", "a3"])
    moved = check(train, named(base, ["a0", "a2", "a1", "a3"]))
    assert list(found(moved, "feature-order").features) == ["a2", "a1"]
    assert found(moved, "shared-documents").numbers["queries"] == 30  # compared by name
    lacking = found(check(train, named(base, ["a3", "a1"])), "missing-features")
    assert lacking.numbers == {"missing_in_test": 2, "missing_in_training": 0}
    assert list(lacking.features) == ["a0", "a2"]
    more = found(check(named(base, ["a3", "a1"]), train), "missing-features")
    assert (lacking.severity, more.severity) == ("error", "note")
    other = RankingData(base.X, base.y, base.qid, names=["b0", "b1", "b2", "b3"])
    assert found(check(train, other), "missing-features").numbers["missing_in_training"] == 4
    shorter = RankingData(base.X[:, :3], base.y, base.qid + 100)
    assert found(check(base, shorter), "missing-features") is None  # text leaves zeros out


def test_a_feature_that_stopped(base):
    X = base.X.copy()
    X[:, 2] = 0
    finding = found(check(base, RankingData(X, base.y, base.qid + 100)), "constant-in-test")
    assert list(finding.features) == ["f3"]
    rare = base.X.copy()
    rare[5:, 2] = 0
    assert (
        found(check(RankingData(rare, base.y, base.qid), RankingData(X, base.y, base.qid + 100)), "constant-in-test")
        is None
    )
