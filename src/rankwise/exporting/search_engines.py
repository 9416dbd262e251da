"""Elasticsearch, OpenSearch and Solr: linear models of their learning-to-rank plugins.

All three compute in float32, feature after feature, and add no constant. A feature that does not match a document has
its default value (0, or the feature's own in Solr), which is scaled as any other value.
"""

import json
from urllib.parse import quote

from rankwise.exporting.parts import Linear
from rankwise.exporting.precision import check_normalizers
from rankwise.exporting.targets import SINGLE, Arithmetic, Request, Target

FLOATS = {SINGLE: Arithmetic(SINGLE, SINGLE, SINGLE)}
_SOLR = "org.apache.solr.ltr."


def _bounds(model: Linear) -> dict[str, tuple[float, float]]:
    """Feature -> the two numbers of its normaliser: minimum and maximum, or mean and standard deviation.

    Features of weight 0 need none: among them are constant ones, whose standard deviation of 0 the engines refuse.
    """
    if model.scaling is None:
        return {}
    check_normalizers(model)
    second = model.shift + model.spread if model.scaling.method == "minmax" else model.spread
    columns = zip(model.names, model.shift.tolist(), second.tolist(), model.weights.tolist(), strict=True)
    return {name: (first, other) for name, first, other, weight in columns if weight}


def _weights(model: Linear) -> dict[str, float]:
    return dict(zip(model.names, model.weights.tolist(), strict=True))


def _is_minmax(model: Linear) -> bool:
    return model.scaling is not None and model.scaling.method == "minmax"


def elasticsearch(model: Linear, request: Request) -> str:
    """The body of `_createmodel`; the definition is a text that contains JSON."""
    kind, fields = (
        ("min_max", ("minimum", "maximum")) if _is_minmax(model) else ("standard", ("mean", "standard_deviation"))
    )
    normalizers = {name: {kind: dict(zip(fields, pair, strict=True))} for name, pair in _bounds(model).items()}
    described: dict[str, object] = {"type": "model/linear"}
    if normalizers:
        described["feature_normalizers"] = normalizers
    described["definition"] = json.dumps(_weights(model))
    return json.dumps({"model": {"name": request.name, "model": described}}, indent=1) + "\n"


def _to_elasticsearch(request: Request) -> str:
    feature_set = "FEATURE_SET" if request.feature_set is None else quote(request.feature_set, safe="")
    return f"POST _ltr/_featureset/{feature_set}/_createmodel"


def solr(model: Linear, request: Request) -> str:
    """The body for the model store."""
    kind, fields = ("MinMax", ("min", "max")) if _is_minmax(model) else ("Standard", ("avg", "std"))
    bounds = _bounds(model)
    features: list[dict[str, object]] = []
    for name in model.names:
        feature: dict[str, object] = {"name": name}
        if name in bounds:
            params = {field: repr(number) for field, number in zip(fields, bounds[name], strict=True)}
            feature["norm"] = {"class": f"{_SOLR}norm.{kind}Normalizer", "params": params}
        features.append(feature)
    body: dict[str, object] = {"class": _SOLR + "model.LinearModel", "name": request.name}
    if request.feature_set is not None:
        body["store"] = request.feature_set
    return json.dumps(body | {"features": features, "params": {"weights": _weights(model)}}, indent=1) + "\n"


def _to_solr(request: Request) -> str:
    return "PUT /solr/COLLECTION/schema/model-store"


ELASTICSEARCH = Target(
    "elasticsearch", elasticsearch, arithmetic=FLOATS, has_intercept=False, next_step=_to_elasticsearch
)
OPENSEARCH = Target("opensearch", elasticsearch, arithmetic=FLOATS, has_intercept=False, next_step=_to_elasticsearch)
SOLR = Target("solr", solr, arithmetic=FLOATS, has_intercept=False, next_step=_to_solr)
