"""Frames in Python: the columns of a model by name, refused in another order as scikit-learn does everywhere."""

import warnings

import numpy as np
import pandas as pd
import pytest

import rankwise
from rankwise import RankSVM, RankSVMCV, load_model, load_sample, open_chunks, save_model, write_chunks
from rankwise.data.records import RankingData
from rankwise.data.synthetic import SAMPLE_FEATURES
from rankwise.estimators.factorized import FactorizedRankSVM
from rankwise.estimators.kernel import KernelRankSVM
from rankwise.estimators.kernel_rankrls import KernelRankRLS
from rankwise.estimators.rankrls import RankRLS
from rankwise.estimators.rankrls_cv import RankRLSCV
from rankwise.estimators.scaled import ScaledRanker
from rankwise.model_selection import c_path

DATA = load_sample("test")
NAMES = list(SAMPLE_FEATURES)
FRAME = pd.DataFrame(DATA.X, columns=NAMES)
NUMBERED = pd.DataFrame(DATA.X, columns=[f"f{i}" for i in range(1, 14)])
RANKERS = [
    RankSVM(),
    RankRLS(),
    KernelRankSVM(n_components=20, random_state=0),
    KernelRankRLS(n_components=20, random_state=0),
    FactorizedRankSVM(max_iter=5, loss="squared_hinge", random_state=0),
    ScaledRanker(RankSVM(), "query-minmax"),
    ScaledRanker(RankRLS(), "zscore"),
]
quiet = pytest.mark.filterwarnings("ignore:FactorizedRankSVM did not converge", "ignore:X (has|does not have)")


def call(method, ranker, X, *args):
    return getattr(ranker, method)(X, *args, *((DATA.qid,) if isinstance(ranker, ScaledRanker) else ()))


@quiet
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda one: f"{type(one).__name__}")
def test_a_saved_model_knows_its_names(ranker, tmp_path):
    ranker.fit(FRAME, DATA.y, DATA.qid)
    save_model(ranker, tmp_path / "a.json")
    save_model(load_model(tmp_path / "a.json"), tmp_path / "b.json")
    for model in (ranker, load_model(tmp_path / "a.json"), load_model(tmp_path / "b.json")):
        assert list(model.feature_names_in_) == NAMES
        np.testing.assert_allclose(call("predict", model, FRAME), call("predict", ranker, FRAME), rtol=1e-9)
        with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
            call("predict", model, FRAME[NAMES[::-1]])
        with pytest.raises(ValueError, match=r"Feature names unseen at fit time:\n- price_in_yen"):
            call("predict", model, FRAME.rename(columns={NAMES[2]: "price_in_yen"}))


@quiet
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda one: f"{type(one).__name__}")
def test_numbered_columns_of_a_frame_are_not_taken_by_place(ranker, tmp_path):
    ranker.fit(DATA.X, DATA.y, DATA.qid)
    save_model(ranker, tmp_path / "m.json")
    for model in (ranker, load_model(tmp_path / "m.json")):
        expected = call("predict", ranker, DATA.X)
        np.testing.assert_allclose(call("predict", model, NUMBERED), expected, rtol=1e-9)
        with pytest.raises(ValueError, match=r"f1, f2, ... of X are not in the order of their numbers"):
            call("predict", model, NUMBERED[NUMBERED.columns[::-1]])
    with pytest.raises(ValueError, match="columns of X count from f0, and the features of the model from f1"):
        call("predict", load_model(tmp_path / "m.json"), NUMBERED.set_axis([f"f{i}" for i in range(13)], axis=1))


def test_a_scaled_ranker_forgets_the_names_of_an_earlier_fit():
    ranker = ScaledRanker(RankSVM()).fit(FRAME, DATA.y, DATA.qid)
    assert hasattr(ranker, "feature_names_in_")
    assert not hasattr(ranker.fit(DATA.X, DATA.y, DATA.qid), "feature_names_in_")


def test_a_function_as_kernel_takes_the_rows_of_a_frame():
    def linear(a, b):
        return float(a @ b)

    few = slice(0, 40)
    given = {"kernel": linear, "C": 0.1}
    expected = KernelRankSVM(**given).fit(DATA.X[few], DATA.y[few], DATA.qid[few]).predict(DATA.X[few])
    found = KernelRankSVM(**given).fit(FRAME[few], DATA.y[few], DATA.qid[few])
    np.testing.assert_allclose(found.predict(FRAME[few]), expected)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        found.predict(FRAME[few][NAMES[::-1]])


