"""One pass of coordinate ascent over listed pairs."""

from typing import Any

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import kernel
from rankwise.objective.row_kernels import add_row, row_dot


@kernel
def ascend(
    rows: Any, problem: Any, active: Ints, range_before: tuple[float, float], alpha: Floats, w: Floats
) -> tuple[int, float, float]:
    """Maximise over each alpha of `active` in turn and update w; pairs fixed at a bound are moved to the end.

    The dual increases with alpha if `excess` is negative. A pair at its lower bound with an excess above the largest of
    the last pass, or at its upper bound with one below the smallest, is left out from now on. Returns the number of
    pairs that stay active, and the smallest and largest excess among them (0 for those that cannot move).
    """
    better, worse, margins, most, ridge, curvature = problem
    smallest_before, largest_before = range_before
    smallest, largest = np.inf, -np.inf
    n_active, at = active.size, 0
    while at < n_active:
        pair = active[at]
        i, j = better[pair], worse[pair]
        excess = row_dot(rows, i, w) - row_dot(rows, j, w) - margins[pair] + ridge[pair] * alpha[pair]
        low, high = alpha[pair] <= 0.0, alpha[pair] >= most[pair]
        if (low and excess > largest_before) or (high and excess < smallest_before):
            n_active -= 1
            active[at], active[n_active] = active[n_active], pair
            continue
        at += 1
        if (low and excess >= 0.0) or (high and excess <= 0.0):
            smallest, largest = min(smallest, 0.0), max(largest, 0.0)
            continue
        smallest, largest = min(smallest, excess), max(largest, excess)
        moved = min(max(alpha[pair] - excess / curvature[pair], 0.0), most[pair])
        change = moved - alpha[pair]
        alpha[pair] = moved
        add_row(rows, i, change, w)
        add_row(rows, j, -change, w)
    return n_active, smallest, largest
