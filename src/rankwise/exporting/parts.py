"""A fitted model as plain parts, which every target can write: names, weights or references, and the scaling."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rankwise.data.columns import ModelColumns
from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import to_host
from rankwise.foundation.names import feature_names, key
from rankwise.foundation.strict_json import is_text
from rankwise.foundation.texts import counted
from rankwise.model_io.conversion import model_of
from rankwise.model_io.files import read_model
from rankwise.preprocessing.scaling import Scaling
from rankwise.rankers.models import KernelModel, LinearModel, Model, Params

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

Ranker: TypeAlias = "BaseEstimator | Model | str | os.PathLike[str]"


@dataclass(frozen=True, eq=False, kw_only=True)
class Described:
    """What linear and kernel models have in common. With a scaling, x_j stands for (x_j - shift_j) · scale_j.

    kind   the name of the estimator
    names  of the features, in the order of the weights
    """

    kind: str
    names: tuple[str, ...]
    scaling: Scaling | None = None

    @property
    def shift(self) -> Floats:
        """Of the scaling; 0 without one."""
        shift = None if self.scaling is None else self.scaling.shift
        return np.zeros(len(self.names)) if shift is None else shift

    @property
    def scale(self) -> Floats:
        """Of the scaling; 1 without one."""
        scale = None if self.scaling is None else self.scaling.scale
        return np.ones(len(self.names)) if scale is None else scale

    @property
    def spread(self) -> Floats:
        """(x_j - shift_j) / spread_j is the scaled value; 1 where the scale is 0."""
        scale = self.scale
        return 1 / np.where(scale == 0, 1, scale)


@dataclass(frozen=True, eq=False, kw_only=True)
class Linear(Described):
    """score = intercept + Σ weight_j · x_j; the weight is 0 where the scale is."""

    weights: Floats
    intercept: float = 0.0

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


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel(Described):
    """score = Σ dual_coef_r · kernel(x, reference_r).

    gamma, degree, coef0  those of scikit-learn's `pairwise_kernels`
    """

    kernel: str
    gamma: float
    degree: float
    coef0: float
    references: Floats
    dual_coef: Floats


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
    if not columns.n_features:
        raise ValueError("the model has no features: train it on data that have some")
    names = columns.names or tuple(feature_names(columns.n_features, columns.first_index))
    if strange := [name for name in names if not is_text(name)]:
        raise ValueError(f"feature {strange[0]!r} is no text that UTF-8 can hold: give it another name")
    if len(set(names)) < len(names):
        raise ValueError(f"two features are called {max(names, key=names.count)!r}: give each a name of its own")
    if scaling is not None and scaling.scale is not None:
        _check_scales(scaling.scale, names)
    if isinstance(model, LinearModel):
        return _linear(model, names, to_host(model.coef).astype(np.float64))
    assert isinstance(model, KernelModel)
    kernel = key(str(model.params["kernel"]))
    if kernel == "linear":
        return _linear(model, names, model.dual_coef @ model.references)
    given = {param: model.params[param] for param in ("gamma", "degree", "coef0")}
    given |= model.params.get("kernel_params") or {}
    if given["gamma"] is None:
        given["gamma"] = 1 / columns.n_features
    described: Params = {param: float("nan" if value is None else value) for param, value in given.items()}
    described |= {"kind": model.kind, "names": names, "scaling": scaling, "kernel": kernel}
    return Kernel(**described, references=model.references, dual_coef=model.dual_coef)


def _linear(model: Model, names: tuple[str, ...], weights: Floats) -> Linear:
    scaling = model.scaling
    if scaling is not None and scaling.scale is not None:
        weights = np.where(scaling.scale == 0, 0.0, weights)  # the column was constant and is scaled to 0
    for j in np.flatnonzero(~np.isfinite(weights)):
        raise ValueError(f"the weight of feature {names[j]!r} is {weights[j]}: train the model again")
    return Linear(kind=model.kind, names=names, scaling=scaling, weights=weights)


def _check_scales(scale: Floats, names: tuple[str, ...]) -> None:
    """A damaged model file may hold any finite number; a scaler gives 0 or the inverse of a spread."""
    with np.errstate(over="ignore", divide="ignore"):
        is_right = (scale == 0) | ((scale > 0) & np.isfinite(1 / scale))
    for j in np.flatnonzero(~is_right):
        raise ValueError(f"feature {names[j]!r} has the scale {scale[j]}, which is no inverse of a number: train again")
