"""Findings about features without a value, with one value only, and about features that are equal to each other."""

import math

import numpy as np

from rankwise.checking import kernels
from rankwise.checking.columns import Features
from rankwise.checking.findings import Finding, listed, percent, these
from rankwise.foundation.arrays import Array, Floats

NEAR = 1e-5  # two columns are proportional if they differ by less than this share of their typical deviation
LEAST_ROWS = 20  # in fewer rows, features are constant or equal by chance
LEAST_SUPPORT = 3  # and if fewer values stand out, such as words that occur in one document only
NEIGHBOURS = 20  # columns with similar keys that one is compared with


def check_features(features: Features) -> list[Finding]:
    enough = features.n_rows >= LEAST_ROWS
    return _missing(features) + (_constant(features) + _equal(features) if enough else [])


def _missing(features: Features) -> list[Finding]:
    found = []
    for code, at, what, advice in (
        (
            "missing-values",
            kernels.MISSING,
            "no value",
            "Fill them in where they come from, or state one by missing (--missing X)",
        ),
        ("infinite-values", kernels.INFINITE, "infinite values", "Find out where they come from"),
    ):
        counts = features.counts[:, at]
        if counts.any():
            names = features.named(np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)])
            total, share = int(counts.sum()), float(counts.max() / features.n_rows)
            message = (
                f"{these(len(names), 'features', 'has', 'have')} {what} in some rows, {total:,} in all: "
                f"{listed(names)} (up to {percent(share)} of the rows)."
            )
            numbers = {"values": total, "largest_share": share}
            found.append(Finding(code, message, f"{advice}: training refuses them.", names, numbers=numbers))
    return found


def _constant(features: Features) -> list[Finding]:
    constant = features.numbers[:, kernels.LOW] == features.numbers[:, kernels.HIGH]
    found = []
    if constant.any():
        names = features.named(constant)
        zeros = int((features.numbers[constant, kernels.LOW] == 0).sum())
        zero = f" ({zeros:,} of them always 0)" if 0 < zeros < len(names) else ", always 0" if zeros else ""
        message = f"{these(len(names), 'features', 'never changes', 'never change')}{zero}: {listed(names)}."
        advice = "No ranker can use them. If they should vary, look for the error where they are computed or logged."
        found.append(Finding("constant-feature", message, advice, names, numbers={"zero": zeros}))
    within = features.varies & (features.counts[:, kernels.VARIES] == 0)
    if within.any() and len(features.queries) > 1:
        names = features.named(within)
        message = (
            f"{these(len(names), 'features', 'has', 'have')} one value for all documents of a query, in every query: "
            f"{listed(names)}."
        )
        advice = "A linear ranker cannot use them: leave them out, or multiply them by features of documents."
        found.append(Finding("constant-within-queries", message, advice, names))
    return found


def _equal(features: Features) -> list[Finding]:
    """Groups of equal columns, and groups of proportional ones among the first of each."""
    copies = _copies(features)
    repeated = np.zeros(features.n_features, bool)
    repeated[[j for group in copies.values() for j in group]] = True
    found = []
    for code, groups, sign, what, advice in (
        ("duplicate-features", copies, "=", "equal to another one", "Keep one of each: copies share one weight."),
        (
            "proportional-features",
            _proportional(features, np.flatnonzero((features.support >= LEAST_SUPPORT) & ~repeated)),
            "~",
            "another one times a factor, plus an offset",
            "Keep one of each: a linear ranker learns nothing more from the others.",
        ),
    ):
        if groups:
            names = features.named(np.array(sorted(j for group in groups.values() for j in group)))
            texts = [f" {sign} ".join(features.named(np.array([j, *group[:2]]))) for j, group in groups.items()]
            message = f"{these(len(names), 'features', 'is', 'are')} {what}: {listed(texts)}."
            found.append(Finding(code, message, advice, names))
    return found


def _copies(features: Features) -> dict[int, list[int]]:
    """Column -> later columns that are equal to it: their summaries are then equal to the last bit."""
    columns = np.flatnonzero(features.support >= LEAST_SUPPORT)
    _, same = np.unique(features.numbers[columns], axis=0, return_inverse=True)
    first: dict[int, int] = {}
    copies: dict[int, list[int]] = {}
    for j, summary in zip(columns.tolist(), same.ravel().tolist(), strict=True):
        kept = first.setdefault(summary, j)
        if kept != j and features.are_equal(kept, j):
            copies.setdefault(kept, []).append(j)
    return copies


def _proportional(features: Features, columns: Array) -> dict[int, list[int]]:
    """Column -> later columns that are proportional to it, found among those with similar keys."""
    keys = features.numbers[columns][:, [kernels.FIRST_KEY, kernels.SECOND_KEY]]
    order = np.argsort(keys[:, 0], kind="stable")
    keys, columns = keys[order], columns[order]
    groups: dict[int, list[int]] = {}
    taken: set[int] = set()
    for apart in range(1, min(NEIGHBOURS, len(columns) - 1) + 1):
        near = (np.abs(keys[apart:] - keys[:-apart]) <= NEAR).all(axis=1)
        for one, other in zip(columns[:-apart][near].tolist(), columns[apart:][near].tolist(), strict=True):
            first, second = min(one, other), max(one, other)
            if not {first, second} & taken and are_proportional(features.column(first), features.column(second)):
                groups.setdefault(first, []).append(second)
                taken.add(second)
    return dict(sorted(groups.items()))


def are_proportional(a: Floats, b: Floats) -> bool:
    """Whether b is a times a factor plus an offset, to within rounding relative to a typical deviation.

    A correlation of 1 is no proof: two columns also have it if they share one very large value.
    """
    x, y = _in_typical_deviations(a), _in_typical_deviations(b)
    if x is None or y is None:
        return False
    slope = (x @ y) / (x @ x)
    offset = y.mean() - slope * x.mean()
    return bool((np.abs(slope * x + offset - y) <= NEAR * (1 + np.abs(y))).all())


def _in_typical_deviations(column: Floats) -> Floats | None:
    """The deviations from the median, divided by the median of those that are not 0; None if this overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = column - np.median(column)
        present = np.abs(deviations[deviations != 0])
        typical = float(np.median(present)) if present.size else math.nan
        scaled: Floats = deviations / typical
        return scaled if math.isfinite(float(scaled @ scaled)) else None
