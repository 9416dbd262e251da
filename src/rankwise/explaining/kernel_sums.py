"""Sums of kernel values as score functions; their differences are split by integrated gradients.

A kernel sum f is no sum over the features, so there is no split that is right by itself. The one here follows the
straight line from the first row to the second and adds up what each feature contributes on the way:

    part_j = (end_j - start_j) ∫ ∂f/∂x_j (start + t (end - start)) dt,   t from 0 to 1

The parts add up to f(end) - f(start), a feature with equal values at both ends has part 0, swapping the ends changes
the signs only, and for a linear kernel the parts are exact. The integrals are computed by Gauss's rule on 1, 2, 4, ...
equal panels until the parts add up to the known difference; what is missing then is stated as the error.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from rankwise.explaining.functions import packed
from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.devices import HostMatrix
from rankwise.kernel_maps import Kernel, KernelMap
from rankwise.kernel_maps.gradients import gradients, laplacian_integrals

NODES = 8  # per panel
MOST_PANELS = 64
TOLERANCE = 1e-9  # error of a sum of parts, relative to the largest difference
SUMMED = ("laplacian", "chi2", "additive_chi2")  # kernels of a sum over features, in which those of x = 0 add |z_j|


@dataclass(frozen=True, eq=False)
class KernelSum:
    """score = Σ coefficients_r · kernel(x, references_r)."""

    map: KernelMap
    coefficients: Floats
    n_features: int
    method = "integrated gradients along the straight line, as the score of a kernel is no sum over the features"

    def at(self, X: HostMatrix) -> Floats:
        return self.map.scores(X.astype(np.float64), self.coefficients)

    def split(self, columns: Ints, starts: Floats, ends: Floats) -> Floats:
        line = self._restricted(columns)
        zeros = np.zeros((len(ends), 1))  # of the column that stands for all others
        return line.along(np.hstack([starts, zeros]), np.hstack([ends, zeros]))[:, :-1]

    def along(self, starts: Floats, ends: Floats) -> Floats:
        """The parts of all columns, row by row."""
        kernel, references = self.map.kernel, self.map.references
        if kernel.function == "laplacian":
            gamma, lines = kernel.params["gamma"], zip(starts, ends - starts, strict=True)
            return np.array([laplacian_integrals(gamma, *line, references, self.coefficients) for line in lines])
        wanted = self.at(ends) - self.at(starts)
        near = TOLERANCE * np.abs(wanted).max(initial=0.0)
        parts, rows, panels = np.empty_like(ends), np.arange(len(ends)), 1
        while rows.size and panels <= MOST_PANELS:
            parts[rows] = self._integrated(starts[rows], ends[rows] - starts[rows], panels)
            rows = rows[np.abs(parts[rows].sum(axis=1) - wanted[rows]) > near]
            panels *= 2
        return parts

    def _integrated(self, starts: Floats, steps: Floats, panels: int) -> Floats:
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        total = np.zeros_like(steps)
        for panel in range(panels):
            for node, weight in zip(nodes, weights, strict=True):
                t = (panel + (node + 1) / 2) / panels
                slopes = gradients(self.map.kernel, starts + t * steps, self.map.references, self.coefficients)
                total += weight / (2 * panels) * slopes
        return total * steps

    def _restricted(self, columns: Ints) -> "KernelSum":
        """The same function of rows that are 0 outside these columns.

        Of a reference, the other columns matter only by their length (or sum, for kernels of a sum), which one column
        at the end stands for.
        """
        kernel, references = self.map.kernel, csr_array(self.map.references)
        others = ~np.isin(references.indices, columns)
        rows = np.repeat(np.arange(references.shape[0]), np.diff(references.indptr))[others]
        values, n = references.data[others], references.shape[0]
        if kernel.function in SUMMED:
            rest = np.bincount(rows, np.abs(values), minlength=n)
        else:
            rest = np.sqrt(np.bincount(rows, np.square(values), minlength=n))
        params = dict(kernel.params)
        if params.get("gamma", 0) is None:
            params["gamma"] = 1 / self.n_features
        restricted = KernelMap(Kernel(kernel.function, params))
        restricted.references = np.column_stack([packed(references, columns), rest])
        return KernelSum(restricted, self.coefficients, columns.size + 1)
