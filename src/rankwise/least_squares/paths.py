"""RankRLS for many α at once: by one eigendecomposition where that can be trusted, else by factors, α after α."""

from dataclasses import dataclass, replace

import numpy as np

from rankwise.arrays import Floats
from rankwise.least_squares.contrasts import Contrasts
from rankwise.least_squares.factors import factorise
from rankwise.least_squares.regression import Regression
from rankwise.least_squares.solving import (
    DEFINITE,
    Scaled,
    affordable,
    by_penalty,
    corrected,
    error_above,
    relative,
    rounding,
)
from rankwise.solvers.spectral import Spectrum, decompose

TRUSTED = 5e-9  # the bound of an error, which errs upwards, that does not call for another way
RESOLVED = 1e3 * float(np.finfo(float).eps)  # of the largest eigenvalue: an alpha above this is not lost in rounding


@dataclass(frozen=True)
class Path:
    """points: the solutions, a column for every α; errors: of their scores, as in `Solution`.

    spectrum   of ZᵀZ; None where it cannot be trusted
    normal     the normal matrix, where it was decomposed
    contrasts  what was decomposed instead of it
    """

    points: Floats
    errors: Floats
    spectrum: Spectrum | None = None
    normal: Floats | None = None
    contrasts: Contrasts | None = None


def path(problem: Regression, alphas: Floats, primal: bool) -> Path:
    """primal: whether ZᵀZ is decomposed, else ZZᵀ; α is in the units of the problem."""
    if by_penalty(problem, float(alphas.min())):
        return by_factors(problem, alphas)
    if primal:
        normal = problem.normal_matrix()
        found = by_normal(problem, normal[:-1, :-1], normal[:-1, -1], alphas)
        return replace(found, normal=normal) if found else by_factors(problem, alphas)
    contrasts = Contrasts.of(problem)
    return by_contrasts(problem, contrasts, alphas) or by_factors(problem, alphas)


def by_normal(problem: Regression, A: Floats, b: Floats, alphas: Floats) -> Path | None:
    """By the spectrum of A = ZᵀZ with b = Zᵀt, or None where rounding is in the way."""
    if not np.isfinite(A).all():
        return None
    spectrum = decompose(A, b)
    points = spectrum.solutions(alphas)
    lowest, highest = float(spectrum.values.min(initial=0.0)), float(spectrum.values.max(initial=0.0))
    for k in {int(alphas.argmin()), int(alphas.argmax())}:
        at = problem.at(points[:, k], float(alphas[k]))
        noisy = np.abs(at.gradient) + rounding(problem, at)
        squares = [np.inf]
        if RESOLVED * highest <= at.alpha:
            squares.append(float(noisy @ noisy) / (lowest + at.alpha))
        factor = Scaled.of(A, at.alpha)
        if factor is not None and factor.smallest >= DEFINITE:
            scaled = noisy * factor.scale
            squares.append(float(scaled @ scaled) / factor.smallest)
        if relative(min(squares), at) > TRUSTED:
            return None
    return Path(points, np.zeros(alphas.size), spectrum)


def by_contrasts(problem: Regression, contrasts: Contrasts, alphas: Floats) -> Path | None:
    """By the spectrum of ZZᵀ, or None where rounding is in the way."""
    if not np.isfinite(contrasts.values).all():
        return None
    spectrum = contrasts.spectrum(problem)
    points = spectrum.solutions(alphas)
    for k in {int(alphas.argmin()), int(alphas.argmax())}:
        at = problem.at(points[:, k], float(alphas[k]))
        smallest = float(spectrum.values.min(initial=np.inf)) + at.alpha
        if error_above(at, rounding(problem, at), smallest) > TRUSTED:
            return None
    return Path(points, np.zeros(alphas.size), spectrum, contrasts=contrasts)


def by_factors(problem: Regression, alphas: Floats) -> Path:
    """Every α solved stably, from one orthogonal factorisation."""
    if not affordable(problem):
        raise ValueError("the features differ too much in scale for RankRLSCV: scale them, or fit RankRLS(solver='cg')")
    factors = factorise(problem.compressed())
    points, errors = np.empty((problem.size, alphas.size)), np.empty(alphas.size)
    for k, alpha in enumerate(alphas):
        solver = factors.at(float(alpha))
        found = by_penalty(problem, float(alpha)) or corrected(problem, solver.solution, float(alpha), solver)
        points[:, k], errors[k] = found.at.point, found.error
    return Path(points, errors)
