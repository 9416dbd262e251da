"""Scores by models that have not seen the query they score, for every alpha and without fitting again.

L is block diagonal by query, so a query left out is a block of rows of Z left out (see `solvers.spectral`).
"""

import numpy as np

from rankwise.arrays import Floats, Ints
from rankwise.least_squares.regression import Regression
from rankwise.solvers.spectral import Spectrum, left_out, reduction_pays
from rankwise.threads import one_blas_thread, share


def leave_query_out(problem: Regression, normal: Floats | None, spectrum: Spectrum, alphas: Floats) -> Floats:
    """The score of each document by the model without its query, a column for every alpha.

    normal  the normal matrix, or None where there are too many features for one
    """
    out = np.empty((problem.labels.size, alphas.size))
    sizes = np.diff(problem.starts)
    reducible = np.zeros(sizes.size, bool)
    if normal is not None:
        varying = np.append(np.flatnonzero(np.diag(normal)[:-1]), problem.size)  # others are constant in every query
        normal = np.ascontiguousarray(normal[np.ix_(varying, varying)])
        reducible = reduction_pays(sizes, varying.size, alphas.size)

    def work(piece: tuple[int, int]) -> None:
        rows = problem.rows(piece)
        scores = out[rows.place]
        starts = problem.starts[piece[0] : piece[1] + 1] - rows.place.start
        blocks = np.stack((starts[:-1], starts[1:]), axis=1)
        by_reduction = reducible[piece[0] : piece[1]]
        if normal is not None and by_reduction.any():
            from rankwise.solvers.spectral_kernels import reduced

            Xy, Zt = (_columns(values, varying) for values in (rows.Xy, rows.Zt))
            reduced(normal, Xy, Zt, blocks[by_reduction], alphas, scores)
        for first, last in blocks[~by_reduction]:
            X, F = (values[first:last, :-1] @ spectrum.basis for values in (rows.Xy, rows.Zt))
            scores[first:last] = X @ left_out(spectrum, F, rows.Zt[first:last, -1], alphas)

    with one_blas_thread():
        share(work, problem.pieces, problem.n_threads)
    return out


def _columns(values: Floats, chosen: Ints) -> Floats:
    return values if chosen.size == values.shape[1] else np.ascontiguousarray(values[:, chosen])
