"""Findings about the values of features: placeholders, ids, outliers, scales and offsets."""

import math
import re

import numpy as np

from rankwise.checking import kernels
from rankwise.checking.columns import Features
from rankwise.checking.findings import Finding, listed, percent, these
from rankwise.foundation.arrays import Array

FEW = 1e-3  # share of the values that outliers can have, and that a placeholder has at least
FAR = 1e3  # an outlier is this many times as far from the median as all but FEW of the values
LEAST = 20  # values that a column needs for its outliers and its scale to be told
OFTEN = 10  # least number of rows that have a placeholder
SENTINELS = [10.0**k - 1 for k in range(3, 11)] + [10.0**k for k in range(5, 31)]  # 999, 9999, ...; 1e5, 1e6, ...
SENTINELS += [2.0**31 - 1, 2.0**31, 2.0**32 - 1, 2.0**63, float(np.finfo(np.float32).max)]
DIFFERENT = 1e3  # ratio of the ranges of two features
OFFSET = 1e4  # ratio of the mean and the range of a feature
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")  # of a name: product_id, productId
IDS = {"id", "docid", "itemid", "productid", "sku", "asin", "ean", "gtin", "isbn", "upc"}  # last words of names of ids


def check_values(features: Features) -> list[Finding]:
    found = [*_placeholders(features), *_ids(features), *_outliers(features)]
    extreme = {name for one in found for name in one.features}
    return [*found, *_scales(features, extreme), *_offsets(features)]


def _placeholders(features: Features) -> list[Finding]:
    """Values at an end of the range that many rows share, far from all others.

    Far is ten times the range of the others; for numbers that are often used for this, such as 999, once that range. -1
    is a placeholder if no other value is negative. There must be three other values at least.
    """
    low, next_low, high, next_high = (
        features.numbers[:, at] for at in (kernels.LOW, kernels.NEXT_LOW, kernels.HIGH, kernels.NEXT_HIGH)
    )
    is_possible = (low < next_low) & (next_low < next_high) & (next_high < high)
    with np.errstate(over="ignore", invalid="ignore"):
        ends = (
            (high, features.counts[:, kernels.N_HIGH], high - next_high, next_high - low),
            (low, features.counts[:, kernels.N_LOW], next_low - low, high - next_low),
        )
        names, texts, rows = [], [], 0
        for value, times, gap, others in ends:
            is_far = (gap >= 10 * others) | (np.isin(np.abs(value), SENTINELS) & (gap >= others))
            is_far |= (value == -1) & (next_low >= 0)
            is_often = times >= max(OFTEN, FEW * features.n_rows)
            for j in np.flatnonzero(is_possible & is_far & is_often & (value != 0)).tolist():
                names.append(features.names[j])
                texts.append(f"{names[-1]} is {value[j]:g} in {percent(times[j] / features.n_rows)} of the rows")
                rows += int(times[j])
    if not names:
        return []
    message = f"{these(len(names), 'values', 'looks', 'look')} like a placeholder for a missing one: {listed(texts)}."
    advice = "A ranker takes it for a number. Leave the cells empty, and state another value by missing (--missing X)."
    return [Finding("placeholder-values", message, advice, names, numbers={"values": rows})]


def _ids(features: Features) -> list[Finding]:
    columns = [j for j in np.flatnonzero(features.varies).tolist() if _is_id(features, j)]
    if not columns:
        return []
    names = features.named(np.array(columns))
    message = (
        f"{these(len(names), 'features', 'looks', 'look')} like an id, by name and whole numbers: {listed(names)}."
    )
    advice = (
        "A ranker would learn a weight for it: name the documents by docid (--doc), leave other ids out (--ignore)."
    )
    return [Finding("id-as-feature", message, advice, names)]


