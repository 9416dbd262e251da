"""What to measure, as a value: NAME[@CUTOFF][:DIALECT,OPTION=VALUE,...], in Python and on the command line.

`parse("ndcg@10:letor,ties=average")` is hashable, prints as it is spelt, and `parse(str(m)) == m`. A dialect
is a named choice of options; options given beside it override it. Every measure, option and dialect is a row
of a table here; docs/metrics.md says what they mean.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from rankwise.foundation.arrays import read_number


@dataclass(frozen=True)
class Option:
    """The values an option may take, the default first; `number`: any finite number does as well."""

    values: tuple[str, ...]
    number: bool = False

    def __str__(self) -> str:
        return "|".join((*self.values, "NUMBER") if self.number else self.values)


@dataclass(frozen=True)
class Family:
    """What may be said of the measures of one name."""

    about: str
    cutoff: Literal["none", "optional", "needed"]
    options: dict[str, Option]
    dialects: bool = False

    def base(self, dialect: str | None) -> dict[str, str]:
        """The value of every option where none is given."""
        chosen = {} if dialect is None else DIALECTS[dialect]
        return {name: chosen.get(name, option.values[0]) for name, option in self.options.items()}


_TIES = {"ties": Option(("average", "worst", "best", "stable"))}
_NO_RELEVANT = {"no-relevant": Option(("0", "1", "skip"))}
_GRADED = {"gain": Option(("exp2", "linear")), "discount": Option(("log2", "letor")), **_TIES}
_BINARY = {"relevant": Option(("positive",), number=True), **_TIES, **_NO_RELEVANT}
_CASCADE = {"max": Option(("data",), number=True), **_TIES, **_NO_RELEVANT}
_SHORT = {"short": Option(("ideal", "zero"))}
_PAIRS = {"mean": Option(("pairs", "query")), "ties": Option(("wrong", "half"))}

FAMILIES = {
    "ndcg": Family("normalised DCG", "optional", {**_GRADED, **_NO_RELEVANT, **_SHORT}, dialects=True),
    "mean-ndcg": Family("the mean of NDCG at every cutoff", "none", {**_GRADED, **_NO_RELEVANT}, dialects=True),
    "dcg": Family("discounted cumulative gain", "optional", _GRADED, dialects=True),
    "map": Family("mean average precision", "none", _BINARY),
    "precision": Family("share of relevant documents at the top", "needed", _BINARY),
    "recall": Family("share of the relevant documents that are at the top", "needed", _BINARY),
    "mrr": Family("mean reciprocal rank of the first relevant document", "optional", _BINARY),
    "err": Family("expected reciprocal rank", "optional", _CASCADE),
    "pairwise-accuracy": Family("share of the preference pairs in the right order", "none", _PAIRS),
    "kendall-tau-b": Family("rank correlation of labels and scores", "none", {}),
    "auc": Family("area under the ROC curve, for two labels", "none", {}),
}

DIALECTS = {
    "letor": {"discount": "letor", "ties": "stable"},
    "letor4": {"discount": "letor", "ties": "stable", "short": "zero"},
    "yahoo": {"ties": "stable"},
    "xgboost": {"ties": "stable", "no-relevant": "1"},
    "lightgbm": {"ties": "stable", "no-relevant": "1"},
    "sklearn": {"gain": "linear"},
    "trec": {"gain": "linear", "ties": "stable"},
}


@dataclass(frozen=True, repr=False)
class Measure:
    """One measure, made by `parse`. `options`: only what differs from the dialect, in the table's order."""

    name: str
    cutoff: int | None = None
    dialect: str | None = None
    options: tuple[tuple[str, str], ...] = ()

    @property
    def settings(self) -> dict[str, str]:
        """Every option's value."""
        return FAMILIES[self.name].base(self.dialect) | dict(self.options)

    def __str__(self) -> str:
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        parts = [] if self.dialect is None else [self.dialect]
        parts += [f"{option}={value}" for option, value in self.options]
        return f"{self.name}{cutoff}{':' if parts else ''}{','.join(parts)}"

    __repr__ = __str__


