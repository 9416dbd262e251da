"""RankSVM with signs and with few features."""

import re
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pandas
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise
from rankwise import RankSVM, RankSVMCV, ScaledRanker, load_sample, make_ranking, to_frame
from rankwise.data.chunk_writer import write_chunks
from rankwise.data.chunks import open_chunks
from rankwise.data.records import RankingData
from rankwise.data.repeated import SharedData
from rankwise.estimators.ranksvm_path import c_path
from rankwise.model_selection import QueryKFold, cross_validate
from rankwise.preprocessing import make_scaler
from rankwise.solvers import Newton, Smoothing

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
        ({"monotonic_cst": np.full(DATA.n_features, 2)}, "monotonic_cst[0] must be 1 (weight ≥ 0), -1"),
        ({"monotonic_cst": [0, np.nan, *[0] * (DATA.n_features - 2)]}, "or 0 (free); got nan"),
        ({"monotonic_cst": "up"}, f"monotonic_cst must hold one number per feature, {DATA.n_features}; got a str"),
        ({"monotonic_cst": [[1], [1, 2]]}, "monotonic_cst must hold one number per feature"),
        ({"monotonic_cst": csr_array(np.ones((1, DATA.n_features)))}, "got a csr_array"),
        ({"monotonic_cst": {"prise": 1}}, "monotonic_cst: no column 'prise' in the data: did you mean 'price'?"),
        ({"monotonic_cst": {"price": "up"}}, "monotonic_cst['price'] must be 1 (weight ≥ 0), -1"),
        ({"monotonic_cst": {"price": 2}}, "got 2"),
        ({"monotonic_cst": {"price": True}}, "got True"),  # which a model file would not take
        ({"l1_ratio": None}, "l1_ratio must be a number from 0 to 1, got None"),
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


def test_a_step_of_ones_own_takes_no_penalties():
    newton = Newton(inner=lambda current: None)
    for options in ({"solver": newton}, {"solver": Smoothing(inner=newton), "loss": "hinge"}):
        with pytest.raises(ValueError, match="takes neither monotonic_cst nor l1_ratio: use 'auto'"):
            RankSVM(l1_ratio=0.5, **options).fit(DATA)


def test_names_need_names():
    with pytest.raises(ValueError, match="the columns of X have no names: fit to a frame"):
        RankSVM(monotonic_cst={"price": 1}).fit(DATA.X, DATA.y, DATA.qid)
    ranker = RankSVM(monotonic_cst={"price": 1}).fit(DATA)
    other = to_frame(DATA).rename(columns={"price": "cost"})
    ranker.set_params(monotonic_cst={"cost": 1}).fit(other, y="label", qid="qid")  # not by the names of the first fit
    assert ranker.coef_[NAMES.index("price")] == 0.0


def test_features_without_names_have_numbers():
    data = RankingData(DATA.X, DATA.y, DATA.qid)
    by_number = RankSVM(monotonic_cst={"f1": -1, "8": 1}).fit(data)
    by_name = RankSVM(monotonic_cst={NAMES[0]: -1, NAMES[7]: 1}).fit(DATA)
    np.testing.assert_array_equal(by_number.coef_, by_name.coef_)
    with pytest.raises(ValueError, match="the sign of one feature twice: as 'f1' and as '1'"):
        RankSVM(monotonic_cst={"f1": -1, "1": 1}).fit(data)
    with pytest.raises(ValueError, match="no column '99' in the data: its features are f1 to f13"):
        RankSVM(monotonic_cst={"99": -1}).fit(data)


BY_NAME = {"price": 1, "clicks": -1}  # against what the data say
BY_PLACE = [BY_NAME.get(name, 0) for name in NAMES]


