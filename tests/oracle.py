"""The naive double loop: every pair looked at, nothing clever. What all fast code is held against."""

import numpy as np


def pairs(labels, queries=None):
    """Every (i, j) of one query with labels[i] > labels[j]."""
    n = len(labels)
    queries = np.zeros(n) if queries is None else np.asarray(queries)
    return [(i, j) for i in range(n) for j in range(n) if queries[i] == queries[j] and labels[i] > labels[j]]


def adjacency(labels, queries, weights, scores, threshold):
    """A[i, j] = weight of the active pair (i preferred to j), else 0."""
    n = len(labels)
    weights = np.ones(n) if weights is None else np.asarray(weights, float)
    active = np.zeros((n, n))
    for i, j in pairs(labels, queries):
        if scores[i] - scores[j] < threshold:
            active[i, j] = weights[i] * weights[j]
    return active


def risk(loss, labels, queries, weights, scores):
    """The sum of loss(s_i - s_j) over all preference pairs."""
    n = len(labels)
    weights = np.ones(n) if weights is None else np.asarray(weights, float)
    return sum(weights[i] * weights[j] * loss(scores[i] - scores[j]) for i, j in pairs(labels, queries))
