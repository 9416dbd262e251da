"""Folds keep queries whole, cover every row once, and are as even as they can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import load_sample, read_letor, write_letor
from rankwise.model_selection import LetorFolds, QueryKFold
from rankwise.model_selection.splits import splits_of

DATA = load_sample()


@st.composite
def rows_of_queries(draw):
    """Ids of any type, scattered, of at least as many queries as folds."""
    n_splits = draw(st.integers(2, 5))
    ids = list(range(n_splits)) + draw(st.lists(st.integers(0, 8), max_size=30))
    qid = np.array(draw(st.permutations(ids)))
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=len(ids), max_size=len(ids))), float)
    return n_splits, (qid if draw(st.booleans()) else np.array([f"q{one}" for one in qid])), y


@given(
    rows=rows_of_queries(),
    shuffle=st.booleans(),
    stratify=st.sampled_from([None, "length", "labels"]),
    seed=st.integers(0, 3),
)
def test_folds_keep_queries_whole(rows, shuffle, stratify, seed):
    n_splits, qid, y = rows
    folds = QueryKFold(n_splits, shuffle=shuffle, random_state=seed if shuffle else None, stratify=stratify)
    splits = list(folds.split(np.zeros((len(y), 1)), y, groups=qid))
    assert len(splits) == folds.get_n_splits() == n_splits
    assert sorted(np.concatenate([valid for _, valid in splits])) == list(range(len(y)))
    for train, valid in splits:
        assert not set(qid[train]) & set(qid[valid])
        assert train.size + valid.size == len(y)
    queries = [len(set(qid[valid])) for _, valid in splits]
    assert max(queries) - min(queries) <= 1


def test_order_and_chance():
    qid = np.repeat([5, 3, 9, 1], 2)
    in_order = [set(qid[valid]) for _, valid in QueryKFold(2).split(qid, groups=qid)]
    assert in_order == [{5, 3}, {9, 1}]

    def shuffled(seed):
        folds = QueryKFold(5, shuffle=True, random_state=seed)
        return [valid.tolist() for _, valid in folds.split(DATA.X, qid=DATA.qid)]

    assert shuffled(0) == shuffled(0) != shuffled(1)


@pytest.mark.parametrize("shuffle", [True, False])
def test_lengths_are_spread_evenly(shuffle):
    """Queries of length 1 ... 100 given in order of length: unstratified folds are as uneven as can be."""
    qid = np.repeat(np.arange(100), np.arange(1, 101))
    options = {"shuffle": shuffle, "random_state": 0 if shuffle else None}
    sizes = [valid.size for _, valid in QueryKFold(5, stratify="length", **options).split(qid, groups=qid)]
    assert max(sizes) - min(sizes) <= 4 * 20  # five neighbours in length, twenty times
    plain = [valid.size for _, valid in QueryKFold(5).split(qid, groups=qid)]
    assert max(plain) - min(plain) > 1000


def test_label_mix_is_spread_evenly():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(200), 10)
    y = (rng.random(2000) < np.repeat(np.linspace(0, 1, 200), 10)).astype(float)
    shares = [y[valid].mean() for _, valid in QueryKFold(5, stratify="labels", shuffle=True).split(qid, y, qid)]
    assert np.ptp(shares) < 0.02
    assert np.ptp([y[valid].mean() for _, valid in QueryKFold(5).split(qid, y, qid)]) > 0.5


@pytest.mark.parametrize(
    ("folds", "given", "words"),
    [
        (QueryKFold(3), {}, "needs the query ids"),
        (QueryKFold(3), {"groups": [1, 1, 2, 2]}, "3 folds need as many queries, and there are 2"),
        (QueryKFold(1), {"groups": [1, 1, 2, 2]}, "n_splits must be an integer of at least 2"),
        (
            QueryKFold(2, stratify="size"),
            {"groups": [1, 1, 2, 2]},
            "stratify must be one of None, 'length', 'labels'; got 'size'",
        ),
        (QueryKFold(2, stratify="labels"), {"groups": [1, 1, 2, 2]}, "needs the labels"),
    ],
)
def test_what_cannot_be_is_refused(folds, given, words):
    with pytest.raises(ValueError, match=words):
        list(folds.split(np.zeros((4, 1)), **given))


def test_a_single_query_is_split_by_documents():
    splits = splits_of(3, np.zeros((7, 1)), np.zeros(7), None)
    assert sorted(valid.size for _, valid in splits) == [2, 2, 3]
    with pytest.raises(ValueError, match="n_samples = 2"):
        splits_of(3, np.zeros((2, 1)), np.zeros(2), None)


def test_letor_rotation():
    """The parts of each fold as LETOR's documentation lists them."""
    folds = LetorFolds([1, 2, 3, 4, 5])
    expected = [("123", "4", "5"), ("234", "5", "1"), ("345", "1", "2"), ("451", "2", "3"), ("512", "3", "4")]
    for rotation, wanted in zip(folds.rotations(), expected, strict=True):
        parts = ["".join(str(row + 1) for row in rows) for rows in (rotation.train, rotation.valid, rotation.test)]
        assert [set(part) for part in parts] == [set(part) for part in wanted]
    tests = [valid.tolist() for _, valid in LetorFolds([1, 2, 3, 4, 5], judge="test").split(np.zeros((5, 2)))]
    assert tests == [[4], [0], [1], [2], [3]]


