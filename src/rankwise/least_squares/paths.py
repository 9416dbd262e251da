"""RankRLS for many α at once: by one eigendecomposition if that is exact enough, else by orthogonal factors."""

from dataclasses import dataclass, replace

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.least_squares.contrasts import Contrasts
from rankwise.least_squares.factors import factorise
from rankwise.least_squares.regression import Regression
from rankwise.least_squares.solving import (
    DEFINITE,
    Scaled,
    Solution,
    affordable,
    by_penalty,
    corrected,
    error_above,
    relative,
    rounding,
)
from rankwise.solvers.spectral import Spectrum, decompose

TRUSTED = 5e-9  # estimated error up to which the eigendecomposition is accepted
RESOLVED = 1e3 * float(np.finfo(float).eps)  # an alpha above this share of the largest eigenvalue survives rounding


@dataclass(frozen=True)
class Path:
    """points: the solutions, one column per α; errors: of their scores, as in `Solution`.

    spectrum   of ZᵀZ; None if it is too inexact or was not needed
    normal     the normal matrix, if it was decomposed
    contrasts  the contrasts, if these were decomposed instead
    penalty    whether ZᵀZ is negligible, within rounding, compared to every α
    """

    points: Floats
    errors: Floats
    spectrum: Spectrum | None = None
    normal: Floats | None = None
    contrasts: Contrasts | None = None
    penalty: bool = False

    @property
    def method(self) -> str:
        if self.spectrum is not None:
            return "one eigendecomposition"
        return "the penalty alone" if self.penalty else "orthogonal factors"


def path(problem: Regression, alphas: Floats, primal: bool) -> Path:
    """The solutions for all α, in the units of the problem; `primal`: whether to decompose ZᵀZ or ZZᵀ."""
    if by_penalty(problem, float(alphas.min())):
        solutions = [one for alpha in alphas if (one := by_penalty(problem, float(alpha)))]
        return replace(_path(solutions), penalty=True)
    if primal:
        normal = problem.normal_matrix()
        spectral = by_normal(problem, normal[:-1, :-1], normal[:-1, -1], alphas)
        return replace(spectral, normal=normal) if spectral else by_factors(problem, alphas)
    contrasts = Contrasts.of(problem)
    return by_contrasts(problem, contrasts, alphas) or by_factors(problem, alphas)


def by_normal(problem: Regression, A: Floats, b: Floats, alphas: Floats) -> Path | None:
    """The path by the spectrum of A = ZᵀZ with b = Zᵀt, or None if rounding makes it too inexact."""
    if not np.isfinite(A).all():
        return None
    spectrum = decompose(A, b)
    points = spectrum.solutions(alphas)
    lowest, highest = float(spectrum.values.min(initial=0.0)), float(spectrum.values.max(initial=0.0))
    error = 0.0
    for k in {int(alphas.argmin()), int(alphas.argmax())}:  # the errors at the ends represent those between
        at = problem.at(points[:, k], float(alphas[k]))
        noisy = np.abs(at.gradient) + rounding(problem, at)
        squares = [np.inf]
        if RESOLVED * highest <= at.alpha:
            squares.append(float(noisy @ noisy) / (lowest + at.alpha))
        factor = Scaled.of(A, at.alpha)
        if factor is not None and factor.smallest >= DEFINITE:
            scaled = noisy * factor.scale
            squares.append(float(scaled @ scaled) / factor.smallest)
        error = max(error, relative(problem, min(squares), at))
    return Path(points, np.full(alphas.size, error), spectrum) if error <= TRUSTED else None


def by_contrasts(problem: Regression, contrasts: Contrasts, alphas: Floats) -> Path | None:
    """The path by the spectrum of ZZᵀ, or None if rounding makes it too inexact."""
    if not np.isfinite(contrasts.dual.values).all():
        return None
    spectrum = contrasts.spectrum(problem)
    points = spectrum.solutions(alphas)
    error = 0.0
    for k in {int(alphas.argmin()), int(alphas.argmax())}:
        at = problem.at(points[:, k], float(alphas[k]))
        smallest = float(contrasts.dual.values.min(initial=np.inf)) + at.alpha  # α if rounding may hide directions
        error = max(error, error_above(problem, at, smallest))
    return Path(points, np.full(alphas.size, error), spectrum, contrasts=contrasts) if error <= TRUSTED else None


def by_factors(problem: Regression, alphas: Floats) -> Path:
    """The solutions for all α, from one orthogonal factorisation."""
    if not affordable(problem):
        raise ValueError("the features differ too much in scale to fit many alphas: scale them, or fit one alpha")
    factors = factorise(problem.compressed())
    solutions = []
    for alpha in map(float, alphas):
        solver = factors.at(alpha)
        solutions.append(by_penalty(problem, alpha) or corrected(problem, solver.solution, alpha, solver))
    return _path(solutions)


def _path(solutions: list[Solution]) -> Path:
    points, errors = [one.at.point for one in solutions], [one.error for one in solutions]
    return Path(np.column_stack(points), np.array(errors))
