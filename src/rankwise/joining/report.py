"""What a join found: how much matched, and what a user should know before training on the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rankwise.foundation.texts import counted, first_few, visible

_SHOWN = 3  # examples in a sentence
_LISTED = 10  # examples in JSON


class Pair(NamedTuple):
    """A document of a query."""

    query: str
    docid: str


class Conflict(NamedTuple):
    """Ratings that contradict each other."""

    query: str
    docid: str
    ratings: tuple[float, ...]


class Filled(NamedTuple):
    """A feature that some rows have no value for, their number, and the value that they take."""

    name: str
    rows: int
    value: float


@dataclass(frozen=True)
class JudgmentFindings:
    """The judgements: their file and its format, and the numbers of documents (once per query) and queries.

    judges     whose ratings count; `combine` says what several ratings become
    unrated    documents, or queries, that are listed without a rating
    repeated   judgements that were given before, with the same rating
    conflicts  documents with different ratings, settled by `on_conflict`
    unmatched  judged documents that were not logged; they are left out
    """

    name: str
    format: str
    documents: int
    queries: int
    judges: tuple[str, ...]
    combine: str
    unrated: int
    repeated: int
    conflicts: tuple[Conflict, ...]
    on_conflict: str
    unmatched: tuple[Pair, ...]

    def sentences(self) -> list[str]:
        lines = []
        if len(self.judges) > 1:
            lines.append(f"the ratings of {counted(len(self.judges), 'judges')} are combined by their {self.combine}")
        if self.unrated:
            lines.append(f"{counted(self.unrated, 'entries')} without a rating left out")
        if self.repeated:
            lines.append(f"{counted(self.repeated, 'judgements')} repeated with the same rating")
        if self.conflicts:
            what = f"{counted(len(self.conflicts), 'documents')} with different ratings"
            lines.append(f"{what}, settled by {self.on_conflict!r}: {listed(self.conflicts)}")
        if self.unmatched:
            what = f"{counted(len(self.unmatched), 'judged documents')} not logged, left out"
            lines.append(f"{what}: {listed(self.unmatched)}")
        return lines


@dataclass(frozen=True)
class FeatureFindings:
    """The features: their file and its format, and the numbers of documents (once per query) and queries.

    repeated   documents that were logged before, with the same values
    relogged   documents that were logged before with other values, settled by `on_relogged`
    unmatched  logged documents that were not judged; they are left out
    filled     features without a value in some rows
    """

    name: str
    format: str
    documents: int
    queries: int
    repeated: int
    relogged: tuple[Pair, ...]
    on_relogged: str
    unmatched: tuple[Pair, ...]
    filled: tuple[Filled, ...]

    def sentences(self) -> list[str]:
        lines = []
        if self.repeated:
            lines.append(f"{counted(self.repeated, 'documents')} logged again with the same values")
        if self.relogged:
            what = f"{counted(len(self.relogged), 'documents')} logged again with other values"
            lines.append(f"{what}, of which the {self.on_relogged} count: {listed(self.relogged)}")
        if self.unmatched:
            what = f"{counted(len(self.unmatched), 'logged documents')} not judged, left out"
            lines.append(f"{what}: {listed(self.unmatched)}")
        lines += [
            f"feature {visible(repr(name))} has no value in {counted(rows, 'rows')}, where it is set to {value:g}"
            for name, rows, value in self.filled
        ]
        return lines


@dataclass(frozen=True)
class JoinReport:
    """What `rankwise.join` found in both files, and the size of the result.

    n_unjudged  the rows that were not judged and have the label `unjudged`
    """

    judgments: JudgmentFindings
    features: FeatureFindings
    rows: int
    queries: int
    n_features: int
    unjudged: float | None
    n_unjudged: int

    def to_text(self) -> str:
        """A sentence per finding."""
        lines = []
        for what, part in (("judgements", self.judgments), ("features", self.features)):
            size = f"{counted(part.documents, 'documents')} of {counted(part.queries, 'queries')}"
            lines.append(f"{what}: {visible(part.name)} ({part.format}), {size}")
            lines += [f"  {one}" for one in part.sentences()]
        shape = ((self.rows, "rows"), (self.queries, "queries"), (self.n_features, "features"))
        lines.append(f"joined: {', '.join(counted(n, what) for n, what in shape)}")
        if self.n_unjudged:
            lines.append(f"  {counted(self.n_unjudged, 'rows')} not judged, with the label {self.unjudged:g}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON holds it; of documents, their number and the first ones."""
        judgments, features = dict(vars(self.judgments)), dict(vars(self.features))
        for part, names in ((judgments, ("conflicts", "unmatched")), (features, ("relogged", "unmatched"))):
            part |= {name: _first(part[name]) for name in names}
        judgments["judges"] = list(self.judgments.judges)
        features["filled"] = [one._asdict() for one in self.features.filled]
        return vars(self) | {"judgments": judgments, "features": features}


def _first(pairs: Sequence[Pair | Conflict]) -> dict[str, Any]:
    return {"count": len(pairs), "first": [one._asdict() for one in pairs[:_LISTED]]}


def listed(found: Sequence[Pair | Conflict]) -> str:
    """The first few, for a sentence."""
    return visible(first_few(found, _SHOWN, lambda one: f"{one.docid!r} of {one.query!r}{_ratings(one)}"))


def _ratings(one: Pair | Conflict) -> str:
    return f" ({', '.join(f'{rating:g}' for rating in one.ratings)})" if isinstance(one, Conflict) else ""
