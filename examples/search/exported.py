"""Exported models as those who run them do: a Python module, ONNX, and the arithmetic of two search engines.

Each function takes a file that `rankwise export` wrote, features with a row per document, and their names; it returns
scores. Elasticsearch, OpenSearch and Solr add up weight times normalised value in float32, feature by feature.
"""

import importlib.util
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np


def python_function(path: Path) -> Callable[[Mapping[str, float]], float]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.score


def by_python(path: Path, X: np.ndarray, names: Sequence[str]) -> np.ndarray:
    score = python_function(path)
    return np.array([score(dict(zip(names, row, strict=True))) for row in X.tolist()])


def by_onnx(path: Path, X: np.ndarray, names: Sequence[str]) -> np.ndarray:
    from onnxruntime import InferenceSession

    session = InferenceSession(path)
    known = json.loads(session.get_modelmeta().custom_metadata_map["feature_names"])
    columns = [names.index(name) for name in known]
    return session.run(["scores"], {"features": X[:, columns].astype(np.float32)})[0].ravel()


def by_elasticsearch(path: Path, X: np.ndarray, names: Sequence[str]) -> np.ndarray:
    model = json.loads(path.read_text(encoding="utf-8"))["model"]["model"]
    norms = {name: norm["standard"] for name, norm in model.get("feature_normalizers", {}).items()}
    shifts = {name: (norm["mean"], norm["standard_deviation"]) for name, norm in norms.items()}
    return _in_float32(json.loads(model["definition"]).items(), shifts, X, names)


def by_solr(path: Path, X: np.ndarray, names: Sequence[str]) -> np.ndarray:
    model = json.loads(path.read_text(encoding="utf-8"))
    norms = {one["name"]: one["norm"]["params"] for one in model["features"] if "norm" in one}
    shifts = {name: (float(norm["avg"]), float(norm["std"])) for name, norm in norms.items()}
    weights = [(one["name"], model["params"]["weights"][one["name"]]) for one in model["features"]]
    return _in_float32(weights, shifts, X, names)


def _in_float32(
    weights: Iterable[tuple[str, float]], shifts: Mapping[str, tuple[float, float]], X: np.ndarray, names: Sequence[str]
) -> np.ndarray:
    total = np.zeros(len(X), dtype=np.float32)
    for name, weight in weights:
        value = X[:, names.index(name)].astype(np.float32)
        if name in shifts:
            mean, deviation = map(np.float32, shifts[name])
            value = (value - mean) / deviation
        total += np.float32(weight) * value
    return total


SCORERS = {"python": by_python, "onnx": by_onnx, "elasticsearch": by_elasticsearch, "solr": by_solr}
