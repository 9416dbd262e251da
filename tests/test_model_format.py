"""The format of model files: what docs/model-format.md and the JSON Schema promise about them."""

import copy
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import rankwise
from rankwise import (
    FactorizedRankSVM,
    KernelRankRLS,
    KernelRankSVM,
    RankingData,
    RankRLS,
    RankRLSCV,
    RankSVM,
    ScaledRanker,
    load_model,
    load_sample,
    model_schema,
    open_chunks,
    save_model,
    write_chunks,
)
from rankwise.model_io.conversion import model_of
from rankwise.model_io.fields import params_rules
from rankwise.model_io.files import WEIGHTS, _described, _revived, check_model
from rankwise.preprocessing.scaling import NAMES

SAMPLE = load_sample()
DATA = SAMPLE.select(SAMPLE.qid <= 6)
NAMELESS = RankingData(DATA.X, DATA.y, DATA.qid)
SPARSE = RankingData(csr_array(DATA.X), DATA.y, DATA.qid, names=DATA.names)
SCHEMA = model_schema()
VALID = jsonschema.Draft202012Validator(SCHEMA)
RANKERS = {
    "RankSVM": RankSVM(C=0.01, costs="ndcg"),
    "RankRLS": RankRLS(),
    "RankRLSCV": RankRLSCV([0.1, 1.0]),
    "FactorizedRankSVM": FactorizedRankSVM(n_components=2, C=0.01, random_state=0),
    "KernelRankSVM": KernelRankSVM(C=0.1, n_components=4, random_state=0),
    "KernelRankRLS": KernelRankRLS(kernel="polynomial", degree=2, n_components=4, random_state=0),
}


def state_of(ranker, data):
    """The content of the file of a ranker fitted to these data."""
    return json.loads(json.dumps(_described(model_of(ranker.fit(data)))))


@pytest.mark.parametrize("data", [DATA, NAMELESS], ids=["named", "nameless"])
@pytest.mark.parametrize("scaler", [None, *NAMES])
@pytest.mark.parametrize("kind", RANKERS)
def test_every_kind_of_model_obeys_the_schema(kind, scaler, data):
    ranker = RANKERS[kind] if scaler is None else ScaledRanker(RANKERS[kind], scaler)
    VALID.validate(state_of(ranker, data))


def test_the_schema_is_one_and_is_shipped():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    path = Path(rankwise.__file__).parent / "model_io" / "model.schema.json"
    assert json.loads(path.read_text()) == SCHEMA


@pytest.mark.parametrize("kind", WEIGHTS)
def test_the_schema_knows_the_parameters_of_every_kind(kind):
    """And the values that it gives as examples are right."""
    rules, told = params_rules(kind), SCHEMA["$defs"][kind]["properties"]
    assert told.keys() == rules.keys()
    for name, one in told.items():
        for example in one.get("examples", []):
            if kind in ("RankSVM", "KernelRankSVM") or name != "solver":
                assert rules[name][0](example), (name, example)


def test_the_kinds_of_the_schema():
    assert SCHEMA["properties"]["kind"]["enum"] == list(WEIGHTS)
    assert set(SCHEMA["$defs"]["scaler"]["oneOf"][3]["properties"]["name"]["enum"]) == set(NAMES)


STATES = [
    state_of(RankSVM(C=0.01, costs=np.arange(25.0).reshape(5, 5)), DATA),
    state_of(ScaledRanker(RANKERS["KernelRankSVM"], "minmax"), NAMELESS),
    state_of(ScaledRanker(RANKERS["RankRLS"], "zscore"), DATA),
    state_of(ScaledRanker(RANKERS["FactorizedRankSVM"], "query-zscore"), DATA),
]
for one in STATES[::2]:
    one["data"] = {"rows": 3, "queries": 1, "features": 13, "labels": {"levels": 2, "minimum": 0.0, "maximum": 1.0}}
    one["data"]["hash"] = "blake2b:" + "0" * 32
    one["run"] = {"command": "train", "options": {"data": ["a.txt"], "C": 0.01, "float32": True}, "files": {}}
    one["run"]["files"] = {"a.txt": "0" * 64, "-": None}
WORDS = st.sampled_from(["RankSVM", "ranksvm", "auto", "zscore", "query-minmax", "train", "random", "", "x", "C"])
NUMBERS = st.sampled_from([0, 1, 2, -1, 13, 0.5, -0.5, 2**32, 2**63, 10**400, 1e308])
PLAIN = st.none() | st.booleans() | NUMBERS | WORDS
VALUES = st.recursive(PLAIN, lambda one: st.lists(one, max_size=3) | st.dictionaries(WORDS, one, max_size=2))


@st.composite
def changed(draw):
    """A model file with one to three fields removed, added or replaced."""
    state = copy.deepcopy(draw(st.sampled_from(STATES)))
    for _ in range(draw(st.integers(1, 3))):
        node = state
        while True:
            places = list(node) if isinstance(node, dict) else list(range(len(node)))
            place = draw(st.sampled_from(places)) if places else None
            inner = None if place is None else node[place]
            if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
                break
            node = inner
        change = draw(st.sampled_from(["remove", "add", "replace"]))
        if change == "add" or place is None:
            value = draw(VALUES)
            node.append(value) if isinstance(node, list) else node.__setitem__(draw(WORDS), value)
        elif change == "remove":
            del node[place]
        else:
            node[place] = draw(VALUES)
    return state


