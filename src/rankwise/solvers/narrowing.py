"""From one width of the rounded hinge to a narrower one, and to a better point on the ray through w."""

from dataclasses import dataclass
from functools import cache

from rankwise.foundation.devices import AnyFloats
from rankwise.foundation.functions import Ray
from rankwise.objective.objective import ObjectiveExpansion
from rankwise.objective.penalties import Penalty
from rankwise.solvers.base import rescaled

LONGER = 4.0  # factor by which the search on the ray goes further until it is past the minimum
ROUGHLY = 0.02  # relative precision of the length found
SEARCH = 6  # steps of the search on the ray


@dataclass(frozen=True)
class Narrowed:
    """The expansion at a narrower width, if the same pairs stay in the corner.

    ratio   factor by which their part of the slopes and of the Hessian grows
    linear  part of the slopes of the pairs beyond the corner
    """

    of: ObjectiveExpansion
    matrix: AnyFloats | None
    ratio: float
    linear: AnyFloats

    @property
    def point(self) -> AnyFloats:
        return self.of.point

    @property
    def value(self) -> float:
        return self.of.value

    @property
    def penalty(self) -> Penalty:
        return self.of.penalty

    @property
    def slopes(self) -> AnyFloats:
        return self.linear + self.ratio * (self.of.slopes - self.linear)

    @property
    def gradient(self) -> AnyFloats:
        return self.penalty.subgradient(self.point, self.slopes)

    def hessian(self, v: AnyFloats) -> AnyFloats:
        ridge = self.of.ridge * v
        return ridge + self.ratio * (self.of.hessian(v) - ridge)

    def hessian_matrix(self) -> AnyFloats:
        matrix = self.of.hessian_matrix() if self.matrix is None else self.matrix
        return rescaled(matrix, self.ratio, self.of.ridge)

    def hessian_diagonal(self) -> AnyFloats:
        ridge = self.of.ridge
        return ridge + self.ratio * (self.of.hessian_diagonal() - ridge)


def minimum_near_one(ray: Ray, width: float) -> float:
    """The approximate minimiser of a convex function of t ≥ ½; 1 if it is below, or far above 4.

    At the optimum of a width it is mostly near 1 + width / 2: the search begins there.
    """
    slope = cache(ray.slope)  # each slope takes a pass over the scores
    if slope(1.0) >= 0:
        low, high = 0.5, 1.0
    else:
        low, high = 1.0, 1.0 + 0.5 * width
        while slope(high) < 0 and high < 4.0:
            low, high = high, 1.0 + LONGER * (high - 1.0)
    if not slope(low) < 0 < slope(high):
        return 1.0
    from scipy import optimize  # slow to import, and rarely needed

    return float(optimize.brentq(slope, low, high, xtol=ROUGHLY * abs(high - low), maxiter=SEARCH, disp=False))
