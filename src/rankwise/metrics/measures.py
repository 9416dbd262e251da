"""Measures as values: NAME[@CUTOFF][:DIALECT,OPTION=VALUE,...], in Python and on the command line.

`parse("ndcg@10:letor,ties=average")` is hashable, prints as it is spelt, and `parse(str(m)) == m`. A dialect is a named
set of options; further options override it. Every measure, option and dialect is a row of a table in this module, and
docs/metrics.md explains them. `register_measure` adds rows.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, NamedTuple

import numpy as np

from rankwise.foundation.arrays import Floats, read_number
from rankwise.foundation.names import one_of
from rankwise.foundation.registry import NAME, Registry, can_take

OfQuery = Callable[..., float]  # of (labels, scores) of a query's documents, best first, and the cutoff if any


class Column(NamedTuple):
    """The result of a measure: one value per query (NaN if it does not count), and their mean."""

    values: Floats
    mean: float
    weights: Floats | None = None  # of the queries in the mean, if they are not all 1

    def weighted_by(self, weights: Floats) -> "Column":
        """The same values with a self-normalised mean: Σ weight · value / Σ weight over the queries that count."""
        own = weights if self.weights is None else weights * self.weights
        counts = ~np.isnan(self.values)
        total = math.fsum(own[counts])
        return Column(self.values, math.fsum((own * self.values)[counts]) / total if total else math.nan, own)


Cutoff = Literal["none", "optional", "needed"]
CUTOFFS = ("none", "optional", "needed")


@dataclass(frozen=True)
class Option:
    """The values of an option, the default first; `number`: whether any finite number is valid too."""

    values: tuple[str, ...]
    number: bool = False

    def __str__(self) -> str:
        return "|".join((*self.values, "NUMBER") if self.number else self.values)


@dataclass(frozen=True)
class Family:
    """The measures of one name: their description, cutoff and options.

    column    a function (measure, rankings) -> Column; or the place where it is defined
    of_query  the function of one query, for measures that are computed query by query
    """

    about: str
    cutoff: Cutoff
    options: dict[str, Option]
    column: str | Callable[..., Column]
    dialects: bool = False
    of_query: OfQuery | None = None

    def base(self, dialect: str | None) -> dict[str, str]:
        """The default value of every option, with this dialect."""
        chosen = {} if dialect is None else DIALECTS[dialect]
        return {name: chosen.get(name, option.values[0]) for name, option in self.options.items()}


_TIES = {"ties": Option(("average", "worst", "best", "stable"))}
_NO_RELEVANT = {"no-relevant": Option(("0", "1", "skip"))}
_GRADED = {"gain": Option(("exp2", "linear")), "discount": Option(("log2", "letor")), **_TIES}
_BINARY = {"relevant": Option(("positive",), number=True), **_TIES, **_NO_RELEVANT}
_CASCADE = {"max": Option(("data",), number=True), **_TIES, **_NO_RELEVANT}
_SHORT = {"short": Option(("ideal", "zero"))}
_PAIRS = {"mean": Option(("pairs", "query")), "ties": Option(("wrong", "half"))}

_COLUMNS = "rankwise.metrics.columns:"
_NDCG = {**_GRADED, **_NO_RELEVANT, **_SHORT}
_MEAN_NDCG = {**_GRADED, **_NO_RELEVANT}
_PAIRWISE = "share of the preference pairs in the right order"

FAMILIES: Registry[Family] = Registry(
    "measure",
    {
        "ndcg": Family("normalised DCG", "optional", _NDCG, _COLUMNS + "ndcg", dialects=True),
        "mean-ndcg": Family(
            "the mean of NDCG at every cutoff", "none", _MEAN_NDCG, _COLUMNS + "mean_ndcg", dialects=True
        ),
        "dcg": Family("discounted cumulative gain", "optional", _GRADED, _COLUMNS + "dcg", dialects=True),
        "map": Family("mean average precision", "none", _BINARY, _COLUMNS + "average_precision"),
        "precision": Family("share of relevant documents at the top", "needed", _BINARY, _COLUMNS + "precision"),
        "recall": Family("share of the relevant documents that are at the top", "needed", _BINARY, _COLUMNS + "recall"),
        "mrr": Family("mean reciprocal rank of the first relevant document", "optional", _BINARY, _COLUMNS + "mrr"),
        "err": Family("expected reciprocal rank", "optional", _CASCADE, _COLUMNS + "err"),
        "pairwise-accuracy": Family(_PAIRWISE, "none", _PAIRS, _COLUMNS + "pairwise_accuracy"),
        "kendall-tau-b": Family("rank correlation of labels and scores", "none", {}, _COLUMNS + "kendall_tau_b"),
        "auc": Family("area under the ROC curve, for two labels", "none", {}, _COLUMNS + "auc"),
        "judged": Family("share of the documents at the top that have a label", "needed", _TIES, _COLUMNS + "judged"),
    },
)

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
    """One measure, made by `parse`. `options` has only those that differ from the dialect, in the table's order.

    Examples
    --------
    >>> from rankwise.metrics import parse
    >>> measure = parse("NDCG@10:letor")
    >>> measure, measure.cutoff, measure.settings["discount"]
    (ndcg@10:letor, 10, 'letor')
    """

    name: str
    cutoff: int | None = None
    dialect: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    family: Family = field(kw_only=True, compare=False)

    @property
    def settings(self) -> dict[str, str]:
        """The value of every option."""
        return self.family.base(self.dialect) | dict(self.options)

    def __str__(self) -> str:
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        parts = [] if self.dialect is None else [self.dialect]
        parts += [f"{option}={value}" for option, value in self.options]
        return f"{self.name}{cutoff}{':' if parts else ''}{','.join(parts)}"

    __repr__ = __str__


def void(measure: Measure, lowest: float, highest: float) -> str:
    """Why every ranking has the same value, if all labels are between lowest and highest; "" if values can differ.

    This concerns measures of relevance only: those of grades and pairs distinguish any two labels.
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


