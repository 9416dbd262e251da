"""Folds of whole queries: the documents of a query are all in the training set or all held out.

Queries are ordered (by first occurrence, at random, or by the property that is stratified) and assigned to folds such
that the folds' numbers of queries differ by at most one.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator, KFold
from sklearn.utils import check_random_state

from rankwise.foundation.arrays import Floats, Ints, finite
from rankwise.foundation.devices import HostMatrix, SparseMatrix
from rankwise.foundation.names import one_of
from rankwise.pairs.queries import Queries, QueryIds, group_of_each

STRATIFY = (None, "length", "labels")
Split = tuple[Ints, Ints]  # the training rows, the held-out rows
Seed = int | np.random.RandomState | None


@runtime_checkable
class Splitter(Protocol):
    """A splitter in the sense of scikit-learn."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]: ...


Folds = int | Splitter | Iterable[Split] | None  # values of `cv`; None: five folds


class QueryKFold(BaseCrossValidator):  # type: ignore[misc]
    """K folds of whole queries, for the argument `cv` of scikit-learn and of rankwise.

    Parameters
    ----------
    n_splits : int, default=5
    shuffle : bool, default=False
        Assign the queries in random order; otherwise in the order in which they first occur.
    random_state : int, RandomState or None, default=None
        For `shuffle`.
    stratify : {None, "length", "labels"}, default=None
        What to distribute evenly over the folds: the queries' numbers of documents, or their mean labels.

    Examples
    --------
    >>> from rankwise import RankSVMCV, load_sample
    >>> from rankwise.model_selection import QueryKFold
    >>> data = load_sample()
    >>> ranker = RankSVMCV(Cs=[0.001, 0.01], cv=QueryKFold(3, shuffle=True, random_state=0)).fit(data)
    >>> ranker.cv_values_.shape
    (3, 2)
    """

    # With metadata routing enabled, `search.fit(X, y, qid=qid)` passes the ids to the splitter too.
    __metadata_request__split: ClassVar = {"groups": True, "qid": True}

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Seed = None, stratify: str | None = None
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.stratify = stratify

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None, qid: object = None) -> int:
        return self.n_splits

    def split(
        self,
        X: ArrayLike | SparseMatrix,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> Iterator[Split]:
        """(training rows, held-out rows) of each fold; `groups` or `qid` holds the query ids."""
        fold = self._fold_of_each_row(np.shape(X)[0], y, qid if groups is None else groups)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)

    def _fold_of_each_row(self, n_rows: int, y: ArrayLike | None, ids: ArrayLike | None) -> Ints:
        if ids is None:
            raise ValueError(
                "QueryKFold needs the query ids: split(X, y, groups=qid), or cross_validate(..., qid=qid); in a search "
                "of scikit-learn, fit(..., qid=qid) after sklearn.set_config(enable_metadata_routing=True)"
            )
        if not isinstance(self.n_splits, int | np.integer) or self.n_splits < 2:
            raise ValueError(f"n_splits must be an integer of at least 2; got n_splits={self.n_splits!r}")
        one_of("stratify", self.stratify, STRATIFY)
        queries = Queries(ids, n_rows)
        if len(queries) < self.n_splits:
            raise ValueError(
                f"{self.n_splits} folds need as many queries, and there are {len(queries)}: use fewer folds"
            )
        return self._fold_of_each_query(queries, y)[queries.codes]

    def _fold_of_each_query(self, queries: Queries, y: ArrayLike | None) -> Ints:
        n, k = len(queries), self.n_splits
        random = check_random_state(self.random_state) if self.shuffle else None
        order = np.arange(n) if random is None else random.permutation(n)
        if self.stratify is None:
            dealt = np.arange(n) * k // n  # runs of consecutive queries, like LETOR's parts
        else:
            order = order[np.argsort(_trait(queries, self.stratify, y)[order], kind="stable")]
            hands = [np.arange(k) if random is None else random.permutation(k) for _ in range(0, n, k)]
            dealt = np.concatenate(hands)[:n]
        fold = np.empty(n, np.int64)
        fold[order] = dealt
        return fold


def _trait(queries: Queries, stratify: str, y: ArrayLike | None) -> Floats:
    """The number per query that is distributed evenly."""
    if stratify == "length":
        return queries.sizes.astype(np.float64)
    if y is None:
        raise ValueError("stratify='labels' needs the labels: split(X, y, groups=qid)")
    labels = finite(y, "y", queries.codes.size)
    return np.bincount(queries.codes, labels, minlength=len(queries)) / queries.sizes


def splits_of(
    cv: Folds,
    X: HostMatrix,
    y: ArrayLike | None,
    qid: ArrayLike | None,
    seed: int = 0,
    groups: QueryIds | None = None,
) -> list[Split]:
    """The folds of `cv`, which is their number, a splitter, or a list of splits.

    A number means folds of whole queries, shuffled by `seed`; if there is a single query, it is split by documents.
    With `groups`, one per row, folds are of whole groups instead, and a splitter gets the groups for query ids.
    """
    n_rows = X.shape[0]
    if groups is not None:
        queries = Queries(qid, n_rows)
        qid = group_of_each(queries, groups)[queries.codes]
    if isinstance(cv, int | np.integer) or cv is None:
        n_splits = 5 if cv is None else int(cv)
        if groups is None and len(Queries(qid, n_rows)) == 1:
            if n_splits > n_rows:
                raise ValueError(f"{n_splits} folds need as many documents: n_samples = {n_rows}")
            return list(KFold(n_splits, shuffle=True, random_state=seed).split(X))
        cv = QueryKFold(n_splits, shuffle=True, random_state=seed)
    if isinstance(cv, str | float):
        raise ValueError(f"cv must be an integer, a splitter or a list of (train rows, held-out rows); got {cv!r}")
    if not isinstance(cv, Splitter):
        splits = list(cv)
    else:
        splits = list(cv.split(X, y, None if qid is None else np.asarray(qid)))
    if not splits:
        raise ValueError("cv is empty: pass at least one pair (train rows, held-out rows)")
    return [
        (_row_numbers(train, fold, n_rows), _row_numbers(valid, fold, n_rows))
        for fold, (train, valid) in enumerate(splits)
    ]


def _row_numbers(given: ArrayLike, fold: int, n_rows: int) -> Ints:
    """Row numbers from 0 on; those given may count from the end, or be a mask."""
    rows = np.asarray(given)
    if rows.dtype == bool and rows.shape != (n_rows,):
        raise ValueError(f"cv[{fold}] has a mask of shape {rows.shape}: X has {n_rows} rows")
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    if not rows.size:
        raise ValueError(f"cv[{fold}] has no training rows, or no held-out rows")
    if not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"cv[{fold}] must hold row numbers or masks, got {rows.dtype}")
    if rows.min() < -n_rows or rows.max() >= n_rows:
        wrong = rows.max() if rows.min() >= -n_rows else rows.min()
        raise ValueError(f"cv[{fold}] names row {wrong}: X has {n_rows} rows")
    rows = rows.astype(np.intp)  # n_rows may not fit the type given
    return np.where(rows < 0, rows + n_rows, rows)
