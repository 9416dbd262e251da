"""Small ranking problems on integers, so that ties in scores, labels and thresholds happen all the time."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


class Problem(NamedTuple):
    labels: np.ndarray
    queries: np.ndarray | None
    weights: np.ndarray | None
    scores: np.ndarray


@st.composite
def problems(draw, max_documents=40):
    """1 to 9 levels or all labels distinct, 1 to 5 scattered queries, some of one document or one level."""
    n = draw(st.integers(1, max_documents))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n_levels = draw(st.sampled_from([1, 2, 3, 4, 5, 9, None]))
    labels = rng.permutation(n) - 3.5 if n_levels is None else rng.integers(0, n_levels, n).astype(float)
    n_queries = draw(st.integers(1, 5))
    queries = None if draw(st.booleans()) else rng.choice(["a", "b", "c", "d", "e"][:n_queries], n)
    if queries is not None and draw(st.booleans()):  # one query has only one level
        labels = np.where(queries == queries[0], 1.0, labels)
    weights = rng.integers(0, 4, n).astype(float) if draw(st.booleans()) else None
    scores = rng.integers(-3, 4, n).astype(float)
    return Problem(labels, queries, weights, scores)


thresholds = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, np.inf])
