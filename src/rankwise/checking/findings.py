"""Findings as values, and the report that holds them: as text, as JSON and as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import NamedTuple

from rankwise.foundation.strict_json import Json
from rankwise.foundation.tabular import Columns, Tabular
from rankwise.foundation.texts import counted, visible

SEVERITIES = ("error", "warning", "note")  # the worst first
NAMES_SHOWN = 5  # names in a message
LONGEST = 60  # characters of a name in a message
WIDTH = 100  # characters of a line of text
LISTED = 1000  # features, queries or rows that a finding lists


class Kind(NamedTuple):
    severity: str
    meaning: str


CODES = {
    "missing-labels": Kind("error", "rows without a label; all other findings leave them out"),
    "infinite-labels": Kind("error", "rows whose label is infinite; all other findings leave them out"),
    "missing-values": Kind("error", "features without a value in some rows"),
    "infinite-values": Kind("error", "features that are infinite in some rows"),
    "no-pairs": Kind("error", "no query has two documents with different labels"),
    "label-copy": Kind("error", "a feature is the label, or the label times a factor plus an offset"),
    "perfect-feature": Kind("error", "a single feature puts every pair in the right order, or every pair in the wrong"),
    "missing-features": Kind("error", "features that the test data lack; a note if they only have more"),
    "shared-documents": Kind("error", "queries whose documents are in the training and in the test data"),
    "near-perfect-feature": Kind("warning", "a single feature puts at least 99 % of the pairs in one order"),
    "shared-queries": Kind("warning", "query ids that are in the training and in the test data"),
    "contradicting-labels": Kind(
        "warning",
        "equal features and different labels in a query; a note below 1 % of the pairs",
    ),
    "duplicate-documents": Kind("warning", "a document id that occurs several times in a query"),
    "placeholder-values": Kind("warning", "a value far from all others that many rows share, such as 999 or -1"),
    "outliers": Kind("warning", "a few values far larger than all others of the feature"),
    "different-scales": Kind("warning", "features whose ranges differ by a factor of 1000 or more"),
    "id-as-feature": Kind("warning", "a feature of whole numbers with the name of an id, such as product_id"),
    "large-offset": Kind("warning", "a feature whose values are large and differ little"),
    "constant-feature": Kind("warning", "a feature with one value in all rows"),
    "constant-in-test": Kind("warning", "a feature with one value in the test data, and several in the training data"),
    "duplicate-features": Kind("warning", "features that are equal in all rows"),
    "reversed-labels": Kind("warning", "nearly all features that tell anything order the documents against the labels"),
    "dominant-query": Kind("warning", "one query of at least five has more than half of all pairs"),
    "few-pairs": Kind("warning", "fewer than 100 pairs in all"),
    "proportional-features": Kind("note", "features that are another one times a factor plus an offset"),
    "constant-within-queries": Kind("note", "a feature with one value within each query"),
    "queries-without-pairs": Kind("note", "queries of one document, or whose documents have one label"),
    "one-query": Kind("note", "all documents belong to one query"),
    "duplicate-rows": Kind("note", "documents of a query with equal features and equal labels"),
    "fractional-labels": Kind("note", "labels that are not whole numbers: no NDCG"),
    "negative-labels": Kind("note", "negative labels: no NDCG"),
    "large-labels": Kind("note", "labels above 31, too large for the gain 2^label of NDCG"),
    "feature-order": Kind("note", "the same features in another order in the test data"),
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with the data.

    code      one of `CODES`, which also gives the severity
    message   what was found and where, in words
    advice    what to do
    features, queries, rows  names, ids and row numbers (from 0) that it concerns; `to_dict` has the first 1000 of each
    numbers   name -> number: how many, how much
    is_minor  whether it is a note, although the code is more serious
    """

    code: str
    message: str
    advice: str
    features: Sequence[str] = ()
    queries: Sequence[object] = ()
    rows: Sequence[int] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    is_minor: bool = False

    @property
    def severity(self) -> str:
        return "note" if self.is_minor else CODES[self.code].severity

    def to_dict(self) -> dict[str, Json]:
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "advice": self.advice,
            "features": [str(one) for one in self.features[:LISTED]],
            "queries": [one if isinstance(one, int) else str(one) for one in self.queries[:LISTED]],
            "rows": [int(row) for row in self.rows[:LISTED]],
            "numbers": dict(self.numbers),
        }


@dataclass(frozen=True)
class Size:
    """How large the data are."""

    documents: int
    queries: int
    features: int
    pairs: int

    def __str__(self) -> str:
        return ", ".join(counted(n, what) for what, n in vars(self).items())


@dataclass(frozen=True, eq=False, repr=False)
class Report(Tabular):
    """The result of `check`; prints as text, the worst first.

    findings  one `Finding` per thing that is wrong
    size      the number of documents, queries, features and pairs
    against   the same of the test data, if there are any
    """

    findings: Sequence[Finding]
    size: Size
    against: Size | None = None

    def __post_init__(self) -> None:
        order = list(CODES)
        worst_first = sorted(self.findings, key=lambda one: (SEVERITIES.index(one.severity), order.index(one.code)))
        object.__setattr__(self, "findings", tuple(worst_first))

    def count(self, severity: str) -> int:
        """The number of findings of this severity: error, warning or note."""
        return sum(one.severity == severity for one in self.findings)

    @property
    def codes(self) -> list[str]:
        return [one.code for one in self.findings]

    def passes(self, strict: bool = False) -> bool:
        """Whether there is no error, and with `strict` no warning either."""
        return not self.count("error") and not (strict and self.count("warning"))

    def summary(self) -> str:
        counts = [counted(self.count(one), f"{one}s") for one in SEVERITIES if self.count(one)]
        return ", ".join(counts) if counts else "nothing found"

    def table_columns(self) -> Columns:
        names = ("severity", "code", "message", "advice")
        return {name: [getattr(one, name) for one in self.findings] for name in names}

    def to_dict(self) -> dict[str, Json]:
        """Numbers, lists and strings, ready for JSON."""
        return {
            "data": dict(vars(self.size)),
            "against": None if self.against is None else dict(vars(self.against)),
            "counts": {one: self.count(one) for one in SEVERITIES},
            "findings": [one.to_dict() for one in self.findings],
        }

    def to_text(self) -> str:
        lines = [f"{self.size}"]
        if self.against is not None:
            lines.append(f"against {self.against}")
        lines.append(self.summary())
        for one in self.findings:
            lines += ["", f"{one.severity}: {one.code}", _wrapped(one.message), _wrapped(one.advice)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.to_text()


def these(n: int, what: str, singular: str, plural: str) -> str:
    """1 feature is, 2 features are."""
    return f"{counted(n, what)} {singular if n == 1 else plural}"


def percent(share: float) -> str:
    return "less than 0.1 %" if 0 < share < 0.001 else f"{100 * share:.3g} %"


def _wrapped(text: str) -> str:
    return fill(visible(text), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def listed(names: Sequence[object]) -> str:
    """The first few names: f1, f2, f3, f4, f5 and 12 more."""
    shown = [visible(str(one)[:LONGEST]) for one in names[:NAMES_SHOWN]]
    more = len(names) - len(shown)
    if more > 0:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
