"""`rank`: a request in, a response out, without HTTP; held against the rankers' own predictions."""

import base64
import subprocess
import sys

import numpy as np
import pytest

from rankwise import KernelRankSVM, RankSVM, ScaledRanker, make_ranking, save_model
from rankwise.data.columns import ModelColumns
from rankwise.rankers.models import LinearModel
from rankwise.serving import ServedModel, rank
from rankwise.serving.requests import RequestError, parse

NAMES = ("bm25", "pagerank", "clicks")


def linear(coef, names=None, first_index=1, **reading):
    columns = ModelColumns(len(coef), first_index, names)
    model = LinearModel(kind="RankSVM", params={}, columns=columns, coef=np.array(coef, dtype=float))
    return ServedModel.of(model, **reading)


@pytest.fixture
def model():
    return linear([1.0, -2.0, 0.5], NAMES)


def documents(*rows, names=NAMES):
    return [{"id": f"d{i}", "features": dict(zip(names, row, strict=True))} for i, row in enumerate(rows)]


def refusal(model, request, **options):
    with pytest.raises(RequestError) as refused:
        rank(model, request, **options)
    assert refused.value.status == 422
    return str(refused.value)


def test_best_first_with_scores(model):
    request = {"query": 7, "documents": documents([1, 1, 0], [3, 0, 2], [2, 0, 0])}
    assert rank(model, request) == {"query": 7, "order": ["d1", "d2", "d0"], "scores": [4.0, 2.0, -1.0]}
    assert rank(model, request | {"top": 1}) == {"query": 7, "order": ["d1"], "scores": [4.0]}
    assert rank(model, request | {"top": 9})["order"] == ["d1", "d2", "d0"]


def test_all_forms_give_the_same(model):
    rows = [[1, 1, 0], [3.5, 0, 2], [2, 0, -1e-3]]
    expected = rank(model, {"documents": documents(*rows)})
    ids = ["d0", "d1", "d2"]
    turned = [row[::-1] for row in rows]
    mixed = documents(*rows)
    mixed[0]["features"] = rows[0]
    mixed[2]["features"] = dict(reversed(mixed[2]["features"].items()))
    for request in (
        {"documents": [{"id": one, "features": row} for one, row in zip(ids, rows, strict=True)]},
        {"ids": ids, "features": rows},
        {"ids": ids, "features": rows, "names": None, "query": None, "top": None, "explain": None},
        {"ids": ids, "features": turned, "names": list(NAMES[::-1])},
        {"documents": documents(*turned, names=NAMES[::-1])},
        {"documents": mixed},
    ):
        assert rank(model, request) == expected
    assert rank(model, {"features": rows}) == expected | {"order": [1, 2, 0]}


def packed(rows, dtype="float64", **fields):
    numbers = np.array(rows, dtype={"float32": "<f4", "float64": "<f8"}[dtype])
    text = base64.b64encode(numbers.tobytes()).decode()
    return {"ids": [f"d{i}" for i in range(len(rows))], "features": text, "dtype": dtype} | fields


