"""What float32 does to a model is refused, warned of, or counted."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from readers import READERS, SINGLE, linear_model, served

from rankwise import KernelRankSVM, RankingData, RankSVM, ScaledRanker, export
from rankwise.exporting.precision import Check, checked
from rankwise.exporting.targets import TARGETS
from rankwise.preprocessing.scaling import Scaling

NAMES = ["a", "b"]
WEIGHTS_IN_SINGLE = SINGLE - {"ranklib"}


def rows(X):
    return RankingData(np.asarray(X, dtype=np.float64), np.zeros(len(X)), np.zeros(len(X)))


@pytest.mark.parametrize("target", sorted(TARGETS))
@pytest.mark.parametrize("size", [1e150, 1e-150])
def test_huge_and_tiny_weights_are_exact_or_refused(target, size, tmp_path):
    model = linear_model([size, -3 * size], NAMES)
    if target in WEIGHTS_IN_SINGLE:
        wanted = "holds weights in float32, up to 3.4e\\+38" if size > 1 else "every weight is below 1.18e-38"
        with pytest.raises(ValueError, match=wanted):
            export(model, target)
        return
    scores = served(target, export(model, target).content, rows([[1, 0], [0, 0.5]]), NAMES, tmp_path)
    assert scores.tolist() == [size, -1.5 * size]


@pytest.mark.parametrize("target", sorted(WEIGHTS_IN_SINGLE))
def test_a_weight_that_vanishes(target, tmp_path):
    with pytest.warns(UserWarning, match=rf"1 weight below 1.18e-38 count as 0 in {target} \(feature 'b'\)"):
        done = export(linear_model([1.0, 1e-60], NAMES), target)
    assert served(target, done.content, rows([[2, 5]]), NAMES, tmp_path).tolist() == [2]


def test_onnx_in_double_holds_them():
    done = export(linear_model([1e150, 1e-150], NAMES), "onnx", precision="float64")
    assert served("onnx", done.content, rows([[1, 0], [0, 1]]), NAMES).tolist() == [1e150, 1e-150]


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_scales_beyond_the_numbers(shift):
    """Folding would overflow or vanish; an engine's normaliser may do for one and float32 may not hold the other."""
    scaling = Scaling("zscore", 2, np.array([shift, shift]), np.array([1e200, 1.0]))
    model = linear_model([1e150, 1.0], NAMES, scaling)
    with pytest.raises(ValueError, match=r"feature 'a': its weight 1e\+150 times its scale 1e\+200 is beyond"):
        export(model, "python")
    scaling = replace(scaling, scale=np.array([1e-150, 1.0]))
    with pytest.raises(ValueError, match=r"feature 'a': its weight 1e-200 times its scale 1e-150 is beyond"):
        export(linear_model([1e-200, 1.0], NAMES, scaling), "python")
    with pytest.raises(ValueError, match="which the engine, computing in float32, cannot hold: take scaling='fold'"):
        export(linear_model([1.0, 1.0], NAMES, scaling), "solr", scaling="engine")


def test_the_constant_of_a_folded_scaling():
    scaling = Scaling("zscore", 2, np.array([1e300, 0.0]), np.array([1.0, 1.0]))
    with pytest.raises(ValueError, match="the constant of the folded scaling is beyond"):
        export(linear_model([1e100, 1.0], NAMES, scaling), "python")


def test_minimum_and_maximum_that_are_one_number_in_float32():
    scaling = Scaling("minmax", 2, np.array([1e9, 0.0]), np.array([1.0, 1.0]))
    model = linear_model([1.0, 1.0], NAMES, scaling)
    for target in ("elasticsearch", "solr"):
        with pytest.raises(ValueError, match=r"feature 'a' is scaled by \(x - 1000000000.0\) / 1.0, which the engine"):
            export(model, target, scaling="engine")
    export(model, "onnx", scaling="engine")  # which multiplies


@pytest.mark.parametrize("scale", [-1.0, 1e-320])
def test_scales_of_a_damaged_model(scale):
    scaling = Scaling("zscore", 2, np.zeros(2), np.array([scale, 1.0]))
    with pytest.raises(ValueError, match=r"feature 'a' has the scale .*, which is no inverse of a number"):
        export(linear_model([1.0, 1.0], NAMES, scaling), "json", scaling="engine")


def test_a_spread_that_float64_keeps():
    """Minimum and maximum are one number even in float64; only a search engine would subtract them."""
    scaling = Scaling("minmax", 2, np.array([1e9, 0.0]), np.array([1e9, 1.0]))
    model = linear_model([1.0, 1.0], NAMES, scaling)
    for target in ("python", "sql", "pmml", "json", "vespa"):
        assert export(model, target, scaling="engine", check=rows([[1e9, 0], [1e9, 1]])).check.is_same


def test_weights_that_are_no_numbers():
    with pytest.raises(ValueError, match="the weight of feature 'b' is nan"):
        export(linear_model([1.0, np.nan], NAMES), "python")


@pytest.mark.parametrize("target", ["elasticsearch", "solr", "ranklib", "svmrank", "onnx"])
def test_near_ties_are_counted(target, tmp_path):
    """1 and 1 + 1e-12 are one number in float32; and a feature of 16777217 is rounded to 16777216."""
    data = rows([[1.0, 0.0], [1.0 + 1e-12, 0.0], [16777217.0, 0.0], [16777216.0, 0.0], [3.0, 0.0]])
    with pytest.warns(UserWarning, match="of 10 pairs of documents of the same query 0 are reversed, 2 become ties, 0"):
        done = export(linear_model([1.0, 1.0], NAMES), target, check=data)
    assert done.check == Check(10, 0, 2, 0, done.check.largest_difference)
    assert done.check.largest_difference == 1
    assert len(set(served(target, done.content, data, NAMES, tmp_path))) == 3


