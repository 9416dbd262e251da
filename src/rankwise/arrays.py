"""The array types that signatures speak of, and the one check that every vector from outside goes through."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.device import library_of, namespace

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[Any]  # int32 or int64


def finite(given: Any, name: str, n: int | None = None) -> Floats:
    """`given` as a float64 vector where it lies, of length n where n is said; what is wrong with it is told in one
    sentence.
    """
    xp: Any = np if library_of(given) is None else namespace(given)
    try:
        values: Any = xp.asarray(given, dtype=xp.float64)
    except (TypeError, ValueError):
        what = type(given).__name__
        raise ValueError(f"{name} must hold one number a document, got {what} of something else") from None
    if values.ndim != 1 or (n is not None and values.shape[0] != n):
        wanted = "one number a document" if n is None else f"one number for each of the {n} documents"
        raise ValueError(f"{name} must hold {wanted}, got an array of shape {tuple(values.shape)}")
    if not xp.isfinite(values).all():
        row = int(xp.nonzero(~xp.isfinite(values))[0][0])
        raise ValueError(f"{name} must be finite: {name}[{row}] is {float(values[row])}")
    return values  # type: ignore[no-any-return]