def test_packed_features_give_the_same(model):
    rows = [[1, 1, 0], [3.5, 0, 2], [2, 0, -1e-3]]
    expected = rank(model, {"documents": documents(*rows)})
    assert rank(model, packed(rows)) == expected
    turned = packed([row[::-1] for row in rows], names=list(NAMES[::-1]))
    assert rank(model, turned) == expected
    assert rank(model, packed(rows, "float32"))["scores"] == pytest.approx(expected["scores"], rel=1e-6)
    more = packed([[*row, np.inf] for row in rows], names=[*NAMES, "other"])
    assert rank(linear([1.0, -2.0, 0.5], NAMES, ignore_unknown=True), more) == expected


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (packed([[1, 2, np.nan]]), 'document "d0" has the feature "clicks" = NaN'),
        (packed([[1, 2]]), 'document "d0" has 2 features, expected 3'),
        (packed([[1, 2, 3]], ids=["a", "b"]), '"features" has 24 bytes, which are not 2 equal rows of float64'),
        (packed([[1, 2, 3]], ids=[]), 'packed features need "ids"'),
        (packed([[1, 2, 3]], ids=None), 'packed features need "ids"'),
        (
            packed([[1, 2, 3]], dtype="float64") | {"dtype": "int8"},
            '"dtype" is "int8", expected "float32" or "float64"',
        ),
        (packed([[1, 2, 3]]) | {"dtype": None}, '"dtype" is null'),
        (packed([[1, 2, 3]]) | {"features": "AAA"}, '"features" is a text, but not base64'),
        (packed([[1, 2, 3]]) | {"features": "\u00fc==="}, '"features" is a text, but not base64'),
        ({"features": [[1, 2, 3]], "dtype": "float64"}, '"dtype" is for packed features'),
        (packed([[1, 2, 3]] * 11), "the request has 11 documents"),
    ],
)
def test_packed_features_that_are_wrong(model, request_, said):
    assert said in refusal(model, request_, most_documents=10)


def test_equal_scores_stay_in_the_order_given(model):
    rng = np.random.default_rng(0)
    rows = [[int(one), 0, 0] for one in rng.integers(0, 3, 200)]
    order = rank(model, {"features": rows})["order"]
    assert order == sorted(range(200), key=lambda place: -rows[place][0])


@pytest.mark.parametrize("scaler", [None, "minmax", "zscore", "query-minmax", "query-zscore"])
def test_scores_are_those_of_predict(scaler, tmp_path):
    data = make_ranking(8, 12, 5, random_state=3)
    ranker = RankSVM() if scaler is None else ScaledRanker(RankSVM(), scaler)
    ranker.fit(data.X, data.y, data.qid)
    save_model(ranker, tmp_path / "model.json")
    query = data.X[data.qid == data.qid[0]]
    one_query = {} if scaler is None else {"qid": np.zeros(len(query))}
    expected = ranker.predict(query, **one_query)
    for served in (ServedModel.of(ranker), ServedModel.of(tmp_path / "model.json")):
        response = rank(served, {"features": query.tolist(), "explain": True})
        assert response["order"] == np.argsort(-expected, kind="stable").tolist()
        assert response["scores"] == expected[response["order"]].tolist()
        sums = [sum(one.values()) for one in response["contributions"]]
        assert sums == pytest.approx(expected[response["order"]] - expected.mean(), abs=1e-9)
        explained = ranker.explain(query, qid=np.zeros(len(query)))
        for parts, contributions in zip(explained.contributions, response["contributions"], strict=True):
            assert dict(zip(explained.names, parts, strict=True)) == contributions


def test_contributions_are_relative_to_the_mean_and_in_order_of_size(model):
    request = {"documents": documents([1, 1, 0], [3, 0, 2]), "explain": 2, "top": 1}
    (contributions,) = rank(model, request)["contributions"]
    assert list(contributions.items()) == [("bm25", 1.0), ("pagerank", 1.0)]
    assert len(rank(model, request | {"explain": True})["contributions"][0]) == 3
    assert "contributions" not in rank(model, request | {"explain": False})


def test_kernel_models_rank_but_do_not_explain(tmp_path):
    data = make_ranking(4, 8, 3, random_state=0)
    ranker = KernelRankSVM(kernel="rbf").fit(data.X, data.y, data.qid)
    save_model(ranker, tmp_path / "kernel.json", NAMES)
    served = ServedModel.of(tmp_path / "kernel.json")
    rows = data.X[:5].tolist()
    response = rank(served, {"documents": documents(*rows)})
    assert sorted(response["scores"], reverse=True) == response["scores"]
    assert sorted(response["scores"]) == pytest.approx(np.sort(ranker.predict(data.X[:5])))
    assert "needs a linear model" in refusal(served, {"features": rows, "explain": True})


