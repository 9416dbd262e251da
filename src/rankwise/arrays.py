"""The array types that signatures speak of, and the one check that every vector from outside goes through."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[Any]  # int32 or int64


def finite(given: Any, name: str, n: int | None = None) -> Floats:
    """`given` as a float64 vector, of length n where n is said; what is wrong with it is told in one sentence."""
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        what = type(given).__name__
        raise ValueError(f"{name} must hold one number a document, got {what} of something else") from None
    if values.ndim != 1 or (n is not None and values.size != n):
        wanted = "one number a document" if n is None else f"one number for each of the {n} documents"
        raise ValueError(f"{name} must hold {wanted}, got an array of shape {values.shape}")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"{name} must be finite: {name}[{row}] is {values[row]}")
    return values
