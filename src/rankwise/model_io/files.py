"""Models on disk: JSON with a version, never pickle. Numbers come back to the last bit.

A model file may come from a stranger: it is bounded in size and depth, every field is checked, and nothing in it names
code (SECURITY.md).
"""

import json
import lzma
import zlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import __version__
from rankwise.foundation.compression import open_bytes
from rankwise.foundation.outputs import written_beside
from rankwise.foundation.strict_json import is_number, read_json
from rankwise.model_io.fields import TOLD, check_model
from rankwise.model_io.names import NAMED, check_registered, name_to_save

FORMAT = "rankwise-model"
VERSION = 1
LINEAR = {  # score = coef · x
    "RankSVM": "rankwise.estimators.ranksvm",
    "RankRLS": "rankwise.estimators.rankrls",
    "RankRLSCV": "rankwise.estimators.rankrls_cv",
    "FactorizedRankSVM": "rankwise.estimators.factorized",
}
KERNEL = {  # score = Σ dual_coef_r · kernel(x, reference_r)
    "KernelRankSVM": "rankwise.estimators.kernel",
    "KernelRankRLS": "rankwise.estimators.kernel_rankrls",
}
OF_THE_CHOICE = ("cv", "rule", "ranker", "early_stopping")  # of a RankRLSCV from a file of version 0.1
OF_THE_RUN = ("callback", "verbose", "n_jobs", "device", *OF_THE_CHOICE)  # parameters that say nothing of the model
WEIGHTS = dict.fromkeys(LINEAR, ("coef",)) | dict.fromkeys(KERNEL, ("dual_coef", "references"))
_SHOWN = 40  # characters of a version that a message shows
MOST_BYTES = 1 << 30  # of a model's text, decompressed: some 50 million numbers


def save_model(
    model: Any, path: str | Path, feature_names: Sequence[str] | None = None, first_index: int | None = None
) -> None:
    """Write a fitted ranker, with its scaler if it has one; `feature_names` where the training data had none, and 0 as
    `first_index` where a ranking file counted its features from 0, so that the next one is read in the same way. None:
    as the model itself knows them.

    A path that ends in .gz, .bz2 or .xz is compressed; "-" is standard output. A loss, solver, scheme or measure of
    your own is kept by the name it is registered under, and refused if it has none. Costs that JSON cannot hold (a
    callable, a matrix) are not kept: they tell how the model was trained, and predictions do not need them.
    """
    first_index = getattr(model, "first_index_", 1) if first_index is None else first_index
    state = _described(model, feature_names) | {"first_index": first_index}
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
        with open_bytes(Path(path), "rb") as file:
            head = file.read(256)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return False
    return head.lstrip().startswith(b"{") and f'"{FORMAT}"'.encode() in head


def load_model(path: str | Path) -> Any:
    """The ranker that `save_model` wrote, ready to predict. A file from a stranger can do no harm: see SECURITY.md."""
    try:
        state = read_json(path, MOST_BYTES)
    except ValueError as error:
        raise ValueError(f"{path} is not a rankwise model, or is damaged: {error}") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"{path} is not a rankwise model: its format field is not {FORMAT!r}")
    if state.get("version") != VERSION or isinstance(state["version"], bool):
        found, by = state.get("version"), str(state.get("rankwise"))[:_SHOWN]
        raise ValueError(f"{path} has model version {found!r}, written by rankwise {by}; this reads version {VERSION}")
    _rename_pairs(state.get("params"))
    try:
        check_registered(state.get("kind"), state.get("params"))
    except ValueError as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from None
    try:
        check_model(state, WEIGHTS)
        return _revived(state)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path} is a damaged rankwise model: {error}") from None


def _described(model: Any, feature_names: Sequence[str] | None) -> dict[str, Any]:
    ranker = getattr(model, "ranker_", model)
    ranker = getattr(ranker, "best_ranker_", ranker)  # of a cross-validating one
    ranker = ranker.to_local() if hasattr(ranker, "to_local") else ranker  # of a cluster
    kind = type(ranker).__name__
    if kind not in LINEAR | KERNEL:
        known = ", ".join([*LINEAR, *KERNEL, "RankSVMCV", "ScaledRanker"])
        raise ValueError(f"a {kind} cannot be saved: there are {known}")
    if not hasattr(ranker, "coef_" if kind in LINEAR else "dual_coef_"):
        raise ValueError(f"{kind} is not fitted: call fit before saving it")
    if kind in KERNEL and ranker.dual_coef_.ndim == 2:
        raise ValueError(
            f"{kind} holds a model for each of several alphas: fit it with a single alpha before saving it"
        )
    names = feature_names if feature_names is not None else getattr(model, "feature_names_in_", None)
    if names is not None and len(names) != ranker.n_features_in_:
        raise ValueError(f"feature_names holds {len(names)} names, the model has {ranker.n_features_in_} features")
    result = getattr(ranker, "result_", None)  # partial_fit leaves none
    fit = None if result is None else {"objective": result.value} | {name: getattr(result, name) for name in TOLD}
    if fit is not None:  # JSON has no infinity
        fit = {name: None if isinstance(one, float) and not is_number(one) else one for name, one in fit.items()}
    return {
        "format": FORMAT,
        "version": VERSION,
        "rankwise": __version__,
        "kind": kind,
        "params": _params(kind, ranker),
        "n_features": ranker.n_features_in_,
        "n_queries": getattr(ranker, "n_queries_", None),  # of a single query or not: `score` warns by it
        "fit": fit,
        "scaler": model.scaler_.to_dict() if hasattr(model, "scaler_") else None,
        "feature_names": None if names is None else [str(name) for name in names],
        **({"coef": ranker.coef_.tolist()} if kind in LINEAR else _kernel_state(ranker)),
    }


