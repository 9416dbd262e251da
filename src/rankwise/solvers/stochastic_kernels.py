"""Stochastic steps that change only the weights of the features stored in the rows they read.

The regulariser shrinks a weight each time its feature is read, and more if the feature is read rarely, so that on
average all weights shrink alike. The weighted sum of the iterates is stored as mass · w + rest, where mass is the sum
of their weights: when w changes by δ, rest changes by -mass δ, so that the sum stays the same.
"""

from typing import Any

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.jit import kernel
from rankwise.objective.row_kernels import columns, feature, row_dot, values


@kernel
def step_length(t: int, first: float, settling: float, slowest: float) -> float:
    """η of step t = 0, 1, ...: decreases like 1/√t after `settling` steps, and like 1/(slowest · t) in the end."""
    falling: float = first / np.sqrt(1.0 + t / settling)
    return min(1.0 / (1.0 / first + slowest * (t + 1)), falling)


@kernel
def loss_slope(pieces: Floats, margin: float) -> float:
    """The derivative of the loss with respect to the margin; `pieces` has rows (threshold, slope, curvature)."""
    total = 0.0
    for p in range(pieces.shape[0]):
        if margin < pieces[p, 0]:
            total -= pieces[p, 1] + pieces[p, 2] * (1.0 - margin)
    return total


@kernel
def pair_steps(rows: Any, drawn: Any, pieces: Floats, schedule: Any, scales: Any, w: Floats, total: Floats) -> None:
    """A step on each pair in turn; t times the t-th iterate is added to `total`.

    drawn     better, worse, the required margin of each pair, its cost, and its longest stable step
    schedule  the arguments of `step_length`
    scales    rate and fade, one each per feature
    """
    better, worse, margins, costs, longest = drawn
    t, first, settling, slowest = schedule
    mass = 0.0
    for pair in range(better.size):
        i, j = better[pair], worse[pair]
        excess = row_dot(rows, i, w) - row_dot(rows, j, w) - margins[pair]
        length = min(step_length(t, first, settling, slowest), longest[pair])
        change = -length * costs[pair] * loss_slope(pieces, 1.0 + excess)
        if change != 0.0:
            shift(rows, i, change, scales, mass, w, total)
            shift(rows, j, -change, scales, mass, w, total)
        shrink(rows, i, length, scales, mass, w, total)
        shrink(rows, j, length, scales, mass, w, total)
        t += 1
        mass += t
    total += mass * w


@kernel
def query_step(rows: Any, first: int, changes: Floats, length: float, scales: Any, sums: Any) -> None:
    """One step with all rows of a query, from row `first` on; sums = (mass, w, rest)."""
    mass, w, rest = sums
    for i in range(changes.size):
        shift(rows, first + i, changes[i], scales, mass, w, rest)
    for i in range(changes.size):
        shrink(rows, first + i, length, scales, mass, w, rest)


@kernel
def shift(rows: Any, i: int, change: float, scales: Any, mass: float, w: Floats, rest: Floats) -> None:
    """w += change · rate · x_i."""
    rate = scales[0]
    x, stored = values(rows, i), columns(rows, i)
    for m in range(x.size):
        k = feature(stored, m)
        step = change * rate[k] * x[m]
        w[k] += step
        rest[k] -= mass * step


@kernel
def shrink(rows: Any, i: int, length: float, scales: Any, mass: float, w: Floats, rest: Floats) -> None:
    """w /= 1 + length · fade, for the features that row i stores."""
    fade = scales[1]
    x, stored = values(rows, i), columns(rows, i)
    for m in range(x.size):
        k = feature(stored, m)
        now = w[k] / (1.0 + length * fade[k])
        rest[k] -= mass * (now - w[k])
        w[k] = now


@kernel
def moments(rows: Any, uses: Floats, out: Floats) -> None:
    """For each feature, the sums of uses, uses · x and uses · x² over the rows that store it, as the rows of `out`."""
    for i in range(uses.size):
        x, stored = values(rows, i), columns(rows, i)
        for m in range(x.size):
            k = feature(stored, m)
            share = uses[i] * x[m]
            out[0, k] += uses[i]
            out[1, k] += share
            out[2, k] += share * x[m]


@kernel
def norms(rows: Any, rate: Floats, centre: Floats, out: Floats) -> None:
    """Σ_k rate_k (x_ik - centre_k)² for each row i."""
    at_zero = np.sum(rate * centre * centre)
    for i in range(out.size):
        total = at_zero
        x, stored = values(rows, i), columns(rows, i)
        for m in range(x.size):
            k = feature(stored, m)
            total += rate[k] * x[m] * (x[m] - 2.0 * centre[k])
        out[i] = max(total, 0.0)