def test_a_normaliser_keeps_what_folding_loses():
    """Far from zero, x - mean is exact and x · weight is not."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1e6 + rng.integers(0, 100, 200) / 16, rng.normal(size=200)])
    data = RankingData(X, rng.integers(0, 3, 200), np.repeat(np.arange(10), 20))
    ranker = ScaledRanker(RankSVM(), "zscore").fit(data.X, data.y, data.qid)
    with pytest.warns(UserWarning, match="scaling='engine' .* may keep more of it"):
        folded = export(ranker, "solr", check=data, names=NAMES).check
    engine = export(ranker, "solr", scaling="engine", check=data, names=NAMES).check
    assert folded.reversed + folded.tied > 10
    assert engine.is_same


@pytest.mark.filterwarnings("ignore:.* does not keep the order")
@pytest.mark.parametrize("method", ["zscore", "minmax"])
@pytest.mark.parametrize(
    ("target", "scaling"),
    [
        ("elasticsearch", "fold"),
        ("elasticsearch", "engine"),
        ("solr", "engine"),
        ("ranklib", "fold"),
        ("svmrank", "fold"),
    ],
)
def test_the_simulation_computes_as_the_reader_does(target, method, scaling, monkeypatch):
    rng = np.random.default_rng(3)
    data = RankingData(rng.normal(5, 3, size=(60, 4)), rng.integers(0, 3, 60), np.repeat(np.arange(4), 15))
    names = ["a", "b", "c", "d"]
    ranker = ScaledRanker(RankSVM(), method).fit(data.X, data.y, data.qid)
    seen = []

    def spy(model, data, scores, target):
        seen.append(scores(data.X))
        return checked(model, data, scores, target)

    monkeypatch.setattr("rankwise.exporting.exports.checked", spy)
    done = export(ranker, target, scaling=scaling, check=data, names=names)
    scores = served(target, done.content, data, names)
    if target in ("elasticsearch", "solr"):
        assert seen[0].tolist() == scores.tolist()
    else:  # sums of float64, in another order
        assert np.allclose(seen[0], scores, rtol=1e-15, atol=1e-14)


def test_overflow_in_float32_is_refused():
    model = linear_model([1e30, 1.0], NAMES)
    with pytest.raises(ValueError, match="solr gives row 2 of the data to check the score inf: its weights, or the"):
        export(model, "solr", check=rows([[1.0, 0.0], [1e20, 0.0]]))


def test_a_file_is_not_written_if_the_check_fails(tmp_path):
    with pytest.raises(ValueError, match="score inf"):
        export(linear_model([1e30, 1.0], NAMES), "solr", tmp_path / "f", check=rows([[1e20, 0.0]]))
    assert not list(tmp_path.iterdir())


def test_checks_match_columns_by_name():
    data = RankingData(np.array([[1.0, 2.0, 9.0], [2.0, 1.0, 9.0]]), [0, 0], [1, 1], names=["b", "a", "extra"])
    assert export(linear_model([1.0, 3.0], NAMES), "solr", check=data).check.is_same
    with pytest.raises(ValueError, match="the data to check has other features than expected"):
        export(linear_model([1.0, 3.0], NAMES), "solr", check=replace(data, names=["b", "c", "extra"]))


def test_what_is_no_data():
    with pytest.raises(TypeError, match="check must be a RankingData, as rankwise"):
        export(linear_model([1.0, 3.0], NAMES), "solr", check="test.txt")


def test_checks_of_sparse_data_and_kernels():
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(60, 2)), rng.integers(0, 3, 60), np.repeat(np.arange(3), 20)
    sparse = RankingData(csr_array(X), y, qid)
    assert export(linear_model([1.0, 3.0], NAMES), "sql", check=sparse).check.is_same
    ranker = KernelRankSVM(n_components=10, random_state=0).fit(X, y, qid)
    done = export(ranker, "onnx", precision="float64", names=NAMES, check=RankingData(X, y, qid))
    assert done.check.is_same
    assert done.check.pairs == 3 * 190


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=25))
def test_pairs_are_counted_as_the_double_loop_does(documents):
    before, after, qid = np.array(documents, dtype=np.float64).T
    model = linear_model([1.0, 0.0], NAMES)
    data = RankingData(np.column_stack([before, after]), np.zeros(len(before)), qid)
    found = checked(model, data, lambda X: X[:, 1].astype(np.float64), "test")
    counts = {"pairs": 0, "reversed": 0, "tied": 0, "split": 0}
    for i, j in combinations(range(len(before)), 2):
        if qid[i] != qid[j]:
            continue
        signs = np.sign(before[i] - before[j]), np.sign(after[i] - after[j])
        counts["pairs"] += 1
        counts["reversed"] += signs[0] * signs[1] < 0
        counts["tied"] += signs[1] == 0 != signs[0]
        counts["split"] += signs[0] == 0 != signs[1]
    assert {name: getattr(found, name) for name in counts} == counts


def test_a_definition_is_json_within_json():
    text = json.loads(export(linear_model([0.1, 1e-7], NAMES), "elasticsearch").text)["model"]["model"]["definition"]
    assert isinstance(text, str)
    assert json.loads(text) == {"a": 0.1, "b": 1e-7}
    assert READERS["elasticsearch"](export(linear_model([0.1, 0.2], NAMES), "elasticsearch").content)
