"""What the two experiments on "Should I use Factorized RankSVM?" share: fits chosen by a validation part, and tests.

Both rankers have the hinge, as in the paper. C is chosen by the MAP of the validation part, which also stops the
factorised descent; the factorised ranker is then trained from further random starts with the same setting.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments.processor import timed
from experiments.zhang_table_2_to_4 import C_VALUES, MAX_ITER, PATIENCE
from rankwise import FactorizedRankSVM, RankingData, RankSVM, evaluate
from rankwise.metrics.significance import holm, randomization_test

COMPONENTS = (2, 5, 10, 20)
STARTS = 5
MEASURES = {"MAP": "map", **{f"NDCG@{k}": f"ndcg@{k}" for k in (1, 3, 5, 10)}}
CLEAR = 0.05  # p, after Holm's correction
Rows = list[dict[str, Any]]
Fit = tuple[RankSVM | FactorizedRankSVM, float, float]  # the ranker, its MAP on the validation part, CPU seconds


def plain(train: RankingData, valid: RankingData, C: float) -> Fit:
    ranker = RankSVM(C, "hinge", n_jobs=1)
    seconds, _ = timed(lambda: ranker.fit(train.X, train.y, train.qid))
    return ranker, evaluate(valid.y, ranker.predict(valid.X), valid.qid, "map")["map"], seconds


def factorized(train: RankingData, valid: RankingData, setting: Mapping[str, Any], start: int) -> Fit:
    ranker = FactorizedRankSVM(measure="map", random_state=start, n_jobs=1, **setting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is the budget
        seconds, _ = timed(lambda: ranker.fit(train.X, train.y, train.qid, validation=valid))
    return ranker, ranker.validation_score_, seconds


def best(fits: list[Fit]) -> Fit:
    return max(fits, key=lambda fit: fit[1])


def settings(components: int, C_values: Iterable[float] = C_VALUES) -> list[dict[str, Any]]:
    """Options of FactorizedRankSVM to choose from."""
    fixed = {"n_components": components, "max_iter": MAX_ITER, "n_iter_no_change": PATIENCE}
    return [fixed | {"C": C} for C in C_values]


def from_every_start(
    train: RankingData, valid: RankingData, tried: Iterable[Mapping[str, Any]], starts: int
) -> list[Fit]:
    """The setting is chosen from the first start and kept for the others, so that these differ by the start alone."""
    fits = [(factorized(train, valid, setting, 0), setting) for setting in tried]
    first, setting = max(fits, key=lambda pair: pair[0][1])
    return [first, *(factorized(train, valid, setting, start) for start in range(1, starts))]


def outcome(fits: list[Fit], minimum: float, test: RankingData, measures: list[str]) -> dict[str, Any]:
    """What is kept of fits that differ by the start: values by start, measure and test query.

    `minimum` is the least value of the objective at their C; "excess" is by how much of it the fits are above.
    """
    return {
        "C": fits[0][0].C_,
        "excess": [float(ranker.result_.value / minimum - 1) for ranker, _, _ in fits],
        "validation": [value for _, value, _ in fits],
        "seconds": [seconds for _, _, seconds in fits],
        "test": [
            [one.tolist() for one in evaluate(test.y, ranker.predict(test.X), test.qid, measures).per_query.values()]
            for ranker, _, _ in fits
        ],
    }


def with_p(rows: Rows, differences: list[Any]) -> Rows:
    """The rows with p of a randomisation test of their differences, and corrected by Holm for all rows together."""
    p = [randomization_test(one).p_value for one in differences]
    return [row | {"p": one, "p, Holm": float(all_)} for row, one, all_ in zip(rows, p, holm(p), strict=True)]


def clear(row: dict[str, Any]) -> int:
    """1 if clearly better than RankSVM, -1 if clearly worse, else 0."""
    return int(np.sign(row["gain"])) if row["p, Holm"] < CLEAR else 0


def verdict(rows: Rows) -> str:
    """Which comparisons are clear, in sentences; the first columns of a row, up to the measure, name it."""
    sentences = []
    for sign, word, noun in ((1, "better", "gain"), (-1, "worse", "loss")):
        found = [row for row in rows if clear(row) == sign]
        if found:
            sizes = "; ".join(f"{named(row)}, by {abs(row['gain']):.4f}" for row in found)
            sentences.append(f"Clearly {word} than RankSVM in {len(found)} of {len(rows)} comparisons: {sizes}.")
        else:
            sentences.append(f"None of {len(rows)} comparisons with RankSVM shows a clear {noun}.")
    least = min(rows, key=lambda row: row["p"])
    sentences.append(
        f"The smallest p is {least['p']:.2g}, or {least['p, Holm']:.2g} after Holm's correction ({named(least)}: "
        f"{least['gain']:+.4f})."
    )
    return "\n".join(f"- {sentence}" for sentence in sentences)


def named(row: dict[str, Any]) -> str:
    return ", ".join(list(row.values())[: list(row).index("measure") + 1])
