"""Fitted models as values: weights, the scaling before them, the columns, and how they were trained."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankwise.data.columns import ModelColumns
from rankwise.data.fingerprint import Fingerprint
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import HostMatrix
from rankwise.foundation.strict_json import Json
from rankwise.objective.rows import MemoryRows
from rankwise.objective.stored import Source, StoredRows
from rankwise.preprocessing.scaling import Scaling
from rankwise.rankers.rankrls import RankRLSOptions
from rankwise.rankers.ranksvm import RankSVMOptions
from rankwise.solvers import Result

if TYPE_CHECKING:
    from rankwise.data.chunks import ChunkedData
    from rankwise.data.repeated import SharedData

Params: TypeAlias = dict[str, Any]  # of an estimator, by name
Options = RankSVMOptions | RankRLSOptions
OPTIONS: dict[str, type[Options]] = {one.kind: one for one in (RankSVMOptions, RankRLSOptions)}
OF_THE_CHOICE = ("cv", "rule", "ranker", "early_stopping")  # of a RankRLSCV from a file of version 0.1
OF_THE_RUN = ("callback", "verbose", "n_jobs", "device", *OF_THE_CHOICE)  # parameters that say nothing of the model


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """What linear and kernel models have in common.

    kind       the name of the estimator
    params     its parameters, but those of the run
    columns    the features as they come, before the scaling
    result     None after `partial_fit`
    n_queries  that it learnt from; None where that is not known
    C          what the sum over the pairs was multiplied by; None where there is no such sum, or that is not known
    data       the fingerprint of the training data (`rankwise.data.fingerprint`); None where that is not known
    versions   of rankwise, Python and NumPy that wrote the file of a model that was read
    run        the command that trained it: its name, its options, its files with their hashes; None in Python
    """

    kind: str
    params: Params
    columns: ModelColumns
    result: Result | None = None
    n_queries: int | None = None
    C: float | None = None
    scaling: Scaling | None = None
    versions: dict[str, str] = field(default_factory=dict)
    data: Fingerprint | None = None
    run: dict[str, Json] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelModel(Model):
    """score = Σ dual_coef_r · kernel(x, reference_r)."""

    dual_coef: Floats
    references: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel(Model):
    """score = coef · x, of the features as they are or as the scaling gives them."""

    coef: Floats

    @property
    def options(self) -> Options | None:
        """The parameters of a RankSVM or RankRLS."""
        return OPTIONS[self.kind](**self.params) if self.kind in OPTIONS else None

    @property
    def reads_parts(self) -> bool:
        """Whether it scores rows on disk."""
        return self.scaling is None and self.options is not None and self.options.reads_parts

    def scores(self, data: "RankingData | ChunkedData | SharedData") -> Floats:
        """One per row of a RankingData, or of rows stored elsewhere, that has the columns of the model."""
        if not isinstance(data, RankingData):
            return linear_scores(data, self.coef)
        X = data.X if self.scaling is None else self.scaling.transform(data.X, data.qid)
        return linear_scores(X, self.coef)


def linear_scores(X: HostMatrix | Source, coef: Floats) -> Floats:
    """X · coef for rows in memory or on disk."""
    if not isinstance(X, Source):
        return MemoryRows(X).scores(coef)
    scores = StoredRows(X, 0, X.shape[0], 1).scores(coef)
    if not np.isfinite(scores).all():
        from rankwise.data.chunks import ChunkedData  # slow to import, and rarely needed

        if isinstance(X, ChunkedData):
            X.check_finite()
    return scores