def refusal(state):
    """What the reader says of the content of a file; None if it takes it."""
    if state.get("format") != "rankwise-model" or state.get("version") != 2:
        return "format"
    try:
        check_model(state, WEIGHTS)
        _revived(state)
    except (ValueError, OverflowError) as error:
        return str(error)
    return None


BEYOND = (  # what a schema cannot say
    "params.loss",
    "params.solver",
    "params.scheme",
    "params.scope",
    "params.rescaling",
    "params.normalize_pairs",
    "params.stopping",
    "params.measure",
    "params.ties",
    "params.scaling",
    "params.kernel is",
    "params.landmarks",
    "params.costs",  # a name, or a square table
    "weights for",
    "different numbers of features",
    "different lengths",
    "as many rows of n_features numbers",
    "lacks a number for some feature",
    "that is too small for some feature",
    "spans more than float64 can hold",
)


@settings(max_examples=400, deadline=None)
@given(changed())
def test_the_reader_and_the_schema_agree(state):
    said, obeys = refusal(state), VALID.is_valid(state)
    if said is None:
        assert obeys, [error.message for error in VALID.iter_errors(state)]
    elif obeys:
        assert any(words in said for words in BEYOND), said


@pytest.mark.parametrize("data", [DATA, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["minmax", "zscore"])
def test_a_scaler_is_stored_in_the_units_of_the_features(tmp_path, name, dtype, data):
    """And the model of the file gives the same scores to the last bit."""
    X = data.X.astype(dtype) * np.geomspace(1e-6, 1e6, 13, dtype=dtype) + (0 if data is SPARSE else 7)
    X = csr_array(X) if data is SPARSE else X
    fitted = ScaledRanker(RankSVM(C=0.01), name).fit(X, data.y, data.qid)
    save_model(fitted, tmp_path / "m.json")
    told = json.loads((tmp_path / "m.json").read_text())["scaler"]
    rows = np.asarray(X.todense() if data is SPARSE else X, np.float64)
    expected = {"minimum": rows.min(axis=0), "maximum": rows.max(axis=0)}
    if name == "zscore":
        expected = {"mean": rows.mean(axis=0), "standard_deviation": rows.std(axis=0)}
    for unit, values in expected.items():
        np.testing.assert_allclose(told[unit], values, rtol=1e-6)
        np.testing.assert_array_equal(getattr(fitted.scaler_, f"{unit}_"), told[unit])
    assert told["centred"] == (data is DATA or not np.any(told[next(iter(expected))]))
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").predict(X, data.qid), fitted.predict(X, data.qid))


def test_a_constant_feature_has_no_spread(tmp_path):
    X = np.full((len(DATA), 2), 0.1)
    X[:, 1] = DATA.X[:, 0]
    for rows in (X, csr_array(X)):
        save_model(ScaledRanker(RankSVM(C=0.01), "zscore").fit(rows, DATA.y, DATA.qid), tmp_path / "m.json")
        assert json.loads((tmp_path / "m.json").read_text())["scaler"]["standard_deviation"][0] == 0
        assert load_model(tmp_path / "m.json").scaler_.scale_[0] == 0


def told_of_data(path, data, fitted=None):
    save_model(RankSVM(C=0.01).fit(data) if fitted is None else fitted, path, data=data)
    VALID.validate(told := json.loads(path.read_text()))
    return told["data"]


def test_the_fingerprint_of_the_training_data(tmp_path):
    path = tmp_path / "m.json"
    told = told_of_data(path, DATA)
    labels = {"levels": 5, "minimum": 0.0, "maximum": 4.0}
    assert told | {"hash": None} == {"rows": len(DATA), "queries": 6, "features": 13, "labels": labels, "hash": None}
    assert told["hash"] == told_of_data(path, NAMELESS)["hash"] == "blake2b:32b9cdb07e4af14b05db880367cc12ac"
    other = RankingData(np.where(DATA.X[0, 0] == DATA.X, 1.5, DATA.X), DATA.y, DATA.qid)
    texts = RankingData(DATA.X, DATA.y, np.array([f"q{one}" for one in DATA.qid], dtype=object))
    assert len({told_of_data(path, one)["hash"] for one in (DATA, SPARSE, other, texts)}) == 4
    again = RankingData(DATA.X, DATA.y, np.array([f"q{one}" for one in DATA.qid]))
    assert told_of_data(path, texts)["hash"] == told_of_data(path, again)["hash"]
    write_chunks(tmp_path / "c", DATA)
    assert told_of_data(path, open_chunks(tmp_path / "c")) == told | {"hash": None}


def test_the_fingerprint_of_other_data_is_refused(tmp_path):
    fitted = RankSVM(C=0.01).fit(DATA)
    with pytest.raises(ValueError, match=r"data has 13 features and 120 queries, and .* on 13 .* 6 queries"):
        told_of_data(tmp_path / "m.json", SAMPLE, fitted)
    with pytest.raises(TypeError, match="data must be the RankingData that the model was trained on; got a ndarray"):
        told_of_data(tmp_path / "m.json", DATA.X, fitted)
    assert not (tmp_path / "m.json").exists()