SHORT = {"p": "precision", "r": "recall", "ap": "map", "rr": "mrr"}  # as other tools call them


def register_measure(
    name: str, measure: OfQuery | Family, *, cutoff: Cutoff = "none", about: str = "", replace: bool = False
) -> None:
    """Register `name` for a measure: `evaluate(y, scores, qid, [name])`.

    measure  called with the labels and the scores of one query's documents, best first (ties in the order of the rows),
             and with the cutoff (or None) if it takes one; returns a number, the larger the better, or NaN if the query
             does not count. The mean over queries is reported. Or a `Family`, as for the built-in measures.
    cutoff   whether the measure has a cutoff, as in name@k: "none", "optional" or "needed"
    about    a short description
    replace  whether to replace a measure that is registered under this name

    Examples
    --------
    >>> from rankwise import evaluate, register_measure
    >>> register_measure("first-is-best", lambda labels, scores: float(labels[0] == labels.max()))
    >>> evaluate([2, 1, 0], [0.3, 0.2, 0.1], measures="first-is-best")["first-is-best"]
    1.0
    """
    one_of("cutoff", cutoff, CUTOFFS)
    if not isinstance(measure, Family):
        arguments = ("labels", "scores") if cutoff == "none" else ("labels", "scores", "cutoff")
        if not can_take(measure, *arguments):
            raise TypeError(f"a measure is called with ({', '.join(arguments)}) of one query; got {measure!r}")
        measure = _by_query(measure, cutoff, about)
    FAMILIES.register(name, measure, replace=replace)


def _by_query(of_query: OfQuery, cutoff: Cutoff = "none", about: str = "") -> Family:
    return Family(about, cutoff, {}, _COLUMNS + "by_query", of_query=of_query)


def parse(measure: str | Measure | OfQuery) -> Measure:
    """The measure of a string, or of a function of one query's labels and scores, which is named after the function.

    A `Measure` is returned as it is.

    Examples
    --------
    >>> from rankwise.metrics import parse
    >>> parse("ndcg@10:ties=average") == parse("NDCG@10")
    True
    """
    if isinstance(measure, Measure):
        return measure
    if callable(measure) and can_take(measure, "labels", "scores"):
        return Measure(_name_of(measure), family=_by_query(measure))
    if not isinstance(measure, str):
        raise TypeError(f"a measure is a string such as 'ndcg@10' or a function of labels and scores; got {measure!r}")
    head, colon, tail = measure.strip().lower().partition(":")
    name, at, cutoff = head.partition("@")
    name = name if name in FAMILIES else SHORT.get(name, name)
    _check_cutoff_is_marked(name)
    name, family = FAMILIES.spelling(name), FAMILIES[name]
    dialect, given = _parts(tail.split(",") if colon else [], name, family)
    base = family.base(dialect)
    options = tuple((option, given[option]) for option in base if given.get(option, base[option]) != base[option])
    return Measure(name, _cutoff(cutoff if at else None, name, family), dialect, options, family=family)


def parse_all(measures: str | Measure | OfQuery | Iterable[str | Measure | OfQuery]) -> list[Measure]:
    """A list of measures, from one measure or several; an error if there is none.

    Examples
    --------
    >>> from rankwise.metrics import parse_all
    >>> parse_all(["ndcg@10", "MAP"])
    [ndcg@10, map]
    """
    several = not (isinstance(measures, str | Measure) or callable(measures))
    parsed = [parse(one) for one in measures] if several else [parse(measures)]  # type: ignore[union-attr, arg-type]
    if not parsed:
        raise ValueError("measures is empty: name at least one, such as 'ndcg@10'")
    return parsed


def _name_of(function: OfQuery) -> str:
    name: str = getattr(function, "__name__", type(function).__name__).lower().replace("_", "-")
    if not NAME.fullmatch(name):
        raise ValueError(f"a measure needs a name, and {name} is not a valid one: define it by def, or register it")
    return name


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
            f"{name}@{text} contains a comma: pass {name}@{first} and {rest} separately, and options after a colon"
        )
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError(f"the cutoff of {name}@{text} must be an integer of at least 1")
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


def _check_cutoff_is_marked(word: str) -> None:
    """Raise a helpful error for ndcg10, which is probably meant to be ndcg@10."""
    name = word.rstrip("0123456789")
    if name != word and word not in FAMILIES and name in FAMILIES and FAMILIES[name].cutoff != "none":
        raise ValueError(f"unknown measure {word!r}: did you mean {name}@{word.removeprefix(name)}?")


def _suggest(word: str, known: Iterable[str]) -> str:
    names = list(known)
    close = get_close_matches(word, names, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{hint}Available: {', '.join(names)}" if names else "it has no options"
