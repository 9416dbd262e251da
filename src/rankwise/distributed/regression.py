"""RankRLS's regression over partitions: it offers what `least_squares.regression.Regression` does, added up."""

import numpy as np

from rankwise.arrays import Array, Floats
from rankwise.distributed.risk import itself
from rankwise.distributed.rows import Rows, threads
from rankwise.distributed.spread import Columns, Spread
from rankwise.least_squares.regression import Regression, regression


class DistributedRegression:
    """The content of every partition is a `Regression`; one round of messages an answer."""

    def __init__(self, data: Spread) -> None:
        self.size = data.n_features
        self.state = data.partitions.state(itself)

    @property
    def any(self) -> bool:
        """Whether two labels of a query differ."""
        return bool(self.state.ask(has_pairs))

    def normal_matrix(self) -> Floats:
        return self.state.ask(Regression.normal_matrix)

    def product(self, v: Floats) -> Floats:
        return self.state.ask(Regression.product, v)

    def diagonal(self) -> Floats:
        return self.state.ask(Regression.diagonal)

    def right(self) -> Floats:
        return self.state.ask(Regression.right)

    def at(self, w: Floats, alpha: float) -> tuple[float, Floats]:
        sums = self.state.ask(misfit, w)
        return float(sums[-1]) + alpha * float(w @ w), sums[:-1] + 2.0 * alpha * w


def build_regression(rows: Rows, _: Columns, ties: str, scaling: str, n_jobs: int | None) -> Regression:
    """The content of a partition."""
    data = rows.data
    options = {"ties": ties, "scaling": scaling, "n_jobs": threads(n_jobs)}
    return regression(data.X, data.y, data.qid, rows.weight, **options)  # type: ignore[arg-type]


def misfit(problem: Regression, w: Floats) -> Floats:
    """The gradient without regularisation, and behind it the value."""
    value, gradient = problem.at(w, 0.0)
    return np.append(gradient, value)


def has_pairs(problem: Regression) -> Array:
    first = problem.starts[:-1]
    lowest, highest = np.minimum.reduceat(problem.labels, first), np.maximum.reduceat(problem.labels, first)
    return np.array(float((lowest < highest).any()))
