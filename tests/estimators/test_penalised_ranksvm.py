"""RankSVM with signs and with few features."""

import re

import numpy as np
import pytest

import rankwise
from rankwise import RankSVM, load_sample
from rankwise.data.records import RankingData
from rankwise.estimators.ranksvm_path import c_path

DATA = load_sample()
NAMES = list(DATA.names)
PLAIN = RankSVM(C=0.01, tol=1e-8).fit(DATA)
POSITIVE = int(PLAIN.coef_.argmax())


def test_signs_are_kept_and_the_others_are_free():
    signs = np.zeros(DATA.n_features)
    signs[POSITIVE] = -1
    ranker = RankSVM(C=0.01, tol=1e-8, monotonic_cst=signs).fit(DATA)
    assert ranker.coef_[POSITIVE] == 0.0
    assert ranker.result_.converged
    assert ranker.result_.value > PLAIN.result_.value
    by_name = RankSVM(C=0.01, tol=1e-8, monotonic_cst={NAMES[POSITIVE]: -1}).fit(DATA)
    np.testing.assert_array_equal(by_name.coef_, ranker.coef_)


def test_signs_that_hold_anyway_change_nothing():
    ranker = RankSVM(C=0.01, tol=1e-10, monotonic_cst=np.sign(PLAIN.coef_)).fit(DATA)
    np.testing.assert_allclose(ranker.coef_, PLAIN.coef_, atol=1e-4 * np.abs(PLAIN.coef_).max())
    none = RankSVM(C=0.01, tol=1e-10, monotonic_cst=np.zeros(DATA.n_features)).fit(DATA)
    np.testing.assert_allclose(none.coef_, PLAIN.coef_, atol=1e-4 * np.abs(PLAIN.coef_).max())


def test_a_larger_ratio_keeps_fewer_features():
    kept = [int((RankSVM(C=1e-3, l1_ratio=a).fit(DATA).coef_ != 0).sum()) for a in (0.0, 0.3, 1.0)]
    assert kept[0] > kept[1] > kept[2] > 0


def test_a_path_over_C_has_the_penalty():
    ranker = RankSVM(l1_ratio=0.8, tol=1e-8)
    path = c_path(DATA.X, DATA.y, DATA.qid, [1e-4, 1e-2], ranker=ranker)
    for C, coef in zip(path.Cs, path.coef, strict=True):
        alone = RankSVM(C=C, l1_ratio=0.8, tol=1e-8).fit(DATA).coef_
        np.testing.assert_allclose(coef, alone, atol=1e-3 * np.abs(alone).max())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"l1_ratio": 1.5}, "l1_ratio must be a number from 0 to 1, got 1.5"),
        ({"l1_ratio": "much"}, "l1_ratio must be a number from 0 to 1, got 'much'"),
        ({"l1_ratio": float("nan")}, "l1_ratio must be a number from 0 to 1, got nan"),
        (
            {"monotonic_cst": [1, -1]},
            f"monotonic_cst must hold one number per feature, {DATA.n_features}; got shape (2,)",
        ),
        ({"monotonic_cst": np.full(DATA.n_features, 2)}, "0 (free) only; got 2"),
        ({"monotonic_cst": {"prise": 1}}, "a name in monotonic_cst must be"),
        (
            {"l1_ratio": 0.5, "loss": "hinge", "solver": "newton"},
            "needs a smooth loss, and hinge has a corner",
        ),
        (
            {"l1_ratio": 0.5, "solver": "trust-region"},
            "solver 'trust-region' takes neither monotonic_cst nor l1_ratio: use 'auto'",
        ),
    ],
)
def test_what_cannot_work_is_said(options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        RankSVM(**options).fit(DATA)


def test_names_need_names():
    with pytest.raises(ValueError, match="pass an array with 1, -1 or 0 per feature"):
        RankSVM(monotonic_cst={"price": 1}).fit(DATA.X, DATA.y, DATA.qid)


@pytest.mark.parametrize("signs", [{NAMES[0]: 1, NAMES[1]: -1}, [1, *[0] * (DATA.n_features - 1)], None])
def test_a_saved_model_has_its_penalty(signs, tmp_path):
    ranker = RankSVM(C=0.01, monotonic_cst=signs, l1_ratio=0.25).fit(DATA)
    rankwise.save_model(ranker, tmp_path / "model.json")
    again = rankwise.load_model(tmp_path / "model.json")
    assert (again.monotonic_cst, again.l1_ratio) == (signs, 0.25)
    np.testing.assert_array_equal(again.coef_, ranker.coef_)


def test_rows_on_disk_give_the_same_weights(tmp_path):
    data = RankingData(DATA.X, DATA.y, DATA.qid)
    signs = [1] * DATA.n_features
    rankwise.write_chunks(tmp_path / "chunks", data)
    on_disk = RankSVM(C=0.01, monotonic_cst=signs, l1_ratio=0.1).fit(rankwise.open_chunks(tmp_path / "chunks"))
    in_memory = RankSVM(C=0.01, monotonic_cst=signs, l1_ratio=0.1).fit(data)
    np.testing.assert_array_equal(on_disk.coef_, in_memory.coef_)
