"""The objective over listed pairs and its optimum, in extended precision: nothing of the library is used, except that
a logistic spline is taken as the loss that it is.

Documents of one query with equal rows and labels are counted, not repeated: so 10^6 ties are a handful of pairs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.objective import losses

Long = np.longdouble
EPS = float(np.finfo(Long).eps)
STEPS = 60
WIDTHS = 1e-1, 1e-3, 1e-5, 1e-7, 1e-9  # over which the hinge's corner is rounded, one after the other


@dataclass(frozen=True)
class Truth:
    """l1 |w|₁ + ½ (1 - l1) |w|² + Σ weights · loss(differences · w), C being in the weights; inf at forbidden signs."""

    differences: Any
    weights: Any
    loss: str
    l1: float = 0.0
    signs: Any = 0

    @property
    def cornered(self) -> bool:
        return bool(self.l1 or np.any(self.signs))

    def value(self, w: Any, loss: str | None = None) -> Any:
        w = np.asarray(w, Long)
        if (w * self.signs < 0).any():
            return Long(np.inf)
        penalty = (1 - Long(self.l1)) / 2 * (w @ w) + Long(self.l1) * np.abs(w).sum()
        return penalty + self.weights @ pair_loss(loss or self.loss, self.differences @ w)[0]

    def rounding(self, w: Any, eps: float = EPS) -> float:
        """About how far `value` may be off, if numbers are off by `eps` of their size."""
        w = np.asarray(w, Long)
        margins = np.abs(self.differences) @ np.abs(w)
        value, slope, _ = (np.abs(one) for one in pair_loss(self.loss, self.differences @ w))
        square = margins * margins if self.loss.startswith("logistic") else 0.0  # of pieces that cancel
        return float(8 * eps * (w @ w + self.weights @ (value + (1 + slope) * (1 + margins) + square)))

    def improved(self, start: Any) -> Any:
        """The least value found from `start` on."""
        return self.value(self.better(start))

    def better(self, start: Any) -> Any:
        """The best point found by Newton's method with exact line searches, from `start` on."""
        w = best = np.asarray(start, Long)
        with np.errstate(all="ignore"):
            for loss in [f"huber:{h}" for h in WIDTHS] if self.loss == "hinge" else [self.loss]:
                w = self._cornered(loss, w) if self.cornered else self._newton(loss, w)
                best = w if 0 <= self.value(w) < self.value(best) else best  # below 0, only rounding is left
        return best

    def _newton(self, loss: str, w: Any) -> Any:
        D = self.differences
        for _ in range(STEPS):
            _, slope, bend = pair_loss(loss, D @ w)
            gradient = w + D.T @ (self.weights * slope)
            hessian = D.T @ ((self.weights * bend)[:, None] * D)
            hessian[np.diag_indices_from(hessian)] += 1
            step = -solve(hessian, gradient)
            gain = -(gradient @ step)
            if not gain > 1e-17 * abs(self.value(w)):
                break
            w = w + self._length(loss, w, step) * step
        return w

    def _cornered(self, loss: str, w: Any) -> Any:
        """Newton steps, or else scaled gradient steps, over the weights that are not held at 0; those that would change
        their sign stop there.
        """
        D, ridge, l1 = self.differences, 1 - Long(self.l1), Long(self.l1)
        for _ in range(STEPS):
            _, slope, bend = pair_loss(loss, D @ w)
            smooth = ridge * w + D.T @ (self.weights * slope)
            at_zero = np.sign(smooth) * np.maximum(np.abs(smooth) - l1, 0)
            subgradient = np.where(w != 0, smooth + l1 * np.sign(w), np.where(at_zero * self.signs > 0, 0, at_zero))
            free = (w != 0) | (subgradient != 0)
            hessian = D[:, free].T @ ((self.weights * bend)[:, None] * D[:, free])
            diagonal = np.diag_indices_from(hessian)
            hessian[diagonal] = hessian[diagonal] * (1 + 1e-15) + max(ridge, Long(1e-30))
            sides = np.where(w != 0, np.sign(w), -np.sign(subgradient))
            for step in (solve(hessian, subgradient[free]), subgradient[free] / hessian[diagonal]):
                trial = self._lower(loss, w, free, step, sides)
                if trial is not None:
                    break
            else:
                break
            w = trial
        return w

    def _lower(self, loss: str, w: Any, free: Any, step: Any, sides: Any) -> Any:
        """A lower point on the path against the step, or None."""
        value = self.value(w, loss)
        for halvings in range(30):
            trial = w.copy()
            trial[free] -= step / 2**halvings
            trial[trial * sides <= 0] = 0
            if self.value(trial, loss) < value:
                return trial
        return None

    def _length(self, loss: str, w: Any, step: Any) -> Any:
        """Where the slope along the step vanishes."""
        at, along, ww, ws = self.differences @ w, self.differences @ step, step @ step, w @ step

        def slope(t: Any) -> Any:
            return ws + t * ww + (self.weights * pair_loss(loss, at + t * along)[1]) @ along

        low, high, enough = Long(0), Long(1), 1e-6 * abs(slope(Long(0)))
        at_high = slope(high)
        while at_high < 0 and high < 1e6:
            low, high = high, 2 * high
            at_high = slope(high)
        for _ in range(50):
            middle = (low + high) / 2
            at_middle = slope(middle)
            if at_middle < 0:
                low = middle
            else:
                high, at_high = middle, at_middle
            if abs(at_high) <= enough:
                break
        return high


