"""Models on disk: JSON with a version, never pickle. Numbers come back to the last bit.

A model file may come from a stranger: it is bounded in size and depth, every field is checked, and nothing in it names
code (SECURITY.md).
"""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankwise import __version__
from rankwise.data.columns import ModelColumns
from rankwise.data.fingerprint import Fingerprint, fingerprint
from rankwise.foundation.arrays import Floats
from rankwise.foundation.compression import decompressed
from rankwise.foundation.outputs import written_beside
from rankwise.foundation.strict_json import Json, is_count, is_number, read_json
from rankwise.model_io.conversion import KERNEL, LINEAR, estimator_of, model_of
from rankwise.model_io.fields import SUMMARY, check_model
from rankwise.model_io.names import NAMED, check_registered, name_to_save
from rankwise.preprocessing.scaling import Scaling
from rankwise.rankers.models import KernelModel, LinearModel, Model, Params
from rankwise.rankers.signs import plain_signs
from rankwise.solvers import Result

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from rankwise.data.chunks import ChunkedData
    from rankwise.data.records import RankingData

Ranker: TypeAlias = "BaseEstimator | Model | str | os.PathLike[str]"  # a fitted ranker, or a file that holds one

FORMAT = "rankwise-model"
VERSION = 2
READABLE = (1, VERSION)
WEIGHTS = dict.fromkeys(LINEAR, ("coef",)) | dict.fromkeys(KERNEL, ("dual_coef", "references"))
_SHOWN = 40  # characters of a version that a message shows
MOST_BYTES = 1 << 30  # of a model's text, decompressed: some 50 million numbers


def save_model(
    model: "BaseEstimator",
    path: str | Path,
    feature_names: Sequence[str] | None = None,
    first_index: int | None = None,
    data: "RankingData | ChunkedData | None" = None,
) -> None:
    """Write a fitted ranker, with its scaler if it has one; `feature_names` where the training data had none, and 0 as
    `first_index` where a ranking file counted its features from 0, so that the next one is read in the same way. None:
    as the model itself knows them.

    A path that ends in .gz, .bz2, .xz or .zst is compressed; "-" is standard output. A loss, solver, scheme or measure
    of your own is kept by the name it is registered under, and refused if it has none. Costs that JSON cannot hold (a
    callable, a matrix) are not kept: they tell how the model was trained, and predictions do not need them.

    data  the training data, whose fingerprint the file then has: their size, their labels, and a hash of the rows if
          they are in memory

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample, save_model
    >>> save_model(RankSVM().fit(load_sample()), "model.json")
    """
    saved = model_of(model, feature_names, first_index)
    write_model(saved if data is None else replace(saved, data=_fingerprint(data, saved)), path)


def _fingerprint(data: "RankingData | ChunkedData", model: Model) -> Fingerprint:
    if not hasattr(data, "n_features"):
        raise TypeError(f"data must be the RankingData that the model was trained on; got a {type(data).__name__}")
    found, expected = (data.n_features, data.n_queries), (model.columns.n_features, model.n_queries or data.n_queries)
    if found != expected:
        (features, queries), (other_features, other_queries) = found, expected
        raise ValueError(
            f"data has {features} features and {queries} queries, and the model was trained on {other_features} "
            f"features and {other_queries} queries: give the data of its fit"
        )
    return fingerprint(data, hashed=True)


def model_schema() -> dict[str, Json]:
    """The JSON Schema of model files, `model.schema.json` beside this module; docs/model-format.md explains them.

    Examples
    --------
    >>> from rankwise import model_schema
    >>> model_schema()["title"]
    'rankwise model, format 2'
    """
    schema: dict[str, Json] = json.loads(Path(__file__).with_name("model.schema.json").read_text("utf-8"))
    return schema


def write_model(model: Model, path: str | Path) -> None:
    """Write a model as `save_model` does."""
    state = _described(model)
    try:
        check_model(state, WEIGHTS)
    except ValueError as error:
        raise ValueError(f"the model cannot be saved: {error}") from None
    text = json.dumps(state, indent=1, allow_nan=False).encode() + b"\n"
    if len(text) > MOST_BYTES:
        raise ValueError(f"the model takes {len(text):,} bytes, and load_model reads {MOST_BYTES:,} at most")
    with written_beside(path) as file:
        file.write(text)


def is_model_file(path: str | Path) -> bool:
    """Whether a file begins as a saved model does."""
    try:
        with decompressed(path) as file:
            head = file.read(256)
    except (OSError, ValueError):
        return False
    return head.lstrip().startswith(b"{") and f'"{FORMAT}"'.encode() in head


def load_model(path: str | Path) -> "BaseEstimator":
    """The ranker that `save_model` wrote, ready to predict. A file from a stranger can do no harm: see SECURITY.md.

    Examples
    --------
    >>> from rankwise import RankSVM, load_model, load_sample, save_model
    >>> save_model(RankSVM().fit(load_sample()), "model.json")
    >>> load_model("model.json").coef_.shape
    (13,)
    """
    return estimator_of(read_model(path, to_fit=True))


