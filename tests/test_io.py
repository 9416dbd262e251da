import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import (
    FactorizedRankSVM,
    KernelRankRLS,
    KernelRankSVM,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    ScaledRanker,
    load_model,
    load_sample,
    losses,
    model_schema,
    save_model,
)
from rankwise.model_io.files import write_model
from rankwise.rankers.ranksvm import RankSVMOptions
from rankwise.rankers.training import Training

DATA = load_sample()
RANKER = RankSVM(C=0.02, loss="huber:0.5", tol=1e-6).fit(DATA.X, DATA.y, DATA.qid)


def test_a_model_comes_back_to_the_last_bit(tmp_path):
    save_model(RANKER, tmp_path / "m.json.gz")
    again = load_model(tmp_path / "m.json.gz")
    np.testing.assert_array_equal(again.coef_, RANKER.coef_)
    np.testing.assert_array_equal(again.predict(DATA.X), RANKER.predict(DATA.X))
    assert again.get_params() == RANKER.get_params()
    assert again.n_features_in_ == 13
    assert again.result_.value == RANKER.result_.value
    assert again.score(DATA.X, DATA.y, DATA.qid) == RANKER.score(DATA.X, DATA.y, DATA.qid)


SUBSET = DATA.select(DATA.qid <= 10)


@pytest.mark.parametrize(
    "model",
    [
        RankRLS(alpha=3.0),
        RankRLSCV(alphas=np.array([0.1, 1.0])),
        FactorizedRankSVM(n_components=2, C=0.01, random_state=0),
        KernelRankSVM(C=0.1, gamma=0.5),
        KernelRankSVM(C=0.1, n_components=20, random_state=0, loss="hinge"),
        KernelRankRLS(kernel="polynomial", degree=2),
        RankSVM(C=0.1, costs=lambda i, j: np.ones(i.size)),
        RankSVM(C=True, costs="ndcg", rescaling="margin", normalize_pairs="mean", warm_start=1, max_iter=np.int64(50)),
        RankSVM(C=np.float32(0.1), loss=losses.logistic(0.01), random_state=np.random.RandomState(0)),
        RankSVM(C=1, costs=np.arange(25.0).reshape(5, 5), scheme="by-level", stopping="gradient"),
        RankSVM(costs=SUBSET.y.tolist(), solver="sgd", random_state=3),
        RankRLS(solver="cg", ties="exclude", scaling="query"),
        RankRLSCV(alphas=(0.1, 1), measure="squared-error"),
        RankSVMCV(Cs=[0.01, 0.1], cv=2, ranker=RankSVM(loss="logistic:1e-5", solver="newton")),
        FactorizedRankSVM(n_components=2, C=0.01, validation_fraction=0.3, init=np.ones((len(SUBSET), 2))),
        KernelRankSVM(kernel="polynomial", kernel_params={"gamma": 0.1}, n_components=5.0, landmarks="kmeans"),
        ScaledRanker(RankSVM(C=0.1), "query-zscore"),
        ScaledRanker(RankSVMCV(Cs=[0.01, 0.1], cv=2), "zscore"),
        ScaledRanker(KernelRankSVM(C=0.1), "minmax"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_kind_comes_back(tmp_path, model):
    model = model.fit(SUBSET.X, SUBSET.y, SUBSET.qid)
    save_model(model, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert type(again) is type(getattr(model, "best_ranker_", model))
    given = [SUBSET.X, SUBSET.qid] if isinstance(model, ScaledRanker) else [SUBSET.X]
    np.testing.assert_array_equal(again.predict(*given), model.predict(*given))
    save_model(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_what_cannot_be_saved(tmp_path):
    K = SUBSET.X @ SUBSET.X.T
    for model in (
        KernelRankSVM(kernel="precomputed").fit(K, SUBSET.y, SUBSET.qid),
        KernelRankRLS(alpha=[1.0, 2.0]).fit(SUBSET.X, SUBSET.y, SUBSET.qid),
    ):
        with pytest.raises(ValueError, match=r"cannot be saved|with a single alpha"):
            save_model(model, tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scaler", ["query-minmax", "query-zscore", "minmax", "zscore"])
def test_with_a_scaler(tmp_path, scaler):
    model = ScaledRanker(RankSVM(C=0.01), scaler).fit(DATA.X, DATA.y, DATA.qid)
    save_model(model, tmp_path / "m.json", [f"f{i}" for i in range(13)])
    again = load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(DATA.X, DATA.qid), model.predict(DATA.X, DATA.qid))
    assert again.feature_names_in_[12] == "f12"
    assert again.score(DATA.X, DATA.y, DATA.qid) == model.score(DATA.X, DATA.y, DATA.qid)


OLD = Path(__file__).with_name("models")  # files that version 0.1 wrote, and the scores that their models gave


@pytest.mark.parametrize("path", sorted(OLD.glob("version-1-*.json")), ids=lambda path: path.stem)
def test_a_model_of_version_0_1_is_read_and_saved_anew(tmp_path, path):
    """Its scaler is a shift and a multiplier, from which no mean and no standard deviation follow to the last bit."""
    told = json.loads((OLD / "scores.json").read_text())
    given = np.array(told["X"]), np.array(told["qid"])
    model = load_model(path)
    np.testing.assert_allclose(model.predict(*given), told["scores"][path.stem.removeprefix("version-1-")], rtol=1e-12)
    assert model.feature_names_in_.tolist() == told["names"]
    save_model(model, tmp_path / "m.json")
    again = json.loads((tmp_path / "m.json").read_text())
    assert again["version"] == 2
    jsonschema.validate(again, model_schema())
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").predict(*given), model.predict(*given))


def test_an_early_model_of_version_0_1_is_read(tmp_path):
    """It has neither the estimate of the gap nor the rule of stopping, nor the C that was used."""
    state = json.loads((OLD / "version-1-linear.json").read_text())
    del state["fit"]["gap_estimate"], state["params"]["stopping"], state["C"]
    (tmp_path / "m.json").write_text(json.dumps(state))
    again = load_model(tmp_path / "m.json")
    assert (again.result_.gap_estimate, again.stopping) == (None, "gap")
    assert not hasattr(again, "C_")
    np.testing.assert_array_equal(again.coef_, state["coef"])


def test_the_strength_that_was_used_is_saved(tmp_path):
    model = RankSVM().fit(SUBSET.X, SUBSET.y, SUBSET.qid)
    save_model(model, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").C_ == model.C_
    write_model(Training(RankSVMOptions()).fit(SUBSET), tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").C_ == model.C_


def test_what_can_be_saved_is_listed_whole(tmp_path):
    with pytest.raises(
        ValueError, match=r"a Pipeline cannot be saved, only .* RankSVMCV, ScaledRanker: .* ScaledRanker"
    ):
        save_model(make_pipeline(StandardScaler(), RankSVM()).fit(SUBSET.X, SUBSET.y), tmp_path / "m.json")


def test_a_model_that_could_not_be_read_is_not_written(tmp_path):
    for change in ({"C": "1"}, {"loss": 5}, {"tol": -1.0}):
        ranker = RankSVM(C=0.02).fit(SUBSET.X, SUBSET.y, SUBSET.qid).set_params(**change)
        with pytest.raises(ValueError, match=f"the model cannot be saved: params.{next(iter(change))} is "):
            save_model(ranker, tmp_path / "m.json")
    with pytest.raises(ValueError, match=r"cannot be saved: feature_names is .*, expected a list of different"):
        save_model(RANKER, tmp_path / "m.json", ["a"] * 13)
    assert list(tmp_path.iterdir()) == []


def test_after_partial_fit(tmp_path):
    model = RankSVM(C=0.01, solver="sgd", random_state=0).partial_fit(DATA.X, DATA.y, DATA.qid)
    save_model(model, tmp_path / "m.json")
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").coef_, model.coef_)


def test_a_gap_that_is_not_known_does_not_lose_the_model(tmp_path):
    """JSON has no infinity: the number is left out, and nothing else."""
    ranker = RankSVM(C=0.02).fit(SUBSET.X, SUBSET.y, SUBSET.qid)
    ranker.result_ = replace(ranker.result_, gap=np.inf, gradient_norm=np.nan)
    save_model(ranker, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert (again.result_.gap, again.result_.gradient_norm) == (None, None)
    np.testing.assert_array_equal(again.coef_, ranker.coef_)


def test_an_old_file_survives_a_failed_save(tmp_path):
    target = tmp_path / "m.json"
    save_model(RANKER, target)
    before = target.read_bytes()
    with pytest.raises(ValueError, match="feature_names holds 2 names, the model has 13 features"):
        save_model(RANKER, target, ["a", "b"])
    with pytest.raises(ValueError, match="RankSVM is not fitted: call fit first"):
        save_model(RankSVM(), target)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def changed(**fields):
    return lambda state: {**state, **fields}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed(format="other"), "is not a rankwise model: its format field"),
        (changed(version=99), "has model version 99, written by rankwise .*; this reads versions 1 and 2"),
        (changed(coef="abc"), "is a damaged rankwise model"),
        (changed(coef=[1.0, 2.0]), "there are 2 weights for 13 features"),
        (changed(coef=[1.0, None]), "is a damaged rankwise model"),
        (changed(kind="os.system"), "damaged rankwise model: kind is .os.system., expected one of RankSVM, RankRLS"),
        (changed(params={"D": 1}), "is a damaged rankwise model: params..D. is unknown"),
        (changed(feature_names=["a"]), "feature_names and coef have different lengths"),
        (lambda state: [state], "is not a rankwise model"),
    ],
)
def test_damaged_and_foreign_files(tmp_path, change, words):
    save_model(RANKER, tmp_path / "m.json")
    state = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "m.json").write_text(json.dumps(change(state)))
    with pytest.raises(ValueError, match=words):
        load_model(tmp_path / "m.json")


def test_cut_short_or_no_text_at_all(tmp_path):
    save_model(RANKER, tmp_path / "m.json")
    whole = (tmp_path / "m.json").read_bytes()
    import gzip

    (tmp_path / "m.json.gz").write_bytes(gzip.compress(whole)[:100] + b"x" * 100)
    with pytest.raises((ValueError, OSError), match=r"damaged|CRC|Error"):
        load_model(tmp_path / "m.json.gz")
    for content in (whole[: len(whole) // 2], b"", b"\xff\xfe\x00", b"1 qid:1 1:0.5\n"):
        (tmp_path / "m.json").write_bytes(content)
        with pytest.raises(ValueError, match=r"m\.json is not a rankwise model, or is damaged"):
            load_model(tmp_path / "m.json")


def test_a_rankrls_cv_of_version_0_1(tmp_path):
    """It was saved with its own parameters, and is read and saved again; now the chosen RankRLS is saved."""
    path = tmp_path / "m.json"
    save_model(RankRLSCV([0.1, 1.0]).fit(DATA.X, DATA.y, DATA.qid), path)
    state = json.loads(path.read_text())
    assert state["kind"] == "RankRLS"
    params = {"alphas": [0.1, 1.0], "measure": "ndcg@10", "solver": "dual", "ties": "exclude", "scaling": "pairs"}
    path.write_text(json.dumps(state | {"kind": "RankRLSCV", "params": params}))
    model = load_model(path)
    assert (type(model), model.solver) == (RankRLSCV, "dual")
    save_model(model, tmp_path / "again.json")
    np.testing.assert_array_equal(load_model(tmp_path / "again.json").coef_, state["coef"])


def test_the_default_C_comes_back(tmp_path):
    model = RankSVM().fit(SUBSET.X, SUBSET.y, SUBSET.qid)
    save_model(model, tmp_path / "model.json")
    same = load_model(tmp_path / "model.json")
    assert same.C == "auto"
    np.testing.assert_array_equal(same.predict(SUBSET.X), model.predict(SUBSET.X))