def test_features_without_names_have_numbers():
    request = {"documents": [{"id": 1, "features": {"2": 5, "f1": 1}}, {"id": 2, "features": {"f1": 2, "f2": 0}}]}
    assert rank(linear([1.0, 1.0]), request)["scores"] == [6.0, 2.0]
    from_0 = {"documents": [{"id": 1, "features": {"0": 5, "1": 1}}]}
    assert rank(linear([1.0, 2.0], first_index=0), from_0)["scores"] == [7.0]
    twice = {"documents": [{"id": 1, "features": {"1": 5, "f1": 1}}]}
    assert refusal(linear([1.0, 1.0], missing=0), twice) == 'document 1 has the feature "f1" twice'


def test_missing_features_are_named_or_filled(model):
    lacking = {"documents": [{"id": "a", "features": {"clicks": 4}}]}
    said = refusal(model, lacking)
    assert said.startswith('document "a" lacks 2 features: "bm25", "pagerank"; send all, or serve')
    null = {"ids": ["a", "b"], "features": [[1, 2, 3], [1, None, 3]]}
    assert refusal(model, null).startswith('document "b" has the feature "pagerank" without a value (null)')
    filled = linear([1.0, -2.0, 0.5], NAMES, missing=10.0)
    assert rank(filled, lacking)["scores"] == [-8.0]
    assert rank(filled, null)["scores"] == [-1.5, -17.5]
    assert rank(filled, {"features": [[]], "names": []})["scores"] == [-5.0]


def test_unknown_features_are_refused_or_ignored(model):
    request = {"documents": documents([1, 1, 0, "red"], names=("bm25", "pagerank", "clicks", "page_rank"))}
    said = refusal(model, request)
    assert said == 'document "d0" has the feature "page_rank", which the model does not have; did you mean "pagerank"?'
    assert rank(linear([1.0, -2.0, 0.5], NAMES, ignore_unknown=True), request)["scores"] == [-1.0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "= NaN, which is no finite number"),
        (float("-inf"), "= -Infinity, which is no finite number"),
        (10**400, "which is too large"),
        ("1.5", '= "1.5", expected a number'),
        (True, "= true, expected a number"),
        ([1], "= a list, expected a number"),
        ({}, "= an object, expected a number"),
    ],
)
def test_a_value_that_is_no_number_is_named(model, value, said):
    for request in ({"documents": documents([1, 1, 0], [3, value, 2])}, {"features": [[1, 1, 0], [3, value, 2]]}):
        name = '"d1"' if "documents" in request else "1"
        sentence = refusal(model, request)
        assert sentence.startswith(f'document {name} has the feature "pagerank"')
        assert sentence.endswith(said)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ([], "the request is a list"),
        ({}, 'neither "documents" nor "features"'),
        ({"documents": {}}, '"documents" is an object, expected a list'),
        ({"documents": [[1]]}, '"documents"[0] is a list, expected an object'),
        ({"documents": [{"id": 1}]}, '"documents"[0] has no "features"'),
        ({"documents": [{"features": [1, 2, 3]}]}, '"documents"[0] has no "id"'),
        ({"documents": [{"id": 1.5, "features": []}]}, '"documents"[0]."id" is 1.5, expected a text or a whole number'),
        ({"documents": [{"id": 1, "features": 3}]}, '"documents"[0]."features" is 3'),
        ({"documents": [], "ids": []}, 'an unknown field "ids"'),
        ({"documents": [], "größe": 1}, 'an unknown field "größe"'),
        ({"documents": [], "a\u202eb\x9b": 1}, 'an unknown field "a\\u202eb\\x9b"'),
        ({"features": [3]}, '"features"[0] is 3, expected a list of numbers'),
        ({"features": [[1, 2]]}, "document 0 has 2 features, expected 3"),
        ({"features": [[1]]}, "document 0 has 1 feature, expected 3"),
        ({"features": [[1, 2]], "names": ["bm25"]}, "document 0 has 2 features, expected 1"),
        ({"features": [[1, 2, 3]], "names": ["bm25", 1, "clicks"]}, '"names"[1] is 1, expected a text'),
        ({"features": [[1, 2, 3, 4]], "names": [*NAMES, "bm25"]}, 'the feature "bm25" twice'),
        ({"features": [[1, 2, 3]], "ids": []}, '"ids" has 0 entries and "features" 1'),
        ({"features": [[1, 2, 3]] * 3, "ids": [1, "1", 1]}, "documents 0 and 2 have the same id 1"),
        ({"features": [[1, 2, 3]], "ids": [True]}, '"ids"[0] is true'),
        ({"features": [], "query": []}, '"query" is a list'),
        ({"features": [], "top": 0}, '"top" is 0, expected a whole number, 1 or more'),
        ({"features": [], "explain": -1}, '"explain" is -1'),
        ({"features": [[1e308, -1e308, 0]]}, "document 0 has the score inf: its features are too large"),
        ({"features": [[1.5e308, 0, 0], [1.5e308, 0, 0]], "explain": 1}, "contributions cannot be computed"),
        ({"features": [[1, 2, 3]] * 11}, "the request has 11 documents, at most 10 are allowed"),
    ],
)
def test_a_wrong_request_gets_one_sentence(model, request_, said):
    assert said in refusal(model, request_, most_documents=10)


