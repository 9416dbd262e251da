"""What a training gives, and where its rows must be first."""

from dataclasses import dataclass, replace
from math import nan

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import (
    AnyFloats,
    HostMatrix,
    Matrix,
    Numbers,
    SparseMatrix,
    is_sparse,
    library_of,
    move,
    to_host,
)
from rankwise.rankers.checks import check_pair_weights, check_room_for_weights
from rankwise.solvers import Result


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a training gives.

    result     the weights, and what the solver says of them
    n_queries  None where the caller knows
    C          what the sum over the pairs was multiplied by; NaN of RankRLS
    dual       only of dual solvers: `dual_coef_` of the estimators
    remarks    what the user should be warned of
    failure    the warning that the solver did not converge; None if it did
    """

    result: Result
    n_queries: int | None = None
    C: float = nan
    dual: Floats | SparseMatrix | None = None
    remarks: tuple[str, ...] = ()
    failure: str | None = None

    def at_host(self) -> "Fitted":
        """The same with weights of NumPy."""
        return replace(self, result=replace(self.result, point=to_host(self.result.point)))


def placed(
    X: HostMatrix, y: Numbers, sample_weight: Floats | None, device: str | None
) -> tuple[Matrix, AnyFloats, AnyFloats | None]:
    """Rows of finite numbers, labels and weights as solvers take them, on the device."""
    if library_of(X) is None and is_sparse(X) and not X.has_canonical_format:
        canonical = X.copy()
        canonical.sum_duplicates()
        X = canonical
    check_room_for_weights(X.shape[1])
    if sample_weight is not None:
        check_pair_weights(sample_weight)
    weights = None if sample_weight is None else move(sample_weight, device)
    return move(X, device), move(np.asarray(y, dtype=np.float64), device), weights