def void(measure: Measure, lowest: float, highest: float) -> str:
    """Why every ranking has the same value where all labels lie from lowest to highest; "" where rankings can differ.

    Only measures of relevance: those of grades and pairs tell any two labels apart.
    """
    level = measure.settings.get("relevant")
    if level is None:
        return ""
    rule = "label > 0" if level == "positive" else f"label >= {level}"
    if lowest > 0 if level == "positive" else lowest >= float(level):
        return f"every document is relevant ({rule})"
    if highest <= 0 if level == "positive" else highest < float(level):
        return f"no document is relevant ({rule})"
    return ""


def parse(text: str | Measure) -> Measure:
    """The measure that `text` spells; a measure is returned as it is."""
    if isinstance(text, Measure):
        return text
    if not isinstance(text, str):
        raise TypeError(f"a measure is a text such as 'ndcg@10', got {text!r}")
    head, colon, tail = text.strip().lower().partition(":")
    name, at, cutoff = head.partition("@")
    if name not in FAMILIES:
        raise ValueError(f"unknown measure {text!r}: {_suggest_measure(name)}")
    family = FAMILIES[name]
    dialect, given = _parts(tail.split(",") if colon else [], name, family)
    base = family.base(dialect)
    options = tuple((option, given[option]) for option in base if given.get(option, base[option]) != base[option])
    return Measure(name, _cutoff(cutoff if at else None, name, family), dialect, options)


def _cutoff(text: str | None, name: str, family: Family) -> int | None:
    if text is None:
        if family.cutoff == "needed":
            raise ValueError(f"{name} needs a cutoff, as in {name}@5")
        return None
    if family.cutoff == "none":
        raise ValueError(f"{name} takes no cutoff, but got {name}@{text}")
    first, comma, rest = text.partition(",")
    if comma and first.isdigit():
        raise ValueError(
            f"{name}@{text} holds a comma: give {name}@{first} and {rest} one by one, options behind a colon"
        )
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError(f"the cutoff of {name}@{text} must be a whole number from 1")
    return int(text)


def _parts(parts: Iterable[str], name: str, family: Family) -> tuple[str | None, dict[str, str]]:
    """The dialect and the options among `parts`."""
    dialect: str | None = None
    given: dict[str, str] = {}
    for part in parts:
        option, equals, value = (piece.strip() for piece in part.partition("="))
        if equals:
            if option not in family.options:
                raise ValueError(f"{name} has no option {option!r}: {_suggest(option, family.options)}")
            if option in given:
                raise ValueError(f"{name} got {option} twice: give it once")
            given[option] = _value(value, option, name, family.options[option])
        elif not family.dialects or option not in DIALECTS:
            known = (*(DIALECTS if family.dialects else ()), *(f"{o}={v}" for o, v in family.options.items()))
            raise ValueError(f"{name} does not know {part!r}: {_suggest(option, known)}")
        elif dialect is not None:
            raise ValueError(f"{name} got two dialects, {dialect} and {option}: give one")
        else:
            dialect = option
    return dialect, given


def _value(text: str, option: str, name: str, allowed: Option) -> str:
    if text in allowed.values:
        return text
    if allowed.number:
        number = read_number(text.encode())
        if math.isfinite(number):
            return str(int(number)) if number.is_integer() else repr(number)
    raise ValueError(f"{name} cannot have {option}={text}: expected {option}={allowed}")


def _suggest_measure(word: str) -> str:
    """What to write instead; the cutoff of ndcg10 was meant to be @10."""
    name = word.rstrip("0123456789")
    if name != word and name in FAMILIES and FAMILIES[name].cutoff != "none":
        return f"did you mean {name}@{word.removeprefix(name)}?"
    return _suggest(word, FAMILIES)


def _suggest(word: str, known: Iterable[str]) -> str:
    names = list(known)
    close = get_close_matches(word, names, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{hint}There is {', '.join(names)}" if names else "it has no options"
