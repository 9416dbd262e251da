"""Builds the objective that a solver minimises from rows, labels, query ids or pairs, weights and costs."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rankwise.data.repeated import RepeatedRows
from rankwise.foundation.arrays import Array, Floats, Ints, exact, finite
from rankwise.foundation.devices import (
    AnyArray,
    HostMatrix,
    Numbers,
    SparseMatrix,
    is_device_array,
    is_sparse,
    library_of,
    on_device_of,
    some_rows,
    to_host,
)
from rankwise.foundation.names import spelled
from rankwise.foundation.threads import thread_count
from rankwise.objective.executors import Threads
from rankwise.objective.losses import Loss
from rankwise.objective.objective import Objective
from rankwise.objective.risks import ListedRisk, PairwiseRisk
from rankwise.objective.rows import MemoryRows, Rows
from rankwise.objective.shared import SharedRows
from rankwise.objective.stored import Features, Source, StoredRows
from rankwise.objective.sums import Sum
from rankwise.pairs import costs as costs_of
from rankwise.pairs.composite import check_scope
from rankwise.pairs.costs import Costs
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import Queries, QueryIds, grouped, id_text, id_texts
from rankwise.pairs.schemes import Scheme, check_scheme

RESCALINGS = ("slack", "margin")
NORMALIZATIONS = ("sum", "mean", "query", "svm-rank")
WORTH_THREADS = 8 << 20  # bytes of work from which threads pay
PAIR_WORK = 100  # bytes that can be read in the time that the pair sums take per document


@dataclass(frozen=True)
class Pairing:
    """Which pairs the risk includes, and with which weights.

    scheme     the algorithm that sums over pairs: a name or an object (see `rankwise.pairs.schemes`)
    scope      "all" pairs, or those of "adjacent" levels
    costs      δ_ij: see `rankwise.pairs.costs`; also a callable (better, worse rows) -> δ, or a sparse n × n matrix
    rescaling  "slack": δ_ij · loss(s_i - s_j); "margin": a margin of sqrt(δ_ij) instead of 1 is required
    normalize  what C multiplies: the "sum" over pairs, their "mean", the mean over queries of the mean per "query", or,
               as in SVM^rank, the sum divided by the number of queries ("svm-rank")
    """

    scheme: str | Scheme = "auto"
    scope: str = "all"
    costs: Costs | None = None
    rescaling: str = "slack"
    normalize: str = "sum"

    def __post_init__(self) -> None:
        checked = {
            "scheme": check_scheme(self.scheme),
            "scope": check_scope(self.scope),
            "costs": costs_of.check_costs(self.costs),
            "rescaling": spelled("rescaling", self.rescaling, RESCALINGS),
            "normalize": spelled("normalize_pairs", self.normalize, NORMALIZATIONS),  # the parameter of RankSVM
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def build(
    X: Features,
    labels: Numbers,
    queries: QueryIds | Queries | None = None,
    weights: Numbers | None = None,
    *,
    loss: Loss,
    C: float,
    pairing: Pairing | None = None,
    query_weight: Floats | None = None,
    n_jobs: int | None = None,
) -> Objective:
    """The objective of a linear ranker on rows X, which are copied only if they are not stored query by query.

    `query_weight`, one per query, is what `weights` contain of it: pairs are normalised such that a query of weight 2
    counts as two queries.
    """
    pairing = pairing or Pairing()
    labels = exact(labels, "labels", by_order=pairing.costs is None)
    labels = finite(labels if library_of(X) is None else on_device_of(X, labels), "labels")
    groups = grouped(queries, X.shape[0])
    if pairing.costs is not None and _needs_list(pairing, to_host(labels), groups):
        if library_of(X) or isinstance(X, Source):
            in_memory = "data.read()" if isinstance(X, Source) else "X as an array of NumPy or SciPy"
            raise ValueError(f"these costs need a list of all pairs: pass {in_memory}, or other costs")
        return _build_listed(X, labels, groups, weights, loss, C, pairing, query_weight, n_jobs)
    costs, order = pairing.costs, groups.rows
    if order is not None and np.asarray(costs).ndim == 1:
        costs = np.asarray(costs)[order]
    weights = None if weights is None else on_device_of(labels, weights)
    features, labels, weights, groups = by_query(rows_of(X, n_jobs), labels, weights, groups)
    features = features.centred(groups.starts)
    margins = None
    if pairing.rescaling == "margin" and costs is not None:
        margins, costs = costs_of.per_document(costs, to_host(labels)), None
        margins = on_device_of(labels, margins)

    def preferences_of(weights: AnyArray | None) -> Preferences:
        scope, scheme = pairing.scope, pairing.scheme
        return Preferences(labels, groups, weights, scope=scope, costs=costs, scheme=scheme, n_jobs=n_jobs)

    preferences = preferences_of(weights)
    if pairing.normalize != "sum":
        totals = preferences.pairs_per_query()
        C /= divisor(totals, pairing.normalize, query_weight)
        if pairing.normalize == "query":
            by_row = on_device_of(labels, np.sqrt(np.repeat(_shares(totals, query_weight), groups.sizes)))
            preferences = preferences_of(by_row if weights is None else weights * by_row)
    risk = PairwiseRisk(preferences, loss, margins)
    return Objective(Sum(Threads(features, risk)), C, order)


def build_from_pairs(
    X: HostMatrix,
    pairs: ArrayLike,
    weights: Numbers | None = None,
    *,
    loss: Loss,
    C: float,
    normalize: str = "sum",
    n_jobs: int | None = None,
) -> Objective:
    """The objective over given pairs: an integer array of shape (n_pairs, 2), each row (better, worse)."""
    listed = np.asarray(pairs)
    if listed.size == 0:
        raise ValueError("pairs is empty: give at least one row (better, worse)")
    if listed.ndim != 2 or listed.shape[1] != 2 or not np.issubdtype(listed.dtype, np.integer):
        raise ValueError(f"pairs must be integers of shape (n_pairs, 2), got {listed.dtype} of shape {listed.shape}")
    if listed.min() < 0 or listed.max() >= X.shape[0]:
        raise ValueError(
            f"pairs names row {listed.max() if listed.min() >= 0 else listed.min()}: X has {X.shape[0]} rows"
        )
    if (listed[:, 0] == listed[:, 1]).any():
        raise ValueError(f"pairs[{int(np.argmax(listed[:, 0] == listed[:, 1]))}] prefers a row to itself")
    if weights is not None and np.shape(weights) != (len(listed),):
        raise ValueError(f"pair_weight must hold {len(listed)} numbers, one per pair; got shape {np.shape(weights)}")
    scales = np.ones(len(listed)) if weights is None else finite(weights, "pair_weight")
    if (scales < 0).any():
        raise ValueError(f"pair_weight[{int(np.argmax(scales < 0))}] is negative")
    if normalize in ("mean", "query"):  # without query ids, all pairs belong to one query
        C /= scales.sum() or 1.0
    risk = ListedRisk(_differences(listed[:, 0], listed[:, 1], X.shape[0]), scales, np.ones(len(listed)), loss)
    return _of_listed(X, risk, C, n_jobs)


def divisor(totals: Floats, normalize: str, query_weight: Floats | None = None) -> float:
    """What C is divided by; `totals` are the total weights of the pairs of each query.

    "mean": their sum; "query": the number of queries with pairs (each query's pairs are scaled to a total of 1 as
    well); "svm-rank": the number of queries. A query counts as many times as its weight says.
    """
    counts = np.ones(totals.size) if query_weight is None else query_weight
    if normalize == "mean":
        return float(totals.sum()) or 1.0
    if normalize == "query":
        return float(counts[totals > 0].sum()) or 1.0
    return float(counts.sum()) or 1.0 if normalize == "svm-rank" else 1.0


def rows_of(X: Features, n_jobs: int | None) -> Rows:
    """X and its products, wherever it is stored."""
    if is_device_array(X):
        from rankwise.objective.device_sparse import rows_on_device

        return rows_on_device(X)
    n_threads = _threads(X, n_jobs)
    if isinstance(X, RepeatedRows):
        return SharedRows(X.compact(), n_threads)
    return StoredRows(X, 0, X.shape[0], n_threads) if isinstance(X, Source) else MemoryRows(X, n_threads)


def by_query(
    features: Rows, labels: AnyArray, weights: AnyArray | None, groups: Queries
) -> tuple[Rows, AnyArray, AnyArray | None, Queries]:
    """Rows, labels and weights with those of each query together; copied only where they are not."""
    rows = groups.rows
    if rows is None:
        return features, labels, weights, groups
    weights = None if weights is None else some_rows(weights, rows)
    return features.select(rows, features.n_threads), some_rows(labels, rows), weights, groups.gathered()


def _threads(X: HostMatrix | Source, n_jobs: int | None) -> int:
    """The number of threads for `n_jobs`, or one if there is too little work for more."""
    n_threads = thread_count(n_jobs)
    return n_threads if 8 * X.size + PAIR_WORK * X.shape[0] >= WORTH_THREADS else 1


def query_weights(given: Numbers | dict[Hashable, float], queries: Queries) -> Floats:
    """The weight of each query.

    `given` holds one weight per row, equal within a query, or is a dict by query id (1 for ids that are not in it).
    """
    if isinstance(given, dict):
        by_query = finite(_by_id(given, queries.ids), "query_weight")
    else:
        by_row = finite(given, "query_weight", queries.codes.size)
        first = queries.starts[:-1] if queries.rows is None else queries.rows[queries.starts[:-1]]
        by_query = by_row[first]
        if (by_query[queries.codes] != by_row).any():
            row = int(np.argmax(by_query[queries.codes] != by_row))
            raise ValueError(f"query_weight[{row}] differs from that of another row of the same query")
    if (by_query < 0).any():
        worst = int(np.argmin(by_query))
        name = queries.ids.tolist()[worst]
        raise ValueError(f"query_weight of query {name!r} is {by_query[worst]:g}: it must not be negative")
    return by_query


def _by_id(given: dict[Hashable, float], ids: Array) -> list[float]:
    """The weight of each id, 1 for those that are not in the dict; a key is an id or how it is written."""
    places: dict[Hashable, int] = {text: place for place, text in enumerate(id_texts(ids))}
    places |= {one: place for place, one in enumerate(ids.tolist())}
    named: dict[int, float] = {}
    for one, weight in given.items():
        place = places.get(one if one in places else id_text(one, "query_weight"))
        if place is None:
            raise ValueError(f"query_weight names the query {one!r}, which does not occur in qid")
        if place in named:
            raise ValueError(f"query_weight names the query {one!r} twice")
        named[place] = weight
    return [named.get(place, 1.0) for place in range(ids.size)]


def _needs_list(pairing: Pairing, labels: Floats, groups: Queries) -> bool:
    if not costs_of.known(pairing.costs):
        return True
    if pairing.rescaling == "slack":
        return False
    delta = costs_of.per_document(pairing.costs, labels)
    return delta is None or not costs_of.rises(delta, labels, groups)


def _build_listed(
    X: HostMatrix,
    labels: Floats,
    groups: Queries,
    weights: Numbers | None,
    loss: Loss,
    C: float,
    pairing: Pairing,
    query_weight: Floats | None,
    n_jobs: int | None,
) -> Objective:
    if pairing.scheme not in ("auto", "explicit"):
        raise ValueError(
            f"scheme={pairing.scheme!r} cannot sum with these costs, which need a list of all pairs: use 'auto'"
        )
    from rankwise.pairs.listing import list_pairs

    preferences = Preferences(labels, groups, weights, scope=pairing.scope)
    layout = preferences.layout
    lists = [list_pairs(one, beside=64) for one in preferences.layouts]
    better, worse = (np.concatenate(side) for side in zip(*lists, strict=True))
    costs = _listed_costs(pairing.costs, labels, groups, better, worse)
    scales = np.ones(better.size) if layout.weights is None else layout.weights[better] * layout.weights[worse]
    margins = np.ones(better.size)
    if pairing.rescaling == "slack":
        scales = scales * costs
    else:
        margins = np.sqrt(costs)
    totals: Floats = np.bincount(groups.codes[better], scales, minlength=len(groups)).astype(np.float64)
    C /= divisor(totals, pairing.normalize, query_weight)
    if pairing.normalize == "query":
        shares = _shares(totals, query_weight)
        scales, totals = scales * shares[groups.codes[better]], totals * shares
    return _of_listed(X, ListedRisk(_differences(better, worse, labels.size), scales, margins, loss, totals), C, n_jobs)


def _of_listed(X: HostMatrix, risk: ListedRisk, C: float, n_jobs: int | None) -> Objective:
    return Objective(Sum(Threads(rows_of(X, n_jobs).centred(risk.starts), risk)), C)


def _listed_costs(costs: Costs, labels: Floats, groups: Queries, better: Ints, worse: Ints) -> Floats:
    if callable(costs):
        values = finite(costs(better, worse), "the result of costs")
    elif is_sparse(costs):
        if costs.shape != (labels.size, labels.size):
            raise ValueError(f"costs has the shape {costs.shape}: for {labels.size} rows it must be n × n")
        values = finite(np.asarray(costs.tocsr()[better, worse]).ravel(), "costs")
    elif costs_of.known(costs):
        left, right = costs_of.separable(costs, labels, groups)
        values = np.maximum(np.einsum("pr,pr->p", left[better], right[worse]), 0.0)
    else:
        raise ValueError(f"costs must be a name, an array, a sparse matrix or a callable; got a {type(costs).__name__}")
    if values.size != better.size:
        raise ValueError(f"costs returned {values.size} numbers for {better.size} pairs")
    if (values < 0).any():
        p = int(np.argmax(values < 0))
        raise ValueError(f"the cost of the pair ({better[p]}, {worse[p]}) is {values[p]}: costs must not be negative")
    return values


def _shares(totals: Floats, query_weight: Floats | None) -> Floats:
    """What scales the total of each query to the query's weight."""
    return (1.0 if query_weight is None else query_weight) / np.where(totals > 0, totals, 1.0)


def _differences(better: Array, worse: Array, n_rows: int) -> SparseMatrix:
    n = better.size
    ends = np.empty(2 * n, np.int64)
    ends[::2], ends[1::2] = better, worse
    signs = np.tile([1.0, -1.0], n)
    return scipy.sparse.csr_array((signs, ends, np.arange(0, 2 * n + 1, 2)), shape=(n, n_rows))