def read_model(path: str | Path, *, to_fit: bool = False) -> LinearModel | KernelModel:
    """The model that `save_model` wrote, as a value. Its loss must be registered only if it may be fitted again."""
    try:
        state = read_json(path, MOST_BYTES)
    except ValueError as error:
        raise ValueError(f"{path} is not a rankwise model, or is damaged: {error}") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"{path} is not a rankwise model: its format field is not {FORMAT!r}")
    if state.get("version") not in READABLE or not is_count(state["version"]):
        found, by = (str(state.get(field))[:_SHOWN] for field in ("version", "rankwise"))
        readable = " and ".join(map(str, READABLE))
        raise ValueError(f"{path} has model version {found}, written by rankwise {by}; this reads versions {readable}")
    _rename_pairs(state.get("params"))
    try:
        check_registered(state.get("kind"), state.get("params"), but=() if to_fit else ("loss",))
    except ValueError as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from None
    try:
        check_model(state, WEIGHTS, to_fit)
        return _revived(state)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path} is a damaged rankwise model: {error}") from None


def versions() -> dict[str, str]:
    """What a model file says of the programs that wrote it."""
    return {"rankwise": __version__, "python": platform.python_version(), "numpy": np.__version__}


def as_model(ranker: "Ranker") -> Model:
    """The model of a fitted ranker, or in a file, as a value."""
    if isinstance(ranker, str | os.PathLike):
        return read_model(os.fspath(ranker))
    return ranker if isinstance(ranker, Model) else model_of(ranker)


def _described(model: Model) -> dict[str, Json]:
    names, result = model.columns.names, model.result
    fit = None if result is None else {"objective": result.value} | {name: getattr(result, name) for name in SUMMARY}
    if fit is not None:  # JSON has no infinity
        fit = {name: None if isinstance(one, float) and not is_number(one) else one for name, one in fit.items()}
    named = NAMED.get(model.kind, ())
    params = {
        key: (name_to_save if key in named else _plain)(key, value) for key, value in sorted(model.params.items())
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        **versions(),
        "kind": model.kind,
        "params": params,
        "n_features": model.columns.n_features,
        "first_index": model.columns.first_index,
        "feature_names": None if names is None else list(names),
        "scaler": None if model.scaling is None else model.scaling.to_dict(),
        **{field: getattr(model, field).tolist() for field in WEIGHTS[model.kind]},
        "n_queries": model.n_queries,
        "C": model.C,
        "fit": fit,
        "data": model.data,
        "run": model.run,
    }


def _rename_pairs(params: object) -> None:
    """Models of version 0.1 have the scheme under its former name."""
    if isinstance(params, dict) and "pairs" in params and "scheme" not in params:
        params["scheme"] = params.pop("pairs")


def _plain(key: str, value: Any) -> object:
    """A parameter as JSON holds it, None where it cannot."""
    if key == "monotonic_cst" and value is not None:
        return plain_signs(value)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if key == "warm_start":  # 1 may be given for true,
        return bool(value)
    if isinstance(value, bool):  # and true for 1
        return int(value)
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, str | int | float | list | dict | None) else None


def _revived(state: dict[str, Json]) -> LinearModel | KernelModel:
    weights: dict[str, Floats] = {}
    if state["kind"] in LINEAR:
        point = weights["coef"] = np.array(state["coef"], dtype=np.float64)
        width = point.size
    else:
        weights |= _kernel_weights(state)
        point, width = weights["dual_coef"], weights["references"].shape[1]
    if width != state["n_features"]:
        raise ValueError(f"there are {width} weights for {state['n_features']} features")
    scaling = None if state["scaler"] is None else Scaling.from_dict(state["scaler"])
    if scaling is not None and scaling.n_features != width:
        raise ValueError("scaler and coef have different numbers of features")
    names = state["feature_names"]
    if names is None and scaling is not None and scaling.feature_names is not None:
        names = [str(one) for one in scaling.feature_names]
    if names is not None and len(names) != width:
        raise ValueError("feature_names and coef have different lengths")
    signs = state["params"].get("monotonic_cst")
    if isinstance(signs, list) and len(signs) != width:
        raise ValueError("params.monotonic_cst and coef have different lengths")
    queries = state.get("n_queries")
    common = Model(
        kind=state["kind"],
        params=state["params"],
        columns=ModelColumns(width, int(state["first_index"]), None if names is None else tuple(names)),
        result=None if state["fit"] is None else _result(point, state["fit"]),
        n_queries=None if queries is None else int(queries),
        C=None if state.get("C") is None else float(state["C"]),
        scaling=scaling,
        versions={name: state[name] for name in versions() if name in state},
        data=state.get("data"),
        run=state.get("run"),
    )
    described: Params = vars(common) | weights
    return LinearModel(**described) if state["kind"] in LINEAR else KernelModel(**described)


def _kernel_weights(state: dict[str, Json]) -> dict[str, Floats]:
    dual_coef, rows = np.array(state["dual_coef"], dtype=np.float64), state["references"]
    if len(rows) != dual_coef.size or any(len(row) != state["n_features"] for row in rows):
        raise ValueError("references are not as many rows of n_features numbers as dual_coef has entries")
    references = np.array(rows, dtype=np.float64).reshape(len(rows), state["n_features"])
    return {"dual_coef": dual_coef, "references": references}


def _result(point: Floats, fit: dict[str, Json]) -> Result:
    summary: dict[str, Json] = {name: fit.get(name) for name in SUMMARY}
    return Result(point=point, value=fit["objective"], history=[], **summary)
