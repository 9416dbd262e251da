"""Names of features. f1, f2, ... (or f0, f1, ...), in any order, stand for feature numbers; all others are names."""

from collections.abc import Sequence

QUERY_IDS = ("qid", "query_id", "queryid", "query")  # names of a column of query ids in a data frame


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
