"""RankRLS over listed pairs in rational numbers: no rounding, nothing clever. For badly scaled data."""

from fractions import Fraction

import numpy as np


def listed(X, y, qid, weights=None, ties="include", scaling="pairs"):
    """Every compared pair as (weight, x_i - x_j, y_i - y_j)."""
    n = len(y)
    qid = np.zeros(n) if qid is None else np.asarray(qid)
    omega = [Fraction(float(v)) for v in (np.ones(n) if weights is None else weights)]
    rows = [[Fraction(float(v)) for v in row] for row in X]
    labels = [Fraction(float(v)) for v in y]
    out = []
    for i in range(n):
        total = sum(omega[k] for k in range(n) if qid[k] == qid[i])
        for j in range(i):
            if qid[i] == qid[j] and (ties == "include" or y[i] != y[j]) and omega[i] * omega[j]:
                weight = omega[i] * omega[j] / (total if scaling == "query" else 1)
                out.append((weight, [a - b for a, b in zip(rows[i], rows[j], strict=True)], labels[i] - labels[j]))
    return out


def solution(pairs, d, alpha):
    """The minimiser of Σ weight (gap - w·difference)² + alpha |w|², by elimination."""
    system = [[Fraction(float(alpha)) if a == b else Fraction(0) for b in range(d + 1)] for a in range(d)]
    for weight, difference, gap in pairs:
        line = [*difference, gap]
        for a in range(d):
            if difference[a]:
                for b in range(d + 1):
                    system[a][b] += weight * difference[a] * line[b]
    for a in range(d):
        for row in system[a + 1 :]:
            share = row[a] / system[a][a]
            for c in range(a, d + 1) if share else ():
                row[c] -= share * system[a][c]
    w = [Fraction(0)] * d
    for a in reversed(range(d)):
        w[a] = (system[a][d] - sum(system[a][c] * w[c] for c in range(a + 1, d))) / system[a][a]
    return w


def objective(pairs, w, alpha):
    misfit = sum(weight * (gap - dot(difference, w)) ** 2 for weight, difference, gap in pairs)
    return misfit + Fraction(float(alpha)) * dot(w, w)


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def errors(pairs, coef, alpha):
    """How far coef is off: in the objective, relative to the optimum, and in the differences of scores, relative to the
    largest. What doubles cannot hold of an optimum much smaller than the objective at 0 does not count.
    """
    exact, ours = solution(pairs, len(coef), alpha), [Fraction(float(v)) for v in coef]
    best, found = objective(pairs, exact, alpha), objective(pairs, ours, alpha)
    floor = objective(pairs, [Fraction(0)] * len(coef), alpha) * Fraction(1, 10**9)
    scores = [(dot(difference, ours), dot(difference, exact)) for _, difference, _ in pairs]
    largest = max((abs(theirs) for _, theirs in scores), default=0)
    off = max((abs(mine - theirs) for mine, theirs in scores), default=0)
    scale = max(best, floor)
    return float((found - best) / scale) if scale else float(found), float(off / largest) if largest else float(off)
