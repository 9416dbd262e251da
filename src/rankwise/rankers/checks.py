"""Options and sizes that every training checks."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from rankwise.foundation.devices import AnyFloats
from rankwise.foundation.memory import check_room

LEAST_WEIGHT = 1e-150  # of the documents that weigh most: its square is still a normal number
NO_PAIR = "no preference pair: no query has two different labels (rows of weight 0 do not count), so coef_ is 0"
VECTORS = 12  # as long as X is wide, that a solver holds at a time


@contextmanager
def naming_nan(X: object) -> Iterator[None]:
    """A context that names the place of a NaN on disk, which is found only when it has spoilt what is computed."""
    try:
        yield
    except ValueError:
        from rankwise.data.chunks import ChunkedData  # slow to import, and rarely needed

        if isinstance(X, ChunkedData):
            X.check_finite()
        raise


def check_room_for_weights(n_features: int) -> None:
    """One sentence where not even a solver's few vectors of weights would fit."""
    needed = 8 * VECTORS * n_features
    check_room(needed, f"a solver's work on {n_features:,} features", "number the features without gaps")


def check_pair_weights(weights: AnyFloats, name: str = "sample_weight") -> None:
    """One sentence where no float64 can hold what a pair weighs, the product of the weights of its documents."""
    largest = float(weights.max()) if weights.shape[0] else 0.0
    if largest != 0.0 and not LEAST_WEIGHT <= largest <= 1.0 / LEAST_WEIGHT:
        raise ValueError(
            f"the largest {name} is {largest:.3g}, and the product of two such weights, which a pair has, is "
            "beyond float64: divide all weights by the largest"
        )


def whole(name: str, value: object) -> int:
    """`value` as a positive whole number, or one sentence."""
    if isinstance(value, int | np.integer) and value >= 1:
        return int(value)
    raise ValueError(f"{name} must be a positive whole number, got {value!r}")


def positive(name: str, value: object) -> float:
    """`value` as a positive finite number, or one sentence."""
    if isinstance(value, int | float | np.number) and 0 < value < float("inf"):
        return float(value)
    raise ValueError(f"{name} must be a positive number, got {value!r}")


def share(name: str, value: object) -> float:
    """`value` as a number from 0 to 1, or one sentence."""
    if isinstance(value, int | float | np.number) and 0 <= value <= 1:
        return float(value)
    raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}")
