"""Synthetic ranking data, shaped like a search engine's, and the sample that ships with the package.

    relevance of document i in query q = w · d_i + noise·e_i + richness_q,    features = shape(d_i + shift_q)

d_i is what distinguishes the documents of a query. shift_q moves a whole query (long queries match more words) and
richness_q makes some queries rich in good documents; the two have opposite signs, so that regression of labels on
features learns what distinguishes *queries*, which preferences within a query cannot. Rows are generated in blocks,
each with random numbers of its own: the number of threads does not affect the result.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from rankwise.data.letor import read_letor
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.names import one_of
from rankwise.foundation.threads import share, thread_count

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK_VALUES = 1 << 20
FAMILIES = 4  # features of a family share one hidden cause, hence are correlated
SHAPES = 4  # plain, count, score, flag
# The share of documents at or above a point of the relevance scale: MSLR-WEB30K's at its five levels, and in
# between by geometric interpolation, so that any number of levels is skewed alike.
SCALE = np.linspace(0, 1, 6)
SHARE_AT_LEAST = np.array([1, 0.48, 0.16, 0.03, 0.01, 0.003])

SAMPLE_FILE = Path(__file__).parent / "embedded" / "bookshop.txt"
SAMPLE_FEATURES = (
    "title_match",
    "author_match",
    "text_match",
    "exact_phrase",
    "clicks",
    "rating",
    "reviews",
    "price",
    "age",
    "out_of_stock",
    "keyword_stuffing",
    "text_length",
    "cover_brightness",
)
SPLITS = {"train": (1, 60), "vali": (61, 80), "test": (81, 120)}  # first and last query


def make_ranking(
    n_queries: int = 100,
    docs_per_query: int | tuple[int, int] = 20,
    n_features: int = 20,
    *,
    n_informative: int | None = None,
    n_levels: int | None = 5,
    noise: float = 0.5,
    density: float | None = None,
    dtype: DTypeLike = np.float64,
    random_state: int | np.random.Generator | None = None,
) -> RankingData:
    """Queries of skewed length with graded labels, most of them 0, and correlated, skewed features.

    docs_per_query  the mean (exactly n_queries · docs_per_query rows), or (low, high): the smallest and the largest
    n_informative   how many features influence relevance; half of them by default
    n_levels        labels 0 … n_levels-1 in shares like 52, 32, 13, 2, 1 %; None for real-valued labels
    noise           standard deviation of what no feature explains; that of what the features explain is 1
    density         below 1: X is CSR, with this share of non-zeros in every row (at least one)
    random_state    a seed or a numpy Generator; the same seed gives the same data to the last bit

    Examples
    --------
    >>> from rankwise import make_ranking
    >>> make_ranking(n_queries=50, docs_per_query=10, n_features=5, random_state=0)
    RankingData(500 rows, 5 features, 50 queries, dense float64)
    """
    low, high = _check(n_queries, docs_per_query, n_features, n_levels, noise, density)
    n_informative = (n_features + 1) // 2 if n_informative is None else n_informative
    _whole("n_informative", n_informative, 1, n_features)
    float_type = np.dtype(dtype)
    if float_type not in (np.float32, np.float64):
        raise ValueError(f"dtype is {float_type}: X can be float32 or float64")
    rng = np.random.default_rng(random_state)
    sizes = _lengths(rng, n_queries, low, high)
    codes = np.repeat(np.arange(n_queries, dtype=np.int32), sizes)
    weights = np.zeros(n_features)
    weights[rng.permutation(n_features)[:n_informative]] = rng.normal(0.4, 1, n_informative)
    if density is None or density == 1:
        X, relevance = _dense_features(rng, codes, weights, float_type)
    else:
        X, relevance = _sparse_features(rng, codes, weights, max(1, round(density * n_features)), float_type)
    relevance += noise * rng.standard_normal(codes.size)
    return RankingData(X, _labels(relevance, n_levels), codes.astype(np.int64) + 1)


def load_sample(split: str | None = None) -> RankingData:
    """The synthetic sample, a bookshop's search: all of it, or its part "train" (queries 1 to 60), "vali" (61 to 80) or
    "test" (81 to 120).

    The columns of X have names, SAMPLE_FEATURES; `docid` and the comments name the books. `rankwise demo` trains on the
    same parts, and `rankwise demo --save FOLDER` writes them to files.

    Examples
    --------
    >>> from rankwise import load_sample
    >>> load_sample()
    RankingData(1,951 rows, 13 features, 120 queries, dense float64)
    >>> load_sample("test").names[:3]
    ('title_match', 'author_match', 'text_match')
    """
    one_of("split", split, (*SPLITS, None))
    data = read_letor(SAMPLE_FILE, n_features=len(SAMPLE_FEATURES), dense=True, comments=True)
    data = replace(data, names=SAMPLE_FEATURES)
    if split is None:
        return data
    first, last = SPLITS[split]
    return data.select((data.qid >= first) & (data.qid <= last))


def _dense_features(rng: np.random.Generator, codes: Ints, weights: Floats, dtype: np.dtype) -> tuple[Array, Floats]:
    n_features = weights.size
    family = np.arange(n_features) // SHAPES % FAMILIES
    common = rng.uniform(0.3, 0.8, n_features)  # how much of a feature is its family's
    own = np.sqrt(1 - common**2).astype(dtype)
    moved = rng.uniform(0, 1.5, n_features).astype(dtype)  # how much of the query's shift it shows
    by_family = np.bincount(family, weights * common)
    weights = weights / np.sqrt(by_family @ by_family + (weights * own) @ (weights * own))
    common = common.astype(dtype)
    flag_from = rng.uniform(0.5, 2, n_features).astype(dtype)
    shift = rng.standard_normal((int(codes[-1]) + 1, FAMILIES)).astype(dtype)
    richness = rng.normal(0, 0.5, shift.shape[0]) - 0.3 * shift.sum(axis=1)
    X = np.empty((codes.size, n_features), dtype)
    relevance = richness[codes]

    def fill(rows: slice, stream: np.random.Generator) -> None:
        part = X[rows]
        cause = stream.standard_normal((len(part), FAMILIES), dtype=dtype)
        stream.standard_normal(dtype=dtype, out=part)
        part *= own
        part += cause[:, family] * common
        relevance[rows] += np.einsum("ij,j->i", part, weights)  # not `@`: BLAS sums in an order of its own
        part += shift[codes[rows]][:, family] * moved
        _shape(part, flag_from)

    _by_blocks(rng, codes.size, n_features, fill)
    return X, relevance


def _shape(part: Array, flag_from: Array) -> None:
    """Each feature in one of the guises met in practice, all of them increasing functions of what it was."""
    count, score, flag = (part[:, k::SHAPES] for k in (1, 2, 3))
    np.floor(np.exp(1 + count, out=count), out=count)
    np.divide(1, 1 + np.exp(-score), out=score)
    np.greater(flag, flag_from[3::SHAPES], out=flag, casting="unsafe")


def _sparse_features(
    rng: np.random.Generator, codes: Ints, weights: Floats, per_row: int, dtype: np.dtype
) -> "tuple[csr_array, Floats]":
    """One column from each of `per_row` strips of columns: distinct and sorted without a sort."""
    from scipy.sparse import csr_array, get_index_dtype

    strips = np.arange(per_row + 1) * weights.size // per_row
    width = np.diff(strips)
    index_dtype = get_index_dtype(maxval=max(codes.size * per_row, weights.size))
    indices = np.empty((codes.size, per_row), index_dtype)
    values = np.empty((codes.size, per_row), dtype)
    # Every other strip is turned by the query's topic, so that some columns occur together.
    topic = rng.integers(10, size=(int(codes[-1]) + 1, 1)) / 10 * (np.arange(per_row) % 2)
    shift = rng.normal(0, 0.5, len(topic))
    richness = rng.normal(0, 0.5, len(topic)) - 1.5 * shift
    weights = weights / np.sqrt(per_row * np.mean(weights**2))
    relevance = richness[codes]

    def fill(rows: slice, stream: np.random.Generator) -> None:
        part, query = values[rows], codes[rows]
        place = stream.random(part.shape) ** 3  # the first columns of a strip are its common words
        place = (place + topic[query]) % 1
        indices[rows] = strips[:-1] + (place * width).astype(index_dtype)
        stream.standard_normal(dtype=dtype, out=part)
        np.exp(part * dtype.type(0.5), out=part)
        relevance[rows] += np.einsum("ij,ij->i", part, weights[indices[rows]])
        part *= np.exp(shift[query, None]).astype(dtype)

    _by_blocks(rng, codes.size, per_row, fill)
    starts = np.arange(0, codes.size * per_row + 1, per_row, dtype=index_dtype)
    return csr_array((values.ravel(), indices.ravel(), starts), shape=(codes.size, weights.size)), relevance


def _by_blocks(
    rng: np.random.Generator, n_rows: int, row_values: int, fill: Callable[[slice, np.random.Generator], None]
) -> None:
    step = max(1, BLOCK_VALUES // row_values)
    blocks = [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
    work = list(zip(blocks, rng.spawn(len(blocks)), strict=True))
    share(lambda piece: fill(*piece), work, thread_count())


def _lengths(rng: np.random.Generator, n_queries: int, low: int, high: int | None) -> Ints:
    if high is None:
        appeal = rng.lognormal(0, 0.7, n_queries)
        return 1 + rng.multinomial(n_queries * (low - 1), appeal / appeal.sum())
    return np.floor(np.exp(rng.uniform(np.log(low), np.log(high + 1), n_queries))).astype(np.int64).clip(low, high)


def _labels(relevance: Floats, n_levels: int | None) -> Floats:
    if n_levels is None:
        return relevance
    at_least = np.exp(np.interp(np.arange(1, n_levels) / n_levels, SCALE, np.log(SHARE_AT_LEAST)))
    cuts = np.quantile(relevance, 1 - at_least)
    return np.searchsorted(cuts, relevance, side="left").astype(np.float64)


def _check(
    n_queries: int,
    docs_per_query: int | tuple[int, int],
    n_features: int,
    n_levels: int | None,
    noise: float,
    density: float | None,
) -> tuple[int, int | None]:
    """Check the arguments; returns the smallest and the largest query length, or the mean and None."""
    _whole("n_queries", n_queries, 1)
    _whole("n_features", n_features, 1)
    if n_levels is not None:
        _whole("n_levels", n_levels, 2)
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise is {noise!r}: give a standard deviation, 0 or more")
    if density is not None and not 0 < density <= 1:
        raise ValueError(f"density is {density!r}: give a share of non-zeros above 0 and at most 1, or None")
    if not isinstance(docs_per_query, tuple | list):
        _whole("docs_per_query", docs_per_query, 1)
        return docs_per_query, None
    if len(docs_per_query) != 2:
        raise ValueError(f"docs_per_query is {docs_per_query!r}: give one number, or a pair (low, high)")
    low, high = docs_per_query
    _whole("docs_per_query[0]", low, 1)
    _whole("docs_per_query[1]", high, low)
    return low, high


def _whole(name: str, value: object, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is {value!r}: give a whole number")
    if value < least or (most is not None and value > most):
        allowed = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} is {value}: it must be {allowed}")
