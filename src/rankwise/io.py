"""Models on disk: JSON with a version, written beside and renamed, never pickle. Numbers come back to the last bit."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import __version__
from rankwise.data.streams import open_bytes, written_beside

FORMAT = "rankwise-model"
VERSION = 1
KINDS = {"RankSVM": "rankwise.estimators.ranksvm"}


def save_model(model: Any, path: str | Path, feature_names: Sequence[str] | None = None) -> None:
    """Write a fitted ranker, with its scaler if it has one; `feature_names` where the training data had none.

    A path that ends in .gz, .bz2 or .xz is compressed; "-" is standard output.
    """
    text = json.dumps(_described(model, feature_names), indent=1, allow_nan=False)
    with written_beside(path) as file:
        file.write(text.encode() + b"\n")


def load_model(path: str | Path) -> Any:
    """The ranker that `save_model` wrote: a RankSVM, or a ScaledRanker around one."""
    try:
        with open_bytes(Path(path), "rb") as file:
            state = json.loads(file.read())
    except (json.JSONDecodeError, UnicodeDecodeError, EOFError) as error:
        raise ValueError(f"{path} is not a rankwise model, or is damaged: {error}") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"{path} is not a rankwise model: its format field is not {FORMAT!r}")
    if state.get("version") != VERSION:
        found, by = state.get("version"), state.get("rankwise")
        raise ValueError(
            f"{path} has model version {found!r}, written by rankwise {by}; this one reads version {VERSION}"
        )
    try:
        return _revived(state)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is a damaged rankwise model: {type(error).__name__} {error}") from None


def _described(model: Any, feature_names: Sequence[str] | None) -> dict[str, Any]:
    ranker = getattr(model, "ranker_", model)
    if not hasattr(ranker, "coef_"):
        raise ValueError(f"{type(model).__name__} is not fitted: call fit before saving it")
    kind = type(ranker).__name__
    if kind not in KINDS:
        raise ValueError(f"a {kind} cannot be saved: there are {', '.join(KINDS)}")
    names = feature_names if feature_names is not None else getattr(model, "feature_names_in_", None)
    if names is not None and len(names) != ranker.coef_.size:
        raise ValueError(f"feature_names holds {len(names)} names, the model has {ranker.coef_.size} features")
    result = ranker.result_
    return {
        "format": FORMAT,
        "version": VERSION,
        "rankwise": __version__,
        "kind": kind,
        "params": {key: value for key, value in ranker.get_params().items() if key != "callback"},
        "fit": {
            "objective": result.value,
            "gradient_norm": result.gradient_norm,
            "iterations": result.iterations,
            "converged": result.converged,
            "message": result.message,
        },
        "scaler": model.scaler_.to_dict() if ranker is not model else None,
        "feature_names": None if names is None else [str(name) for name in names],
        "coef": ranker.coef_.tolist(),
    }


def _revived(state: dict[str, Any]) -> Any:
    from importlib import import_module

    from rankwise.solvers import Result

    ranker = getattr(import_module(KINDS[state["kind"]]), state["kind"])(**state["params"])
    ranker.coef_ = np.array(state["coef"], dtype=np.float64)
    if ranker.coef_.ndim != 1 or not np.isfinite(ranker.coef_).all():
        raise ValueError("coef is not a list of finite numbers")
    fit = state["fit"]
    ranker.n_iter_ = fit["iterations"]
    ranker.result_ = Result(
        ranker.coef_, fit["objective"], fit["gradient_norm"], fit["iterations"], fit["converged"], fit["message"], []
    )
    ranker.n_features_in_ = ranker.coef_.size
    model = ranker
    if state["scaler"] is not None:
        from rankwise.estimators.scaled import ScaledRanker
        from rankwise.preprocessing import Scaler

        model = ScaledRanker(ranker, state["scaler"]["name"])
        model.ranker_, model.scaler_ = ranker, Scaler.from_dict(state["scaler"])
        if model.scaler_.n_features_in_ != ranker.coef_.size:
            raise ValueError("scaler and coef have different numbers of features")
    if state["feature_names"] is not None:
        model.feature_names_in_ = np.array(state["feature_names"], dtype=object)
        if model.feature_names_in_.size != ranker.coef_.size:
            raise ValueError("feature_names and coef have different lengths")
    return model
