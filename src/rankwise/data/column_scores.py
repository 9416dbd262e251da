"""A column of the data as a ranker: by a field such as bm25 the largest value first, by -price the smallest."""

import numpy as np

from rankwise.data.columns import no_column, place_of
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Floats

ASCENDING = ":ascending"


def column_scores(data: RankingData, spelled: str, where: str) -> Floats:
    """The scores of the documents by a column: its values, negated for "-NAME" or "NAME:ascending".

    spelled  the name of a column; or a number, 25 or f25, if the features have no names
    where    names the data in messages
    """
    place, sign = _found(data, spelled)
    if place is None:
        name = spelled.removeprefix("-").removesuffix(ASCENDING)
        raise ValueError(no_column(data, name, where, spelled))
    column = data.X[:, [place]]
    dense = column if isinstance(column, np.ndarray) else column.toarray()
    scores: Floats = sign * dense.ravel().astype(np.float64)
    return scores


def is_column(data: RankingData, spelled: str) -> bool:
    """Whether `column_scores` finds the column."""
    return _found(data, spelled)[0] is not None


def _found(data: RankingData, spelled: str) -> tuple[int | None, float]:
    """The place of a column, and 1 if its largest value comes first, else -1."""
    place = place_of(data, spelled)
    if place is None and spelled.startswith("-"):
        return place_of(data, spelled[1:]), -1.0
    if place is None and spelled.endswith(ASCENDING):
        return place_of(data, spelled.removesuffix(ASCENDING)), -1.0
    return place, 1.0