def test_no_documents_are_an_empty_order(model):
    assert rank(model, {"documents": []}) == {"order": [], "scores": []}
    assert rank(model, {"features": [], "explain": 3}) == {"order": [], "scores": [], "contributions": []}


def test_what_cannot_be_scaled_is_refused():
    data = make_ranking(4, 8, 2, random_state=0)
    ranker = ScaledRanker(RankSVM(), "query-minmax").fit(data.X, data.y, data.qid)
    said = refusal(ServedModel.of(ranker), {"features": [[1e308, 0], [-1e308, 0]]})
    assert said.startswith("the documents cannot be scored: ")


def test_small_requests_cannot_take_much_memory_or_time():
    wide = linear(np.ones(1 << 18), missing=0.0)
    request = {"documents": [{"id": i, "features": {"1": i}} for i in range(65)]}
    assert "65 documents with 262,144 features are too many" in refusal(wide, request)
    request["documents"] = request["documents"][:10]
    assert rank(wide, request)["order"] == list(range(9, -1, -1))
    assert "contributions are too many" in refusal(wide, request | {"explain": True})
    assert rank(wide, request | {"explain": 1, "top": 1})["contributions"] == [{"f1": 4.5}]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body is not JSON: Expecting value (character 0)"),
        (b'{"a": 1, "b": 2, "a": 3}', 'an object has the same name twice: "a"'),
        (b"[" * 100_000, "the body is nested too deeply"),
        (b'{"a": "\xff"}', "the body is not UTF-8 (byte 7)"),
        (b"1" * 5_000, "a number has too many digits"),
    ],
)
def test_a_body_that_is_no_json(body, said):
    with pytest.raises(RequestError) as refused:
        parse(body)
    assert refused.value.status == 400
    assert str(refused.value) == said


def test_linear_models_are_served_without_heavy_imports(tmp_path):
    data = make_ranking(4, 8, 3, random_state=0)
    save_model(ScaledRanker(RankSVM(), "query-zscore").fit(data.X, data.y, data.qid), tmp_path / "model.json")
    code = f"""
import sys
from rankwise.serving import ServedModel, rank
model = ServedModel.of({str(tmp_path / "model.json")!r})
assert not {{"starlette", "uvicorn"}} & set(sys.modules)
assert len(rank(model, {{"features": [[1, 2, 3], [4, 5, 6]]}})["order"]) == 2
from rankwise.serving import make_app
make_app({str(tmp_path / "model.json")!r})
heavy = {{"sklearn", "numba", "scipy.sparse", "typer", "rich"}} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
