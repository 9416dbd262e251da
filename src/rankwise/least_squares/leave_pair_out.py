"""Differences of scores by models trained without either document, for a single query and every alpha.

With S = Σ ω x̃x̃ᵀ about the query's mean, S_k and d = x - m_k about a slot's, and W' = W - ω_i - ω_j, the matrix
XᵀLX without documents i and j of the slots a and b is

    W' S - Σ W_k S_k + ω_i S_a + ω_j S_b  -  F M Fᵀ,    F = [x̃_i, x̃_j, d_i, d_j]
    M = [[W' ω_i + ω_i², ω_i ω_j], [ω_i ω_j, W' ω_j + ω_j²]] beside diag(-ω_i W_a, -ω_j W_b)

(terms of slots only with ties excluded). One eigendecomposition is enough for all pairs with the same first part: with
equal weights, all pairs if ties are included, else those of the same two labels.
"""

from typing import NamedTuple

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.threads import one_blas_thread
from rankwise.least_squares.comparisons import compare
from rankwise.least_squares.factors import factorise
from rankwise.least_squares.parts import narrowed
from rankwise.least_squares.regression import Regression
from rankwise.pairs.queries import Queries
from rankwise.solvers.spectral import Spectrum, decompose, downdated

MOST_PAIRS = 100_000  # if there are more pairs, this many are drawn
REFITS = 200, 2_000  # least and greatest number of models that are refitted if the closed form fails
WORK = 1e10  # operations that refitting may take
MOST_SPECTRA = 2_000  # if the pairs need more eigendecompositions than this, only this many pairs are used
CHUNK = 4_096  # pairs at a time
SEED = 0


class LeftOutPairs(NamedTuple):
    """For each pair of a better and a worse document: y_better - y_worse, its weight, and margins[p, k], which is
    s_better - s_worse by the model of alpha k without the two.
    """

    gaps: Floats
    weights: Floats
    margins: Floats


def leave_pair_out(problem: Regression, spectrum: Spectrum | None, alphas: Floats, scaling: str) -> LeftOutPairs:
    """Each preference pair left out in turn; of very many pairs, some drawn at random.

    Without a spectrum, or if the closed form loses too many digits, models are fitted without the pair, at most
    `REFITS` of them. Alpha and the differences are in the units of the problem.

    Equal rows with equal labels count as one document: a copy in the training data would reveal the label.
    """
    rows, first, copy_of = np.unique(problem.whole.matrices(0, 1).Xy, axis=0, return_index=True, return_inverse=True)
    if spectrum is not None and problem.size > rows.shape[0]:  # smaller in a basis of the span of the rows
        rows = np.column_stack((rows[:, :-1] @ spectrum.basis, rows[:, -1]))
    weights: Floats = np.bincount(copy_of, problem.comparisons.weights).astype(np.float64)
    query = _Query(rows, weights, problem.comparisons.slot[first], scaling)
    better, worse = _pairs(query.labels, query.weights)
    most = query.refits(alphas.size)
    if spectrum is None:
        return query.judged(better[:most], worse[:most], query.refitted(better[:most], worse[:most], alphas))
    distinct, key = np.unique(query.keys(better, worse), axis=0, return_inverse=True)
    if distinct.shape[0] > MOST_SPECTRA:
        better, worse, key = better[:MOST_SPECTRA], worse[:MOST_SPECTRA], key[:MOST_SPECTRA]
    margins = np.empty((better.size, alphas.size))
    by_key = np.argsort(key, kind="stable")
    with one_blas_thread():
        for same in np.split(by_key, np.flatnonzero(np.diff(key[by_key])) + 1) if key.size else ():
            base, middle = query.without(int(better[same[0]]), int(worse[same[0]]))
            rest = decompose(base[:-1, :-1], base[:-1, -1])
            for part in np.split(same, range(CHUNK, same.size, CHUNK)):
                F = query.factors(better[part], worse[part])
                probes = (query.centred[better[part], :-1] - query.centred[worse[part], :-1]) @ rest.basis
                margins[part] = downdated(rest, F[:, :, :-1] @ rest.basis, middle, F[:, :, -1], probes, alphas)
    hard = np.isnan(margins).any(axis=1)
    if hard.sum() > most:
        return query.judged(better[:most], worse[:most], query.refitted(better[:most], worse[:most], alphas))
    margins[hard] = query.refitted(better[hard], worse[hard], alphas)
    return query.judged(better, worse, margins)


