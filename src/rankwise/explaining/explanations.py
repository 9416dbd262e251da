"""What `explain` and `explain_pair` return: values with a text, a table, a picture and plain numbers for JSON."""

from abc import abstractmethod
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from rankwise.explaining.choosing import as_text, place_of
from rankwise.explaining.words import bars, heading, number, reasons, signed, values
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.strict_json import Json
from rankwise.foundation.texts import counted, table, visible
from rankwise.report.display import Display, drawn, signed_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = 20  # documents in a text or picture of a query
LONGEST_DRAWN = 30  # characters of an id in a picture


@dataclass(eq=False, repr=False, kw_only=True)
class Explained(Display):
    """What both explanations have.

    names   of the features, those of sparse rows that are 0 throughout left out
    values  of the features as they were given, a row per document
    scores  of the documents
    method  in words, how the scores were split
    error   how far the contributions are from adding up, at most
    top     how many features a text or a picture shows
    """

    query: object
    names: Array
    values: Floats
    contributions: Floats
    scores: Floats
    method: str
    error: float
    top: int = 10

    @abstractmethod
    def to_text(self) -> str: ...

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return f"<p>{escape(visible(self.summary()))}</p>{super()._repr_html_()}<p>{escape(self._footnote())}</p>"

    def _footnote(self) -> str:
        return f"contributions are {self.method} (they add up to within {number(self.error)})"


