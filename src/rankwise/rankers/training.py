"""From data to a linear model, without scikit-learn."""

import warnings
from dataclasses import dataclass, fields
from math import isnan
from typing import TypeAlias

from rankwise.data.chunks import ChunkedData
from rankwise.data.columns import ModelColumns
from rankwise.data.records import RankingData, check_finite
from rankwise.data.repeated import SharedData
from rankwise.preprocessing.scaling import Scaling
from rankwise.rankers.checks import check_pair_weights, check_room_for_weights
from rankwise.rankers.fitted import placed
from rankwise.rankers.models import OF_THE_RUN, LinearModel, Options
from rankwise.rankers.ranksvm import RankSVMOptions
from rankwise.solvers import Callback

TrainingData: TypeAlias = RankingData | ChunkedData | SharedData


@dataclass(frozen=True)
class Training:
    """How a LinearModel is to be learnt: the options of its kind, and the name of a scaling or None."""

    options: Options
    scaling: str | None = None

    @property
    def reads_parts(self) -> bool:
        """Whether rows may be stored elsewhere: on disk, or once for all queries in which they occur."""
        return self.scaling is None and self.options.reads_parts

    def _check(self, data: TrainingData) -> None:
        if not data.n_features:  # in scikit-learn's words
            shape = f"0 feature(s) (shape={(len(data), 0)})"
            raise ValueError(f"Found array with {shape} while a minimum of 1 is required by {self.options.kind}.")
        if isinstance(data, RankingData):
            check_finite(data)

    def fit(
        self,
        data: TrainingData,
        callback: Callback | None = None,
        columns: ModelColumns | None = None,
    ) -> LinearModel:
        """Learn from a RankingData, or from rows stored elsewhere; `columns`: those of the data if not given."""
        columns = columns or ModelColumns.of_data(data)
        options = self.options.named(columns) if isinstance(self.options, RankSVMOptions) else self.options
        self._check(data)
        scaling = None
        if isinstance(data, RankingData):
            X = data.X
            if self.scaling is not None:
                scaling = Scaling.fitted(self.scaling, X, data.qid)
                X = scaling.transform(X, data.qid, self.options.n_jobs)
            X, y, weight = placed(X, data.y, data.weight, self.options.device)
        else:
            check_room_for_weights(data.shape[1])
            X, y, weight = data, data.y, data.weight
            if weight is not None:
                check_pair_weights(weight)
        fitted = options.fit(X, y, data.qid, weight, callback=callback).at_host()
        for text in (fitted.failure, *fitted.remarks):
            if text is not None:
                warnings.warn(text, stacklevel=2)
        parameters = {field.name: getattr(self.options, field.name) for field in fields(self.options)}
        return LinearModel(
            kind=self.options.kind,
            params={name: value for name, value in parameters.items() if name not in OF_THE_RUN},
            columns=columns,
            result=fitted.result,
            n_queries=fitted.n_queries,
            C=None if isnan(fitted.C) else fitted.C,
            scaling=scaling,
            coef=fitted.result.point,
        )