@pytest.mark.parametrize("scaler", [None, "minmax", "zscore", "query-minmax", "query-zscore"])
def test_names_and_signs_pass_through_scalers(scaler):
    """A scaler multiplies by positive numbers, so that a sign holds for the raw feature, too."""

    def ranker(signs):
        inner = RankSVM(C=0.01, monotonic_cst=signs, l1_ratio=0.2)
        return inner if scaler is None else ScaledRanker(inner, scaler)

    by_name, by_place = (ranker(signs).fit(DATA) for signs in (BY_NAME, BY_PLACE))
    np.testing.assert_array_equal(by_name.coef_, by_place.coef_)
    assert (by_name.coef_ * BY_PLACE >= 0).all()
    ids = np.zeros(2)
    for place, sign in ((NAMES.index(name), sign) for name, sign in BY_NAME.items()):
        for one in (by_name, ranker({NAMES[place]: -sign}).fit(DATA)):  # once against the data, once with them
            allowed = sign if one is by_name else -sign
            rows = np.tile(DATA.X[:1], (2, 1))
            rows[1, place] += 1.0
            scores = one.predict(rows) if scaler is None else one.predict(rows, ids)
            assert (scores[1] - scores[0]) * allowed >= 0
    folds = [cross_validate(ranker(signs), DATA, cv=2).by_fold("ndcg@10") for signs in (BY_NAME, BY_PLACE)]
    np.testing.assert_array_equal(*folds)


def test_inside_scikit_learn():
    frame, signs = to_frame(DATA), {"price": 1}
    rows = frame[NAMES]
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = clone(RankSVM(C=0.01, monotonic_cst=signs, l1_ratio=0.5))
        search = GridSearchCV(ranker, {"l1_ratio": [0.0, 1.0]}, cv=QueryKFold(2))
        search.fit(rows, DATA.y, qid=DATA.qid)
        assert search.best_estimator_.coef_[NAMES.index("price")] == 0.0
        pipeline = make_pipeline(StandardScaler(), ranker).set_output(transform="pandas")
        pipeline.fit(rows, DATA.y, qid=DATA.qid)
        assert pipeline[-1].coef_[NAMES.index("price")] == 0.0
        with pytest.raises(ValueError, match="in a pipeline, set_output"):
            make_pipeline(StandardScaler(), ranker).fit(rows, DATA.y, qid=DATA.qid)


@pytest.mark.parametrize("signs", [{NAMES[0]: 1, NAMES[1]: -1}, [1, *[0] * (DATA.n_features - 1)], None])
def test_a_saved_model_has_its_penalty(signs, tmp_path):
    ranker = RankSVM(C=0.01, monotonic_cst=signs, l1_ratio=0.25).fit(DATA)
    rankwise.save_model(ranker, tmp_path / "model.json")
    again = rankwise.load_model(tmp_path / "model.json")
    assert (again.monotonic_cst, again.l1_ratio) == (signs, 0.25)
    np.testing.assert_array_equal(again.coef_, ranker.coef_)


@pytest.mark.parametrize(
    "signs",
    [
        {NAMES[0]: np.int64(1)},
        MappingProxyType({NAMES[0]: 1.0}),
        (np.float32(1), *[0] * (DATA.n_features - 1)),
        pandas.Series([1, *[0] * (DATA.n_features - 1)]),
    ],
)
def test_a_saved_model_has_the_signs_in_whatever_form(signs, tmp_path):
    rankwise.save_model(RankSVM(C=0.01, monotonic_cst=signs).fit(DATA), tmp_path / "model.json")
    again = rankwise.load_model(tmp_path / "model.json").monotonic_cst
    assert again in ({NAMES[0]: 1}, [1, *[0] * (DATA.n_features - 1)])
    text = (tmp_path / "model.json").read_text()
    if isinstance(again, list):
        (tmp_path / "model.json").write_text(text.replace('"monotonic_cst": [', '"monotonic_cst": [0, '))
        with pytest.raises(ValueError, match="monotonic_cst and coef have different lengths"):
            rankwise.load_model(tmp_path / "model.json")


def test_rows_on_disk_give_the_same_weights(tmp_path):
    data = RankingData(DATA.X, DATA.y, DATA.qid)
    signs = [1] * DATA.n_features
    rankwise.write_chunks(tmp_path / "chunks", data)
    on_disk = RankSVM(C=0.01, monotonic_cst=signs, l1_ratio=0.1).fit(rankwise.open_chunks(tmp_path / "chunks"))
    in_memory = RankSVM(C=0.01, monotonic_cst=signs, l1_ratio=0.1).fit(data)
    np.testing.assert_array_equal(on_disk.coef_, in_memory.coef_)


