"""Findings about features by themselves: missing, constant, equal, placeholders, outliers, scales."""

import math

import numpy as np

from rankwise.checking import kernels
from rankwise.checking.columns import Features
from rankwise.checking.findings import Finding, listed
from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.texts import counted

NEAR = 1e-5  # two columns are proportional if they differ by less than this share of their spread
NEIGHBOURS = 20  # columns with similar keys that one is compared with
FAR = 1e3  # an outlier is this many times as far from the median as 99.9 % of the values
FEW = 1e-3  # share of the values that outliers can have, and that a placeholder has at least
LEAST = 20  # values that a column needs for its outliers to be told
OFTEN = 10  # least number of rows that have a placeholder
SENTINELS = [float(f"{'9' * k}") for k in range(3, 11)] + [10.0**k for k in range(5, 31)]
SENTINELS += [2.0**31 - 1, 2.0**31, 2.0**32 - 1, 2.0**63, float(np.finfo(np.float32).max)]
DIFFERENT = 1e3  # ratio of ranges
OFFSET = 1e4  # ratio of a mean and a range


def check_features(features: Features) -> list[Finding]:
    """Everything that the features tell without labels."""
    found = [*_missing(features), *_constant(features), *_equal(features), *_placeholders(features)]
    return found + _outliers(features) + _scales(features)


def is_constant(features: Features) -> Array:
    """A mask of the columns with one value, or with none that is finite."""
    return ~(features.numbers[:, kernels.LOW] < features.numbers[:, kernels.HIGH])


def _missing(features: Features) -> list[Finding]:
    found = []
    for code, at, what, advice in (
        (
            "missing-values",
            kernels.MISSING,
            "no value",
            "Training refuses them: fill them in where they come from, or state a value by --missing X.",
        ),
        ("infinite-values", kernels.INFINITE, "infinite values", "Training refuses them: find out where they come from."),
    ):
        counts = features.counts[:, at]
        if counts.any():
            worst = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
            names = features.named(worst)
            share = counts.max() / features.n_rows
            message = (
                f"{counted(len(names), 'features')} of {features.n_features:,} have {what} in some rows, "
                f"{int(counts.sum()):,} in all: {listed(names)} (up to {_percent(share)} of the rows)."
            )
            numbers = {"values": int(counts.sum()), "largest_share": float(share)}
            found.append(Finding(code, _one(message, len(names)), advice, names, numbers=numbers))
    return found


def _one(message: str, n: int) -> str:
    return message.replace(" have ", " has ", 1) if n == 1 else message


def _constant(features: Features) -> list[Finding]:
    constant = is_constant(features)
    within = ~constant & (features.counts[:, kernels.VARIES] == 0)
    found = []
    if constant.any():
        names = features.named(constant)
        zeros = int((features.numbers[constant, kernels.LOW] == 0).sum())
        all_zero = f"; {'it is' if len(names) == 1 else f'{zeros:,} of them are'} 0" if zeros else ""
        message = f"{counted(len(names), 'features')} never change{'s' if len(names) == 1 else ''}: {listed(names)}{all_zero}."
        advice = "No ranker can use them. If they should vary, look for the error where features are computed or logged."
        found.append(Finding("constant-feature", message, advice, names, numbers={"zero": zeros}))
    if within.any() and len(features.queries) > 1:
        names = features.named(within)
        message = (
            f"{counted(len(names), 'features')} {'has' if len(names) == 1 else 'have'} the same value for all documents "
            f"of a query, in every query: {listed(names)}."
        )
        advice = "A linear ranker cannot use what is the same for all documents of a query: leave them out, or multiply "
        found.append(Finding("constant-within-queries", message, advice + "them with features of documents.", names))
    return found


