"""(G + αI) w = b for one symmetric G and many α: Householder reduction to tridiagonal form, then a sweep per α."""

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import REORDER, kernel

EPS = float(np.finfo(np.float64).eps)


@kernel
def reduced(N: Floats, Xy: Floats, Zt: Floats, blocks: Ints, alphas: Floats, out: Floats) -> None:
    """out_q = X_q (A - Z_qᵀZ_q + αI)⁻¹ (b - Z_qᵀ t_q) for blocks of rows q, one column per α.

    N = [[A, b], [bᵀ, ·]]; Xy and Zt are X and Z with a further column, y and t; a row of `blocks` holds the first row
    of a block and the row after its last.
    """
    d = N.shape[0] - 1
    floor = EPS * (np.trace(N) - N[d, d])
    W = np.zeros((d + 1, alphas.size))  # the last row stays 0: y is not a feature
    for q in range(blocks.shape[0]):
        first, last = blocks[q]
        rest = N - np.dot(Zt[first:last].T, Zt[first:last])
        W[:d] = shifted_solutions(rest, rest[d, :d].copy(), alphas, floor)
        out[first:last] = np.dot(Xy[first:last], W)


@kernel
def shifted_solutions(G: Floats, b: Floats, alphas: Floats, floor: float) -> Floats:
    """(G + αI)⁻¹ b, one column per α; overwrites G and b. Pivots below `floor` are rounding errors and set to it.

    G may be larger than b; further rows and columns are ignored.
    """
    betas = np.zeros(b.size)
    tridiagonalise(G, b, betas)
    W = _sweep(G, b, alphas, floor)
    _reflect(G, betas, W)
    return W


@kernel(fastmath=REORDER)
def tridiagonalise(G: Floats, b: Floats, betas: Floats) -> None:
    """G = Q T Qᵀ, b = Q b': the diagonals of T and b' overwrite those of G and b, the reflectors G's lower columns.

    Only the lower triangle of G is read. Reflector k is I - beta v vᵀ with v = (1, G[k + 2:, k]) from row k + 1 on.
    Rows are views, so that loops start at 0: the compiler then knows that no index is negative, and can vectorise.
    """
    n = b.size
    spare_v, spare_p = np.empty(n), np.empty(n)
    for k in range(n - 2):
        rest, column, y = G[k + 1 : n, k + 1 : n], G[k + 1 : n, k], b[k + 1 :]
        v, p = spare_v[: y.size], spare_p[: y.size]
        v[:] = column
        head, below = v[0], dot(v[1:], v[1:])
        if below == 0.0:
            continue
        norm = np.sqrt(head * head + below)
        pivot = head + norm if head > 0.0 else head - norm
        betas[k] = beta = 2.0 * pivot * pivot / (pivot * pivot + below)
        v /= pivot
        v[0] = 1.0
        _symmetric_dot(rest, v, p)
        half, along = 0.5 * beta * beta * dot(v, p), beta * dot(v, y)
        for i in range(v.size):
            p[i] = beta * p[i] - half * v[i]
            y[i] -= along * v[i]
        for i in range(v.size):
            row, vi, pi = rest[i], v[i], p[i]
            for j in range(i + 1):
                row[j] -= vi * p[j] + pi * v[j]
        column[:] = v
        column[0] = -norm if head > 0.0 else norm


@kernel(fastmath=REORDER)
def dot(a: Floats, b: Floats) -> float:
    """a·b."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel(fastmath=REORDER)
def _symmetric_dot(G: Floats, v: Floats, out: Floats) -> None:
    """out = G v by G's lower triangle."""
    for i in range(v.size):
        row, vi, total = G[i], v[i], 0.0
        for j in range(i):
            total += row[j] * v[j]
            out[j] += row[j] * vi
        out[i] = total + row[i] * vi


@kernel(fastmath=REORDER)
def _sweep(T: Floats, b: Floats, alphas: Floats, floor: float) -> Floats:
    """(T + αI)⁻¹ b for the tridiagonal part of T, by its LDLᵀ factors, one column per α."""
    n = b.size
    W, pivots = np.empty((n, alphas.size)), np.empty((n, alphas.size))
    for i in range(n):
        pivot, w, diagonal, right = pivots[i], W[i], T[i, i], b[i]
        beside, pivot_before, w_before = (T[i, i - 1], pivots[i - 1], W[i - 1]) if i else (0.0, pivots[0], W[0])
        for a in range(alphas.size):
            share = beside / pivot_before[a] if i else 0.0
            pivot[a] = max(diagonal + alphas[a] - share * beside, floor)
            w[a] = right - (share * w_before[a] if i else 0.0)
    for i in range(n - 1, -1, -1):
        w, pivot = W[i], pivots[i]
        beside, after = (T[i + 1, i], W[i + 1]) if i + 1 < n else (0.0, pivots[i])
        for a in range(alphas.size):
            w[a] = (w[a] - beside * after[a]) / pivot[a]
    return W


@kernel(fastmath=REORDER)
def _reflect(G: Floats, betas: Floats, W: Floats) -> None:
    """W = Q W."""
    n = W.shape[0]
    along = np.empty(W.shape[1])
    for k in range(n - 3, -1, -1):
        along[:] = W[k + 1]
        for i in range(k + 2, n):
            vi, w = G[i, k], W[i]
            for a in range(along.size):
                along[a] += vi * w[a]
        along *= betas[k]  # 0 if the reflector is the identity
        W[k + 1] -= along
        for i in range(k + 2, n):
            vi, w = G[i, k], W[i]
            for a in range(along.size):
                w[a] -= vi * along[a]
