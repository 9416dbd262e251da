"""Model files, manifests and arrays that a stranger wrote: one sentence, whatever they hold (SECURITY.md)."""

import gzip
import json
import time

import numpy as np
import pytest
from commands import run
from scipy.sparse import csr_array, random_array

from rankwise import (
    KernelRankRLS,
    RankingData,
    RankSVM,
    ScaledRanker,
    load_model,
    load_sample,
    open_chunks,
    read_data,
    save_model,
    write_chunks,
)
from rankwise.foundation.strict_json import parse_json
from rankwise.model_io.fields import LATER

DATA = load_sample()
RANKER = RankSVM(C=0.02).fit(DATA.X, DATA.y, DATA.qid)
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture
def model(tmp_path):
    """model(text) or model(field=value, ...): what the loader makes of a changed file."""

    def load(text=None, **changed):
        path = tmp_path / "m.json"
        save_model(RANKER, path)
        path.write_text(json.dumps(json.loads(path.read_text()) | changed) if text is None else text)
        began = time.perf_counter()
        with pytest.raises(ValueError, match=r"m\.json is (not a rankwise model|a damaged rankwise model)") as caught:
            load_model(path)
        assert time.perf_counter() - began < 5
        run("inspect", path, code=1)
        return str(caught.value)

    return load


@pytest.mark.parametrize("text", [DEEP, DEEP[:100_000], '{"a":' * 50_000, '{"coef": ' + DEEP + "}"])
def test_a_deep_model_is_refused(model, text):
    assert "nested too deeply" in model(text)


def test_a_number_beyond_floats_is_refused(model):
    whole = json.dumps([10**400] * 13)
    for coef in (whole, "[1e400" + ", 1" * 12 + "]", "[NaN" + ", 1" * 12 + "]", f"[{'9' * 5000}]", "[true, [1]]"):
        fields = {"format": "rankwise-model", "version": 1, "kind": "RankSVM", "params": {}, "n_features": 13}
        fields |= {
            "rankwise": "0",
            "n_queries": 1,
            "fit": None,
            "scaler": None,
            "feature_names": None,
            "first_index": 1,
        }
        model(json.dumps(fields)[:-1] + f', "coef": {coef}}}')


@pytest.mark.parametrize(
    "changed",
    [
        {"params": {"C": 10**400}},
        {"params": {"n_jobs": 1000}},
        {"params": {"callback": "os.system"}},
        {"params": {"C": [[[[1]]]]}},
        {"params": [1]},
        {"extra": 1},
        {"n_features": 13.0},
        {"n_features": True},
        {"n_queries": -1},
        {"n_queries": "many"},
        {"first_index": 2},
        {"first_index": None},
        {"fit": {"objective": 1}},
        {"fit": [1]},
        {"scaler": {"name": "minmax", "n_features": 13, "shift": [10**400] * 13, "scale": [1] * 13}},
        {"scaler": "minmax"},
        {"feature_names": "abcdefghijklm"},
        {"feature_names": [1] * 13},
        {"kind": ["RankSVM"]},
        {"coef": {"0": 1}},
        {"coef": [[1.0]] * 13},
    ],
    ids=str,
)
def test_every_field_of_a_model_is_checked(model, changed):
    model(**changed)


