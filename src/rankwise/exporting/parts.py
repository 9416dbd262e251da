"""A fitted model as plain parts, which every target can write: names, weights or references, and the scaling."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rankwise.data.columns import ModelColumns
from rankwise.foundation.arrays import Floats
from rankwise.foundation.names import feature_names, key
from rankwise.foundation.strict_json import is_text
from rankwise.foundation.texts import counted
from rankwise.model_io.conversion import model_of
from rankwise.model_io.files import read_model
from rankwise.preprocessing.scaling import Scaling
from rankwise.rankers.models import KernelModel, LinearModel, Model

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Ranker: TypeAlias = "BaseEstimator | Model | str | os.PathLike[str]"


@dataclass(frozen=True, eq=False)
class Linear:
    """score = intercept + Σ weight_j · x_j, of x_j or, with a scaling, of (x_j - shift_j) · scale_j.

    kind  the name of the estimator
    """

    kind: str
    names: tuple[str, ...]
    first_index: int
    weights: Floats
    intercept: float = 0.0
    scaling: Scaling | None = None

    @property
    def shift(self) -> Floats:
        """Of the scaling; 0 without one."""
        shift = None if self.scaling is None else self.scaling.shift
        return np.zeros(len(self.names)) if shift is None else shift

    @property
    def scale(self) -> Floats:
        """Of the scaling; 1 without one. Where it is 0, so is the weight."""
        scale = None if self.scaling is None else self.scaling.scale
        return np.ones(len(self.names)) if scale is None else scale

    @property
    def spread(self) -> Floats:
        """(x_j - shift_j) / spread_j is the scaled value; 1 where the scale is 0."""
        scale = self.scale
        return 1 / np.where(scale == 0, 1, scale)

    def folded(self) -> "Linear":
        """The same scores, up to rounding, with weights of the features as they are."""
        if self.scaling is None:
            return self
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            weights = self.weights * self.scale
            intercept = self.intercept - float(np.sum(weights * self.shift))
        for j in np.flatnonzero(~np.isfinite(weights) | ((weights == 0) & (self.weights != 0))):
            raise ValueError(
                f"feature {self.names[j]!r}: its weight {self.weights[j]} times its scale {self.scale[j]} is beyond "
                "the range of float64: take scaling='engine' (--scaling engine)"
            )
        if not np.isfinite(intercept):
            raise ValueError(
                "the constant of the folded scaling is beyond the range of float64: "
                "take scaling='engine' (--scaling engine)"
            )
        return replace(self, weights=weights, intercept=intercept, scaling=None)


@dataclass(frozen=True, eq=False)
class Kernel:
    """score = Σ dual_coef_r · kernel(x, reference_r), of x or of its scaled values.

    gamma, degree, coef0  those of scikit-learn's `pairwise_kernels`
    """

    kind: str
    names: tuple[str, ...]
    first_index: int
    kernel: str
    gamma: float
    degree: float
    coef0: float
    references: Floats
    dual_coef: Floats
    scaling: Scaling | None = None


Parts: TypeAlias = Linear | Kernel


def model_to_export(ranker: Ranker, names: Sequence[str] | None = None) -> Model:
    """The model of a fitted estimator or of a model file; with `names` for one that has none."""
    if isinstance(ranker, str | os.PathLike):
        model: Model = read_model(os.fspath(ranker))
    else:
        model = ranker if isinstance(ranker, Model) else model_of(ranker)
    if names is None:
        return model
    columns = model.columns
    given = tuple(map(str, names))
    if len(given) != columns.n_features:
        raise ValueError(
            f"names must hold one name for each of the {counted(columns.n_features, 'features')} of the model; "
            f"got {len(given)}"
        )
    if columns.names is not None and given != columns.names:
        raise ValueError("the model has feature names of its own, and names holds others: leave out names (--names)")
    return replace(model, columns=ModelColumns(columns.n_features, columns.first_index, given))


def parts_of(model: Model) -> Parts:
    """The parts of a model; a linear kernel is a linear model."""
    scaling, columns = model.scaling, model.columns
    if scaling is not None and scaling.by_query:
        raise ValueError(
            f"the model scales its features by {scaling.name}, which needs all documents of a query, and an exported "
            f"model sees one document at a time: train with {scaling.method} or without scaling, or scale the features "
            "before they are logged"
        )
    names = columns.names or tuple(feature_names(columns.n_features, columns.first_index))
    if strange := [name for name in names if not is_text(name)]:
        raise ValueError(f"feature {strange[0]!r} is no text that UTF-8 can hold: give it another name")
    if len(set(names)) < len(names):
        raise ValueError(f"two features are called {max(names, key=names.count)!r}: give each a name of its own")
    if isinstance(model, LinearModel):
        return _linear(model, names, np.asarray(model.coef, dtype=np.float64))
    assert isinstance(model, KernelModel)
    kernel = key(str(model.params["kernel"]))
    if kernel == "linear":
        return _linear(model, names, model.dual_coef @ model.references)
    params = {"gamma": model.params["gamma"], "degree": model.params["degree"], "coef0": model.params["coef0"]}
    params |= model.params.get("kernel_params") or {}
    gamma = 1 / columns.n_features if params["gamma"] is None else float(params["gamma"])
    described = (kernel, gamma, float(params["degree"]), float(params["coef0"]))
    return Kernel(
        model.kind, names, columns.first_index, *described, model.references, np.asarray(model.dual_coef), scaling
    )


def _linear(model: Model, names: tuple[str, ...], weights: Floats) -> Linear:
    scaling = model.scaling
    if scaling is not None and scaling.scale is not None:
        weights = np.where(scaling.scale == 0, 0.0, weights)  # the column was constant and is scaled to 0
    for j in np.flatnonzero(~np.isfinite(weights)):
        raise ValueError(f"the weight of feature {names[j]!r} is {weights[j]}: train the model again")
    return Linear(model.kind, names, model.columns.first_index, weights, scaling=scaling)
