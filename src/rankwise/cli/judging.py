"""The scores and labels to evaluate: of a model, a file of scores, a TREC run or a column of the data.

Labels are those of the data, or TREC judgements. A document that nobody judged has the label NaN.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import typer

from rankwise.cli.inputs import (
    USUAL,
    check_order,
    finite_scores,
    ids_in,
    is_model,
    left_on_disk,
    parse_measures,
    read_data,
    read_judged,
    read_ranker,
    read_scores,
)
from rankwise.cli.options import Naming
from rankwise.cli.runs import trained_on
from rankwise.cli.speech import say
from rankwise.data import formats
from rankwise.data.column_scores import column_scores, spellings
from rankwise.data.columns import Known
from rankwise.data.records import RankingData
from rankwise.data.score_table import SCORE, TABLES
from rankwise.data.trec import RUN, TrecRows, join, read_qrels, read_run, scores_for
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.compression import decompressed
from rankwise.metrics import Evaluation, Measure, default_measures, evaluate
from rankwise.metrics.defaults import with_judged
from rankwise.metrics.evaluation import with_unjudged
from rankwise.model_io.files import is_model_file
from rankwise.reporting.subjects import Subject

COLUMN = "column:"  # begins the name of a ranker that is a column of the data


class Scored(NamedTuple):
    """The first arguments of `rankwise.evaluate`, in its order."""

    y: Floats
    scores: Floats
    qid: Array


@dataclass(frozen=True)
class Judge:
    """The labels to evaluate on: of the ranking file `data`, or for runs of `qrels`; each file is read once."""

    data: str | None
    qrels: str | None = None
    unjudged: float | None = None
    unretrieved_last: bool = False
    columns: Naming = USUAL
    comments: bool = False  # whether comments are read, which may name the documents
    _read: dict[tuple[Known | None, bool], RankingData] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if (self.data is None) == (self.qrels is None):
            raise typer.BadParameter("give the labels: a ranking file (MODEL DATA, or --data DATA) or --qrels")

    def scored(self, ranker: str) -> Scored:
        check_order(ranker, self.data)
        if is_column(ranker):
            self._needs_data(ranker, "a column")
            spelled = ranker.removeprefix(COLUMN)
            table = self._data(column=spelled)
            return Scored(table.y, column_scores(table, spelled, str(self.data)), table.qid)
        if ranker.isidentifier() and not Path(ranker).exists():
            raise ValueError(f"there is no file {ranker}; a column of the data is written {COLUMN}{ranker}")
        if ranker == "-":
            if "-" in (self.data, self.qrels):
                raise typer.BadParameter("scores and data cannot both come from stdin: give one of them as a file")
        elif is_score_table(ranker):
            return self._table(ranker)
        elif is_run(ranker) or (self.qrels is not None and not is_model(ranker) and _fields(ranker) != 1):
            return self._run(ranker)
        elif is_model(ranker):
            self._needs_data(ranker, "a model")
            model = read_ranker(ranker, self.columns)
            if trained_on(model, str(self.data)):
                say(f"note: {ranker} was trained on {self.data}: expect lower values on queries that it has not seen")
            stored = left_on_disk(model, [str(self.data)], model.columns, self.columns)
            data = self._data(known=model.columns) if stored is None else stored
            return Scored(data.y, finite_scores(model, data, ranker, str(self.data)), data.qid)
        self._needs_data(ranker, "a file of scores")
        data = self._data()
        return Scored(data.y, read_scores(ranker, len(data)), data.qid)

    def subject(self, name: str, ranker: str) -> Subject:
        """A ranker for a report: its scores and, of a model, its rows."""
        if is_column(ranker) or ranker == "-" or not is_model_file(ranker):
            shown = f"feature {name}" if is_column(ranker) and name.isdecimal() else name  # a number is no subject
            return Subject(shown, self.scored(ranker).scores)
        model = read_ranker(ranker, self.columns)
        return Subject.of_model(name, model, self._data(known=model.columns))

    def table(self) -> RankingData:
        """The data with all their columns of numbers."""
        return self._data()

    def measures(self, names: list[str] | None, *scored: Scored) -> list[Measure]:
        """The measures by these names, or else those for the labels; and judged@k if some documents were not judged."""
        chosen = parse_measures(names or default_measures(with_unjudged(scored[0].y, self.unjudged)[0]))
        return with_judged(chosen, *(one.y for one in scored))

    def evaluate(self, scored: Scored, measures: list[Measure]) -> Evaluation:
        return evaluate(*scored, measures, unjudged=self.unjudged)

    def _table(self, path: str) -> Scored:
        """The scores in a table of qid, docid and score, as `rankwise predict` writes it."""
        self._needs_data(path, "a table of scores")
        table = formats.read_data(path, label=SCORE, features=())
        data = self._data(comments=True)
        scores = TrecRows.of(table.qid, ids_in(table, path), table.y, path)
        return Scored(data.y, scores_for(scores, data.qid, ids_in(data, str(self.data))), data.qid)

    def _run(self, path: str) -> Scored:
        run = read_run(path)
        if self.qrels is None:
            data = self._data(comments=True)
            return Scored(data.y, scores_for(run, data.qid, ids_in(data, str(self.data))), data.qid)
        unjudged = None if self.unjudged is None else math.nan
        joined = join(run, read_qrels(self.qrels), unjudged, self.unretrieved_last)
        return Scored(joined.y, joined.scores, joined.qid)

    def _needs_data(self, ranker: str, what: str) -> None:
        if self.data is None:
            raise typer.BadParameter(f"{ranker} is {what}, and only a TREC run can be evaluated by --qrels: give DATA")

    def _data(self, known: Known | None = None, comments: bool = False, column: str = "") -> RankingData:
        """The data for a model, or those with all columns of numbers, of which `column` must be one."""
        comments = comments or self.comments
        if (known, comments) not in self._read:
            if self.data == "-" and self._read:
                raise typer.BadParameter("these rankers need the data more than once: give a file in place of stdin")
            options = {"comments": comments, "unjudged": self.unjudged is not None}
            if known is None:
                data = read_judged(str(self.data), self.columns, spellings(column), **options)
            else:
                data = read_data(str(self.data), known, self.columns, **options)
            self._read[known, comments] = data
        return self._read[known, comments]


def is_score_table(path: str) -> bool:
    """Whether the file is a table with a column of scores, by its suffix and its first line."""
    format = formats.format_of(path)
    if format.name not in TABLES:
        return False
    with decompressed(path, path) as file:
        return not format.is_text or SCORE.encode() in file.readline(4096)


def is_run(path: str) -> bool:
    """Whether the first line has as many fields as a TREC run."""
    return _fields(path) == len(RUN)


def _fields(path: str) -> int:
    """The number of fields in the first line; 0 if the file is empty."""
    with decompressed(path, path) as file:
        return len(file.readline(4096).split())


def is_column(ranker: str) -> bool:
    return ranker.startswith(COLUMN) and not Path(ranker).exists()


def named(rankers: list[str]) -> dict[str, str]:
    """name -> ranker: by NAME=RANKER, else the column, or the file name up to its first dot, or the whole path if
    that is ambiguous.
    """
    plain = [one for one in rankers if "=" not in one or is_column(one) or Path(one).exists()]
    given = [("", "", one) if one in plain else one.partition("=") for one in rankers]
    stems = [name or _stem(file) for name, _, file in given]
    alone = [bool(name) or stems.count(stem) == 1 for stem, (name, _, _) in zip(stems, given, strict=True)]
    names = [stem if unlike else file for stem, unlike, (_, _, file) in zip(stems, alone, given, strict=True)]
    if len(set(names)) < len(names):
        raise typer.BadParameter(f"{max(names, key=names.count)} is given twice: give different names by NAME=RANKER")
    return {name: file for name, (_, _, file) in zip(names, given, strict=True)}


def _stem(ranker: str) -> str:
    return ranker.removeprefix(COLUMN) if is_column(ranker) else Path(ranker).name.split(".")[0] or ranker