def _equal(features: Features) -> list[Finding]:
    """Groups of equal columns, and of proportional ones among the first of each group."""
    numbers = features.numbers
    candidates = np.flatnonzero(~is_constant(features))
    _, same = np.unique(numbers[candidates], axis=0, return_inverse=True)
    first: dict[int, int] = {}
    copies: dict[int, list[int]] = {}
    for j, group in zip(candidates.tolist(), same.ravel().tolist(), strict=True):
        kept = first.setdefault(group, j)
        if kept != j and np.array_equal(features.column(kept), features.column(j), equal_nan=True):
            copies.setdefault(kept, []).append(j)
    repeated = {j for group in copies.values() for j in group}
    pairs = _proportional(features, np.array([j for j in candidates.tolist() if j not in repeated], np.int64))
    found = []
    for code, groups, sign, advice in (
        ("duplicate-features", copies, "=", "Keep one of each: copies share one weight among them."),
        ("proportional-features", pairs, "~", "One of each is enough: a linear ranker learns the same from both."),
    ):
        if groups:
            n = sum(map(len, groups.values()))
            texts = [f" {sign} ".join(features.named(np.array([j, *group]))[:3]) for j, group in groups.items()]
            what = "equal to another one" if sign == "=" else "another one times a factor, plus an offset"
            message = f"{counted(n, 'features')} {'is' if n == 1 else 'are'} {what}: {listed(texts)}."
            names = features.named(np.array(sorted(j for group in groups.values() for j in group)))
            found.append(Finding(code, message, advice, names))
    return found


def _proportional(features: Features, columns: Array) -> dict[int, list[int]]:
    """Column -> later columns that are proportional to it, found among those with similar keys."""
    keys = features.numbers[columns][:, [kernels.FIRST_KEY, kernels.SECOND_KEY]]
    order = np.argsort(keys[:, 0], kind="stable")
    keys, columns = keys[order], columns[order]
    groups: dict[int, list[int]] = {}
    taken: set[int] = set()
    for back in range(1, min(NEIGHBOURS, len(columns) - 1) + 1):
        near = (np.abs(keys[back:] - keys[:-back]) <= NEAR).all(axis=1)
        for one, other in zip(columns[:-back][near].tolist(), columns[back:][near].tolist(), strict=True):
            a, b = min(one, other), max(one, other)
            if not {a, b} & taken and are_proportional(features.column(a), features.column(b)):
                groups.setdefault(a, []).append(b)
                taken.add(b)
    return dict(sorted(groups.items()))


def are_proportional(a: Floats, b: Floats) -> bool:
    """Whether b is a times a factor plus an offset, to within rounding relative to the bulk of the values.

    A large value that both share in the same rows makes any correlation 1; it is no proof of this.
    """
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return False
    x, y = _centred(a), _centred(b)
    if x is None or y is None:
        return False
    slope = (x @ y) / (x @ x)
    offset = y.mean() - slope * x.mean()
    return bool((np.abs(slope * x + offset - y) <= NEAR * (1 + np.abs(y))).all())


