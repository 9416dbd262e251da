"""What the experiments on learning from clicks share: production rankers, logs of clicks, and training with a chosen C.

The lists of ten documents come from three production rankers, each trained on 1 % of the training queries, so that
position bias can also be estimated from the log. C is chosen alike for all methods: the value of `STRENGTHS`, divided
by the sum of the weights of the pairs, that has the best NDCG@10 on the judgements of the validation part. One path
over C gives all fits.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments import datasets
from rankwise import RankingData, RankSVM, evaluate, load_sample
from rankwise.clicks import ClickLog, Propensities, click_data, harvested_bias, simulate_clicks
from rankwise.model_selection import c_path

DATA = {"mq2007": "MQ2007", "mq2008": "MQ2008", "sample": "sample (synthetic)"}
RANKERS, SHARE = 3, 0.01
STRENGTHS = [10.0**k for k in range(-1, 5)]
MEASURE = "ndcg@10"
NOTE = (
    "Clicks are simulated on the training part of fold 1: lists of ten documents from three production rankers, each "
    "trained on 1 % of its queries; users look at position k with probability (1/k)^eta and click what they look at "
    "with probability noise + (1 - noise) (2^label - 1) / 3. Figures are NDCG@10 on the test part. C is chosen alike "
    "for all methods, by the judgements of the validation part."
)


class Split(NamedTuple):
    train: RankingData
    valid: RankingData
    test: RankingData


@cache
def split(data: Path, name: str) -> Split:
    """Fold 1, or thirds of the embedded sample; the documents of the training part are numbered."""
    if name == "sample":
        whole = load_sample()
        third = np.unique(whole.qid, return_inverse=True)[1] % 3
        train, valid, test = (whole.select(third == part) for part in range(3))
    else:
        train, valid, test = datasets.fold(data, name)
    return Split(replace(train, docid=np.arange(len(train))), valid, test)


def production(train: RankingData, random: np.random.Generator) -> np.ndarray:
    """The weights of production rankers, a row each."""
    queries = np.unique(train.qid)
    size = max(2, round(SHARE * len(queries)))
    found: list[np.ndarray] = []
    while len(found) < RANKERS:
        few = train.select(np.isin(train.qid, random.choice(queries, size, replace=False)))
        if few.y.any():  # a query without relevant documents has no pairs
            found.append(RankSVM().fit(few).coef_)
    return np.stack(found)


def clicks(
    train: RankingData, scores: np.ndarray, n_clicks: int, eta: float, noise: float, random: np.random.Generator
) -> tuple[ClickLog, Propensities]:
    """A log of about so many clicks, and the true propensities."""
    rate = simulate_clicks(train, scores, 5_000, eta=eta, noise=noise, random_state=random).log.click.sum() / 5_000
    log, _, true = simulate_clicks(train, scores, round(n_clicks / rate), eta=eta, noise=noise, random_state=random)
    return log, true


def harvested(log: ClickLog) -> Propensities | None:
    """Estimated propensities; None if the log does not tell all of them."""
    try:
        return harvested_bias(log, n_resamples=1)
    except ValueError:
        return None


def trained_on_clicks(log: ClickLog, of: Split, propensities: Propensities | None) -> float:
    training = click_data(log, of.train, propensities)
    others = np.bincount(training.qid) - 1  # documents that the clicked one is compared with
    return trained(training, of, float(others @ np.bincount(training.qid, training.weight * training.y)))


def trained(training: RankingData, of: Split, weight_of_pairs: float) -> float:
    """NDCG@10 on the test part, with the C that is best on the validation part."""
    path = c_path(training, Cs=np.array(STRENGTHS) / weight_of_pairs, ranker=RankSVM(n_jobs=1))
    best = max(path.coef, key=lambda coef: ndcg(of.valid, coef))
    return ndcg(of.test, best)


def ndcg(data: RankingData, coef: np.ndarray) -> float:
    return float(evaluate(data.y, data.X @ coef, data.qid, [MEASURE])[MEASURE])
