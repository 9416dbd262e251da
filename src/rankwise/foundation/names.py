"""Names: of options, where case makes no difference nor `_` for `-`; and of features, where f1, f2, ... are numbers."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

QUERY_IDS = ("qid", "query_id", "queryid", "query")  # names under which query ids are found in a frame


def key(name: str) -> str:
    """What is the same for all spellings of a name."""
    return name.strip().lower().replace("_", "-")


def spelled(argument: str, given: object, known: Iterable[str], more: str = "") -> str:
    """The known name that `given` is a spelling of; ValueError, with the names there are, if it is none.

    more  what else the argument takes, for the message
    """
    names = {key(name): name for name in known}
    if isinstance(given, str) and key(given) in names:
        return names[key(given)]
    raise ValueError(unknown_name(argument, given, list(names.values()), more))


def unknown_name(argument: str, given: object, known: Sequence[str], more: str = "") -> str:
    """What to say of a name that is none of those known."""
    names = {key(name): name for name in known}
    near = get_close_matches(key(str(given)), names, 1)
    hint = f" Did you mean {names[near[0]]!r}?" if near else ""
    return f"{argument} must be one of {', '.join(map(repr, known))}{more}; got {given!r}.{hint}"


def feature_names(n: int, first_index: int) -> list[str]:
    return [f"f{i}" for i in range(first_index, first_index + n)]


def numbered(names: Sequence[str]) -> tuple[tuple[str, ...] | None, int]:
    """(None, first index) of f1, f2, ... or f0, f1, ...; (names, 1) of all others."""
    first = int((bool(names) and names[0] == "f1") or not names)
    if list(names) == feature_names(len(names), first):
        return None, first
    return tuple(names), 1


def by_number(names: Sequence[str]) -> list[int] | None:
    """The places of f1, f2, ... (or f0, f1, ...) among the names, which may come in any order; None of all others."""
    places = {name: i for i, name in enumerate(names)}
    wanted = feature_names(len(names), 0 if "f0" in places else 1)
    return [places[name] for name in wanted] if places.keys() == set(wanted) else None
