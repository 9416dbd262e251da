"""Signs of weights that are given by name, for trainings whose rows are plain arrays."""

import re
from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from rankwise.data.columns import Known
from rankwise.rankers.signs import signs_by_name

_SIGNS = re.compile("(ranker__)*monotonic_cst")  # of a RankSVM, also in a ScaledRanker or a RankSVMCV


def with_signs_by_place(estimator: Any, columns: Known | None) -> Any:
    """A copy of a ranker whose signs are in the order of the columns; itself if they are not given by name.

    A ScaledRanker does not change the order of columns. A pipeline may, so its parameters are left as they are.
    """
    params = estimator.get_params() if columns is not None else {}
    named = {key: one for key, one in params.items() if _SIGNS.fullmatch(key) and isinstance(one, Mapping)}
    if columns is None or not named:
        return estimator
    return clone(estimator).set_params(**{key: signs_by_name(one, columns) for key, one in named.items()})
