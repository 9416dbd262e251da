"""The signs of weights that a user fixes: 1, -1 or 0 per feature, in the order of the columns or by name."""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from rankwise.data.columns import Known, no_column, place_of
from rankwise.foundation.arrays import Floats

Signs: TypeAlias = ArrayLike | Mapping[str, int]

NAMELESS = (
    "monotonic_cst names features, and the columns of X have no names: fit to a frame or a RankingData with names, or "
    "pass 1, -1 or 0 per feature; in a pipeline, set_output(transform='pandas') keeps names"
)
_SHOWN = 40  # characters of a wrong value


def signs_by_name(given: Mapping[str, int], columns: Known, argument: str = "monotonic_cst") -> Floats:
    """The signs of all features, from those given by name, or by number if columns have none; 0 for all others."""
    signs, known = np.zeros(columns.n_features), dict[int, str]()
    for name, value in given.items():
        place = place_of(columns, str(name))
        if place is None:
            raise ValueError(f"{argument}: {no_column(columns, str(name), 'the data')}")
        if place in known:
            raise ValueError(f"{argument} gives the sign of one feature twice: as {known[place]!r} and as {name!r}")
        known[place], signs[place] = str(name), _sign(value, f"{argument}[{name!r}]")
    return signs


def signs_by_place(given: Signs, n_features: int) -> Floats:
    """One sign per feature; an error if there are not as many."""
    if isinstance(given, Mapping):
        raise ValueError(NAMELESS)
    try:
        values = np.asarray(given)
    except ValueError:  # lists of different lengths
        values = np.asarray(None)
    if values.shape != (n_features,):
        what = f"shape {values.shape}" if values.shape else f"a {type(given).__name__}"
        raise ValueError(f"monotonic_cst must hold one number per feature, {n_features}; got {what}")
    return np.array([_sign(value, f"monotonic_cst[{place}]") for place, value in enumerate(values.tolist())])


def plain_signs(given: Signs) -> dict[str, int] | list[int]:
    """The signs as a model file holds them, by name or by place."""
    if isinstance(given, Mapping):
        return {str(name): int(_sign(value, f"monotonic_cst[{name!r}]")) for name, value in given.items()}
    return [int(one) for one in signs_by_place(given, len(np.asarray(given)))]


def _sign(value: object, where: str) -> float:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if is_number and value in (-1, 0, 1):
        return float(value)
    allowed = "1 (weight ≥ 0), -1 (weight ≤ 0) or 0 (free)"
    raise ValueError(f"{where} must be {allowed}; got {repr(value)[:_SHOWN]}")
