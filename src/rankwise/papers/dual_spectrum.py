"""The structure of the dual of RankSVM: how few dimensions the matrix of its alphas has (Zhang et al., 2015, figure 1).

    alpha[i, j] > 0 if the pair (i preferred to j) is a support vector; one block per query

The energy of a block in its first r dimensions is the share of σ_1² + … + σ_r² (or of the σ themselves) in the sum of
all.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.devices import SparseMatrix
from rankwise.foundation.names import one_of
from rankwise.foundation.outputs import written_beside
from rankwise.pairs.queries import Queries, QueryIds
from rankwise.report.display import check_picture, matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENERGIES = {"squares": 2, "values": 1}
DIMENSIONS = ("documents", "block")


@dataclass(frozen=True)
class DualSpectrum:
    """The singular values of alpha per query. Queries without a positive alpha are left out.

    query_ids  the ids of the queries
    documents  the number of documents of each query
    block      the largest possible rank of alpha in each query: the number of its nonzero rows (documents preferred to
               another) or of its nonzero columns, whichever is smaller
    singular   for each query its singular values, largest first
    """

    query_ids: Array
    documents: Ints
    block: Ints
    singular: list[Floats]

    def dimensions(self, energy: float = 0.9, of: str = "squares") -> Ints:
        """For each query the fewest dimensions with a share `energy` (1: up to rounding) of the squares or values."""
        if not 0 < energy <= 1:
            raise ValueError(f"energy must be above 0 and at most 1; got {energy!r}")
        one_of("of", of, ENERGIES)
        return np.array([_dimensions(values, energy, ENERGIES[of]) for values in self.singular], dtype=np.int64)

    def shares(self, energy: float = 0.9, of: str = "squares", among: str = "documents") -> Floats:
        """For each query, `dimensions` divided by the number of its documents or by the size of its block."""
        one_of("among", among, DIMENSIONS)
        shares: Floats = self.dimensions(energy, of) / (self.documents if among == "documents" else self.block)
        return shares

    def histogram(self, energy: float = 0.9, of: str = "squares", among: str = "documents") -> Ints:
        """Figure 1: the number of queries that need a share in (0, 10 %], (10, 20 %], …, (90, 100 %] of dimensions."""
        shares = self.shares(energy, of, among)
        tenth = np.ceil(np.round(10 * shares, 9)).astype(np.int64) - 1  # a share of 0.3 is not 0.30000000000000004
        return np.bincount(tenth, minlength=10)

    def plot(self, path: str | Path | None = None, of: str = "squares", among: str = "documents") -> "Figure":
        """Figure 1 as a matplotlib figure, written to `path`, *.png, *.svg or *.pdf, unless it is None."""
        ending = None if path is None else check_picture(path)
        figure: Figure = matplotlib("figure").Figure(figsize=(9, 3.5), layout="constrained")
        ranges = [f"{low}–{low + 10}" for low in range(0, 100, 10)]
        for axes, energy in zip(figure.subplots(1, 2, sharey=True), (0.9, 1.0), strict=True):
            axes.bar(ranges, self.histogram(energy, of, among), width=0.8)
            axes.set_title(f"{energy:.0%} of the energy")
            axes.set_xlabel(f"dimensions needed, % of {among}")
            axes.tick_params(axis="x", rotation=45)
        figure.axes[0].set_ylabel("queries")
        if path is not None:
            with written_beside(path) as file:
                figure.savefig(file, format=ending)
        return figure


def dual_spectrum(alpha: ArrayLike | SparseMatrix, qid: QueryIds | None = None) -> DualSpectrum:
    """The singular values of the matrix `alpha` (documents × documents, sparse or not) in each query of `qid`."""
    matrix = sparse.csr_array(alpha)
    n = matrix.shape[0]
    if matrix.shape != (n, n):
        raise ValueError(f"alpha must be square, one row and one column per document, got shape {matrix.shape}")
    queries = Queries(qid, n)
    entries = matrix.tocoo()
    if (queries.codes[entries.row] != queries.codes[entries.col]).any():
        raise ValueError("alpha has pairs of documents from different queries: are its rows in the order of qid?")
    rows = np.arange(n) if queries.rows is None else queries.rows
    kept, blocks, spectra = [], [], []
    for q in range(len(queries)):
        own = rows[queries.starts[q] : queries.starts[q + 1]]
        dense = matrix[own][:, own].toarray()
        block = dense[dense.any(axis=1)][:, dense.any(axis=0)]
        if block.size:
            kept.append(q)
            blocks.append(min(block.shape))
            spectra.append(np.linalg.svd(block, compute_uv=False))
    if not kept:
        raise ValueError("alpha is 0 everywhere: it must be positive for at least one pair")
    return DualSpectrum(queries.ids[kept], queries.sizes[kept], np.array(blocks), spectra)


def _dimensions(values: Floats, energy: float, power: int) -> int:
    rounding = values.size * np.finfo(float).eps * values[0]
    if energy == 1:
        return int(np.count_nonzero(values > rounding))
    held = np.cumsum(values**power)
    return int(np.searchsorted(held, energy * held[-1] * (1 - values.size * np.finfo(float).eps))) + 1
