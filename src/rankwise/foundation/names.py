"""Names of options, in any case and with `_` or `-`; and of features, where f1, f2, ... (or f0, ...) are numbers."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

QUERY_IDS = ("qid", "query_id", "queryid", "query")  # names of a column of query ids in a data frame


def key(name: str) -> str:
    """What is the same for all spellings of a name."""
    return name.strip().lower().replace("_", "-")


def spelled(name: str, value: object, known: Iterable[str], also: str = "") -> str:
    """The known name that the argument `name` has as its value, in any spelling; ValueError if there is none.

    also  what else may be given, in words
    """
    spellings = {key(one): one for one in known}
    if isinstance(value, str) and key(value) in spellings:
        return spellings[key(value)]
    raise ValueError(none_of(name, value, spellings.values(), also))


def one_of(name: str, value: object, known: Iterable[str | None], also: str = "") -> None:
    """Raise ValueError if the argument `name` has a value that is not `known`, as it is spelled there."""
    known = list(known)
    if not any(value is one or (isinstance(value, str) and value == one) for one in known):
        raise ValueError(none_of(name, value, known, also))


def none_of(name: str, value: object, known: Iterable[str | None], also: str = "") -> str:
    """The sentence about a value that is not known, with the nearest name."""
    known = list(known)
    near = nearest(str(value), [one for one in known if one is not None])
    hint = f" Did you mean {near!r}?" if near is not None else ""
    few, others = "one of " if len(known) > 1 else "", f", or {also}" if also else ""
    return f"{name} must be {few}{', '.join(map(repr, known))}{others}; got {value!r}.{hint}"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant; None if none is similar."""
    spellings = {key(one): one for one in known}
    return next((spellings[one] for one in get_close_matches(key(name), spellings, 1)), None)


class Patterns:
    """Names, and patterns of names such as `bm25_*`; `name in patterns` tells whether one of them fits."""

    def __init__(self, given: Iterable[str] = ()) -> None:
        if isinstance(given, str):
            raise TypeError(f"names must be in a list, got the text {given!r}")
        self._given = dict.fromkeys(given)
        self._fits: dict[str, bool] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __contains__(self, name: str) -> bool:
        if name not in self._fits:  # a log has the same few names in every row
            self._fits[name] = name in self._given or any(fnmatchcase(name, one) for one in self)
        return self._fits[name]


def feature_names(n: int, first_index: int) -> list[str]:
    return [f"f{i}" for i in range(first_index, first_index + n)]


def numbered(names: Sequence[str]) -> tuple[tuple[str, ...] | None, int]:
    """(None, first index) if the names are f1, f2, ... or f0, f1, ... in this order; else (names, 1)."""
    first = int((bool(names) and names[0] == "f1") or not names)
    if list(names) == feature_names(len(names), first):
        return None, first
    return tuple(names), 1


def by_number(names: Sequence[str]) -> list[int] | None:
    """The positions of f1, f2, ... (or f0, f1, ...) among the names, in any order; None if there are other names."""
    places = {name: i for i, name in enumerate(names)}
    wanted = feature_names(len(names), 0 if "f0" in places else 1)
    return [places[name] for name in wanted] if places.keys() == set(wanted) else None