def truth_of(
    X: Any, y: Any, qid: Any, weights: Any, loss: str, C: float, l1_ratio: float = 0.0, signs: Any = None
) -> Truth:
    """Every pair of documents of one query with unlike labels."""
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    qid = np.zeros(len(y)) if qid is None else np.asarray(qid, np.float64)
    weights = np.ones(len(y)) if weights is None else weights
    rows, where = np.unique(np.column_stack((qid, y, X)), axis=0, return_inverse=True)
    counts = np.zeros(len(rows), Long)
    np.add.at(counts, where.ravel(), weights.astype(Long))
    same = rows[:, None, 0] == rows[None, :, 0]
    better, worse = np.nonzero(same & (rows[:, None, 1] > rows[None, :, 1]))
    long = rows[:, 2:].astype(Long)
    pair_weights = Long(C) * counts[better] * counts[worse]
    kept = pair_weights > 0
    differences = (long[better] - long[worse])[kept]
    return Truth(differences, pair_weights[kept], loss, l1_ratio, 0 if signs is None else signs)


def pair_loss(loss: str, margin: Any) -> tuple[Any, Any, Any]:
    """Value, slope and curvature of a loss at s_i - s_j."""
    name, _, parameter = loss.partition(":")
    u = 1 - margin
    zero = np.zeros_like(u)
    if name == "squared":
        return u * u, -2 * u, zero + 2
    if name == "squared_hinge":
        active = u > 0
        return np.where(active, u * u, 0), np.where(active, -2 * u, 0), np.where(active, Long(2), 0)
    if name == "hinge":
        return np.maximum(u, 0), np.where(u > 0, Long(-1), 0), zero
    if name == "huber":
        h = Long(float(parameter))
        corner, beyond = (u > 0) & (u <= h), u > h
        value = np.where(corner, u * u / (2 * h), np.where(beyond, u - h / 2, 0))
        return value, np.where(corner, -u / h, np.where(beyond, Long(-1), 0)), np.where(corner, 1 / h, 0)
    value, slope, bend = zero, zero, zero
    for piece in losses.parse(loss).pieces:
        active = margin < piece.threshold
        a, b, c = Long(piece.constant), Long(piece.slope), Long(piece.curvature)
        value = value + np.where(active, a + b * u + c * u * u / 2, 0)
        slope, bend = slope - np.where(active, b + c * u, 0), bend + np.where(active, c, 0)
    return value, slope, bend


def solve(matrix: Any, right: Any) -> Any:
    """matrix⁻¹ right for a positive definite matrix, scaled to a diagonal of ones, by elimination."""
    scale = 1 / np.sqrt(np.diag(matrix))
    A, b = matrix * scale * scale[:, None], right * scale
    n = len(b)
    for k in range(n):
        pivot = max(A[k, k], Long(1e-19))
        factors = A[k + 1 :, k] / pivot
        A[k + 1 :, k:] -= factors[:, None] * A[k, k:]
        b[k + 1 :] -= factors * b[k]
    x = np.zeros_like(b)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - A[k, k + 1 :] @ x[k + 1 :]) / max(A[k, k], Long(1e-19))
    return x * scale
