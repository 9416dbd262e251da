"""What every ranker does with its scores: `score` by a measure that fits the labels, `rank`, `top_k`, `explain`."""

from inspect import currentframe
from traceback import walk_stack
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from rankwise.data.document_ids import check_once, documents_named
from rankwise.data.records import COMMENT, DOCUMENT, RankingData
from rankwise.estimators.explained import candidates_of, formula_of, two_rows
from rankwise.estimators.inputs import column, documents, frame_columns, has_columns_of, refuse_several_queries
from rankwise.estimators.ranked import RankedDocuments
from rankwise.explaining.contributions import explain, explain_pair, explain_rows
from rankwise.explaining.explanations import Explanation, PairExplanation
from rankwise.foundation.arrays import Floats, finite
from rankwise.foundation.devices import library_of, to_host
from rankwise.metrics import default_measure, evaluate
from rankwise.objective.stored import is_stored
from rankwise.pairs.queries import Queries


class MergedQueriesError(BaseException):
    """`score` without query ids inside a search of scikit-learn.

    No Exception, as a search makes a score of NaN of each one and, all being NaN, fits the first candidate with a
    warning. `fit` cannot refuse instead: it gets query ids, and is not told that `score` will get none.
    """


class ScoringRanker(BaseEstimator):  # type: ignore[misc]
    """What every ranker does with its scores: `score`, `rank`, `top_k`, `explain`; and scikit-learn's tags."""

    # Class-level requests: with metadata routing on, qid reaches fit, predict and score without any set_*_request call.
    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    n_queries_: int

    def _scores(self, X: Any, qid: Any) -> Floats:
        """What `predict` gives for these rows."""
        raise NotImplementedError

    def score(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """How well the ranker orders the rows X with labels y: by NDCG@10 where y holds grades, whole numbers from 0 to
        31, and else by pairwise accuracy; `rankwise.metrics.default_measure(y)` says which.

        The mean is over queries. With sample_weight, a query weighs the mean weight of its documents above its lowest
        label (docs/metrics.md). X, y, qid and sample_weight as in `fit`.
        """
        given = documents(X, y, qid, sample_weight)
        if given.qid is None:
            refuse_merged_queries(getattr(self, "n_queries_", 1))
        scores = self._scores(X if isinstance(X, RankingData) or has_columns_of(self, X) else given.X, given.qid)
        measure = default_measure(given.y)
        if given.sample_weight is not None and not to_host(finite(given.sample_weight, "sample_weight")).any():
            raise ValueError("sample_weight must not be 0 throughout")
        return evaluate(given.y, scores, given.qid, measure, sample_weight=given.sample_weight)[measure]

    def rank(self, X: Any, qid: Any = None, documents: Any = None) -> RankedDocuments:
        """The documents of each query from best to worst.

        Parameters
        ----------
        X : rows as in `predict`
        qid : array of shape (n_documents,), or the name of a column of a frame, default=None
            None: all rows are one query, unless X brings its own query ids. A frame with a column of query ids needs
            its name.
        documents : array of shape (n_documents,), or the name of a column of a frame, default=None
            Ids of the documents. None: those in the column `docid` of a frame, or in comments such as
            `docid = GX000-00`, or else row numbers from 0.

        Returns
        -------
        RankedDocuments
            One row per document with query, rank, document, score and row; `to_frame()` makes a DataFrame of it.
        """
        rows, ids, names = identified(X, qid, documents)
        if ids is None:
            refuse_several_queries(self, X)
        return RankedDocuments.of(np.asarray(to_host(self._scores(rows, ids))), ids, names)

    def top_k(self, X: Any, k: int = 10, qid: Any = None, documents: Any = None) -> RankedDocuments:
        """The first k documents of each query; arguments as in `rank`."""
        return self.rank(X, qid, documents).top_k(k)

    def explain(self, X: Any, query: Any = None, qid: Any = None, documents: Any = None) -> Explanation:
        """Why the documents of a query have their scores: the contribution of each feature to each score.

        The contributions of a document add up to its score minus the mean score of its query. They are exact for
        linear rankers, w_j (x_j - mean of x_j); docs/explaining.md tells what they are for kernels.

        Parameters
        ----------
        X : rows as in `predict`
        query : the id of the query, of any type; None if there is only one
        qid, documents : as in `rank`

        Returns
        -------
        Explanation
            `print` shows it, `plot()` draws it, `to_frame()` has a row per document and feature, `document(id)` tells
            of one document.
        """
        rows, ids, names = identified(X, qid, documents)
        return explain(formula_of(self, X), candidates_of(self, rows, ids, names), query)

    def explain_pair(
        self, a: Any, b: Any, data: Any = None, query: Any = None, qid: Any = None, documents: Any = None
    ) -> PairExplanation:
        """Why document a is above b, or below: the contribution of each feature to score(a) - score(b).

        For linear rankers it is w_j (a_j - b_j).

        Parameters
        ----------
        a, b : two rows of features: arrays, dicts by name, or Series; or, with `data`, two document ids of one query,
            or numbers of rows
        data : rows as in `predict`, default=None
        query : the id of the query; needed only if several queries have both documents
        qid, documents : as in `rank`

        Returns
        -------
        PairExplanation
            `print` shows it, `plot()` draws it, `to_frame()` has a row per feature.
        """
        if data is None:
            return explain_rows(formula_of(self), two_rows(self, a, b))
        rows, ids, names = identified(data, qid, documents)
        return explain_pair(formula_of(self, data), candidates_of(self, rows, ids, names), a, b, query)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def identified(X: Any, qid: Any, documents: Any = None) -> tuple[Any, Any, Any]:
    """(rows, query ids, document ids); what X brings along, or a frame has in a column, is taken from there."""
    known = frame_columns(X) or []
    for name in (qid, documents):
        if isinstance(name, str) and name not in known:
            raise ValueError(f"X has no column {name!r}: give an array, or the name of a column of a DataFrame")
    qid = column(X, qid) if isinstance(qid, str) else qid
    if qid is None and (isinstance(X, RankingData) or is_stored(X)):
        qid = X.qid
    if documents is None and DOCUMENT in known:
        documents = DOCUMENT
    if isinstance(documents, str):
        return X, qid, column(X, documents)
    if documents is None:
        documents = getattr(X, "docid", None)  # of a RankingData, or of rows on disk
    comments = column(X, COMMENT) if COMMENT in known else getattr(X, "comments", None)
    if documents is None and comments is not None:
        queries = Queries(to_host(qid) if library_of(qid) else qid, len(comments))
        by_row = queries.ids[queries.codes]
        documents = documents_named(comments, by_row)
        if documents is not None:
            check_once(documents, by_row)
    return X, qid, documents


def refuse_merged_queries(n_queries: int) -> None:
    """One sentence where rows of a ranker that was fitted to several queries would be scored as one query."""
    if n_queries <= 1:
        return
    text = (
        f"score needs qid, as the ranker was fitted to {n_queries:,} queries: pass qid, and inside scikit-learn's "
        "searches call sklearn.set_config(enable_metadata_routing=True) first"
    )
    callers = (frame.f_globals.get("__name__", "") for frame, _ in walk_stack(currentframe()))
    searching = any(name.startswith("sklearn.model_selection.") for name in callers)
    raise (MergedQueriesError if searching else ValueError)(text)
