"""A column of the data as a ranker: by a field such as bm25 the largest value first, by -price the smallest."""

from difflib import get_close_matches

import numpy as np

from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Floats

ASCENDING = ":ascending"
_SHOWN = 8  # names of columns in a message


def column_scores(data: RankingData, spelled: str, where: str) -> Floats:
    """The scores of the documents by a column: its values, negated for "-NAME" or "NAME:ascending".

    spelled  the name of a column; or a number, 25 or f25, if the features have no names
    where    names the data in messages
    """
    place = _place(data, spelled)
    sign = 1.0
    if place is None and spelled.startswith("-"):
        place, sign = _place(data, spelled[1:]), -1.0
    elif place is None and spelled.endswith(ASCENDING):
        place, sign = _place(data, spelled.removesuffix(ASCENDING)), -1.0
    if place is None:
        raise ValueError(_unknown(data, spelled, where))
    column = data.X[:, [place]]
    dense = column if isinstance(column, np.ndarray) else column.toarray()
    scores: Floats = sign * dense.ravel().astype(np.float64)
    return scores


def _place(data: RankingData, name: str) -> int | None:
    """The place of the column in X; None if there is no such column."""
    if data.names is not None:
        return list(data.names).index(name) if name in data.names else None
    digits = name.removeprefix("f")
    place = int(digits) - data.first_index if digits.isascii() and digits.isdigit() else -1
    return place if 0 <= place < data.n_features else None


def _unknown(data: RankingData, spelled: str, where: str) -> str:
    if data.names is None:
        last = data.first_index + data.n_features - 1
        known = f"its features have numbers, f{data.first_index} to f{last}"
        return f"{where} has no column {spelled!r}: {known}"
    bare = spelled.removeprefix("-").removesuffix(ASCENDING)
    near = get_close_matches(bare, data.names, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    more = ", ..." if data.n_features > _SHOWN else ""
    return f"{where} has no column {spelled!r}: {hint}Its columns: {', '.join(map(repr, data.names[:_SHOWN]))}{more}"
