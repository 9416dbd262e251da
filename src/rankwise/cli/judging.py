"""The scores and labels behind a figure: a model, a file of scores or a TREC run, on data or on TREC judgements."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import typer

from rankwise.cli.inputs import check_order, finite_scores, is_model, left_on_disk, read_data, read_scores
from rankwise.data.records import RankingData
from rankwise.data.trec import RUN, document_ids, join, read_qrels, read_run, scores_for
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.compression import open_bytes
from rankwise.model_io.files import read_model


class Scored(NamedTuple):
    """What `rankwise.evaluate` takes, in its order."""

    y: Floats
    scores: Floats
    qid: Array


@dataclass(frozen=True)
class Judge:
    """Judges rankers on the ranking file `data`, or runs on `qrels`; either is read once."""

    data: str | None
    qrels: str | None = None
    unjudged: float | None = None
    unretrieved_last: bool = False
    _read: dict[Any, RankingData] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if (self.data is None) == (self.qrels is None):
            raise typer.BadParameter("give the labels, either by a ranking file (DATA) or by --qrels")

    def scored(self, ranker: str) -> Scored:
        check_order(ranker, self.data)
        if ranker == "-":
            if "-" in (self.data, self.qrels):
                raise typer.BadParameter("scores and data cannot both come from stdin: give one of them as a file")
        elif is_run(ranker) or (self.qrels is not None and not is_model(ranker) and _fields(ranker) != 1):
            return self._run(ranker)
        elif is_model(ranker):
            self._needs_data(ranker, "a model")
            model = read_model(ranker)
            stored = left_on_disk(model, [str(self.data)], model.columns)
            data = self._data(known=model.columns) if stored is None else stored
            return Scored(data.y, finite_scores(model, data, ranker, str(self.data)), data.qid)
        self._needs_data(ranker, "a file of scores")
        data = self._data()
        return Scored(data.y, read_scores(ranker, len(data)), data.qid)

    def _run(self, path: str) -> Scored:
        run = read_run(path)
        if self.qrels is None:
            data = self._data(comments=True)
            return Scored(data.y, scores_for(run, data.qid, document_ids(data)), data.qid)
        joined = join(run, read_qrels(self.qrels), self.unjudged, self.unretrieved_last)
        return Scored(joined.y, joined.scores, joined.qid)

    def _needs_data(self, ranker: str, what: str) -> None:
        if self.data is None:
            raise typer.BadParameter(f"{ranker} is {what}, and only a TREC run can be judged by --qrels: give DATA")

    def _data(self, **options: Any) -> RankingData:
        key = tuple(options.items())
        if key not in self._read:
            self._read[key] = read_data(self.data, **options)
        return self._read[key]


def is_run(path: str) -> bool:
    """Whether the first line has as many fields as a TREC run."""
    return _fields(path) == len(RUN)


def _fields(path: str) -> int:
    """Of the first line; 0 where the file is empty."""
    with open_bytes(Path(path), "rb") as file:
        return len(file.readline(4096).split())


def named(rankers: list[str]) -> dict[str, str]:
    """name -> file: by NAME=FILE, else the file name up to its first dot, or the whole path where two agree in it."""
    given = [one.partition("=") if "=" in one and not Path(one).exists() else ("", "", one) for one in rankers]
    stems = [name or Path(file).name.split(".")[0] or file for name, _, file in given]
    alone = [bool(name) or stems.count(stem) == 1 for stem, (name, _, _) in zip(stems, given, strict=True)]
    names = [stem if unlike else file for stem, unlike, (_, _, file) in zip(stems, alone, given, strict=True)]
    if len(set(names)) < len(names):
        raise typer.BadParameter(f"{max(names, key=names.count)} is given twice: tell them apart by NAME=FILE")
    return {name: file for name, (_, _, file) in zip(names, given, strict=True)}
