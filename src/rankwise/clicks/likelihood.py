"""Propensities of the greatest likelihood, if position k and group g have the click rate p_k · r_g.

With eta = log p_k + log r_g, the logarithm of the likelihood, Σ hits · eta + misses · log(1 - exp(eta)), is concave;
Newton's method with a line search that keeps every rate below 1 finds its maximum.
"""

import numpy as np

from rankwise.clicks.cells import linked_to_first
from rankwise.foundation.arrays import Floats

STEPS = 100
TOL = 1e-10  # the step is the last one if its model promises no larger decrease, relative to the number of clicks
LONGEST = 2.0  # no step changes a logarithm by more
SHORTEST = 1e-12  # the search ends if less than this share of a step is left
TINY = 1e-300
_BARRIER = 1e-7  # impressions without a click per click, so that rates of 1 are not beyond the reach of Newton's method
_RIDGE = 1e-10  # relative to the diagonal: without a link between positions their order of magnitude is free


def log_linear_propensities(hits: Floats, misses: Floats) -> Floats:
    """One per row of the tables, relative to row 0; NaN where no chain of groups with clicks leads to row 0.

    hits, misses  tables of clicks and their absence by position (rows) and group (columns)
    """
    if not hits[0].any():  # nothing can be compared with a position without clicks
        return np.append(1.0, np.full(len(hits) - 1, np.nan))
    k, g = np.nonzero((hits + misses > 0) & (hits.sum(axis=0) > 0))
    n_positions, n_groups = hits.shape
    c, m = hits[k, g], misses[k, g] + _BARRIER * hits[k, g]
    design = np.zeros((k.size, n_positions + n_groups))
    design[np.arange(k.size), k] = design[np.arange(k.size), n_positions + g] = 1
    start = np.concatenate((np.zeros(n_positions - 1), _mean_rates(hits, misses)))
    w = _minimized(design[:, 1:], c, m, start)  # log p is 0 in row 0
    known = linked_to_first(k, g, n_positions) & (w is not None)
    return np.where(known, np.exp(np.append(0.0, start if w is None else w)[:n_positions]), np.nan)


def _minimized(design: Floats, hits: Floats, misses: Floats, w: Floats) -> Floats | None:
    """The weights of the greatest likelihood; None if they are not found."""
    value = _negative(design @ w, hits, misses)
    for _ in range(STEPS):
        eta = design @ w
        others = -np.expm1(eta)  # 1 - rate
        odds = np.exp(eta) / others
        gradient = design.T @ (misses * odds - hits)
        hessian = design.T @ (design * (misses * odds / others)[:, None])
        hessian.flat[:: len(w) + 1] *= 1 + _RIDGE
        hessian.flat[:: len(w) + 1] += TINY
        step = np.linalg.solve(hessian, -gradient)
        step /= max(1.0, float(np.abs(design @ step).max()) / LONGEST)
        slope, length = float(gradient @ step), 1.0
        if -slope <= TOL * hits.sum():
            return w + step
        while (after := _negative(design @ (w + length * step), hits, misses)) > value + 1e-4 * length * slope:
            length /= 2
            if length < SHORTEST:
                return None
        w, value = w + length * step, after
    return None


def _mean_rates(hits: Floats, misses: Floats) -> Floats:
    """The logarithm of the click rate of each group, kept from 0 and 1."""
    clicks, others = hits.sum(axis=0) + TINY, misses.sum(axis=0) + TINY
    return np.asarray(np.log(np.clip(clicks / (clicks + others), 1e-6, 0.9)))


def _negative(eta: Floats, hits: Floats, misses: Floats) -> float:
    if (eta >= 0).any():
        return np.inf
    return -float(hits @ eta + misses @ np.log(-np.expm1(eta)))
