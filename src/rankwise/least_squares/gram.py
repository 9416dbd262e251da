"""ZZᵀ, for fewer documents than features; all rows of Z are in this process."""

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.threads import one_blas_thread, share
from rankwise.least_squares.parts import Part
from rankwise.objective.rows import BLOCK_BYTES, in_order, lanes


def gram(whole: Part) -> tuple[Floats, Floats]:
    """ZZᵀ and t, by blocks of columns."""
    n, d = whole.rows.n_rows, whole.rows.n_features
    width = max(8, BLOCK_BYTES // (8 * n))
    groups = [(j, min(j + width, d)) for j in range(0, d, width)]

    def add_up(lane: list[tuple[int, int]]) -> Floats:
        total = np.zeros((n, n))
        for group in lane:
            Z = whole.comparisons.root(whole.rows.columns(*group))
            total += Z @ Z.T
        return total

    with one_blas_thread():
        total = in_order(share(add_up, lanes(groups, 8 * n * d, n * n), whole.rows.n_threads))
    return total, whole.comparisons.root(whole.risk.targets)


def lifted(whole: Part, gram: Floats) -> Floats:
    """`gram`, with a large number in place of the eigenvalues that are 0 for every X.

    Their eigenvectors, to which Z and t are orthogonal: √ω of the documents of one query, and each document that is
    compared with no other.
    """
    lift = float(gram.diagonal().max(initial=0.0))
    roots = np.sqrt(whole.comparisons.weights)
    for first, last in zip(whole.starts[:-1], whole.starts[1:], strict=True):
        root = roots[first:last] / max(float(np.linalg.norm(roots[first:last])), np.finfo(float).tiny)
        gram[first:last, first:last] += lift * np.outer(root, root)
    alone = np.flatnonzero(whole.comparisons.degree == 0)
    gram[alone, alone] = lift
    return gram