def _centred(column: Floats) -> Floats | None:
    """The deviations from the median in units of a typical one; None if all are 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = column - np.median(column)
        present = np.abs(deviations[deviations != 0])
        typical = float(np.median(present)) if present.size else 0.0
        scaled = deviations / typical if typical else deviations
        return scaled if typical and math.isfinite(float(scaled @ scaled)) else None


def _placeholders(features: Features) -> list[Finding]:
    """Values at an end of the range that many rows share, far from all others.

    Far is 10 times the range of the others; for numbers that people use for this, such as 999, once that range. -1 is
    one if no other value is negative.
    """
    n = features.numbers
    low, next_low, high, next_high = (n[:, at] for at in (kernels.LOW, kernels.NEXT_LOW, kernels.HIGH, kernels.NEXT_HIGH))
    several = (low < next_low) & (next_low < next_high) & (next_high < high)  # four values at least
    often = max(OFTEN, FEW * features.n_rows)
    shown, names, rows = [], [], 0
    with np.errstate(over="ignore", invalid="ignore"):
        ends = (
            (high, high - next_high, next_high - low, features.counts[:, kernels.N_HIGH]),
            (low, next_low - low, high - next_low, features.counts[:, kernels.N_LOW]),
        )
        for value, gap, others, times in ends:
            known = np.isin(np.abs(value), SENTINELS)
            is_far = (gap >= 10 * others) | (known & (gap >= others)) | ((value == -1) & (next_low >= 0))
            for j in np.flatnonzero(several & is_far & (times >= often) & (value != 0)).tolist():
                names.append(features.names[j])
                shown.append(f"{names[-1]} = {value[j]:g} in {_percent(times[j] / features.n_rows)} of the rows")
                rows += int(times[j])
    if not names:
        return []
    message = f"{counted(len(names), 'values')} look{'s' if len(names) == 1 else ''} like a placeholder: {listed(shown)}."
    advice = "A ranker takes it for a number: write a missing value instead, and state what replaces it by --missing X."
    return [Finding("placeholder-values", message, advice, names, numbers={"values": rows})]


def _outliers(features: Features) -> list[Finding]:
    n = features.numbers
    low, high, mean, deviation = (n[:, at] for at in (kernels.LOW, kernels.HIGH, kernels.MEAN, kernels.DEVIATION))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        farthest = np.maximum(high / 2 - mean / 2, mean / 2 - low / 2) * 2
        # all values but one share FEW are within 1 / FAR of the farthest: the mean square deviation is then small
        possible = ~is_constant(features) & (n[:, kernels.NEXT_HIGH] > low) & (farthest >= 4 * deviation)
    names, factors, shown = [], [], []
    for j in np.flatnonzero(possible).tolist():
        factor = _farthest(features.column(j))
        if factor > FAR:
            names.append(features.names[j])
            factors.append(factor)
            end = high[j] if high[j] - mean[j] >= mean[j] - low[j] else low[j]
            shown.append(f"{names[-1]} up to {end:.4g}, {factor:,.0f} times as far from the median as 99.9 % of its values")
    if not names:
        return []
    message = f"{counted(len(names), 'features')} {'has' if len(names) == 1 else 'have'} outliers: {listed(shown)}."
    advice = "They outweigh all other values: look at these rows; clip the feature or take its logarithm."
    return [Finding("outliers", message, advice, names, numbers={"largest_factor": max(factors)})]


def _farthest(column: Floats) -> float:
    """How many times as far from the median the farthest value is as the values without the few farthest.

    If most values are 0, zeros are left out.
    """
    values = column[np.isfinite(column)]
    present = values[values != 0]
    values = present if 2 * present.size < values.size else values
    if values.size < LEAST:
        return 0.0
    with np.errstate(over="ignore"):
        distances = np.abs(values - np.median(values))
    few = max(1, int(FEW * values.size))
    bulk, farthest = np.partition(distances, values.size - 1 - few)[values.size - 1 - few], distances.max()
    return float(farthest / bulk) if bulk > 0 and math.isfinite(farthest) else 0.0


def _scales(features: Features) -> list[Finding]:
    n = features.numbers
    with np.errstate(over="ignore"):
        ranges = n[:, kernels.HIGH] - n[:, kernels.LOW]
    varying = np.flatnonzero(~is_constant(features))
    found = []
    if varying.size:
        widest, narrowest = (varying[pick(ranges[varying])] for pick in (np.argmax, np.argmin))
        ratio = float(ranges[widest] / max(ranges[narrowest], np.finfo(np.float64).tiny))
        if ratio >= DIFFERENT:
            ends = [f"{features.names[j]} has a range of {ranges[j]:.3g}" for j in (widest, narrowest)]
            message = f"Features have very different scales: {ends[0]}, {ends[1]}."
            advice = "Regularisation then holds back the small ones: train with --normalize, for example query-minmax."
            names = [features.names[widest], features.names[narrowest]]
            found.append(Finding("different-scales", message, advice, names, numbers={"ratio": ratio}))
    with np.errstate(over="ignore"):
        offset = varying[np.abs(n[varying, kernels.MEAN]) >= OFFSET * ranges[varying]]
    if offset.size:
        names = features.named(offset)
        first = offset[0]
        message = (
            f"{counted(len(names), 'features')} {'is' if len(names) == 1 else 'are'} large and differ"
            f"{'s' if len(names) == 1 else ''} little: {listed(names)}; {names[0]} is about {n[first, kernels.MEAN]:.4g} "
            f"with a range of {ranges[first]:.3g}."
        )
        advice = "Digits are lost in large numbers: subtract what they have in common, or train with --normalize."
        found.append(Finding("large-offset", message, advice, names))
    return found


def _percent(share: float) -> str:
    return "less than 0.1 %" if 0 < share < 0.001 else f"{100 * share:.3g} %"
