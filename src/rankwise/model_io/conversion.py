"""Models as values and as estimators: what is the same in both, and nothing else, is converted."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from rankwise.data.columns import ModelColumns
from rankwise.data.records import RankingData
from rankwise.explaining.functions import Formula
from rankwise.foundation.arrays import Floats
from rankwise.rankers.models import OF_THE_RUN, KernelModel, LinearModel, Model, Params

if TYPE_CHECKING:  # a model is read without scikit-learn
    from sklearn.base import BaseEstimator

    from rankwise.data.chunks import ChunkedData
    from rankwise.data.repeated import SharedData

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


def model_of(
    estimator: "BaseEstimator", feature_names: Sequence[str] | None = None, first_index: int | None = None
) -> Model:
    """A fitted estimator as a value; names and first index where it does not know them."""
    ranker = getattr(estimator, "ranker_", estimator)
    ranker = getattr(ranker, "best_ranker_", ranker)  # of a cross-validating one
    ranker = ranker.to_local() if hasattr(ranker, "to_local") else ranker  # of a cluster
    kind = type(ranker).__name__
    if kind not in LINEAR | KERNEL:
        known = ", ".join([*LINEAR, *KERNEL, "RankSVMCV", "ScaledRanker"])
        cure = "of a search save best_estimator_, and instead of a Pipeline use ScaledRanker"
        raise ValueError(f"a {kind} cannot be saved, only {known}: {cure}")
    if not hasattr(ranker, "coef_" if kind in LINEAR else "dual_coef_"):
        raise ValueError(f"{kind} is not fitted: call fit first")
    if kind in KERNEL and ranker.dual_coef_.ndim == 2:
        raise ValueError(
            f"{kind} holds a model for each of several alphas: fit it with a single alpha before saving it"
        )
    n_features = int(ranker.n_features_in_)
    names = feature_names if feature_names is not None else getattr(estimator, "feature_names_in_", None)
    if names is not None and len(names) != n_features:
        raise ValueError(f"feature_names holds {len(names)} names, the model has {n_features} features")
    first_index = getattr(estimator, "first_index_", 1) if first_index is None else first_index
    common = Model(
        kind=kind,
        params=_params(ranker),
        columns=ModelColumns(n_features, first_index, None if names is None else tuple(map(str, names))),
        result=getattr(ranker, "result_", None),  # partial_fit leaves none
        n_queries=getattr(ranker, "n_queries_", None),  # of a single query or not: `score` warns by it
        C=getattr(ranker, "C_", None),
        scaling=replace(estimator.scaler_.scaling, feature_names=None) if hasattr(estimator, "scaler_") else None,
    )
    if kind in LINEAR:
        return LinearModel(coef=ranker.coef_, **vars(common))
    if not isinstance(ranker.kernel, str) or ranker.map_.kernel.precomputed:
        raise ValueError(
            "a model with kernel='precomputed' or a callable cannot be saved: its kernel is not in the model"
        )
    references = ranker.X_fit_.toarray() if hasattr(ranker.X_fit_, "toarray") else np.asarray(ranker.X_fit_)
    return KernelModel(dual_coef=ranker.dual_coef_, references=references, **vars(common))


def _params(ranker: "BaseEstimator") -> Params:
    params = {key: value for key, value in ranker.get_params().items() if key not in OF_THE_RUN}
    if params.get("pairs") != "deprecated" and "pairs" in params:
        params["scheme"] = params["pairs"]
    params.pop("pairs", None)
    return params


def estimator_of(model: Model) -> "BaseEstimator":
    """The estimator of a model, ready to predict."""
    ranker = getattr(import_module((LINEAR | KERNEL)[model.kind]), model.kind)(**model.params)
    ranker.n_features_in_ = model.columns.n_features
    if isinstance(model, LinearModel):
        ranker.coef_ = model.coef
    elif isinstance(model, KernelModel):
        ranker.dual_coef_, ranker.X_fit_ = model.dual_coef, model.references
        ranker.map_ = ranker.new_map()
        ranker.map_.references = model.references
    if model.result is not None:
        ranker.result_, ranker.n_iter_ = model.result, model.result.iterations
    if model.n_queries is not None:
        ranker.n_queries_ = model.n_queries
    if model.C is not None:
        ranker.C_ = model.C
    estimator = sees_columns = ranker
    if model.scaling is not None:
        from rankwise.estimators.scaled import ScaledRanker
        from rankwise.preprocessing import Scaler

        estimator, sees_columns = ScaledRanker(ranker, model.scaling.name), Scaler.of(model.scaling)
        estimator.ranker_, estimator.scaler_ = ranker, sees_columns
    if model.columns.names is not None:
        sees_columns.feature_names_in_ = np.array(model.columns.names, dtype=object)
    estimator.first_index_ = model.columns.first_index
    return estimator


def scores_of(model: "Model | BaseEstimator", data: "RankingData | ChunkedData | SharedData") -> Floats:
    """The scores of the data by a model or an estimator; only linear models score data on disk."""
    if isinstance(model, LinearModel):
        return model.scores(data)
    assert isinstance(data, RankingData)
    ranker = estimator_of(model) if isinstance(model, Model) else model
    scores: Floats = ranker.predict(data.X, data.qid) if hasattr(ranker, "scaler_") else ranker.predict(data.X)
    return scores


def formula_of(model: Model) -> Formula:
    """How a model computes its scores, to be explained."""
    if isinstance(model, LinearModel):
        return Formula.of_model(model)
    from rankwise.estimators import explained  # kernels need scikit-learn

    return explained.formula_of(estimator_of(model))