def _params(kind: str, ranker: Any) -> dict[str, Any]:
    params = {key: value for key, value in ranker.get_params().items() if key not in OF_THE_RUN}
    if params.get("pairs") != "deprecated" and "pairs" in params:
        params["scheme"] = params["pairs"]
    params.pop("pairs", None)
    named = NAMED.get(kind, ())
    return {key: (name_to_save if key in named else _plain)(key, value) for key, value in params.items()}


def _rename_pairs(params: object) -> None:
    """Models of version 0.1 have the scheme under its former name."""
    if isinstance(params, dict) and "pairs" in params and "scheme" not in params:
        params["scheme"] = params.pop("pairs")


def _plain(key: str, value: object) -> object:
    """A parameter as JSON holds it, None where it cannot."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if key == "warm_start":  # 1 may be given for true,
        return bool(value)
    if isinstance(value, bool):  # and true for 1
        return int(value)
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, str | int | float | list | dict | None) else None


def _kernel_state(ranker: Any) -> dict[str, Any]:
    if not isinstance(ranker.kernel, str) or ranker.kernel == "precomputed":
        raise ValueError(
            "a model with kernel='precomputed' or a callable cannot be saved: its kernel is not in the model"
        )
    references = ranker.X_fit_.toarray() if hasattr(ranker.X_fit_, "toarray") else np.asarray(ranker.X_fit_)
    return {"dual_coef": ranker.dual_coef_.tolist(), "references": references.tolist()}


def _revived(state: dict[str, Any]) -> Any:
    kind = state["kind"]
    ranker = getattr(import_module((LINEAR | KERNEL)[kind]), kind)(**state["params"])
    if kind in LINEAR:
        ranker.coef_ = np.array(state["coef"], dtype=np.float64)
        ranker.n_features_in_ = ranker.coef_.size
    else:
        _revive_kernel(ranker, state)
    if ranker.n_features_in_ != state["n_features"]:
        raise ValueError(f"there are {ranker.n_features_in_} weights for {state['n_features']} features")
    if state["fit"] is not None:
        _revive_result(ranker, state["fit"])
    if state.get("n_queries") is not None:
        ranker.n_queries_ = int(state["n_queries"])
    model = ranker
    if state["scaler"] is not None:
        from rankwise.estimators.scaled import ScaledRanker
        from rankwise.preprocessing import Scaler

        model = ScaledRanker(ranker, state["scaler"]["name"])
        model.ranker_, model.scaler_ = ranker, Scaler.from_dict(state["scaler"])
        if model.scaler_.n_features_in_ != ranker.n_features_in_:
            raise ValueError("scaler and coef have different numbers of features")
    if state["feature_names"] is not None:
        sees_columns = getattr(model, "scaler_", model)
        sees_columns.feature_names_in_ = np.array(state["feature_names"], dtype=object)
        if sees_columns.feature_names_in_.size != ranker.n_features_in_:
            raise ValueError("feature_names and coef have different lengths")
    model.first_index_ = int(state["first_index"])
    return model


def _revive_kernel(ranker: Any, state: dict[str, Any]) -> None:
    ranker.dual_coef_ = np.array(state["dual_coef"], dtype=np.float64)
    rows = state["references"]
    if len(rows) != ranker.dual_coef_.size or any(len(row) != state["n_features"] for row in rows):
        raise ValueError("references are not as many rows of n_features numbers as dual_coef has entries")
    references = np.array(rows, dtype=np.float64).reshape(len(rows), state["n_features"])
    ranker.map_ = ranker.new_map()
    ranker.map_.references = ranker.X_fit_ = references
    ranker.n_features_in_ = references.shape[1]


def _revive_result(ranker: Any, fit: dict[str, Any]) -> None:
    from rankwise.solvers import Result

    ranker.n_iter_ = fit["iterations"]
    point = ranker.coef_ if hasattr(ranker, "coef_") else ranker.dual_coef_
    told: dict[str, Any] = {name: fit.get(name) for name in TOLD}
    ranker.result_ = Result(point=point, value=fit["objective"], history=[], **told)
