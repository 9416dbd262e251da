"""Propensities of the greatest likelihood, if position k and group g have the click rate p_k · r_g.

With eta = log p_k + log r_g, the logarithm of the likelihood, Σ hits · eta + misses · log(1 - exp(eta)), is concave;
Newton's method with a line search that keeps every rate below 1 finds its maximum.
"""

import numpy as np

from rankwise.clicks.cells import linked_to_first
from rankwise.foundation.arrays import Floats

STEPS = 60
TOL = 1e-10  # smallest decrease, relative to the number of impressions, that is worth another step
_RIDGE = 1e-10  # relative to the largest curvature: positions without clicks have nearly none


def log_linear_propensities(hits: Floats, misses: Floats) -> Floats:
    """One per row of the tables, relative to row 0; NaN where no chain of groups with clicks leads to row 0.

    hits, misses  tables of clicks and their absence by position (rows) and group (columns)
    """
    total = hits + misses
    k, g = np.nonzero((total > 0) & (hits.sum(axis=0) > 0))
    n_positions, n_groups = hits.shape
    c, m = hits[k, g], misses[k, g]
    design = np.zeros((k.size, n_positions + n_groups))
    design[np.arange(k.size), k] = design[np.arange(k.size), n_positions + g] = 1
    design = design[:, 1:]  # log p is 0 in row 0
    w = np.concatenate((np.zeros(n_positions - 1), _mean_rates(hits, total)))
    value = _negative(design @ w, c, m)
    for _ in range(STEPS):
        rate = np.exp(design @ w)
        odds = rate / (1 - rate)
        gradient = design.T @ (m * odds - c)
        hessian = design.T @ (design * (m * odds / (1 - rate))[:, None])
        hessian.flat[:: len(w) + 1] += _RIDGE * max(float(hessian.max(initial=0.0)), 1e-300)
        step = np.linalg.solve(hessian, -gradient)
        slope, length = float(gradient @ step), 1.0
        while (after := _negative(design @ (w + length * step), c, m)) > value + 1e-4 * length * slope:
            length /= 2
            if length < 1e-9:
                break
        else:
            w, value = w + length * step, after
            if -slope > TOL * total.sum():
                continue
        break
    p = np.exp(np.concatenate(([0.0], w[: n_positions - 1])))
    return np.where(linked_to_first(k, g, n_positions), p, np.nan)


def _mean_rates(hits: Floats, total: Floats) -> Floats:
    """The logarithm of the click rate of each group, kept from 0 and 1."""
    rate = (hits.sum(axis=0) + 1e-9) / (total.sum(axis=0) + 2e-9)
    log: Floats = np.log(np.clip(rate, 1e-12, 1 - 1e-6))
    return log


def _negative(eta: Floats, hits: Floats, misses: Floats) -> float:
    if (eta >= 0).any():
        return np.inf
    return -float(hits @ eta + misses @ np.log(-np.expm1(eta)))
