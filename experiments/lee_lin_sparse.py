"""Synthetic data shaped like the samples of click-through data of tables 8 and 9: one query, thousands of sparse
features, labels that are shares of clicks, most of them 0.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from rankwise import RankingData, make_ranking


@dataclass(frozen=True)
class Sample:
    """A row of the paper's table 8, and the noise with which RankSVM comes out near the paper's accuracy."""

    rows: int
    features: int
    stored: float
    levels: int
    pairs: int
    noise: float


SAMPLES = {
    "CTR (0.1 %)*": Sample(11_382, 73_581, 22.6, 1_087, 46_020_848, 1.2),
    "KDD2012b (0.025 %)*": Sample(17_005, 74_026, 35.3, 26, 12_704_393, 1.1),
}
QUICK = 8  # times smaller


@cache
def make(name: str, quick: bool = False) -> tuple[RankingData, RankingData]:
    """Training and test data."""
    sample = SAMPLES[name]
    rows = sample.rows // (QUICK if quick else 1)
    features = sample.features // (QUICK if quick else 1)
    density = sample.stored / features
    made = make_ranking(1, 2 * rows, features, n_levels=None, noise=sample.noise, density=density, random_state=0)
    labelled = RankingData(made.X, clicks(made.y, sample), made.qid)
    drawn = np.random.default_rng(0).permutation(2 * rows)
    return labelled.select(np.sort(drawn[:rows])), labelled.select(np.sort(drawn[rows:]))


def clicks(relevance: np.ndarray, sample: Sample) -> np.ndarray:
    """Shares of clicks in (0, 1] for the most relevant, 0 for so many others that the pairs are as many as the paper's.

    Of documents in classes of shares c, 1 - Σc² of all pairs are preferences; the levels above 0 are equally large.
    """
    preferred = sample.pairs / (sample.rows**2 / 2)
    zeros = np.sqrt(1 - preferred)
    above = np.argsort(np.argsort(relevance)) - zeros * relevance.size
    levels = np.ceil(above / ((1 - zeros) * relevance.size) * (sample.levels - 1))
    return np.maximum(levels, 0) / (sample.levels - 1)