PLAIN_NAMES = [f"n{i}" for i in range(11)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("coef", value) for value in (["1"] * 13, [True, *[1.0] * 12], [None] * 13)),
        *(("rankwise", value) for value in (3, None, ["0.1"])),
        *(("params", value) for value in ({}, None, 3)),
        *(("params.C", value) for value in (-1, 0, "1", [1], True, None, 10**400)),
        *(("params.tol", value) for value in ([1], {"a": 1}, "x", -1.0)),
        *(("params.loss", value) for value in (5, "os.system", "huber:-1", "logistic:9", ["hinge"])),
        *(("params.solver", value) for value in ("os.system", None, ["newton"])),
        *(("params.scheme", value) for value in ("os.system", None, {})),
        *(("params.pairs", value) for value in ("auto", None, {})),
        *(("params.costs", value) for value in ([[1]], "evil", [[1, 2]], [["1"]], {"a": 1}, 3)),
        *(("params.random_state", value) for value in (-5, 2**32, 0.5, "0", [1])),
        *(("params.warm_start", value) for value in (1, None)),
        *(("params.max_iter", value) for value in (0, -1, "9")),
        *(("params.scope", value) for value in ("none", 1)),
        *(("fit.converged", value) for value in (3, None, "true")),
        *(("fit.message", value) for value in (3, None, "\ud800")),
        *(("fit.objective", value) for value in ("x", True, [1])),
        *(("fit.iterations", value) for value in (-1, 1.5, None)),
        *(("feature_names", value) for value in (["a", "a", *PLAIN_NAMES], ["\ud800", "b", *PLAIN_NAMES])),
        ("scaler", {"name": "evil", "n_features": 13, "shift": [0] * 13, "scale": [1] * 13}),
        ("scaler.mean", ["0"] * 13),
        ("scaler.standard_deviation", [-1] * 13),
        ("scaler.centred", 1),
        ("scaler.minimum", [0] * 13),
        ("python", 3),
        ("numpy", None),
        *(("data", value) for value in (3, {}, {"rows": 1}, [])),
        *(("run", value) for value in (3, {}, {"command": "rm", "options": {}, "files": {}})),
        ("scaler.extra", 1),
        ("params.extra", 1),
        ("fit.extra", 1),
    ],
    ids=str,
)
def test_a_field_of_the_wrong_kind_is_named(tmp_path, field, value):
    """Each was taken: a text for a number, a truth for a version, no parameters at all."""
    path = tmp_path / "m.json"
    model = ScaledRanker(RankSVM(C=0.02), "zscore") if field.startswith("scaler.") else RankSVM(C=0.02)
    save_model(model.fit(DATA.X, DATA.y, DATA.qid), path)
    state = json.loads(path.read_text())
    *outer, last = field.split(".")
    (state[outer[0]] if outer else state)[last] = value
    path.write_text(json.dumps(state))
    with pytest.raises(ValueError, match=rf"m\.json is a damaged rankwise model: .*{last}") as caught:
        load_model(path)
    assert not any(name in str(caught.value) for name in ("KeyError", "TypeError", "unhashable", "argument"))
    run("predict", path, "-", stdin="1 qid:1 1:1\n", code=1)


@pytest.mark.parametrize("field", ["loss", "solver", "scheme"])
def test_a_name_that_is_not_registered_is_named(tmp_path, field):
    save_model(RANKER, tmp_path / "m.json")
    state = json.loads((tmp_path / "m.json").read_text())
    state["params"][field] = "evil"
    (tmp_path / "m.json").write_text(json.dumps(state))
    with pytest.raises(ValueError, match=rf"m\.json cannot be loaded: its {field} 'evil' is not registered"):
        load_model(tmp_path / "m.json")
    state["params"][field] = "evil" * 1000
    (tmp_path / "m.json").write_text(json.dumps(state))
    with pytest.raises(ValueError, match=rf"m\.json is a damaged rankwise model: params\.{field}") as caught:
        load_model(tmp_path / "m.json")
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("value", [True, "1", 1.5, None, [1]])
def test_a_version_is_a_number(tmp_path, value):
    save_model(RANKER, tmp_path / "m.json")
    state = json.loads((tmp_path / "m.json").read_text()) | {"version": value}
    (tmp_path / "m.json").write_text(json.dumps(state))
    with pytest.raises(ValueError, match=r"m\.json has model version .*; this reads versions 1 and 2"):
        load_model(tmp_path / "m.json")


def test_every_field_must_be_there(tmp_path):
    save_model(RANKER, tmp_path / "m.json")
    state = json.loads((tmp_path / "m.json").read_text())
    for outer in (None, "params", "fit"):
        for field in state if outer is None else state[outer]:
            if field in ("format", "version", *LATER):
                continue
            changed = json.loads(json.dumps(state))
            del (changed if outer is None else changed[outer])[field]
            (tmp_path / "m.json").write_text(json.dumps(changed))
            with pytest.raises(ValueError, match=rf"damaged rankwise model: .*{field} is (missing|null)"):
                load_model(tmp_path / "m.json")


