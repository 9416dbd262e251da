"""Judgements combined: one label per document of a query, out of repeated and contradicting ratings."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from math import isfinite
from statistics import fmean, median

from rankwise.foundation.names import one_of
from rankwise.foundation.texts import counted, first_few
from rankwise.joining.records import Judgment
from rankwise.joining.report import Conflict, Pair, listed

Choice = Callable[[list[float]], float]

RULES: dict[str, Choice] = {"first": lambda ratings: ratings[0], "last": lambda ratings: ratings[-1]}
RULES |= {"mean": lambda ratings: fmean(set(ratings)), "max": max}  # a repeated rating counts once
ON_CONFLICT = ("error", *RULES)
COMBINE: dict[str, Choice] = {"mean": fmean, "median": median}
_JUDGES_SHOWN = 8


@dataclass(frozen=True)
class Judged:
    """labels by document, in the order of the file; the rest is what the report tells."""

    labels: dict[Pair, float]
    judges: tuple[str, ...]
    unrated: int
    repeated: int
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True)
class Settling:
    """How several ratings of a document become one.

    on_conflict  which of the different ratings of one judge, or of a file without judges, counts; "error": none
    combine      what the ratings of several judges become
    judges       the judges that count; None: all
    """

    on_conflict: str = "error"
    combine: str = "mean"
    judges: Collection[str] | None = None

    def __post_init__(self) -> None:
        one_of("on_conflict", self.on_conflict, ON_CONFLICT)
        one_of("combine", self.combine, COMBINE)

    def __call__(self, records: Iterable[Judgment], pair_of: Callable[[str, str], Pair], name: str) -> Judged:
        """One label per document; `name` is the file's, for messages."""
        found: dict[Pair, dict[str | None, list[Judgment]]] = {}
        seen: dict[str | None, None] = {}
        unrated: dict[Pair, None] = {}
        for one in records:
            seen[one.judge] = None
            pair = pair_of(one.query, one.docid)
            if one.rating is None:
                unrated[pair] = None
            elif self.judges is None or one.judge in self.judges:
                found.setdefault(pair, {}).setdefault(one.judge, []).append(one)
        self._check_judges([judge for judge in seen if judge is not None], name)
        if not found:
            raise ValueError(f"{name} holds no judgement with a rating")
        every = [ratings for by_judge in found.values() for ratings in by_judge.values()]
        distinct = [len({one.rating for one in ratings}) for ratings in every]
        conflicts = self._conflicts([one for one, n in zip(every, distinct, strict=True) if n > 1], pair_of)
        labels = {pair: self._label(by_judge.values(), name) for pair, by_judge in found.items()}
        judges = tuple(judge for judge in seen if judge is not None and (self.judges is None or judge in self.judges))
        repeated = sum(map(len, every)) - sum(distinct)
        return Judged(labels, judges, len(unrated.keys() - found.keys()), repeated, conflicts)

    def _check_judges(self, seen: list[str], name: str) -> None:
        for judge in self.judges or ():
            if judge not in seen:
                known = f"its judges: {first_few(seen, _JUDGES_SHOWN)}" if seen else "it names no judges"
                raise ValueError(f"{name} has no ratings by {judge!r} ({known})")

    def _conflicts(
        self, contradicting: list[list[Judgment]], pair_of: Callable[[str, str], Pair]
    ) -> tuple[Conflict, ...]:
        conflicts = []
        for ratings in contradicting:
            distinct = dict.fromkeys(one.rating for one in ratings if one.rating is not None)
            conflicts.append(Conflict(*pair_of(ratings[0].query, ratings[0].docid), tuple(distinct)))
        if conflicts and self.on_conflict == "error":
            second = next(one for one in contradicting[0] if one.rating != contradicting[0][0].rating)
            raise ValueError(
                f"{second.place}: {counted(len(conflicts), 'documents')} with different ratings, {listed(conflicts)}: "
                "mend the file, or choose by on_conflict=, --on-conflict first, last, mean or max"
            )
        return tuple(conflicts)

    def _label(self, by_judge: Iterable[list[Judgment]], name: str) -> float:
        try:
            settled = [self._settled([one.rating for one in ratings if one.rating is not None]) for ratings in by_judge]
            label = settled[0] if len(settled) == 1 else COMBINE[self.combine](settled)
        except OverflowError:
            label = float("inf")
        if not isfinite(label):
            raise ValueError(f"{name}: a mean of ratings is too large for float64: write smaller ratings")
        return label

    def _settled(self, ratings: list[float]) -> float:
        return ratings[0] if len(set(ratings)) == 1 else RULES[self.on_conflict](ratings)