def test_a_path_counts_the_features_it_keeps():
    data = DATA.select(np.flatnonzero(np.isin(DATA.qid, np.unique(DATA.qid)[:40])))
    ranker = RankSVM(l1_ratio=0.7, monotonic_cst={"price": 1}, tol=1e-9)
    path = c_path(data, ranker=ranker, cv=3, measure="map")
    first = path.Cs[0]
    assert path.n_kept[0] == 0 < path.n_kept[1]
    assert not RankSVM(C=0.999 * first, l1_ratio=0.7, monotonic_cst={"price": 1}).fit(data).coef_.any()
    assert RankSVM(C=1.02 * first, l1_ratio=0.7, monotonic_cst={"price": 1}, tol=1e-9).fit(data).coef_.any()
    assert len(path.kept(20)) == path.n_kept[20]
    assert set(path.kept(20)) <= set(NAMES)
    place = path.at_most(5)
    assert path.n_kept[place] <= 5 < path.n_kept[place + 1 :].min()
    order = np.random.default_rng(0).permutation(path.Cs.size)
    assert order[replace(path, Cs=path.Cs[order], coef=path.coef[order]).at_most(5)] == place
    with pytest.raises(ValueError, match="keeps at most 0 of the features, the fewest are"):
        replace(path, Cs=path.Cs[1:], coef=path.coef[1:]).at_most(0)
    assert np.abs(path.coef[20, NAMES.index(path.kept(20)[0])]) == np.abs(path.coef[20]).max()
    assert list(path.table_columns())[:4] == ["C", "features", "map", "standard_error"]
    own = RankSVMCV(path.Cs, 3, "map", ranker=ranker, early_stopping=False).fit(data)
    np.testing.assert_array_equal(path.cv_values, own.cv_values_)


def test_a_scaled_path_is_the_path_of_scaled_rows():
    ranker = RankSVM(l1_ratio=1.0)
    scaled = ScaledRanker(ranker, "query-zscore")
    rows = make_scaler("query-zscore").fit_transform(DATA.X, qid=DATA.qid)
    one = c_path(DATA, Cs=[1e-4, 1e-3], ranker=scaled, cv=2)
    two = c_path(rows, DATA.y, DATA.qid, [1e-4, 1e-3], ranker=ranker, cv=2)
    np.testing.assert_array_equal(one.coef, two.coef)
    np.testing.assert_allclose(one.cv_values, two.cv_values, rtol=1e-12)


WIDE = make_ranking(8, 15, 3_200, density=0.02, random_state=0)  # more features than a Hessian is formed for


@pytest.mark.parametrize("engine", ["chunks", "shared", "torch:cpu", "float32"])
def test_many_features_on_every_engine(engine, tmp_path):
    options = {"C": 0.003, "tol": 1e-6, "l1_ratio": 0.9, "monotonic_cst": np.resize([1, -1, 0], 3_200)}
    ranker = RankSVM(**options).fit(WIDE)
    assert ranker.result_.converged
    assert 0 < (ranker.coef_ != 0).sum() < 1_000
    other = RankSVM(device=engine if engine == "torch:cpu" else None, **options)
    if engine == "torch:cpu":
        pytest.importorskip("torch")
        other.fit(WIDE)
    elif engine == "chunks":
        write_chunks(tmp_path / "rows", WIDE, chunk_bytes=20_000)
        other.fit(open_chunks(tmp_path / "rows"))
    elif engine == "shared":
        other.fit(SharedData(WIDE.X[::-1], np.arange(len(WIDE))[::-1], WIDE.y, WIDE.qid))
    else:
        other.fit(WIDE.X.astype(np.float32), WIDE.y, WIDE.qid)
    assert other.result_.converged
    assert other.result_.value == pytest.approx(ranker.result_.value, rel=3e-6)
    np.testing.assert_allclose(other.coef_, ranker.coef_, atol=1e-3)
