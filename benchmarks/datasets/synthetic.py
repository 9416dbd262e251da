"""Synthetic data of the shapes that the targets name, by `rankwise.make_ranking`."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.datasets import held_out, with_test

MSLR_QUERIES = 18_919


@dataclass(frozen=True)
class WebSearch:
    """MSLR-WEB30K's shape: 120 documents a query, 136 dense float32 features in different scales, 5 skewed levels."""

    n_queries: int = MSLR_QUERIES

    @property
    def name(self) -> str:
        return f"MSLR shape, {self.n_queries:,} queries of 120 documents on average, 136 features"

    def get_data(self, folder: Path | None) -> Any:
        from rankwise import make_ranking

        data = make_ranking(with_test(self.n_queries), 120, 136, dtype=np.float32, random_state=0)
        return held_out(data.X, data.y, data.qid, self.n_queries)


@dataclass(frozen=True)
class Distinct:
    """One query, 8 features, every label another one."""

    n_documents: int

    @property
    def name(self) -> str:
        return f"one query, {self.n_documents:,} x 8, labels distinct"

    def get_data(self, folder: Path | None) -> Any:
        from rankwise import make_ranking

        data = make_ranking(1, (self.n_documents, self.n_documents), 8, n_levels=None, random_state=0)
        return SimpleNamespace(X=data.X, y=data.y, qid=None)


@dataclass(frozen=True)
class SparseAuc:
    """One query, two levels, as many features as documents, 30 non-zeros a document."""

    n_documents: int = 1_000_000

    @property
    def name(self) -> str:
        return f"sparse AUC, {self.n_documents:,} x {self.n_documents:,}"

    def get_data(self, folder: Path | None) -> Any:
        from rankwise import make_ranking

        n = self.n_documents
        data = make_ranking(1, (n, n), n, n_levels=2, density=30 / n, random_state=0)
        return SimpleNamespace(X=data.X, y=data.y, qid=None)


@dataclass(frozen=True)
class Clicks:
    """Lee and Lin's click-through data by shape: one query, 94,000 levels, 22 ones among a million features."""

    n_documents: int = 11_000_000

    @property
    def name(self) -> str:
        return f"click-through shape, {self.n_documents:,} documents"

    def get_data(self, folder: Path | None) -> Any:
        from scipy.sparse import csr_array

        n, stored, n_features = self.n_documents, 22, 1_000_000
        rng = np.random.default_rng(0)
        indices = rng.integers(0, n_features, (n, stored), dtype=np.int32)
        indices.sort(axis=1)
        starts = np.arange(0, indices.size + 1, stored, dtype=np.int32)
        X = csr_array((np.ones(indices.size, np.float32), indices.ravel(), starts), shape=(n, n_features))
        X.sum_duplicates()
        quality = X @ rng.normal(size=n_features).astype(np.float32) + 5 * rng.standard_normal(n, dtype=np.float32)
        return SimpleNamespace(X=X, y=np.argsort(np.argsort(quality)) * 94_000 // n, qid=None)


@dataclass(frozen=True)
class Scaled:
    """20 dense features of mean 0 and variance 1, 100 documents a query: for kernels."""

    n_queries: int

    @property
    def name(self) -> str:
        return f"{self.n_queries * 100:,} x 20, scaled"

    def get_data(self, folder: Path | None) -> Any:
        from rankwise import make_ranking

        data = make_ranking(with_test(self.n_queries), (100, 100), 20, random_state=0)
        X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
        return held_out(X, data.y, data.qid, self.n_queries)


@dataclass(frozen=True)
class Plain:
    """Normal features and three levels, 20 documents per query: well-conditioned, a few products suffice."""

    n_documents: int
    n_features: int
    per_query = 20

    @property
    def name(self) -> str:
        return f"{self.n_documents:,} x {self.n_features}, well-conditioned"

    def get_data(self, folder: Path | None) -> Any:
        rng = np.random.default_rng(0)
        n_queries, d = self.n_documents // self.per_query, self.n_features
        n = with_test(n_queries) * self.per_query
        X = rng.normal(size=(n, d))
        quality = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n)
        return held_out(X, np.digitize(quality, (0.0, 1.2)), np.arange(n) // self.per_query, n_queries)


@dataclass(frozen=True)
class Sparse:
    """Queries of equal length over features that occur by Zipf's law, with TF-IDF-like weights or uniform ones."""

    n_documents: int
    n_features: int
    stored: int
    per_query: int
    n_levels: int = 3
    words: bool = False

    @property
    def name(self) -> str:
        kind = "words" if self.words else "sparse"
        return f"{kind}, {self.n_documents:,} x {self.n_features:,}, {self.stored} stored per row"

    def get_data(self, folder: Path | None) -> Any:
        from scipy.sparse import csr_array

        rng = np.random.default_rng(0)
        n_queries, d, k = self.n_documents // self.per_query, self.n_features, self.stored
        n = with_test(n_queries) * self.per_query
        shares = 1.0 / np.arange(1, d + 1) ** (0.9 if self.words else 0.0)
        shares /= shares.sum()
        columns = np.searchsorted(np.cumsum(shares), rng.random(n * k)).clip(0, d - 1)
        values = -np.log(shares[columns]) if self.words else rng.random(n * k)
        X = csr_array((values, columns, np.arange(0, n * k + 1, k)), shape=(n, d))
        X.sum_duplicates()
        if self.words:
            X.data /= np.repeat(np.sqrt(X.power(2).sum(axis=1)), np.diff(X.indptr))
        quality = X @ rng.normal(size=d)
        quality = quality / quality.std() + rng.normal(size=n)
        y = np.argsort(np.argsort(quality)) * self.n_levels // n
        return held_out(X, y, np.arange(n) // self.per_query, n_queries)
