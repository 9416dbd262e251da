"""Steps over single pairs, with w kept as scale · v: a shrink of w costs one product, not d.

The weighted sum of the iterates is kept the same way, as mass · v + rest, where mass is the weighted sum of the
scales: a change δ of v leaves the sum alone if rest becomes rest - mass δ. So a step costs the two rows it reads.
"""

from typing import Any

import numpy as np

from rankwise.arrays import Floats
from rankwise.jit import kernel
from rankwise.solvers.row_kernels import add_row, row_dot

SMALLEST = 1e-3  # a smaller scale would cost digits: then w and the sum are written out


@kernel
def step_length(t: int, shrinkage: float, first: float, settling: float) -> float:
    """η of step t = 0, 1, ...: falls like 1/√t once `settling` steps are made, and like 1/(shrinkage · t) in the end.

    Always below 1/shrinkage, so that a step never turns w round.
    """
    falling: float = first / np.sqrt(1.0 + t / settling)
    return min(1.0 / (1.0 / first + shrinkage * (t + 1)), falling)


@kernel
def loss_slope(pieces: Floats, margin: float) -> float:
    """The loss's derivative by the margin; `pieces` has the rows (threshold, slope, curvature)."""
    total = 0.0
    for p in range(pieces.shape[0]):
        if margin < pieces[p, 0]:
            total -= pieces[p, 1] + pieces[p, 2] * (1.0 - margin)
    return total


@kernel
def pair_steps(rows: Any, drawn: Any, pieces: Floats, plan: Any, w: Floats, total: Floats) -> None:
    """A step on each pair in turn; `total` gathers t times the t-th iterate.

    drawn = (better, worse, the difference of scores asked of each pair, the cost of each)
    plan = (t, shrinkage, first, settling), as `step_length` takes them
    """
    better, worse, asked, costs = drawn
    t, shrinkage, first, settling = plan
    scale, mass = 1.0, 0.0
    for pair in range(better.size):
        i, j = better[pair], worse[pair]
        excess = scale * (row_dot(rows, i, w) - row_dot(rows, j, w)) - asked[pair]
        slope = costs[pair] * loss_slope(pieces, 1.0 + excess)
        length = step_length(t, shrinkage, first, settling)
        scale *= 1.0 - length * shrinkage
        if slope != 0.0:
            change = -length * slope / scale
            add_row(rows, i, change, w)
            add_row(rows, j, -change, w)
            if mass != 0.0:
                add_row(rows, i, -mass * change, total)
                add_row(rows, j, mass * change, total)
        t += 1
        mass += t * scale
        if scale < SMALLEST:
            write_out(scale, mass, w, total)
            scale, mass = 1.0, 0.0
    write_out(scale, mass, w, total)


@kernel
def write_out(scale: float, mass: float, v: Floats, rest: Floats) -> None:
    """v becomes scale · v, and rest becomes mass · v + rest."""
    for k in range(v.size):
        rest[k] += mass * v[k]
        v[k] *= scale


@kernel
def add_rows(rows: Any, first: int, scales: Floats, v: Floats) -> None:
    """v += Σ scales[i] x_(first + i)."""
    for i in range(scales.size):
        add_row(rows, first + i, scales[i], v)
