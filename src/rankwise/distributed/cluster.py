"""What the estimators on a cluster share: the client, facts about the data, predictions for collections."""

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.distributed.client import Client, Collection, Column, current_client
from rankwise.distributed.spread import Spread
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.devices import AnyArray, HostMatrix, Matrix
from rankwise.foundation.names import by_number
from rankwise.metrics.defaults import default_measure
from rankwise.objective.rows import MemoryRows

if TYPE_CHECKING:
    from pandas import DataFrame, Series


class OnCluster:
    """A mixin that precedes `local`, the class for data in memory, among the bases of an estimator."""

    local: ClassVar[Any]
    coef_: Floats
    n_features_in_: int
    _client: Client | None = None

    @property
    def client(self) -> Client:
        """The `distributed.Client` that was set, or the latest one."""
        return current_client(self._client)

    @client.setter
    def client(self, client: Client | None) -> None:
        self._client = client

    def predict(self, X: Collection | Matrix, qid: object = None) -> Collection | AnyArray:
        """Scores, one per row: a Dask Series for a Dask DataFrame, a Dask array for an array; others as in memory."""
        check_is_fitted(self)
        if not hasattr(X, "dask"):
            return self.to_local().predict(X)
        names = getattr(self, "feature_names_in_", None)
        if hasattr(X, "columns"):
            return _scores_of_frame(X, names, self.coef_)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, the model has {self.n_features_in_}")
        whole: Collection = X
        whole = whole.rechunk({1: -1}) if whole.numblocks[1] > 1 else whole
        return whole.map_blocks(scores_of_block, self.coef_, drop_axis=1, dtype=np.float64)

    def score(
        self, X: Collection | Matrix, y: Column = None, qid: Column = None, sample_weight: Column = None
    ) -> float:
        """NDCG@10 if the lowest and highest label of the fit are grades, else pairwise accuracy."""
        from rankwise.distributed.evaluation import evaluate

        if not hasattr(X, "dask"):
            return float(self.to_local().score(X, y, qid, sample_weight))
        if sample_weight is not None:
            raise ValueError("score of data on a cluster takes no sample_weight: all queries have the same weight")
        if hasattr(X, "columns"):
            if qid is None and "qid" in X.columns:
                qid = "qid"
            y, qid = (X[one] if isinstance(one, str) else one for one in (y, qid))
        measure = default_measure(self.columns_.labels)
        return evaluate(y, self.predict(X), qid, measure, self.client)[measure]

    def to_local(self) -> Any:
        """The same model as an estimator in memory, which `save_model` writes."""
        ranker = self.local(**self.get_params(deep=False))  # type: ignore[attr-defined]
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(ranker, name, value)
        return ranker

    def _know(self, data: Spread) -> None:
        self.n_features_in_ = data.n_features
        self.n_queries_ = data.sizes.size
        self.columns_ = data.columns
        self.__dict__.pop("feature_names_in_", None)
        if data.columns.names is not None:
            self.feature_names_in_ = np.array(data.columns.names, dtype=object)


def _scores_of_frame(X: Collection, names: Array | None, coef: Floats) -> Collection:
    import pandas as pd

    own = list(X.columns)
    chosen = own if names is None else list(names)
    order = by_number([str(name) for name in own]) if names is None else None
    if order is not None:
        chosen = [own[i] for i in order]
    elif names is None:
        warnings.warn("X has feature names, and the model was fitted without: columns match by position", stacklevel=3)
    absent = [name for name in chosen if name not in own]
    if absent or len(chosen) != coef.size:
        found = f"no column {absent[0]!r}" if absent else f"{len(chosen)} columns"
        raise ValueError(f"X has {found}: the model needs {coef.size} features, by the names that it was fitted with")
    meta = pd.Series([], dtype=np.float64, name="score")
    return X[chosen].map_partitions(scores_of_frame, coef, meta=meta)


def scores_of_frame(frame: "DataFrame", coef: Floats) -> "Series":
    import pandas as pd

    return pd.Series(scores_of_block(frame.to_numpy(), coef), index=frame.index, name="score")


def scores_of_block(block: HostMatrix, coef: Floats) -> Floats:
    return MemoryRows(block).scores(coef) if block.shape[0] else np.zeros(0)
