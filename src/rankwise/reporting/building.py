"""html: a report of rankers on judged data."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.data.column_scores import column_scores, is_column
from rankwise.data.fingerprint import content_hash
from rankwise.data.records import RankingData
from rankwise.metrics import Procedure
from rankwise.metrics.evaluation import Measures
from rankwise.model_io.files import versions
from rankwise.model_io.origins import origin
from rankwise.rankers.models import Model
from rankwise.reporting.pages import Page, page_of
from rankwise.reporting.studies import Study
from rankwise.reporting.subjects import Subject, subjects_of


def html(
    rankers: Any,
    data: RankingData,
    *,
    train: RankingData | None = None,
    baseline: str | None = None,
    measures: Measures | None = None,
    procedure: Procedure | None = None,
    unjudged: float | None = None,
    resamples: int = 50,
) -> Page:
    """One HTML file about rankers on judged data: `html(model, test).save("report.html")`.

    rankers    a fitted ranker, a model file, or the name of a column of the data; or a mapping from names to these or
               to scores
    data       the queries to judge the rankers on, which they were not trained on
    train      the training data, for intervals of weights, the learning curve and a check against the data
    baseline   the ranker, or a column of the data, that the others are compared with, as in `compare`; None: the first
    measures   None: those that suit the labels; the first one decides
    procedure  how differences are tested
    unjudged   the label of documents whose label is NaN, as in `evaluate`
    resamples  refits to samples of the training queries, 10 or more; 0: no refits, which leaves out the intervals of
               weights and the learning curve

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample, report
    >>> train, test = load_sample("train"), load_sample("test")
    >>> page = report.html({"RankSVM": RankSVM().fit(train)}, test, baseline="clicks")
    >>> page.save("report.html")
    >>> page.verdict.startswith("RankSVM is better than clicks")
    True
    """
    for name, one in (("data", data), ("train", data if train is None else train)):
        if not isinstance(one, RankingData):
            raise TypeError(f"{name} must be RankingData, as read_data and from_frame return; got {type(one).__name__}")
        if not len(one):
            raise ValueError(f"{name} has no rows")
    subjects = with_baseline(subjects_of(rankers, data), baseline, data)
    hashed = {"data": data} if train is None else {"data": data, "training data": train}
    origin = {name: f"blake2b:{content_hash(one)}" for name, one in hashed.items()} | origin_of(subjects)
    chosen = Procedure() if procedure is None else procedure
    return page_of(Study(subjects, data, measures, train, chosen, unjudged, resamples, origin=origin))


def with_baseline(subjects: list[Subject], baseline: str | None, data: RankingData) -> list[Subject]:
    """The baseline first: one of the rankers, or else a column of the data; an error if it could be either."""
    if baseline is None:
        return subjects
    first = [one for one in subjects if one.name == baseline]
    if first and is_column(data, baseline) and not np.array_equal(first[0].scores, column_scores(data, baseline, "")):
        raise ValueError(f"baseline {baseline!r} is both a ranker and a column of the data: rename the ranker")
    first = first or subjects_of({baseline: baseline}, data)
    return first + [one for one in subjects if one.name != baseline]


def origin_of(subjects: Sequence[Subject]) -> dict[str, str]:
    """What the page says about the programs and the models."""
    programs = {"versions": ", ".join(f"{name} {version}" for name, version in versions().items())}
    models = {one.name: one.model for one in subjects if one.model is not None}
    return programs | {name: "\n".join([_signature(model), *origin(model)]) for name, model in models.items()}


def _signature(model: Model) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in sorted(model.params.items()) if value is not None)
    return f"{model.kind}({given})"
