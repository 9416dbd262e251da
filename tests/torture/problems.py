"""Nasty small problems, each of them made from one integer."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

LOSSES = ("hinge", "hinge", "squared_hinge", "squared_hinge", "huber:0.5", "huber:1e-3", "logistic:1e-3", "squared")
LARGEST_ID = 2**53
RATIOS = (0.0, 0.01, 0.5, 0.9, 1.0, 1.0)
RARE = 400  # one case in so many has 10^6 ties


@dataclass(frozen=True)
class Problem:
    seed: int
    X: Any  # dense or CSR, float32 or float64
    y: Any
    qid: Any
    weights: Any
    loss: str
    C: float
    tol: float
    traits: tuple[str, ...]
    l1_ratio: float = 0.0
    signs: Any = None

    def __str__(self) -> str:
        kind = "CSR" if sparse.issparse(self.X) else "dense"
        shape = f"{self.X.shape[0]} × {self.X.shape[1]} {kind} {self.X.dtype}"
        return f"case {self.seed}: {shape}, {self.loss}, C={self.C:g}, tol={self.tol:g}, {', '.join(self.traits)}"

    @property
    def dense(self) -> Any:
        return self.X.toarray() if sparse.issparse(self.X) else self.X


class Maker:
    """One problem in the making; each method is a way to make it worse."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.traits: list[str] = []

    def chance(self, p: float, trait: str = "") -> bool:
        hit = bool(self.rng.random() < p)
        if hit and trait:
            self.traits.append(trait)
        return hit

    def power(self, low: float, high: float, size: Any = None) -> Any:
        return 10.0 ** self.rng.uniform(low, high, size)

    def rows(self) -> Any:
        rng = self.rng
        n, d = int(rng.integers(2, 16)), int(rng.integers(1, 7))
        if self.chance(0.05, "one pair"):
            n = 2
        if self.chance(0.1, "n < d"):
            d = n + int(rng.integers(1, 6))
        if self.chance(1 / RARE, "10^6 ties"):
            n, d = int(rng.integers(1450, 1550)), int(rng.integers(1, 4))
            return rng.integers(0, 4, (n, d)).astype(float)
        kind = rng.integers(4)
        if kind == 0:
            self.traits.append("small integers")
            return rng.integers(-2, 3, (n, d)).astype(float)
        if kind == 1:
            self.traits.append("heavy tails")
            return np.clip(rng.standard_cauchy((n, d)) ** 3, -1e12, 1e12)
        return rng.normal(size=(n, d))

    def labels(self, X: Any) -> Any:
        rng, n = self.rng, X.shape[0]
        if self.chance(0.3, "separable"):
            score = X @ rng.normal(size=X.shape[1])
            return np.searchsorted(np.sort(score)[:: max(1, n // int(rng.integers(1, 5)))], score).astype(float)
        y = rng.integers(0, int(rng.integers(2, 6)), n).astype(float)
        if self.chance(0.1, "labels of 1e6"):
            y = y * 1e6 + 1e9
        return y

    def queries(self, n: int) -> Any:
        rng = self.rng
        if self.chance(0.4):
            return None
        q = np.sort(rng.integers(0, max(1, n // int(rng.integers(1, 7))), n))
        if self.chance(0.3, "scattered queries"):
            q = rng.permutation(q)
        return q

    def dependent(self, X: Any) -> Any:
        rng = self.rng
        if self.chance(0.15, "duplicate rows"):
            X = X[rng.integers(0, X.shape[0], X.shape[0])]
        if self.chance(0.15, "duplicate columns"):
            X = X[:, rng.integers(0, X.shape[1], X.shape[1] + 1)]
        if self.chance(0.15, "dependent columns"):
            X = np.column_stack((X, X @ rng.normal(size=(X.shape[1], 2))))
        if self.chance(0.1, "zero rows"):
            X = X * (rng.random(X.shape[0]) < 0.6)[:, None]
        if self.chance(0.1, "zero columns"):
            X = X * (rng.random(X.shape[1]) < 0.6)
        return X

    def scaled(self, X: Any) -> Any:
        d = X.shape[1]
        if self.chance(0.2, "columns of unlike scales"):
            X = X * self.power(-6, 6, d)
        if self.chance(0.15, "scaled"):
            X = X * self.power(-10, 10)
        if self.chance(0.06, "extreme scale"):
            X = X * self.power(-150, 150)
        if self.chance(0.04, "extreme columns"):
            X = X * self.power(-150, 150, d)
        return X

    def shifted(self, X: Any, qid: Any) -> Any:
        rng, (n, d) = self.rng, X.shape
        if self.chance(0.2, "offsets"):
            X = X + self.power(0, 12, d) * (rng.random(d) < 0.7)
        if self.chance(0.1, "ids per query"):
            ids = rng.integers(0, LARGEST_ID, n if qid is None else int(qid.max()) + 1).astype(float)
            X = np.column_stack((X, np.full(n, ids[0]) if qid is None else ids[qid]))
        if self.chance(0.07, "ids per document"):
            X = np.column_stack((X, rng.integers(0, LARGEST_ID, n).astype(float)))
        return X

    def stored(self, X: Any) -> Any:
        if self.chance(0.15, "float32"):
            X = np.where(np.abs(X) < 1e-36, 0.0, np.clip(X, -1e37, 1e37)).astype(np.float32)
        return sparse.csr_array(X) if self.chance(0.25) else np.ascontiguousarray(X)

    def document_weights(self, n: int) -> Any:
        if not self.chance(0.25, "weights"):
            return None
        weights = self.power(-3, 3, n) if self.chance(0.3) else self.rng.uniform(0, 3, n)
        kept = self.rng.random(n) < 0.8
        return weights * (kept if kept.any() else 1.0)  # all zero is refused


def make(seed: int) -> Problem:
    """The problem of that number."""
    maker = Maker(seed)
    X = maker.rows()
    y = maker.labels(X)
    qid = maker.queries(X.shape[0])
    if X.shape[0] == 2 and "one pair" in maker.traits:
        y, qid = np.array([0.0, 1.0]), None
    X = maker.shifted(maker.scaled(maker.dependent(X)), qid)
    C = float(maker.power(-8, 10)) if maker.chance(0.6) else 1.0
    tol = 1e-6 if maker.chance(0.25) else 1e-3
    loss = str(maker.rng.choice(LOSSES))
    weights = maker.document_weights(X.shape[0])
    return Problem(seed, maker.stored(X), y, qid, weights, loss, C, tol, tuple(maker.traits))


def penalised(problem: Problem) -> Problem:
    """The same problem with signs, an elastic net, or both."""
    rng = np.random.default_rng((problem.seed, 2))
    l1_ratio = float(rng.choice(RATIOS))
    signs = rng.integers(-1, 2, problem.X.shape[1]) if l1_ratio == 0.0 or rng.random() < 0.4 else None
    said = (*problem.traits, f"l1_ratio={l1_ratio}", *([] if signs is None else [f"signs {signs.tolist()}"]))
    return replace(problem, l1_ratio=l1_ratio, signs=signs, traits=said)
