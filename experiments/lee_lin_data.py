"""Lee and Lin's data sets. MQ2007 and MQ2008 are the real ones, fold 1. The others are not available: synthetic
data with their number of features, levels and documents per query take their place, of a share of their queries, with
noise chosen so that linear RankSVM comes out near the paper's pairwise accuracy. Names of synthetic sets end in an
asterisk.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from experiments.datasets import fold
from rankwise import Preferences, RankingData, make_ranking
from rankwise.preprocessing import FeatureScaler

LETOR, YAHOO, PAIRS = "mean-ndcg:letor", "ndcg@10:yahoo", "pairwise-accuracy"
Split = tuple[RankingData, RankingData, RankingData]


@dataclass(frozen=True)
class Original:
    """A row of the paper's table 2, and how it is imitated where `documents` is given: its share, its noise."""

    rows: int
    features: int
    levels: int
    queries: int
    pairs: int
    ndcg: str | None = LETOR
    documents: int | tuple[int, int] | None = None
    share: float = 1.0
    noise: float = 1.0


ORIGINALS = {
    "MQ2007": Original(42_158, 46, 3, 1_017, 246_015),
    "MQ2008": Original(9_630, 46, 3, 471, 52_325),
    "MSLR 30k*": Original(2_270_296, 136, 5, 18_919, 101_312_036, LETOR, 120, 1 / 40, 3.0),
    "Yahoo set 1*": Original(473_134, 519, 5, 19_944, 5_178_545, YAHOO, 24, 1 / 20, 1.4),
    "Yahoo set 2*": Original(34_815, 596, 5, 1_266, 292_951, YAHOO, 27, 1 / 2, 1.4),
    "MQ2007-list*": Original(743_790, 46, 1_268, 1_017, 285_943_893, None, (480, 1_070), 1 / 8, 0.45),
    "MQ2008-list*": Original(540_679, 46, 1_831, 471, 323_151_792, None, (790, 1_600), 1 / 8, 0.45),
}
REAL = ("MQ2007", "MQ2008")
LISTS = ("MQ2007-list*", "MQ2008-list*")
GRADED = tuple(name for name in ORIGINALS if name not in LISTS)
QUICK = 1 / 10  # of a synthetic set's queries
QUICK_SETS = ("MQ2008", "Yahoo set 2*", "MQ2008-list*")
SYNTHETIC = (
    "Sets with an asterisk are synthetic: the original's shape, a share of its queries, other features, and noise "
    "chosen so that RankSVM is near the paper's pairwise accuracy."
)


def chosen(names: Iterable[str], quick: bool) -> tuple[str, ...]:
    return tuple(name for name in names if name in QUICK_SETS or not quick)


@cache
def load(data: Path, name: str, quick: bool = False) -> Split:
    """Training, validation and test data."""
    if name in REAL:
        return fold(data, name.lower())
    return _imitate(ORIGINALS[name], QUICK if quick else 1.0, seed=sorted(ORIGINALS).index(name))


def _imitate(original: Original, part: float, seed: int) -> Split:
    n_queries = max(6, round(original.queries * original.share * part))
    levels = None if original.ndcg is None else original.levels
    size: Any = {"docs_per_query": original.documents, "n_features": original.features}
    made = make_ranking(n_queries * 5 // 3, n_levels=levels, noise=original.noise, random_state=seed, **size)
    if original.ndcg is None:
        made = RankingData(made.X, _ranks(made.y, made.qid), made.qid)
    # Query ids are 1, 2, …: the first n train, then a third of as many each validate and test.
    third = (made.n_queries - n_queries) // 2
    bounds = (0, n_queries, n_queries + third, made.n_queries)
    split = [made.select((made.qid > low) & (made.qid <= high)) for low, high in pairwise(bounds)]
    scaler = FeatureScaler("minmax").fit(split[0].X)
    train, valid, test = (RankingData(scaler.transform(one.X), one.y, one.qid) for one in split)
    return train, valid, test


def _ranks(y: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """1, 2, … within each query, by y: the labels of the -list sets."""
    order = np.lexsort((y, qid))
    sizes = np.unique(qid, return_counts=True)[1]
    ranks = np.empty(y.size)
    ranks[order] = np.concatenate([np.arange(1.0, size + 1) for size in sizes])
    return ranks


def count_pairs(data: RankingData) -> int:
    return int(Preferences(data.y, data.qid).active(np.zeros(len(data))).n_pairs)


def scaled(exponent: int, name: str, train: RankingData) -> float:
    """The paper's C = 2^exponent, so that C times the number of pairs is the paper's on a share of the pairs."""
    if name in REAL:
        return 2.0**exponent
    return 2.0**exponent * ORIGINALS[name].pairs / count_pairs(train)
