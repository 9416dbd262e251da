"""What identifies training data: their size, their labels, and a hash of their content."""

import hashlib
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from rankwise.data.records import RankingData

if TYPE_CHECKING:
    from rankwise.data.chunks import ChunkedData
    from rankwise.data.repeated import SharedData


class Labels(TypedDict):
    """How many different labels there are, the least and the greatest."""

    levels: int
    minimum: float
    maximum: float


class Fingerprint(TypedDict):
    """The fingerprint of ranking data, as a model file holds it."""

    rows: int
    queries: int
    features: int
    labels: Labels
    hash: str | None


def fingerprint(data: "RankingData | ChunkedData | SharedData", *, hashed: bool) -> Fingerprint:
    """The fingerprint of data that are not empty; `hashed`: with a hash of rows in memory, which takes 1 s per GB."""
    levels = np.unique(data.y)
    return {
        "rows": len(data),
        "queries": data.n_queries,
        "features": data.n_features,
        "labels": {"levels": levels.size, "minimum": float(levels[0]), "maximum": float(levels[-1])},
        "hash": f"blake2b:{content_hash(data)}" if hashed and isinstance(data, RankingData) else None,
    }


def content_hash(data: RankingData) -> str:
    """A hash of features, labels, ids of queries and groups, and weights.

    It depends on the order of the rows and on the type of X.
    """
    digest = hashlib.blake2b(digest_size=16)
    X = data.X
    for part in (X,) if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr):
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    for column in (data.y, data.qid, data.weight, data.groups):
        if column is not None:
            plain = column.astype(str) if column.dtype == object else column  # whose bytes are addresses
            digest.update(f"{X.shape} {plain.dtype}".encode() + plain.tobytes())
    return digest.hexdigest()
