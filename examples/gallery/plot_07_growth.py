"""
How does the time grow with the number of documents?
====================================================

n documents with distinct labels have n(n - 1)/2 pairs. Two sweeps in the order of the scores give the same sums as a
loop over all pairs, in linearithmic time. This is measured here, on the machine that built the page.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from rankwise import Preferences

random = np.random.default_rng(0)


def seconds(function, *arguments):
    """The shortest of three runs."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - begin)
    return min(times)


def by_sweeps(labels, scores):
    return Preferences(labels).active(scores, 1.0).n_pairs


def by_enumeration(labels, scores):
    return int(np.sum((labels[:, None] > labels) & (scores[:, None] - scores < 1.0)))


def problem(n):
    labels = random.permutation(n).astype(float)
    return labels, labels / n + random.normal(size=n)


assert by_sweeps(*problem(500)) > 0  # kernels are compiled here, before anything is measured
labels, scores = problem(1000)
print(by_sweeps(labels, scores), by_enumeration(labels, scores))

# %%
# Counting the active pairs, both ways:

sizes = {by_enumeration: [500, 1000, 2000, 4000], by_sweeps: [1000, 4000, 16_000, 64_000, 256_000]}
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for function, numbers in sizes.items():
    times = [seconds(function, *problem(n)) for n in numbers]
    ax.loglog(numbers, times, "o-", label=function.__name__.replace("_", " "))
ax.set(xlabel="documents", ylabel="seconds")
ax.legend()