@pytest.mark.filterwarnings("ignore:FactorizedRankSVM did not converge")
def test_validation_data_of_a_factorized_ranker_are_columns_of_the_model():
    ranker = FactorizedRankSVM(max_iter=3, random_state=0)
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        ranker.fit(FRAME, DATA.y, DATA.qid, validation=(FRAME[NAMES[::-1]], DATA.y, DATA.qid))
    assert ranker.fit(FRAME, DATA.y, DATA.qid, validation=(FRAME, DATA.y, DATA.qid)).validation_score_ > 0


def test_rows_on_disk_have_names(tmp_path):
    for name, places in (("straight", range(13)), ("turned", range(12, -1, -1))):
        X = np.ascontiguousarray(DATA.X[:, list(places)])
        write_chunks(tmp_path / name, RankingData(X, DATA.y, DATA.qid, None, 1, [NAMES[i] for i in places]))
    straight, turned = (open_chunks(tmp_path / name) for name in ("straight", "turned"))
    ranker = RankSVM().fit(straight)
    assert ranker.predict(straight).shape == DATA.y.shape
    with pytest.raises(ValueError, match="the features of the rows are not those of the model: the order differs"):
        ranker.predict(turned)
    write_chunks(tmp_path / "numbers", RankingData(DATA.X, DATA.y, DATA.qid, None, 0))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but RankSVM was fitted with feature"):
        ranker.predict(open_chunks(tmp_path / "numbers"))
    save_model(RankSVM().fit(open_chunks(tmp_path / "numbers")), tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").first_index_ == 0


def test_a_loaded_model_that_counts_from_0_still_does_when_saved_again(tmp_path):
    save_model(RankSVM().fit(DATA.X, DATA.y, DATA.qid), tmp_path / "a.json", first_index=0)
    save_model(load_model(tmp_path / "a.json"), tmp_path / "b.json")
    assert load_model(tmp_path / "b.json").first_index_ == 0


def test_any_frame_will_do():
    pa = pytest.importorskip("pyarrow")
    ranker = RankSVM().fit(FRAME, DATA.y, DATA.qid)
    table = pa.Table.from_pandas(FRAME)
    np.testing.assert_allclose(ranker.predict(table), ranker.predict(FRAME))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        ranker.predict(table.select(NAMES[::-1]))


@pytest.mark.parametrize("column", ["qid", "query_id", "QueryID", "query"])
@pytest.mark.parametrize(
    "fit",
    [
        RankSVM().fit,
        lambda *given: RankSVM(solver="sgd").partial_fit(*given),
        RankRLS().fit,
        RankRLSCV([1.0]).fit,
        KernelRankSVM().fit,
        KernelRankRLS().fit,
        FactorizedRankSVM(loss="squared_hinge", max_iter=5).fit,
        ScaledRanker(RankSVM()).fit,
        RankSVMCV(Cs=[0.1], measure="pairwise-accuracy").fit,
        lambda *given: c_path(*given, Cs=[0.1]),
    ],
)
@pytest.mark.filterwarnings("ignore:FactorizedRankSVM did not converge")
def test_query_ids_left_in_a_frame_without_qid_are_noticed(fit, column):
    few = slice(0, 60)
    frame = FRAME.assign(**{column: DATA.qid})[few]
    with pytest.warns(
        UserWarning, match=f"X has a column '{column}' and qid is not given: all rows are treated as one"
    ):
        fit(frame, DATA.y[few])


def test_query_ids_in_the_index_of_a_frame_are_noticed():
    frame = FRAME.set_index(pd.Index(DATA.qid, name="qid"))
    with pytest.warns(UserWarning, match="X has an index 'qid' and qid is not given"):
        RankSVM(C=0.01).fit(frame, DATA.y)


def test_one_query_is_no_reason_to_warn():
    """AUC and concordance: many rows, few labels or times, no queries at all."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankSVM(C=0.01).fit(DATA.X, (DATA.y > 2).astype(int))
        RankSVM(C=0.01).fit(FRAME, DATA.y)
        RankSVM(C=0.01).fit(FRAME.assign(qid=DATA.qid), DATA.y, DATA.qid)
        rankwise.evaluate(DATA.y > 2, DATA.X[:, 0], None, ["auc", "ndcg@10", "map"])
