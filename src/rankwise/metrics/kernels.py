"""Compiled measures: a kernel fills `out`, one number per query, for the queries between `starts`.

Arrays are sorted by place; `ends[i]` is the end of the tie that contains place i. The result is the mean over all
orders of the tied documents, in closed form (McSherry and Najork, 2008; the form for ERR is ours).
"""

import math

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import kernel

NEGLIGIBLE = -42.0  # e to this power is below 2^-60


@kernel
def discounted_sums(starts: Ints, gains: Floats, discounts: Floats, out: Floats) -> None:
    """The sum of gain * discount over as many places as there are discounts."""
    for q in range(out.size):
        first = starts[q]
        total = 0.0
        for i in range(min(starts[q + 1] - first, discounts.size)):
            total += gains[first + i] * discounts[i]
        out[q] = total


@kernel
def mean_ndcg(starts: Ints, gains: Floats, ideal: Floats, discounts: Floats, out: Floats) -> None:
    """The mean of NDCG@1, NDCG@2, ... up to the number of documents; a term is 0 if the ideal DCG is 0."""
    for q in range(out.size):
        first, size = starts[q], starts[q + 1] - starts[q]
        dcg = best = total = 0.0
        for i in range(size):
            dcg += gains[first + i] * discounts[i]
            best += ideal[first + i] * discounts[i]
            if best > 0.0:
                total += min(dcg / best, 1.0)
        out[q] = total / size


@kernel
def average_precision(starts: Ints, relevant: Floats, ends: Ints, out: Floats) -> None:
    """The mean of precision@i over the places i of relevant documents; 0 if there are none."""
    for q in range(out.size):
        first, place = starts[q], starts[q]
        before = total = 0.0
        while place < starts[q + 1]:
            end = ends[place]
            size = end - place
            tied = relevant[place:end].sum()
            if tied > 0.0:
                # t (tied - 1) / (size - 1) other relevant documents on average precede one at place t of the tie
                others = (tied - 1.0) / (size - 1.0) if size > 1 else 0.0
                for t in range(size):
                    total += tied / size * (before + 1.0 + t * others) / (place - first + t + 1)
            before += tied
            place = end
        out[q] = total / before if before > 0.0 else 0.0


@kernel
def cascade(starts: Ints, stops: Floats, ends: Ints, cutoff: int, out: Floats) -> None:
    """The expected reciprocal place at which a reader stops, who stops at place i with probability stops[i]."""
    for q in range(out.size):
        first, place = starts[q], starts[q]
        last = min(starts[q + 1], first + cutoff)
        reading, total = 1.0, 0.0
        while place < last and reading > 0.0:
            end = ends[place]
            passed = _passed(stops[place:end], min(end, last) - place)
            for t in range(1, passed.size):
                total += reading * (passed[t - 1] - passed[t]) / (place - first + t)
            for i in range(place, end):
                reading *= 1.0 - stops[i]
            place = end
        out[q] = total


@kernel
def _passed(stops: Floats, depth: int) -> Floats:
    """The probabilities to read on after 0, 1, ... `depth` of these documents, or until they are negligible.

    The documents are in random order: a probability is the mean product of (1 - stop) over all subsets of that size.
    """
    size = stops.size
    certain = 0
    for stop in stops:
        certain += stop == 1.0 or stop == 0.0
    if certain == size:
        return _passed_certain(size, stops.sum(), depth)
    mean = 1.0 - stops.sum() / size  # by Maclaurin's inequality passed[t] <= mean ** t
    if mean < 1.0:
        depth = min(depth, math.ceil(NEGLIGIBLE / math.log(mean)))
    passed = np.zeros(depth + 1)
    passed[0] = 1.0
    for n in range(1, size + 1):
        for t in range(min(n, depth), 0, -1):
            chosen = t / n
            passed[t] = (1.0 - chosen) * passed[t] + chosen * (1.0 - stops[n - 1]) * passed[t - 1]
    return passed


@kernel
def _passed_certain(size: int, stopping: float, depth: int) -> Floats:
    """`_passed` if `stopping` of the documents certainly stop the reader and the others never do."""
    passed = np.ones(depth + 1)
    for t in range(1, depth + 1):
        passed[t] = passed[t - 1] * max(0.0, (size - stopping - t + 1.0) / (size - t + 1.0))
    return passed
