"""What the estimators on a cluster share: the client, what they know of the data, predictions of collections."""

from typing import Any, ClassVar

import numpy as np

from rankwise.distributed.spread import Spread


class OnCluster:
    """Mixed into an estimator before its class in memory, `local`."""

    local: ClassVar[Any]
    partial_fit: ClassVar[Any] = None

    @property
    def client(self) -> Any:
        """The `distributed.Client` that was set, or the latest one."""
        import distributed

        if getattr(self, "_client", None) is not None:
            return self._client
        try:
            return distributed.default_client()
        except ValueError:
            raise ValueError("there is no Dask cluster: make a distributed.Client first") from None

    @client.setter
    def client(self, client: Any) -> None:
        self._client = client

    def _know(self, data: Spread) -> None:
        self.n_features_in_ = data.n_features
        self.n_queries_ = data.sizes.size
        self.first_index_ = data.columns.first_index
        self.__dict__.pop("feature_names_in_", None)
        if data.columns.names is not None:
            self.feature_names_in_ = np.array(data.columns.names, dtype=object)

    def to_local(self) -> Any:
        """The same model as an estimator in memory."""
        ranker = self.local(**self.get_params())  # type: ignore[attr-defined]
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(ranker, name, value)
        return ranker
