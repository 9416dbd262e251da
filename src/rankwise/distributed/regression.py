"""RankRLS's regression over partitions: it offers what `least_squares.regression.Regression` does, added up."""

from functools import cached_property
from typing import Any

import numpy as np

from rankwise.distributed.executor import itself
from rankwise.distributed.rows import Rows, threads
from rankwise.distributed.spread import Columns, Spread
from rankwise.foundation.arrays import Array, Floats
from rankwise.least_squares.regression import Expansion, Regression, expansion, narrowed, regression
from rankwise.least_squares.units import Units

UNITS = Units(1.0, 1.0)  # the same in all partitions


class DistributedRegression:
    """The content of every partition is a `Regression`; one round of messages an answer."""

    units = UNITS

    def __init__(self, data: Spread) -> None:
        self.size = data.n_features
        self.partitions = data.partitions
        self.state = data.partitions.state(itself)

    @property
    def any(self) -> bool:
        """Whether two labels of a query differ."""
        return bool(self.state.ask(has_pairs))

    @cached_property
    def _facts(self) -> Floats:
        return self.state.ask(facts)

    @property
    def largest(self) -> Floats:
        """At least max |x_ij| of each feature, and not much more."""
        return np.sqrt(self._facts[:-4])

    @property
    def degrees(self) -> tuple[float, float]:
        norm, highest = np.sqrt(self._facts[-4:-2])
        return float(norm), float(highest)

    @property
    def n_rows(self) -> int:
        return int(self._facts[-2])

    def at_zero(self) -> float:
        return float(self._facts[-1])

    def normal_matrix(self) -> Floats:
        return self.state.ask(Regression.normal_matrix)

    def product(self, v: Floats) -> Floats:
        return self.state.ask(Regression.product, v)

    def diagonal(self) -> Floats:
        return self.state.ask(Regression.diagonal)

    def centred_diagonal(self) -> Floats:
        return self.state.ask(Regression.centred_diagonal)

    def right(self) -> Floats:
        return self.state.ask(Regression.right)

    def at(self, w: Floats, alpha: float) -> Expansion:
        sums = self.state.ask(sums_at, w)
        return Expansion(w, alpha, alpha * w - sums[:-2], float(sums[-2]), float(sums[-1]))

    def twofold_at(self, w: Floats, alpha: float) -> Expansion:
        from rankwise.least_squares.twofold_kernels import add_to

        total, *others = self.partitions.each(Regression.twofold_sums, w)
        total = total.copy()
        for other in others:
            add_to(total, other)
        return expansion(w, alpha, total)

    def curvature(self, v: Floats) -> float:
        return float(self.state.ask(curvature_of, v))

    def compressed(self) -> Floats:
        return narrowed(self.partitions.each(Regression.compressed), 1)[0]


def build_regression(rows: Rows, _: Columns, ties: str, scaling: str, n_jobs: int | None) -> Regression:
    """The content of a partition."""
    data = rows.data
    options: Any = {"ties": ties, "scaling": scaling, "n_jobs": threads(n_jobs), "units": UNITS}
    return regression(data.X, data.y, data.qid, rows.weight, **options)


def facts(problem: Regression) -> Floats:
    """What adds up over partitions: squares of `largest` and `degrees`, the rows, and J(0)."""
    numbers = np.square(problem.degrees), (problem.n_rows, problem.at_zero())
    return np.concatenate((np.square(problem.largest), *numbers))


def sums_at(problem: Regression, w: Floats) -> Floats:
    """Half the gradient without regularisation, negated, and behind it |t - Zw|² and |Zw|²."""
    at = problem.at(w, 0.0)
    return np.append(-at.gradient, (at.misfit, at.moved))


def curvature_of(problem: Regression, v: Floats) -> Array:
    return np.array(problem.curvature(v))


def has_pairs(problem: Regression) -> Array:
    first = problem.starts[:-1]
    lowest, highest = np.minimum.reduceat(problem.labels, first), np.maximum.reduceat(problem.labels, first)
    return np.array(float((lowest < highest).any()))
