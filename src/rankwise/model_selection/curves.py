"""learning_curve: a measure as a function of the number of training queries."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from rankwise.foundation.arrays import Floats, Ints, finite
from rankwise.foundation.devices import SparseMatrix
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.threads import share, thread_count
from rankwise.metrics import Measure, OfQuery, default_measure, parse
from rankwise.model_selection.splits import Folds, Seed, splits_of
from rankwise.model_selection.validation import Estimator, fit, judge, rows_of, select
from rankwise.pairs.queries import Queries, one_column

SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Tabular):
    """The measure by number of training queries (rows) and fold (columns).

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.model_selection import learning_curve
    >>> data = load_sample()
    >>> curve = learning_curve(RankSVM(), data.X, data.y, data.qid, sizes=[10, 0.5, 1.0], cv=3)
    >>> curve.n_queries
    array([10, 40, 80])
    >>> curve.valid.shape
    (3, 3)
    """

    measure: str
    n_queries: Ints
    train: Floats
    valid: Floats

    def summary(self) -> str:
        largest = f"{self.n_queries[-1]:,} queries: {self.valid[-1].mean():.4f} on validation"
        return f"{self.measure} by training queries, mean of {self.valid.shape[1]} folds; {largest}"

    def __repr__(self) -> str:
        return f"<LearningCurve: {self.summary()}>"

    def table_columns(self) -> Columns:
        """One row per number of queries, means over the folds."""
        return {"queries": self.n_queries, "train": self.train.mean(axis=1), "valid": self.valid.mean(axis=1)}


def learning_curve(
    estimator: Estimator,
    X: ArrayLike | SparseMatrix,
    y: ArrayLike,
    qid: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    sizes: Iterable[float] = SHARES,
    cv: Folds = 5,
    measure: str | Measure | OfQuery | None = None,
    n_jobs: int | None = 1,
    random_state: Seed = 0,
    progress: Callable[[int, int], object] | None = None,
) -> LearningCurve:
    """Fit to more and more of each fold's training queries, drawn at random; larger sets contain the smaller ones.

    sizes  numbers of queries, or, for floats up to 1, shares of the training queries
    measure  None: the `default_measure` of y
    sample_weight, groups, cv, n_jobs, estimator : as in `cross_validate`
    progress  called before each fit with its number, from 1, and the number of all fits

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.model_selection import learning_curve
    >>> data = load_sample()
    >>> curve = learning_curve(RankSVM(), data.X, data.y, data.qid, sizes=[2, 80], cv=3)
    >>> bool(curve.valid[0].mean() < curve.valid[1].mean())
    True
    """
    X, y, ids = rows_of(X), finite(y, "y"), np.asarray(qid)
    chosen = parse(default_measure(y) if measure is None else measure)
    weights = None if sample_weight is None else finite(sample_weight, "sample_weight", y.size)
    parts = None if groups is None else one_column(groups, y.size, "groups")
    splits = splits_of(cv, X, y, ids, groups=parts)
    codes = Queries(ids, X.shape[0]).codes
    counts = _counts(list(sizes), min(np.unique(codes[train]).size for train, _ in splits))
    random = check_random_state(random_state)
    drawn = [random.permutation(np.unique(codes[train])) for train, _ in splits]

    n_fits = len(counts) * len(splits)

    def point(number: int) -> tuple[float, float]:
        size, fold = divmod(number, len(splits))
        if progress is not None:
            progress(number + 1, n_fits)
        train, valid = splits[fold]
        rows = train[np.isin(codes[train], drawn[fold][: counts[size]])]
        fitted = fit(estimator, X[rows], y[rows], ids[rows], select(weights, rows), select(parts, rows))
        seen, unseen = (
            judge(fitted, X[part], y[part], ids[part], [chosen], select(weights, part)) for part in (rows, valid)
        )
        return seen[chosen], unseen[chosen]

    scores = np.array(share(point, list(range(n_fits)), thread_count(n_jobs))).reshape(len(counts), len(splits), 2)
    return LearningCurve(str(chosen), np.array(counts), scores[..., 0], scores[..., 1])


def _counts(sizes: list[float], most: int) -> list[int]:
    """`sizes` as numbers of queries, sorted; `most` is the number of training queries."""
    counts = []
    for size in sizes:
        count = round(size * most) if isinstance(size, float) and size <= 1 else size
        if not 1 <= count <= most or count != int(count):
            raise ValueError(
                f"sizes holds {size!r}, but a fold trains on {most} queries: pass numbers from 1 to {most}, or shares"
            )
        counts.append(int(count))
    if not counts:
        raise ValueError("sizes is empty: pass at least one number or share of queries")
    return sorted(set(counts))
