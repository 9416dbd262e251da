"""Findings about single features and the labels: the share of the preference pairs that a feature orders by itself."""

import math

import numpy as np

from rankwise.checking.columns import Features
from rankwise.checking.features import are_proportional
from rankwise.checking.findings import Finding, listed, these
from rankwise.checking.rows import groups
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.threads import share
from rankwise.metrics.rankings import SMALLEST
from rankwise.pairs.preferences import Preferences
from rankwise.pairs.queries import draw

SUSPICIOUS = 0.99  # share of the pairs that a feature orders by itself
SAMPLE = 20_000  # documents on which all features are tried; the suspicious ones are counted on all
LEAST_PAIRS = 100  # below this, a perfect feature says nothing
LEAST_BITS = 20.0  # and if chance gives one among all features with probability 2^-20 or more
TELLING = 0.05  # a feature tells something if it orders this much more or less than half of the pairs
MANY = 8  # telling features needed to say that the labels are reversed
AGAINST = 0.9  # and how far their sum must be on the other side: 1 if all are


class Pairs:
    """The preference pairs of some rows."""

    def __init__(self, y: Floats, codes: Ints) -> None:
        self.y, self.codes = y, codes
        self.preferences = Preferences(y, codes, n_jobs=1)
        self.number = self.preferences.active(np.zeros(y.size)).n_pairs

    def accuracy(self, values: Floats) -> float:
        """The share that the values put in the right order; ties, and pairs without a value, count as one half."""
        known = np.isfinite(values)
        preferences, n_known = self.preferences, self.number
        if not known.all():
            part = Pairs(self.y[known], self.codes[known]) if known.any() else None
            if part is None or not part.number:
                return 0.5
            preferences, n_known, values = part.preferences, part.number, values[known]
        ranking = preferences.ranked(values)
        wrong, right = ranking.active(0.0).n_pairs, n_known - ranking.active(SMALLEST).n_pairs
        return 0.5 + (right - wrong) / (2 * self.number)


def check_leaks(features: Features, y: Floats, pairs: int) -> list[Finding]:
    """Features that give the labels away, and labels that seem to be reversed."""
    if pairs < LEAST_PAIRS or not _is_telling(features, y):
        return []
    columns, rows = np.flatnonzero(features.varies & _reaching(features, y, pairs)), _sample(features)
    shares = _accuracies(features, y, columns, rows)
    found = _reversed(features, columns, shares)
    is_near = np.abs(shares - 0.5) >= SUSPICIOUS - 0.5 - TELLING
    columns, shares = columns[is_near], shares[is_near]
    if rows.size < features.n_rows:
        shares = _accuracies(features, y, columns, np.arange(features.n_rows))
    strength = np.maximum(shares, 1 - shares)
    return _leaking(features, y, columns[strength >= SUSPICIOUS], strength[strength >= SUSPICIOUS]) + found


def _accuracies(features: Features, y: Floats, columns: Ints, rows: Ints) -> Floats:
    """The share of the pairs among the rows that each of the columns orders by itself."""
    pairs = Pairs(y[rows], features.queries.codes[rows])
    if not pairs.number:
        return np.full(columns.size, 0.5)
    work = columns.tolist()
    return np.array(share(lambda j: pairs.accuracy(features.column(j, rows)), work, features.n_threads))


def _leaking(features: Features, y: Floats, columns: Ints, strength: Floats) -> list[Finding]:
    copies = np.array([are_proportional(y, features.column(j)) for j in columns.tolist()], bool)
    found = []
    for code, chosen, what in (
        ("label-copy", copies, "the label itself, perhaps times a factor and plus an offset"),
        (
            "perfect-feature",
            ~copies & (strength == 1),
            "enough by itself to order every pair of documents of every query",
        ),
        ("near-perfect-feature", ~copies & (strength < 1), "enough by itself to order at least 99 % of the pairs"),
    ):
        if chosen.any():
            names = features.named(columns[chosen])
            message = f"{these(len(names), 'features', 'is', 'are')} {what}: {listed(names)}."
            advice = "If it is made from the label, or known only after it (clicks), leave it out by ignore (--ignore)."
            numbers = {"pairwise_accuracy": float(strength[chosen].min())}
            found.append(Finding(code, message, advice, names, numbers=numbers))
    return found


def _reversed(features: Features, columns: Ints, shares: Floats) -> list[Finding]:
    telling = np.abs(shares - 0.5) >= TELLING
    excess = shares[telling] - 0.5
    if excess.size < MANY or excess.sum() > -AGAINST * np.abs(excess).sum():
        return []
    names = features.named(columns[telling][excess < 0])
    message = (
        f"{len(names):,} of the {excess.size:,} features that tell anything about the label are smaller for documents "
        f"with higher labels: {listed(names)}."
    )
    advice = "Higher labels must mean better documents: if yours are ranks or grades with 1 as the best, negate them."
    return [Finding("reversed-labels", message, advice, names, numbers={"telling": int(excess.size)})]


def _reaching(features: Features, y: Floats, pairs: int) -> Array:
    """Which columns are not 0 in both documents of so many pairs that they can order 99 % of them."""
    if isinstance(features.X, np.ndarray):
        return np.ones(features.n_features, bool)
    partners = Preferences(y, features.queries).active(np.zeros(len(y))).degree
    csc = features.by_column
    sums = np.bincount(
        np.repeat(np.arange(features.n_features), np.diff(csc.indptr)), partners[csc.indices], features.n_features
    )
    return np.asarray(sums >= (2 * SUSPICIOUS - 1) * pairs)


def _is_telling(features: Features, y: Floats) -> bool:
    """Whether it cannot be chance that one of so many features orders every pair.

    A random order of n documents with n_1, n_2, ... of each label is right with probability n_1! n_2! ... / n!.
    """
    sizes = np.diff(groups(features.queries.codes, y)[1])
    bits = sum(map(math.lgamma, features.queries.sizes + 1.0)) - sum(map(math.lgamma, sizes + 1.0))
    return bits / math.log(2) >= LEAST_BITS + math.log2(2 * max(features.n_features, 1))


def _sample(features: Features) -> Ints:
    """All rows, or if there are many those of random queries."""
    queries = features.queries
    if features.n_rows <= SAMPLE:
        return np.arange(features.n_rows)
    rows = draw(queries.starts, SAMPLE, np.random.default_rng(0))[1]
    return np.sort(rows if queries.rows is None else queries.rows[rows])
