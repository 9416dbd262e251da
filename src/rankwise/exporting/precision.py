"""What float32 can hold, and what it does to the order of documents."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankwise.data.columns import for_model
from rankwise.data.records import RankingData
from rankwise.exporting.parts import Linear
from rankwise.exporting.targets import Arithmetic
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import is_sparse
from rankwise.foundation.texts import counted
from rankwise.model_io.conversion import estimator_of
from rankwise.pairs.preferences import Preferences
from rankwise.preprocessing.scaling import Scaling
from rankwise.rankers.models import LinearModel, Model

BLOCK_VALUES = 1 << 22  # numbers scored at a time
Scores = Callable[[Floats], Floats]


def check_range(parts: Linear, arithmetic: Arithmetic, target: str) -> None:
    """Raise an error if the target's numbers cannot hold the model; warn if some weights vanish in them."""
    limits = np.finfo(arithmetic.weights)
    sizes = np.abs(parts.weights)
    if sizes.max(initial=0) > limits.max:
        j = int(sizes.argmax())
        raise ValueError(
            f"feature {parts.names[j]!r} has the weight {parts.weights[j]}, and {target} holds weights in "
            f"{limits.dtype}, up to {limits.max:.3g}: multiply the features by a large number and train again"
        )
    if 0 < sizes.max(initial=0) < limits.tiny:
        raise ValueError(
            f"every weight is below {limits.tiny:.3g}, the smallest number that {target} keeps in {limits.dtype}: "
            "bring the features to sizes near 1 and train again"
        )
    vanish = (sizes > 0) & (sizes < limits.tiny)
    if vanish.any():
        first = parts.names[int(np.argmax(vanish))]
        few = counted(int(vanish.sum()), "weights")
        warnings.warn(f"{few} below {limits.tiny:.3g} count as 0 in {target} (feature {first!r})", stacklevel=4)


def check_normalizers(parts: Linear) -> None:
    """Raise an error if an engine that scales features in float32 cannot hold the numbers of its normalisers."""
    assert parts.scaling is not None
    shift, spread = _normalizers(parts.scaling)
    used = parts.weights != 0
    for j in np.flatnonzero(used & ~(np.isfinite(shift) & np.isfinite(spread) & (spread > 0))):
        numbers = " and ".join(f"{name} {one[j]}" for name, one in parts.scaling.bounds.items())
        raise ValueError(
            f"feature {parts.names[j]!r} is scaled by {numbers}, which the engine, computing in float32, cannot hold: "
            "take scaling='fold' (--scaling fold)"
        )


def _normalizers(scaling: Scaling) -> tuple[Array, Array]:
    """What engines that scale in float32 subtract, and what they divide the rest by."""
    with np.errstate(all="ignore"):
        first, second = (one.astype(np.float32) for one in scaling.bounds.values())
        return first, second - first if scaling.method == "minmax" else second


def simulated(parts: Linear, arithmetic: Arithmetic) -> Scores:
    """Scores of dense rows as a target computes them: feature after feature, each step rounded to its type."""
    sums = np.dtype(arithmetic.sums)

    def scores(X: Floats) -> Floats:
        with np.errstate(all="ignore"):
            values = X.astype(arithmetic.features)
            if parts.scaling is not None and values.dtype == np.float32:
                shift, spread = _normalizers(parts.scaling)
                values = (values - shift) / spread
            elif parts.scaling is not None:
                values = (values - parts.shift) * parts.scale
            weights, values = parts.weights.astype(arithmetic.weights).astype(sums), values.astype(sums)
            total = np.full(len(X), parts.intercept, dtype=sums)
            for j in np.flatnonzero(weights):
                total += weights[j] * values[:, j]
        return total.astype(np.float64)

    return scores


@dataclass(frozen=True)
class Check:
    """How the order of documents by an exported model differs from that by the model itself.

    pairs     of documents of the same query
    reversed  pairs that the model orders one way and the exported model the other way
    tied      pairs that the model orders and the exported model does not
    split     pairs that the exported model orders and the model does not
    largest_difference  between the two scores of a document, a constant aside
    """

    pairs: int
    reversed: int
    tied: int
    split: int
    largest_difference: float

    @property
    def is_same(self) -> bool:
        """Whether every pair has the same order by both."""
        return not self.reversed + self.tied + self.split

    def __str__(self) -> str:
        if self.is_same:
            return f"none of {counted(self.pairs, 'pairs')} of documents of the same query changes its order"
        return (
            f"of {counted(self.pairs, 'pairs')} of documents of the same query {self.reversed:,} are reversed, "
            f"{self.tied:,} become ties, {self.split:,} are no longer ties"
        )


def checked(model: Model, data: RankingData, scores: Scores, target: str) -> Check:
    """Compare the scores of a model with those of its export on data with the columns of the model."""
    if not isinstance(data, RankingData):
        raise TypeError(f"check must be a RankingData, as rankwise.read_data returns; got {data!r}")
    data = for_model(data, model.columns, "the data to check")
    exact = model.scores(data) if isinstance(model, LinearModel) else estimator_of(model).predict(data.X)
    rows = max(1, BLOCK_VALUES // data.n_features)
    blocks = [data.X[first : first + rows] for first in range(0, len(data), rows)]
    served = np.concatenate([scores(one.toarray() if is_sparse(one) else one) for one in blocks] or [np.empty(0)])
    for what, numbers in (("the model", exact), (target, served)):
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            raise ValueError(
                f"{what} gives row {bad[0] + 1} of the data to check the score {numbers[bad[0]]}: its weights, or the "
                "features, are too large"
            )
    return _compared(exact, served, data)


def _compared(exact: Floats, served: Floats, data: RankingData) -> Check:
    before, after = _ranks(exact), _ranks(served)  # whole numbers: no difference is lost in rounding
    n_reversed = _pairs(before, after, data, 0.0)
    n_tied = _pairs(before, after, data, 0.5) - n_reversed
    n_split = _pairs(after, before, data, 0.5) - n_reversed
    sizes = np.unique(data.qid, return_counts=True)[1]
    gaps = served - exact
    spread = float(np.abs(gaps - np.median(gaps)).max()) if gaps.size else 0.0
    return Check(int((sizes * (sizes - 1) // 2).sum()), n_reversed, n_tied, n_split, spread)


def _ranks(scores: Floats) -> Ints:
    ranks: Ints = np.unique(scores, return_inverse=True)[1]
    return ranks


def _pairs(before: Ints, after: Ints, data: RankingData, below: float) -> int:
    """The number of pairs of a query with before_i > before_j and after_i - after_j < below."""
    if not len(data):
        return 0
    return int(Preferences(before, data.qid).active(after.astype(np.float64), below).n_pairs)