@pytest.mark.parametrize(
    "params",
    [{"kernel": "precomputed"}, {"kernel": ["rbf"]}, {"kernel_params": {"n_jobs": 9}}, {"n_components": "many"}],
    ids=str,
)
def test_kernels_of_a_model_are_those_on_features(tmp_path, params):
    few = DATA.select(DATA.qid <= 3)
    save_model(KernelRankRLS(kernel="rbf").fit(few.X, few.y, few.qid), tmp_path / "m.json")
    state = json.loads((tmp_path / "m.json").read_text())
    load_model(tmp_path / "m.json")
    (tmp_path / "m.json").write_text(json.dumps(state | {"params": state["params"] | params}))
    with pytest.raises(ValueError, match="is a damaged rankwise model"):
        load_model(tmp_path / "m.json")


def test_a_model_that_decompresses_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("rankwise.model_io.files.MOST_BYTES", 1 << 20)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * (1 << 26)))
    with pytest.raises(ValueError, match=r"bomb.json.gz is not a rankwise model, .*: it has more than 1,048,576 bytes"):
        load_model(tmp_path / "bomb.json.gz")
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b" " * (1 << 16))[:40])
    (tmp_path / "no.json.gz").write_bytes(b"no gzip")
    (tmp_path / "no.json.bz2").write_bytes(b"no bzip2")
    (tmp_path / "no.json.xz").write_bytes(b"no xz")
    (tmp_path / "no.json.zst").write_bytes(b"no Zstandard")
    for name in ("cut.json.gz", "no.json.gz", "no.json.bz2", "no.json.xz", "no.json.zst"):
        with pytest.raises(ValueError, match=f"{name} is not a rankwise model, .*: it cannot be decompressed"):
            load_model(tmp_path / name)


def test_json_is_strict():
    for text in ("NaN", '{"a": 1, "a": 2}', "[" * 13 + "]" * 13, "[Infinity]", "", b"\xff\xfe\xfa"):
        with pytest.raises(ValueError, match=r".+"):
            parse_json(text)
    assert parse_json("[" * 12 + "]" * 12)


@pytest.fixture
def folder(tmp_path):
    write_chunks(tmp_path / "c", DATA, chunk_bytes=50_000)
    return tmp_path / "c"


def refused(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(ValueError, match=r"manifest.json is not a manifest of chunks, or is damaged") as caught:
        open_chunks(folder)
    assert not any(name in str(caught.value) for name in ("KeyError", "TypeError", "AttributeError", "argument"))
    return str(caught.value)


def test_a_deep_manifest_is_refused(folder):
    for text in (DEEP, '{"format": ' + DEEP + "}", "[]", "3", '"rankwise chunks"', "null"):
        refused(folder, text)


@pytest.mark.parametrize(
    "changed",
    [
        {"n_features": 10**400},
        {"n_features": 12},
        {"n_features": -1},
        {"names": "abc"},
        {"names": ["a"]},
        {"first_index": 7},
        {"sparse": 1},
        {"sparse": True},
        {"dtype": "O"},
        {"dtype": "float32"},
        {"chunks": []},
        {"chunks": {"0": 1}},
        {"chunks": None},
        {"extra": 1},
    ],
    ids=str,
)
def test_every_field_of_a_manifest_is_checked(folder, changed):
    refused(folder, json.dumps(json.loads((folder / "manifest.json").read_text()) | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"file": "../secret.npz"},
        {"file": "/etc/passwd"},
        {"file": "chunk\0.npz"},
        {"file": 7},
        {"rows": 10**12},
        {"rows": -1},
        {"rows": 1.5},
        {"extra": 1},
        {"arrays": {}},
        {"arrays": None},
        {"arrays": {"y": 3}},
        {"rows": True},
        {"crc32": None},
        {"y": {"offset": "0"}},
        {"y": {"dtype": None}},
        {"X": {"offset": 10**15}},
        {"X": {"offset": -8}},
        {"X": {"rows": 10**9}},
        {"X": {"columns": 14}},
        {"X": {"dtype": "|O"}},
        {"y": {"dtype": "O"}},
        {"y": {"dtype": "<f4"}},
        {"y": {"dtype": "(2,)f8,i4"}},
        {"qid": {"dtype": "|O8"}},
        {"qid": {"dtype": "<f80"}},
        {"qid": {"dtype": "<M8[parsec]"}},
        {"qid": {"dtype": "<U99999999999"}},
        {"qid": {"extra": 1}},
    ],
    ids=str,
)
def test_every_field_of_a_chunk_is_checked(folder, changed):
    """A manifest leads to no file outside its folder, to no place outside a file, and to no array of objects."""
    told = json.loads((folder / "manifest.json").read_text())
    chunk = told["chunks"][1]
    for key, value in changed.items():
        if key in chunk["arrays"]:
            chunk["arrays"][key] |= value
        else:
            chunk[key] = value
    refused(folder, json.dumps(told))