class _Query:
    """The rows of one query, with y as last column, from which two documents can be left out."""

    def __init__(self, rows: Floats, weights: Floats, slot: Ints, scaling: str) -> None:
        own = np.bincount(slot, weights)
        self.rows, self.labels, self.weights, self.slot, self.own = rows, rows[:, -1], weights, slot, own
        self.total = float(weights.sum())
        self.scaling = scaling
        self.slotted = own.size > 1
        about_first = rows - rows[0]  # so that an offset does not cost the digits of the mean
        self.centred = about_first - weights @ about_first / max(self.total, np.finfo(float).tiny)
        self.scatter = _scatter(self.centred, weights)
        if self.slotted:
            sums = np.zeros((own.size, rows.shape[1]))
            np.add.at(sums, slot, weights[:, None] * self.centred)
            self.about_slot = self.centred - (sums / np.where(own > 0, own, 1.0)[:, None])[slot]
            self.within = _scatter(self.about_slot, weights * own[slot])
            self.lone = np.bincount(slot, weights > 0) < 2

    def keys(self, better: Ints, worse: Ints) -> Floats:
        """Pairs with the same key have the same `without`."""
        columns = [self.weights[better], self.weights[worse]]
        if self.slotted:
            columns += [np.where(self.lone[self.slot[one]], -1, self.slot[one]) for one in (better, worse)]
        return np.column_stack(columns)

    def without(self, i: int, j: int) -> tuple[Floats, Floats]:
        """The first part of the matrix without i and j, and M."""
        omega = self.weights[[i, j]]
        left = max(self.total - float(omega.sum()), 0.0)
        base, middle = left * self.scatter, left * np.diag(omega) + np.outer(omega, omega)
        if self.slotted:
            base -= self.within
            for one in (i, j):
                alike = self.slot == self.slot[one]
                base += self.weights[one] * _scatter(self.about_slot[alike], self.weights[alike])
            none = np.zeros((2, 2))
            middle = np.block([[middle, none], [none, -np.diag(omega * self.own[self.slot[[i, j]]])]])
        factor = 1.0 / left if self.scaling == "query" and left > 0 else 1.0
        return factor * base, factor * middle

    def judged(self, better: Ints, worse: Ints, margins: Floats) -> LeftOutPairs:
        gaps = self.labels[better] - self.labels[worse]
        return LeftOutPairs(gaps, self.weights[better] * self.weights[worse], margins)

    def refits(self, n_alphas: int) -> int:
        """How many models are refitted."""
        n, d = self.rows.shape
        width = min(n, d)
        return int(np.clip(WORK / (4.0 * n * d * width + 10.0 * n_alphas * width**3), *REFITS))

    def refitted(self, better: Ints, worse: Ints, alphas: Floats) -> Floats:
        """Margins of these pairs, each by a model fitted without it, one column per α."""
        out = np.empty((better.size, alphas.size))
        with one_blas_thread():
            for p, (i, j) in enumerate(zip(better, worse, strict=True)):
                out[p] = self._without(int(i), int(j), alphas)
        return out

    def _without(self, i: int, j: int, alphas: Floats) -> Floats:
        """s_i - s_j by models fitted without i and j, for every α."""
        stay = np.setdiff1d(np.arange(self.labels.size), (i, j))
        if not stay.size:
            return np.zeros(alphas.size)
        ties = "exclude" if self.slotted else "include"
        rest = compare(self.labels[stay], Queries(None, stay.size), self.weights[stay], ties, self.scaling)
        factors = factorise(narrowed([rest.root(self.rows[stay])]))
        gap = self.rows[i, :-1] - self.rows[j, :-1]
        return np.array([gap @ factors.at(float(alpha)).solution for alpha in alphas])

    def factors(self, better: Ints, worse: Ints) -> Floats:
        columns = [self.centred[better], self.centred[worse]]
        if self.slotted:
            columns += [self.about_slot[better], self.about_slot[worse]]
        return np.stack(columns, axis=1)


def _pairs(labels: Floats, weights: Floats) -> tuple[Ints, Ints]:
    """Preference pairs of positive weight, in random order: all of them, or `MOST_PAIRS` drawn."""
    rows = np.flatnonzero(weights > 0)
    ranks = rows[np.argsort(labels[rows], kind="stable")]
    worse_than = np.searchsorted(labels[ranks], labels[ranks], side="left")
    ends = np.cumsum(worse_than)
    total = int(ends[-1]) if ends.size else 0
    random = np.random.default_rng(SEED)
    number = random.permutation(total) if total <= MOST_PAIRS else random.integers(0, total, MOST_PAIRS)
    better = np.searchsorted(ends, number, side="right")
    return ranks[better], ranks[number - (ends - worse_than)[better]]


def _scatter(rows: Floats, weights: Floats) -> Floats:
    scatter: Floats = (rows * weights[:, None]).T @ rows
    return scatter
