"""Exported models as the systems they are for read them, written from their documentation and apart from the exporter.

Each reader takes the content of a file and returns a function from rows (dicts by feature name, in the order of the
model) to scores.
"""

import json
import re
import sqlite3
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from rankwise import RankingData, RankSVM
from rankwise.model_io.conversion import model_of
from rankwise.rankers.models import LinearModel

F = np.float32


def by_rows(score):
    return lambda rows: np.array([score(row) for row in rows], dtype=np.float64)


def elasticsearch(content):
    """LinearRanker: float32 weights, values normalised in float32, summed in float32 in the order of the features."""
    body = json.loads(content)
    assert list(body) == ["model"]
    model = body["model"]["model"]
    assert model["type"] == "model/linear"
    weights = json.loads(model["definition"])  # a text that holds JSON
    normalizers = model.get("feature_normalizers", {})
    assert set(normalizers) <= set(weights)

    def normalised(name, value):
        if name not in normalizers:
            return value
        ((kind, numbers),) = normalizers[name].items()
        if kind == "standard":
            mean, deviation = F(numbers["mean"]), F(numbers["standard_deviation"])
            assert deviation > 0
            return (value - mean) / deviation
        assert kind == "min_max"
        low, high = F(numbers["minimum"]), F(numbers["maximum"])
        assert low < high
        return (value - low) / (high - low)

    def score(row):
        assert set(weights) <= set(row), "an unknown feature is an error"
        total = F(0)
        for name in row:
            total = F(total + F(weights.get(name, 0)) * F(normalised(name, F(row[name]))))
        return total

    return by_rows(score)


def solr(content):
    """LinearModel: every feature needs a weight; parameters of normalisers may be texts."""
    body = json.loads(content)
    assert body["class"] == "org.apache.solr.ltr.model.LinearModel"
    weights = body["params"]["weights"]
    names = [feature["name"] for feature in body["features"]]
    assert len(set(names)) == len(names)
    assert set(names) <= set(weights)

    def normalised(feature, value):
        if "norm" not in feature:
            return value
        kind, params = feature["norm"]["class"], feature["norm"]["params"]
        if kind == "org.apache.solr.ltr.norm.StandardNormalizer":
            assert F(params["std"]) > 0
            return (value - F(params["avg"])) / F(params["std"])
        assert kind == "org.apache.solr.ltr.norm.MinMaxNormalizer"
        delta = F(params["max"]) - F(params["min"])
        assert delta != 0
        return (value - F(params["min"])) / delta

    def score(row):
        total = F(0)
        for feature in body["features"]:
            value = F(normalised(feature, F(row[feature["name"]])))
            total = F(total + value * F(weights[feature["name"]]))
        return total

    return by_rows(score)


def vespa(content, mapped=None):
    """A rank profile whose first phase is an expression of numbers, features, + - * and parentheses."""
    text = content.decode()
    found = re.fullmatch(
        r"rank-profile [A-Za-z_][\w-]* \{\s*first-phase \{\s*expression \{(.*)\}\s*\}\s*\}\s*", text, re.DOTALL
    )
    assert found
    assert "{" not in found[1]
    fields = {value: name for name, value in (mapped or {}).items()}
    token = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|[A-Za-z_]\w*(?:\([^()]*\))?(?:\.\w+)*|[-+*()])")
    tokens = token.findall(found[1])
    assert "".join("".join(tokens).split()) == "".join(found[1].split())

    def value(rest, row):
        first = rest.pop(0)
        if first == "(":
            total = added(rest, row)
            assert rest.pop(0) == ")"
            return total
        if first == "-":
            return -value(rest, row)
        return float(first) if first[0].isdigit() else row[fields.get(first, first)]

    def product(rest, row):
        total = value(rest, row)
        while rest and rest[0] == "*":
            rest.pop(0)
            total *= value(rest, row)
        return total

    def added(rest, row):
        total = product(rest, row)
        while rest and rest[0] in "+-":
            total += product(rest, row) if rest.pop(0) == "+" else -product(rest, row)
        return total

    return by_rows(lambda row: added(list(tokens), row))


def ranklib(content):
    """CoorAscent: lines of ## are skipped, the next line is id:weight; values are float32, weights and sums float64."""
    lines = content.decode("ascii").splitlines()
    assert lines[0] == "## Coordinate Ascent"
    (line,) = [line for line in lines if not line.startswith("##")]
    pairs = [pair.split(":") for pair in line.split(" ")]
    weights = {int(key): float(number) for key, number in pairs}

    def score(row):
        values = [None, *map(F, row.values())]
        return sum(weight * float(values[key]) for key, weight in weights.items())

    return by_rows(score)


def liblinear(content, folder):
    from liblinear.liblinearutil import load_model, predict

    (folder / "liblinear.model").write_bytes(content)
    model = load_model(str(folder / "liblinear.model"))
    assert model is not None

    def scores(rows):
        X = [{j: float(value) for j, value in enumerate(row.values(), start=1)} for row in rows]
        return np.array(predict([], X, model, "-q")[0])

    return scores


def liblinear_ranksvm(content):
    head, weights = content.decode("ascii").split("w\n", 1)
    assert [line.split()[0] for line in head.splitlines()] == ["solver_type", "nr_class", "nr_feature", "bias"]
    assert head.splitlines()[0] == "solver_type L2R_L2LOSS_RANKSVM"
    w = [float(line) for line in weights.splitlines()]
    assert f"nr_feature {len(w)}\nbias -1\n" in head
    return by_rows(lambda row: float(np.dot(w, list(row.values()))))


