"""From a log of clicks to a model: lists of ten documents by 50 rankers that differ by noise, so that few are equal."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.measures import OURS, row
from benchmarks.process import repeated

CLICKS, QUERIES, DOCUMENTS, FEATURES, RANKERS = 1_000_000, 5_000, 40, 20, 50


def click_training(folder: str, quick: bool) -> Iterator[dict[str, Any]]:
    from rankwise import RankSVM
    from rankwise.clicks import click_data, shared_click_data

    shrink = 100 if quick else 1
    few, (log, features, propensities) = _log(1_000, 50), _log(CLICKS // shrink, QUERIES // shrink)
    note = f"{log.n_lists:,} lists, {int(log.click.sum()):,} clicks"
    for what, make in (("from clicks to model", shared_click_data), ("the same with copied features", click_data)):
        RankSVM().fit(make(*few))  # imports and kernels
        timed = repeated(lambda make=make: RankSVM().fit(make(log, features, propensities)), 1 if quick else 3)
        yield row(what, OURS, timed, note=note)


def _log(n_clicks: int, n_queries: int) -> tuple[Any, Any, Any]:
    """About so many clicks, the features of the documents, and the true propensities."""
    from rankwise import make_ranking
    from rankwise.clicks import simulate_clicks

    data = make_ranking(n_queries, DOCUMENTS, FEATURES, dtype=np.float32, random_state=0)
    features = replace(data, docid=np.arange(len(data)))
    scores = data.y + np.random.default_rng(0).normal(size=(RANKERS, len(data)))
    rate = simulate_clicks(features, scores, 5_000, random_state=0).log.click.sum() / 5_000
    log, _, propensities = simulate_clicks(features, scores, round(n_clicks / rate), random_state=1)
    return log, features, propensities