@pytest.mark.parametrize("layout", ["S{}.txt.gz", "Fold{}/test.txt"])
def test_letor_folders(tmp_path, layout):
    for part in range(1, 6):
        number = part if layout.startswith("S") else part % 5 + 1
        path = tmp_path / layout.format(number)
        path.parent.mkdir(exist_ok=True)
        write_letor(path, DATA.select(DATA.qid % 5 == part - 1))
    data, folds = LetorFolds.read(tmp_path)
    assert len(data) == len(DATA) == np.size(folds.parts)
    for part in range(1, 6):
        assert set(data.qid[np.asarray(folds.parts) == part] % 5) == {part - 1}
    files = sorted(tmp_path.glob("*/*") if "Fold" in layout else tmp_path.glob("*"))
    assert len(LetorFolds.read(files)[0]) == len(DATA)


def test_letor_faults(tmp_path):
    with pytest.raises(ValueError, match="neither S1"):
        LetorFolds.read(tmp_path)
    write_letor(tmp_path / "S1.txt", DATA)
    with pytest.raises(ValueError, match="got 1 files"):
        LetorFolds.read([tmp_path / "S1.txt"])
    (tmp_path / "S1.txt.gz").touch()
    with pytest.raises(ValueError, match="both exist"):
        LetorFolds.read(tmp_path)
    with pytest.raises(ValueError, match="a number from 1 to 5 for each row"):
        list(LetorFolds([0, 1, 2, 3, 4]).rotations())
    with pytest.raises(ValueError, match="parts holds 5 numbers, X has 3 rows"):
        list(LetorFolds([1, 2, 3, 4, 5]).split(np.zeros((3, 1))))


def test_letor_sets(letor_data):
    data, folds = LetorFolds.read(letor_data / "mq2008", dense=True)
    first = next(folds.rotations())
    assert (first.train.size, len(np.unique(data.qid[first.train]))) == (9630, 471)
    expected = read_letor(letor_data / "mq2008" / "S5.txt.xz", dense=True)
    np.testing.assert_array_equal(data.X[first.test], expected.X)


def test_rows_of_folds_may_be_of_a_small_type():
    rows = np.arange(100, dtype=np.uint8)
    for dtype in (np.uint8, np.int8):
        [(train, valid)] = splits_of([(rows.astype(dtype), rows[:3].astype(dtype))], np.zeros((900, 1)), None, None)
        assert (train.tolist(), valid.tolist()) == (list(range(100)), [0, 1, 2])
    [(train, _)] = splits_of([(np.array([-1, -128], np.int8), rows)], np.zeros((900, 1)), None, None)
    assert train.tolist() == [899, 772]


def test_rows_of_folds_may_be_masks_and_count_from_the_end():
    train, valid = np.array([0, 2, 3]), np.array([1, 4])
    masks = np.isin(np.arange(5), train), np.isin(np.arange(5), valid)
    ways = [(train, valid), (train - 5, valid - 5), masks, (list(train), list(valid))]
    for one in splits_of(ways, np.zeros((5, 1)), np.zeros(5), None):
        assert [rows.tolist() for rows in one] == [train.tolist(), valid.tolist()]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([True, False], r"cv\[0\] has a mask of shape \(2,\): X has 5 rows"),
        ([0.0, 1.0], r"cv\[0\] must hold row numbers or masks, got float64"),
        ([], r"cv\[0\] has no training rows, or no held-out rows"),
        ([-6], r"cv\[0\] names row -6: X has 5 rows"),
    ],
)
def test_rows_of_folds_that_are_none(rows, words):
    with pytest.raises(ValueError, match=words):
        splits_of([([0, 1], rows)], np.zeros((5, 1)), np.zeros(5), None)