def _is_id(features: Features, j: int) -> bool:
    words = WORD.findall(features.names[j])
    if not words or words[-1].lower() not in IDS:
        return False
    entries = features.entries(j)
    present = entries[np.isfinite(entries)]
    return bool((present == np.trunc(present)).all()) and features.support[j] >= LEAST


def _outliers(features: Features) -> list[Finding]:
    low, high, mean, deviation, next_high = (
        features.numbers[:, at]
        for at in (kernels.LOW, kernels.HIGH, kernels.MEAN, kernels.DEVIATION, kernels.NEXT_HIGH)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        farthest = np.maximum(high - mean, mean - low)
        # if nearly all values are within 1 / FAR of the farthest one, the root mean square deviation is far smaller
        is_possible = (next_high > low) & (farthest >= 4 * deviation) & (features.support >= LEAST)
    factors = {j: _factor(features.entries(j), features.n_rows) for j in np.flatnonzero(is_possible).tolist()}
    worst = sorted((j for j, factor in factors.items() if factor > FAR), key=lambda j: -factors[j])
    if not worst:
        return []
    names = [features.names[j] for j in worst]
    texts = [f"{features.names[j]} from {low[j]:.4g} to {high[j]:.4g}" for j in worst]
    message = (
        f"{these(len(names), 'features', 'has', 'have')} values more than 1,000 times as far from the median as 99.9 % "
        f"of all: {listed(texts)}."
    )
    advice = "They outweigh all others: look at these rows; clip the feature or take its logarithm."
    return [Finding("outliers", message, advice, names, numbers={"largest_factor": factors[worst[0]]})]


def _factor(entries: Array, n_rows: int) -> float:
    """How many times as far from the median the farthest value is as the farthest of all but a few.

    If most values are 0, they are left out.
    """
    present = entries[np.isfinite(entries) & (entries != 0)].astype(np.float64)
    zeros = n_rows - present.size
    values = present if zeros > present.size else np.append(present, np.zeros(zeros))
    if values.size < LEAST:
        return 0.0
    with np.errstate(over="ignore"):
        distances = np.abs(values - np.median(values))
        at = values.size - 1 - max(1, int(FEW * values.size))
        bulk = float(np.partition(distances, at)[at])
        factor = float(distances.max()) / bulk if bulk > 0 else 0.0
    return factor if math.isfinite(factor) else 0.0


def _scales(features: Features, extreme: set[str]) -> list[Finding]:
    """The widest and the narrowest range, except of features whose extreme values were found already."""
    known = np.flatnonzero(features.support >= LEAST).tolist()
    columns = np.array([j for j in known if features.names[j] not in extreme], np.int64)
    ranges = features.ranges[columns]
    if not columns.size or ranges.max() / DIFFERENT < ranges.min():
        return []
    names = [features.names[columns[at]] for at in (ranges.argmax(), ranges.argmin())]
    message = (
        f"The features have very different scales: {listed(names[:1])} has a range of {ranges.max():.3g}, "
        f"{listed(names[1:])} one of {ranges.min():.3g}."
    )
    advice = "Regularisation affects those of small scale far more: train a ScaledRanker (--normalize zscore)."
    numbers = {"largest_range": float(ranges.max()), "smallest_range": float(ranges.min())}
    return [Finding("different-scales", message, advice, names, numbers=numbers)]


def _offsets(features: Features) -> list[Finding]:
    mean = features.numbers[:, kernels.MEAN]
    with np.errstate(over="ignore"):
        columns = np.flatnonzero(features.varies & (np.abs(mean) >= OFFSET * features.ranges))
    if not columns.size:
        return []
    texts = [f"{features.names[j]} is {mean[j]:.4g} with a range of {features.ranges[j]:.3g}" for j in columns]
    message = f"{these(columns.size, 'features', 'is', 'are')} large, with small differences: {listed(texts)}."
    advice = "Large numbers have few digits for differences: subtract the mean, or train a ScaledRanker (--normalize)."
    return [Finding("large-offset", message, advice, features.named(columns))]