X = csr_array(random_array((200, 30), density=0.2, rng=np.random.default_rng(0)))
Y, QID = np.arange(200) % 3, np.arange(200) // 10


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("indices", 5, 2**30), ("indices", 5, -(2**30)), ("indptr", 7, 2**40), ("indptr", 0, -5), ("indptr", 200, 10**6)],
)
def test_indices_that_lead_out_of_an_array_are_refused(tmp_path, name, place, value):
    """Kernels follow them without a look: these files ended in a segmentation fault."""
    arrays = {"data": X.data, "indices": X.indices.astype(np.int32), "indptr": X.indptr.astype(np.int64)}
    arrays[name] = arrays[name].copy()
    arrays[name][place] = value
    np.savez(tmp_path / "d.npz", y=Y, qid=QID, shape=np.array(X.shape), **arrays)
    with pytest.raises(ValueError, match=r"d.npz holds no ranking data, or is damaged: (an index|indptr)"):
        read_data(tmp_path / "d.npz")
    write_chunks(tmp_path / "c", RankingData(X, Y, QID))
    chunk = open_chunks(tmp_path / "c").files[0]
    content = bytearray((tmp_path / "c" / chunk.file).read_bytes())
    at = chunk.arrays[name].offset
    content[at : at + arrays[name].nbytes] = arrays[name].tobytes()
    (tmp_path / "c" / chunk.file).write_bytes(content)
    with pytest.raises(ValueError, match=r"c is damaged: (an index|indptr) .*: convert the data again"):
        RankSVM().fit(open_chunks(tmp_path / "c"))


def test_no_pickle_is_loaded(tmp_path):
    np.savez(tmp_path / "d.npz", y=np.array([print, print], dtype=object), qid=[1, 1], X=[[1.0], [2.0]])
    with pytest.raises(ValueError, match="is not an NPZ file of plain arrays"):
        read_data(tmp_path / "d.npz")


def test_a_damaged_parquet_note_is_named(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    lists = pa.array([[0], [1]], pa.list_(pa.int32())), pa.array([[1.0], [2.0]], pa.list_(pa.float64()))
    table = pa.table({"label": [1.0, 0.0], "qid": [1, 1], "indices": lists[0], "values": lists[1]})
    for note in (DEEP.encode(), b'{"n_features": "x"}', b"[1]", b"\xff", b'{"names": 3}'):
        parquet.write_table(table.replace_schema_metadata({b"rankwise": note}), tmp_path / "d.parquet")
        with pytest.raises(ValueError, match="its metadata are damaged"):
            read_data(tmp_path / "d.parquet")


def test_a_damaged_tuning_report_is_named(tmp_path):
    for text in (DEEP, "[]", '{"chosen": {"C": 1}, "results": [{"C": 1, "folds": [NaN]}], "measure": "map"}', "{"):
        (tmp_path / "t.json").write_text(text)
        told = run("plot", "path", tmp_path / "t.json", "-o", tmp_path / "p.png", code=1).stderr
        assert "t.json is not the output of `rankwise tune --json`" in told
