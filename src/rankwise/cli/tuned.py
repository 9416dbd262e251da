"""The results of `rankwise tune`: one row per model of the grid, the best of them, and how they are printed."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.base import BaseEstimator

from rankwise.cli.speech import answer, answer_json, say, table
from rankwise.foundation.arrays import Floats
from rankwise.foundation.strict_json import Json
from rankwise.model_selection.choice import choose, means_and_errors, simplest_first
from rankwise.model_selection.search import Table
from rankwise.rankers.models import Params


@dataclass(frozen=True)
class Family:
    """`model` with each of `values`, in rising order, for its parameter `strength`: "C" or "alpha"."""

    model: BaseEstimator
    options: Params
    strength: str
    values: Floats

    @property
    def ranker(self) -> BaseEstimator:
        """The model without its scaler."""
        return getattr(self.model, "ranker", self.model)

    @property
    def parameter(self) -> str:
        """The model's name of the strength."""
        return self.strength if self.ranker is self.model else f"ranker__{self.strength}"

    @property
    def simplest_first(self) -> Floats:
        """One number per value; the smaller, the stronger the regularisation."""
        return self.values if self.strength == "C" else -self.values


@dataclass(frozen=True, eq=False)
class Row:
    """One model and its scores; the mean is None if the model was skipped, or if no query counts.

    kept  the number of features with a weight other than 0, averaged over the folds; None if that is not known
    """

    family: Family = field(repr=False)
    value: float
    simple: float
    mean: float | None
    error: float | None
    scores: list[float | None]
    seconds: float
    kept: float | None

    @property
    def options(self) -> Params:
        return self.family.options | {self.family.strength: self.value}

    def to_dict(self) -> dict[str, Json]:
        outcome = {"mean": self.mean, "standard_error": self.error, "folds": self.scores, "seconds": self.seconds}
        return self.options | outcome | ({} if self.kept is None else {"features_kept": self.kept})


def rows_of(family: Family, results: Table) -> list[Row]:
    """One row per strength; standard errors are over folds, or over the queries of a validation file."""
    means, errors = means_and_errors(results.values)
    if len(results.values) == 1:
        errors = results.errors[0]
    kept = results.features_kept()
    judged = {place for _, place in results.known}
    return [
        Row(
            family,
            value,
            float(family.simplest_first[place]),
            _number(means[place]),
            _number(errors[place]) if place in judged else None,
            [_number(one) for one in results.values[:, place]],
            float(results.seconds[:, place].sum()),
            _number(kept[place]),
        )
        for place, value in enumerate(family.values.tolist())
    ]


def best_of(rows: list[Row], rule: str) -> Row:
    """The row to choose; the one-standard-error rule only considers the family of the best row."""

    def chosen(among: list[Row], rule: str) -> Row:
        means, errors = (
            np.array(each, np.float64) for each in zip(*((one.mean, one.error) for one in among), strict=True)
        )
        ratios = np.array([one.options.get("l1_ratio", 0.0) for one in among])
        return among[choose(means, errors, simplest_first(np.array([one.simple for one in among]), ratios), rule)]

    family = chosen(rows, "best").family
    return chosen([row for row in rows if row.family is family], rule)


def show(rows: list[Row], best: Row, measure: str, rule: str, output: str, as_json: bool) -> None:
    if as_json:
        chosen = {"chosen": best.options, "mean": best.mean, "standard_error": best.error}
        results = {"results": [row.to_dict() for row in rows]}
        answer_json({"model": output, "measure": measure, "rule": rule} | chosen | results)
        return
    sparse = "l1_ratio" in best.options
    lines = []
    digits = 4 if len({f"{row.mean:.4f}" for row in rows if row.mean is not None}) > 1 else 8  # or none would differ
    for row in rows:
        numbers = ["-" if one is None else f"{one:.{digits}f}" for one in (row.mean, row.error)]
        mark = "<-" if row is best else ""
        kept = ["-" if row.kept is None else f"{row.kept:.1f}"] if sparse else []
        lines.append([*map(shown, row.options.values()), *numbers, *kept, f"{row.seconds:.2f}", mark])
    heading = [*best.options, measure, "std. error", *(["features"] if sparse else []), "seconds", "chosen"]
    answer(table(lines, heading))
    say(f"model written to {output}")


def shown(option: object) -> str:
    return f"{option:g}" if isinstance(option, float) else str(option)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
