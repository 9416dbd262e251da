"""A column of the data as a ranker: by a field such as bm25 the largest value first, by -price the smallest."""

import re

import numpy as np

from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Floats
from rankwise.foundation.names import nearest
from rankwise.foundation.texts import first_few

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
    place = int(name.removeprefix("f")) - data.first_index if re.fullmatch("f?[0-9]{1,18}", name) else -1
    return place if 0 <= place < data.n_features else None


def _unknown(data: RankingData, spelled: str, where: str) -> str:
    if data.names is None:
        cure = f"its features are f{data.first_index} to f{data.first_index + data.n_features - 1}"
    elif near := nearest(spelled.removeprefix("-").removesuffix(ASCENDING), data.names):
        cure = f"did you mean {str(near)!r}?"
    else:
        cure = f"its columns are {first_few(data.names, _SHOWN, lambda name: repr(str(name)))}"
    return f"no column {spelled!r} in {where}: {cure}"
