"""Measures that are sums over the relevant documents of a function of their rank, as counterfactual estimates need.

A click tells of one document and never of those that were not clicked. A measure can therefore be estimated if each
relevant document adds to it by its own rank alone: not NDCG, whose ideal is unknown, and not MRR, which depends on the
first relevant document.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import numpy as np

from rankwise.clicks.propensities import Propensities
from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.names import key, spelled


class Kind(NamedTuple):
    """The measures of one name: whether they take a cutoff, and what a relevant document of each rank adds.

    value  a function of ranks, and of the propensities of the positions at these ranks
    """

    cutoff: Literal["none", "optional", "needed"]
    value: Callable[[Ints, Floats], Floats]


KINDS = {
    "dcg": Kind("optional", lambda rank, _: 1 / np.log2(1.0 + rank)),
    "reciprocal-rank": Kind("optional", lambda rank, _: 1.0 / rank),
    "average-rank": Kind("none", lambda rank, _: rank.astype(np.float64)),
    "hits": Kind("needed", lambda rank, _: np.ones(rank.shape)),
    "clicks": Kind("optional", lambda _, looked: looked),
}
# measures of judgements, and what is nearest to them
INSTEAD = {"ndcg": "dcg", "mrr": "reciprocal-rank", "map": "dcg"}


class ClickMeasure(NamedTuple):
    """A measure such as dcg@10, made by `parse`."""

    name: str
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    def at(self, rank: Ints, position: Ints, propensities: Propensities | None) -> Floats:
        """What a relevant document adds at each of these ranks, which are at these positions of a page."""
        looked = np.ones(rank.shape)
        if self.name == "clicks":
            if propensities is None:
                raise ValueError("the measure clicks needs propensities: it predicts the clicks on the new order")
            looked = propensities.at(position)
        value = KINDS[self.name].value(rank, looked)
        return value if self.cutoff is None else np.where(rank <= self.cutoff, value, 0.0)


def default_measures(propensities: Propensities | None) -> list[str]:
    """Those that are estimated if none are given."""
    return ["dcg@10", "average-rank", *(() if propensities is None else ("clicks",))]


def parse(measure: str) -> ClickMeasure:
    """The measure of a text such as "dcg@10"."""
    if not isinstance(measure, str):
        raise TypeError(f"a measure of clicks is a text such as 'dcg@10'; got {measure!r}")
    word, at, text = measure.partition("@")
    judged = key(word.partition(":")[0])
    if judged in INSTEAD:
        instead = f"{INSTEAD[judged]}{at}{text.partition(':')[0]}"
        reason = "depends on several documents of a list at once and cannot be estimated from clicks"
        raise ValueError(f"measure {measure!r} {reason}: use {instead!r}")
    name = spelled("measure", word, KINDS)
    needed = KINDS[name].cutoff
    if not at:
        if needed == "needed":
            raise ValueError(f"{name} needs a cutoff, as in {name}@5")
        return ClickMeasure(name)
    if needed == "none":
        raise ValueError(f"{name} takes no cutoff, but got {measure}")
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError(f"the cutoff of {measure} must be an integer of at least 1")
    return ClickMeasure(name, int(text))


def parse_all(measures: str | Iterable[str]) -> list[ClickMeasure]:
    """Each measure once, in the order given."""
    return list(dict.fromkeys(map(parse, [measures] if isinstance(measures, str) else measures)))
