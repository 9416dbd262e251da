"""The rankers of a report: scores of the documents and, of a model, how they are computed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.data.column_scores import column_scores, is_column
from rankwise.data.columns import for_model
from rankwise.data.records import RankingData
from rankwise.explaining.functions import Formula
from rankwise.foundation.arrays import Floats, finite
from rankwise.model_io.conversion import KERNEL, LINEAR, formula_of, model_of, scores_of
from rankwise.model_io.files import is_model_file, read_model
from rankwise.rankers.models import Model

ALONE = "model"  # the name of a ranker that is given without one


@dataclass(frozen=True, eq=False)
class Subject:
    """A ranker.

    name    as the page calls it
    scores  of the documents, in the order of the data
    model   None if only the scores are known
    rows    of a model: the data with its columns, in its order
    """

    name: str
    scores: Floats
    model: Model | None = None
    rows: RankingData | None = None

    @classmethod
    def of_model(cls, name: str, model: Model, rows: RankingData) -> "Subject":
        with np.errstate(over="ignore", invalid="ignore"):
            scores = scores_of(model, rows)
        return cls(name, finite(scores, f"the scores of {name}"), model, rows)

    @cached_property
    def formula(self) -> Formula | None:
        return None if self.model is None else formula_of(self.model)


def subjects_of(rankers: Any, data: RankingData) -> list[Subject]:
    """The rankers that a user gives: one, or several by name."""
    if not isinstance(rankers, Mapping):
        rankers = {_called(rankers): rankers}
    if not rankers:
        raise ValueError("rankers is empty: give a fitted ranker, a model file, scores or the name of a column")
    return [_subject(str(name), one, data) for name, one in rankers.items()]


def _called(ranker: Any) -> str:
    if isinstance(ranker, str | os.PathLike):
        return Path(ranker).name.split(".")[0] if is_model_file(os.fspath(ranker)) else str(ranker)
    return type(ranker).__name__ if hasattr(ranker, "predict") else ALONE


def _subject(name: str, ranker: Any, data: RankingData) -> Subject:
    if isinstance(ranker, os.PathLike) or (isinstance(ranker, str) and is_model_file(ranker)):
        ranker = read_model(os.fspath(ranker))
    if isinstance(ranker, str):
        if not is_column(data, ranker) and _is_path(ranker):
            found = "not a model file" if os.path.exists(ranker) else "no such file"
            raise ValueError(f"{ranker}: {found}, and the data have no column of this name")
        return Subject(name, column_scores(data, ranker, "the data"))
    if isinstance(ranker, Model):
        return Subject.of_model(name, ranker, for_model(data, ranker.columns, "the data"))
    if not hasattr(ranker, "predict"):
        return Subject(name, finite(ranker, f"the scores of {name}"))
    if not _is_known(ranker):
        return Subject(name, finite(ranker.predict(data.X), f"the scores of {name}"))
    model = model_of(ranker)
    columns = model.columns
    if columns.names is None and data.names is not None and len(data.names) == columns.n_features:
        model = replace(model, columns=replace(columns, names=tuple(map(str, data.names))))  # fitted to plain arrays
    return Subject.of_model(name, model, for_model(data, model.columns, "the data"))


def _is_path(name: str) -> bool:
    """Whether a string looks like a file rather than a column."""
    return os.path.basename(name) != name or Path(name).suffix != ""


def _is_known(ranker: Any) -> bool:
    """Whether the ranker is one that a model file can hold; of others, only the scores are known."""
    inner = getattr(ranker, "ranker_", ranker)
    inner = getattr(inner, "best_ranker_", inner)
    if type(inner).__name__ not in LINEAR | KERNEL:
        return False
    return isinstance(getattr(inner, "kernel", ""), str) and getattr(inner, "kernel", "") != "precomputed"