def svmrank(content):
    """svm_common.c: a number before the # of each line; one support vector of float32 values; w · x - b."""
    lines = content.decode("ascii").splitlines()
    assert lines[0] == "SVM-light Version V6.20"
    assert [line.split("#")[0].strip() for line in lines[1:7]] == ["0", "3", "1", "1", "1", "empty"]
    n_features, n_documents, n_vectors, threshold = (float(line.split("#")[0]) for line in lines[7:11])
    assert n_documents >= 1
    assert n_vectors == len(lines) - 10 == 2
    alpha, *pairs = lines[11].split("#")[0].split()
    keys, numbers = zip(*(pair.split(":") for pair in pairs), strict=True)
    assert list(map(int, keys)) == sorted(set(map(int, keys)))
    assert int(keys[-1]) <= n_features

    def score(row):
        values = [None, *map(F, row.values())]
        weighted = (float(F(number)) * float(values[int(key)]) for key, number in zip(keys, numbers, strict=True))
        return float(alpha) * sum(weighted) - threshold

    return by_rows(score)


def pmml(content):
    """A RegressionModel with fields derived by Apply."""
    space = "{http://www.dmg.org/PMML-4_4}"
    root = ElementTree.fromstring(content)
    model = root.find(f"{space}RegressionModel")
    known = [field.get("name") for field in root.iter(f"{space}DataField")]
    assert known == [field.get("name") for field in model.iter(f"{space}MiningField")]
    table = model.find(f"{space}RegressionTable")

    def value(node, fields):
        kind = node.tag.removeprefix(space)
        if kind == "Constant":
            return float(node.text)
        if kind == "FieldRef":
            return fields[node.get("field")]
        left, right = (value(one, fields) for one in node)
        return left - right if node.get("function") == "-" else left * right

    def score(row):
        fields = {name: float(row[name]) for name in known}
        fields |= {one.get("name"): value(one[0], fields) for one in model.iter(f"{space}DerivedField")}
        predictors = table.findall(f"{space}NumericPredictor")
        terms = [float(one.get("coefficient")) * fields[one.get("name")] for one in predictors]
        return float(table.get("intercept")) + sum(terms)

    return by_rows(score)


def plain_json(content):
    body = json.loads(content)

    def scaled(name, value):
        if "scaling" not in body or name not in body["scaling"]:
            return value
        first, second = body["scaling"][name].values()
        return (value - first) / second

    def score(row):
        return body["intercept"] + sum(weight * scaled(name, row[name]) for name, weight in body["weights"].items())

    return by_rows(score)


def sql(content):
    expression = content.decode()

    def scores(rows):
        columns = ['"' + name.replace('"', '""') + '"' for name in rows[0]]
        database = sqlite3.connect(":memory:")
        database.execute(f"CREATE TABLE documents ({', '.join(f'{one} REAL' for one in columns)})")
        marks = ", ".join("?" * len(columns))
        database.executemany(
            f"INSERT INTO documents VALUES ({marks})", [[float(one) for one in row.values()] for row in rows]
        )
        return np.array(database.execute(f"SELECT {expression} FROM documents ORDER BY rowid").fetchall())[:, 0]

    return scores


def python(content):
    module = {"__builtins__": __builtins__}
    exec(content.decode(), module)

    def scores(rows):
        by_name = [module["score"](row) for row in rows]
        assert by_name == [module["score"](list(row.values())) for row in rows]
        return np.array(by_name)

    return scores


def onnx(content):
    from onnxruntime import InferenceSession

    session = InferenceSession(content, providers=["CPUExecutionProvider"])
    (given,), (output,) = session.get_inputs(), session.get_outputs()
    assert (given.name, output.name) == ("features", "scores")
    dtype = np.float32 if given.type == "tensor(float)" else np.float64

    def scores(rows):
        assert list(rows[0]) == json.loads(session.get_modelmeta().custom_metadata_map["feature_names"])
        X = np.array([list(row.values()) for row in rows], dtype=dtype)
        return session.run(["scores"], {"features": X})[0].astype(np.float64)

    return scores


READERS = {
    "elasticsearch": elasticsearch,
    "opensearch": elasticsearch,
    "solr": solr,
    "vespa": vespa,
    "ranklib": ranklib,
    "liblinear": liblinear,
    "liblinear-ranksvm": liblinear_ranksvm,
    "svmrank": svmrank,
    "pmml": pmml,
    "json": plain_json,
    "sql": sql,
    "python": python,
    "onnx": onnx,
}
SINGLE = {"elasticsearch", "opensearch", "solr", "ranklib", "svmrank", "onnx"}  # in which some numbers are float32


def served(target, content, data, names, folder=None):
    """The scores of the rows of a RankingData by an exported model."""
    read = READERS[target]
    scores = read(content, folder) if target == "liblinear" else read(content)
    return scores([dict(zip(names, row, strict=True)) for row in data.X.tolist()])


def linear_model(weights, names=None, scaling=None):
    """A model with these weights, as if it had been trained."""
    n = len(weights)
    data = RankingData(np.random.default_rng(0).normal(size=(12, n)), np.arange(12.0) % 3, np.zeros(12))
    model = model_of(RankSVM().fit(data.X, data.y, data.qid), names)
    assert isinstance(model, LinearModel)
    return replace(model, coef=np.array(weights, dtype=np.float64), scaling=scaling)
