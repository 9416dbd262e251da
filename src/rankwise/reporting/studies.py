"""What a report says, as numbers: everything is computed here, by the rooms that own it, and nothing is formatted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rankwise.checking import Report, check
from rankwise.data.document_ids import known_ids
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.metrics import Comparison, Contrast, Measure, Procedure, default_measures, evaluate, parse_all
from rankwise.metrics.contrasts import contrasted
from rankwise.metrics.defaults import with_judged
from rankwise.metrics.evaluation import Measures, with_unjudged
from rankwise.pairs.queries import Queries
from rankwise.report.cutoffs import CUTOFFS, CutoffDisplay
from rankwise.reporting.subjects import Subject

GROUPS = 5  # of queries by their number of documents
BINS = 10  # of documents by their score
LEAST_REFITS = 10  # for an interval


@dataclass(frozen=True, eq=False)
class Study:
    """Rankers on the same data.

    subjects   the rankers; the first is the baseline if there are several
    data       the documents that they are judged on
    measures   None: the default measures of the labels
    train      the data that the models were trained on; None: what needs them is left out
    unjudged   the label of documents without one
    resamples  refits to samples of the training queries, for the intervals of weights; 0: nothing is fitted again
    remarks    sentences for the top of the page
    source     what the data are called
    origin     what the page says about how it was made: name -> text
    tell       called with what is being done, where that takes long
    """

    subjects: Sequence[Subject]
    data: RankingData
    measures: Measures | None = None
    train: RankingData | None = None
    procedure: Procedure = field(default_factory=Procedure)
    unjudged: float | None = None
    resamples: int = 50
    remarks: Sequence[str] = ()
    source: str = ""
    origin: Mapping[str, str] = field(default_factory=dict)
    tell: Callable[[str], object] = lambda _: None

    def __post_init__(self) -> None:
        if self.resamples and self.resamples < LEAST_REFITS:
            raise ValueError(f"resamples must be 0, or {LEAST_REFITS} or more for an interval; got {self.resamples!r}")

    @property
    def models(self) -> list[Subject]:
        return [one for one in self.subjects if one.model is not None]

    @cached_property
    def labels(self) -> Floats:
        return with_unjudged(self.data.y, self.unjudged)[0]

    @cached_property
    def label_range(self) -> tuple[float, float]:
        return float(self.labels.min()), float(self.labels.max())

    @cached_property
    def queries(self) -> Queries:
        return Queries(self.data.qid, len(self.data))

    @cached_property
    def sizes(self) -> Ints:
        """The number of documents of each query."""
        return self.queries.sizes

    @cached_property
    def documents(self) -> Array:
        """The ids of the documents; their row numbers from 1 if they have none."""
        known = known_ids(self.data)
        return np.arange(1, len(self.data) + 1) if known is None else known

    @cached_property
    def rows_of_query(self) -> list[Ints]:
        order = np.argsort(self.queries.codes, kind="stable")
        return np.split(order, np.cumsum(self.sizes)[:-1])

    @cached_property
    def chosen(self) -> list[Measure]:
        given = parse_all(default_measures(self.labels) if self.measures is None else self.measures)
        if given[0].name == "judged":
            raise ValueError(
                f"{given[0]} cannot be the first measure of a report: that one decides which ranker is better, and "
                "judged@k does not depend on labels. Put another one before it"
            )
        return with_judged(given, self.data.y)

    @cached_property
    def comparison(self) -> Comparison:
        """With one ranker alone it has no differences."""
        evaluations = {
            one.name: evaluate(self.data.y, one.scores, self.data.qid, self.chosen, unjudged=self.unjudged)
            for one in self.subjects
        }
        return contrasted(evaluations, self.subjects[0].name, self.procedure)

    @property
    def measure(self) -> str:
        """The first measure, by which queries are sorted."""
        return self.comparison.measures[0]

    @property
    def main(self) -> Subject:
        """The ranker that the verdict is about: the first that is not the baseline."""
        return self.subjects[min(1, len(self.subjects) - 1)]

    def style(self, ranker: str) -> int:
        """The style of a ranker's line in pictures: 0 is the main one, 1 the baseline."""
        names = [self.main.name, *(one.name for one in self.subjects if one is not self.main)]
        return names.index(ranker)

    def contrast(self, ranker: str, measure: str) -> Contrast:
        return next(one for one in self.comparison.contrasts if (one.ranker, one.measure) == (ranker, measure))

    @cached_property
    def per_query(self) -> Floats:
        """What queries are sorted by: the difference from the baseline, or with one ranker its value."""
        if self.comparison.others:
            return self.comparison.differences(self.main.name)
        return self.comparison.evaluations[self.main.name].per_query[self.measure]

    def means(self, values: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """The mean over queries of each column, and the ends of its interval; queries with NaN do not count."""
        loads = np.where(np.isnan(values), 0.0, weights[:, None])
        totals, sums = loads.sum(axis=0), (np.nan_to_num(values) * loads).sum(axis=0)
        means = np.divide(sums, totals, out=np.full(totals.size, np.nan), where=totals > 0)
        return means, *self.procedure.intervals(values, loads)

    @cached_property
    def cutoffs(self) -> CutoffDisplay | None:
        """The first measure against its cutoff; None if it has none."""
        if self.chosen[0].cutoff is None:
            return None
        scores = {one.name: one.scores for one in self.subjects}
        return CutoffDisplay.from_predictions(self.labels, scores, self.data.qid, self.chosen[0], CUTOFFS)

    @cached_property
    def check(self) -> Report:
        return check(self.data) if self.train is None else check(self.train, self.data)

    @cached_property
    def cautions(self) -> list[str]:
        """What to know before the numbers: the remarks, or else that these queries are among the training data; and
        which rankers do not rank.
        """
        shared = [f"{one.message} {one.advice}" for one in self.check.findings if one.code == "shared-documents"]
        first = np.array([rows[0] for rows in self.rows_of_query])[self.queries.codes]
        constant = (one.name for one in self.subjects if np.array_equal(one.scores, one.scores[first]))
        tied = [f"{name} does not rank: within every query its scores are equal." for name in constant]
        return [*(self.remarks or shared), *tied]


@dataclass(frozen=True, eq=False)
class Group:
    """Queries of similar length: from and to how many documents, and of each ranker (mean, low, high)."""

    least: int
    most: int
    queries: int
    means: dict[str, tuple[float, float, float]]


def by_length(study: Study) -> list[Group]:
    """The first measure by the number of documents of a query, in groups of about equally many queries."""
    sizes = study.sizes
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, GROUPS + 1)[1:-1], method="higher"))
    places = np.searchsorted(edges, sizes)
    evaluations = study.comparison.evaluations
    values = np.column_stack([one.per_query[study.measure] for one in evaluations.values()])
    weights = evaluations[study.subjects[0].name].weights.get(study.measure, np.ones(sizes.size))
    groups = []
    for own in (places == place for place in np.unique(places).tolist()):
        found = zip(*(one.tolist() for one in study.means(values[own], weights[own])), strict=True)
        of_ranker = dict(zip(evaluations, found, strict=True))
        groups.append(Group(int(sizes[own].min()), int(sizes[own].max()), int(own.sum()), of_ranker))
    return groups


@dataclass(frozen=True, eq=False)
class Bin:
    """Documents of similar score: its mean above the query's mean, their mean label and how many there are."""

    score: float
    label: float
    documents: int


def calibration(study: Study, subject: Subject) -> list[Bin]:
    """Mean labels by score relative to the query's mean, in bins of about equally many documents; ties are together."""
    codes, counts = study.queries.codes, study.sizes
    relative = subject.scores - (np.bincount(codes, subject.scores) / counts)[codes]
    edges = np.unique(np.quantile(relative, np.linspace(0, 1, BINS + 1)[1:-1]))
    places = np.searchsorted(edges, relative, side="right")
    return [
        Bin(float(relative[own].mean()), float(study.labels[own].mean()), int(own.sum()))
        for own in (places == place for place in np.unique(places).tolist())
    ]