@dataclass(eq=False, repr=False, kw_only=True)
class PairExplanation(Explained):
    """Why one document is above another: contributions add up to the score of the first minus that of the second.

    documents      the ids of the two
    contributions  one per feature
    """

    documents: tuple[object, object]

    @property
    def difference(self) -> float:
        return float(self.scores[0] - self.scores[1])

    @property
    def order(self) -> Ints:
        """The features, the largest contribution first."""
        return np.argsort(-np.abs(self.contributions), kind="stable")

    @property
    def data(self) -> dict[str, Array]:
        """One row per feature, the largest contribution first."""
        order = self.order
        columns = {"feature": self.names, "first": self.values[0], "second": self.values[1]}
        columns["contribution"] = self.contributions
        return {name: column[order] for name, column in columns.items()}

    def summary(self) -> str:
        first, second = map(called, self.documents)
        return heading(first, second, self.difference) + reasons(*self.data.values())

    def _largest(self) -> tuple[list[Array], int]:
        """The columns of `data` for the features to show, and how many others contribute."""
        n = int(np.count_nonzero(self.contributions))
        shown = min(self.top, n)
        return [column[:shown] for column in self.data.values()], n - shown

    def to_text(self) -> str:
        """A sentence, and a bar per feature that contributes."""
        (names, first, second, parts), more = self._largest()
        rows = [
            [str(name), *values(a, b), signed(part)]
            for name, a, b, part in zip(names, first, second, parts, strict=True)
        ]
        header, *lines = table(rows, ["feature", *map(as_text, self.documents), "contribution"]).split("\n")
        lines = [f"{line}  {bar}".rstrip() for line, bar in zip(lines, bars(parts), strict=True)]
        rest = [f"... and {more:,} smaller ones"] if more else []
        table_lines = ["", header, *lines, *rest] if rows else []
        return "\n".join([visible(self.summary()), *table_lines, "", self._footnote()])

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers and texts, for JSON; all features."""
        columns = {name: column.tolist() for name, column in self.data.items()}
        return {
            "query": plain(self.query),
            "documents": [plain(one) for one in self.documents],
            "scores": self.scores.tolist(),
            "difference": self.difference,
            "sentence": self.summary(),
            "method": self.method,
            "error": self.error,
            "features": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        }

    def _inches(self) -> tuple[float, float]:
        return 6.0, 1.2 + 0.22 * max(1, min(self.top, self.names.size))

    def _draw(self, ax: "Axes") -> None:
        (names, first, second, parts), more = self._largest()
        labels = [
            f"{drawn(name)}  ({' : '.join(values(a, b))})" for name, a, b in zip(names, first, second, strict=True)
        ]
        signed_bars(ax, labels, parts, "contribution to the difference", more)
        one, two = (drawn(called(one)[:LONGEST_DRAWN]) for one in self.documents)
        ax.set_title(heading(one, two, self.difference), fontsize="small", loc="left")


@dataclass(eq=False, repr=False, kw_only=True)
class Explanation(Explained):
    """Why the documents of a query have their scores: contributions add up to the score minus the query's mean.

    documents      their ids, best document first, as in all other fields
    contributions  one row per document, one column per feature
    rows           the numbers of the documents' rows in the data, from 0
    """

    documents: Array
    rows: Ints
    top: int = 5

    @property
    def order(self) -> Ints:
        """The features, the largest mean absolute contribution first."""
        return np.argsort(-np.abs(self.contributions).mean(axis=0), kind="stable")

    @property
    def data(self) -> dict[str, Array]:
        """One row per document and feature, the best document and the most important feature first."""
        order, (n, k) = self.order, self.contributions.shape
        mean = self.values.mean(axis=0)
        return {
            "document": np.repeat(self.documents, k),
            "rank": np.repeat(np.arange(1, n + 1), k),
            "score": np.repeat(self.scores, k),
            "feature": np.tile(self.names[order], n),
            "value": self.values[:, order].ravel(),
            "mean": np.tile(mean[order], n),
            "contribution": self.contributions[:, order].ravel(),
        }

    def document(self, document: object) -> PairExplanation:
        """One document against the query's mean; by its id, or by the number of its row if that is no id."""
        place = place_of(document, self.documents, self.rows, self.query)
        return PairExplanation(
            query=self.query,
            documents=(self.documents[place], f"the mean of {self._name()}"),
            names=self.names,
            values=np.stack([self.values[place], self.values.mean(axis=0)]),
            contributions=self.contributions[place],
            scores=np.array([self.scores[place], self.scores.mean()]),
            method=self.method,
            error=self.error,
        )

    def _name(self) -> str:
        return "the documents" if self.query is None else f"query {as_text(self.query)}"

    def summary(self) -> str:
        size = f"{counted(self.scores.size, 'documents')}, mean score {number(float(self.scores.mean()))}"
        return f"{self._name()}: {size}"

    def to_text(self) -> str:
        """A line per document: its score, and what the most important features add to the query's mean score."""
        order = self.order
        shown, others = order[: self.top], order[self.top :]
        names, parts = [str(name) for name in self.names[shown]], self.contributions[:LINES, shown]
        if others.size:
            names.append("others")
            parts = np.column_stack([parts, self.contributions[:LINES, others].sum(axis=1)])
        rows = [
            [as_text(one), number(score), *map(signed, part)]
            for one, score, part in zip(self.documents, self.scores, parts, strict=False)
        ]
        header = ["document", "score", *names]
        more = self.scores.size - len(rows)
        rest = [f"... and {counted(more, 'more documents')}"] if more else []
        about = f"{self.summary()}; what features add to it or take off"
        return "\n".join([visible(about), "", table(rows, header), *rest, "", self._footnote()])

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers and texts, for JSON; features in the order of their importance."""
        order = self.order
        documents = [
            {"document": plain(one), "score": float(score), "values": value.tolist(), "contributions": part.tolist()}
            for one, score, value, part in zip(
                self.documents, self.scores, self.values[:, order], self.contributions[:, order], strict=True
            )
        ]
        return {
            "query": plain(self.query),
            "mean_score": float(self.scores.mean()),
            "method": self.method,
            "error": self.error,
            "features": [str(name) for name in self.names[order]],
            "documents": documents,
        }

    def _inches(self) -> tuple[float, float]:
        return 1.6 + 0.8 * max(3, min(self.top, self.names.size)), 1.4 + 0.25 * min(self.scores.size, LINES)

    def _draw(self, ax: "Axes") -> None:
        parts = self.contributions[:LINES, self.order[: self.top]]
        names, documents = self.names[self.order[: self.top]], self.documents[:LINES]
        far = float(np.abs(parts).max(initial=0.0)) or 1.0
        if parts.size:  # pale colours, so that the numbers are legible
            ax.imshow(parts, cmap="RdBu", vmin=-1.6 * far, vmax=1.6 * far, aspect="auto")
        for (i, j), part in np.ndenumerate(parts):
            ax.text(j, i, signed(part), ha="center", va="center", fontsize="x-small")
        ax.set_xticks(np.arange(names.size), [drawn(name) for name in names], fontsize="small", rotation=30, ha="right")
        ax.set_yticks(
            np.arange(documents.size), [drawn(as_text(one)[:LONGEST_DRAWN]) for one in documents], fontsize="small"
        )
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_ylabel(f"documents of {drawn(self._name())}" if self.query is not None else "documents")
        ax.set_xlabel("contribution to score − mean score")


def called(document: object) -> str:
    """A document in a sentence."""
    return f"document {document}" if isinstance(document, int | np.integer) else as_text(document)


def plain(one: object) -> Json:
    """An id as JSON has it: a whole number, or a text."""
    return int(one) if isinstance(one, int | np.integer) else None if one is None else as_text(one)
