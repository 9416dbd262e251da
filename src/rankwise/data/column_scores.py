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
    places = {name: place for name in spellings(spelled) if (place := place_of(data, name)) is not None}
    if not places:
        raise ValueError(no_column(data, spelled.removeprefix("-").removesuffix(ASCENDING), where, spelled))
    name, place = next(iter(places.items()))
    sign = 1.0 if name == spelled else -1.0
    column = data.X[:, [place]]
    dense = column if isinstance(column, np.ndarray) else column.toarray()
    scores: Floats = sign * dense.ravel().astype(np.float64)
    return scores


def spellings(spelled: str) -> list[str]:
    """The names that may be meant, the likeliest first: a column may itself be called -price."""
    return list(dict.fromkeys([spelled, spelled.removeprefix("-"), spelled.removesuffix(ASCENDING)]))
