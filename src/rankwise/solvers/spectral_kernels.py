"""(G + αI) w = b for one symmetric G and many α: Householder's reduction to a tridiagonal, then a sweep for every α."""

import numpy as np

from rankwise.arrays import Floats, Ints
from rankwise.jit import kernel

REORDER = {"reassoc", "contract"}  # else no vector instructions; the order is fixed once compiled
EPS = float(np.finfo(np.float64).eps)


@kernel
def reduced(N: Floats, Xy: Floats, Zt: Floats, blocks: Ints, alphas: Floats, out: Floats) -> None:
    """out_q = X_q (A - Z_qᵀZ_q + αI)⁻¹ (b - Z_qᵀ t_q) for blocks of rows q, a column for every α.

    N = [[A, b], [bᵀ, ·]]; Xy and Zt hold X and Z with one column more, y and t; a row of `blocks` is the first row of a
    block and the one after its last.
    """
    d = N.shape[0] - 1
    floor = EPS * (np.trace(N) - N[d, d])
    W = np.zeros((d + 1, alphas.size))  # the last row stays 0: y is no feature
    for q in range(blocks.shape[0]):
        first, last = blocks[q]
        rest = N - np.dot(Zt[first:last].T, Zt[first:last])
        b = rest[:d, d].copy()
        W[:d] = shifted_solutions(rest[:d, :d].copy(), b, alphas, floor)
        out[first:last] = np.dot(Xy[first:last], W)


@kernel
def shifted_solutions(G: Floats, b: Floats, alphas: Floats, floor: float) -> Floats:
    """(G + αI)⁻¹ b, a column for every α; overwrites G and b. Pivots below `floor` are rounding, and lifted to it."""
    betas = np.zeros(b.size)
    tridiagonalise(G, b, betas)
    W = _sweep(G, b, alphas, floor)
    _reflect(G, betas, W)
    return W


@kernel(fastmath=REORDER)
def tridiagonalise(G: Floats, b: Floats, betas: Floats) -> None:
    """G = Q T Qᵀ, b = Q b': T's diagonals and b' replace those of G and b, the reflectors' vectors its lower columns.

    Reflector k is I - beta v vᵀ with v = (1, G[k + 2:, k]) from row k + 1 on.
    """
    n = b.size
    v, p = np.empty(n), np.empty(n)
    for k in range(n - 2):
        below = 0.0
        for i in range(k + 2, n):
            below += G[i, k] * G[i, k]
        if below == 0.0:
            continue
        head = G[k + 1, k]
        norm = np.sqrt(head * head + below)
        pivot = head + norm if head > 0.0 else head - norm
        beta = 2.0 * pivot * pivot / (pivot * pivot + below)
        v[k + 1] = 1.0
        for i in range(k + 2, n):
            v[i] = G[i, k] / pivot
        vb = 0.0
        for i in range(k + 1, n):
            total = 0.0
            for j in range(k + 1, n):
                total += G[i, j] * v[j]
            p[i] = beta * total
            vb += v[i] * b[i]
        vp = 0.0
        for i in range(k + 1, n):
            vp += v[i] * p[i]
        for i in range(k + 1, n):
            p[i] -= 0.5 * beta * vp * v[i]
            b[i] -= beta * vb * v[i]
        for i in range(k + 1, n):
            vi, pi = v[i], p[i]
            for j in range(k + 1, n):
                G[i, j] -= vi * p[j] + pi * v[j]
        betas[k] = beta
        G[k + 1, k] = -norm if head > 0.0 else norm
        for i in range(k + 2, n):
            G[i, k] = v[i]


@kernel
def _sweep(T: Floats, b: Floats, alphas: Floats, floor: float) -> Floats:
    """(T + αI)⁻¹ b for the tridiagonal part of T, by its LDLᵀ factors, a column for every α."""
    n, m = b.size, alphas.size
    W, pivots = np.empty((n, m)), np.empty((n, m))
    for i in range(n):
        for a in range(m):
            pivot, value = T[i, i] + alphas[a], b[i]
            if i > 0:
                share = T[i, i - 1] / pivots[i - 1, a]
                pivot -= share * T[i, i - 1]
                value -= share * W[i - 1, a]
            pivots[i, a] = max(pivot, floor)
            W[i, a] = value
    for i in range(n - 1, -1, -1):
        for a in range(m):
            after = T[i + 1, i] * W[i + 1, a] if i + 1 < n else 0.0
            W[i, a] = (W[i, a] - after) / pivots[i, a]
    return W


@kernel(fastmath=REORDER)
def _reflect(G: Floats, betas: Floats, W: Floats) -> None:
    """W = Q W."""
    n, m = W.shape
    along = np.empty(m)
    for k in range(n - 3, -1, -1):
        if betas[k] == 0.0:
            continue
        for a in range(m):
            along[a] = W[k + 1, a]
        for i in range(k + 2, n):
            for a in range(m):
                along[a] += G[i, k] * W[i, a]
        for a in range(m):
            along[a] *= betas[k]
            W[k + 1, a] -= along[a]
        for i in range(k + 2, n):
            for a in range(m):
                W[i, a] -= G[i, k] * along[a]
