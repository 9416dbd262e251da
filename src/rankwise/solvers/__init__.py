"""Solvers: frozen dataclasses of options, called with (objective, start, callback); they know no ranking."""

from typing import Any

from rankwise.solvers.base import Callback, Expansion, Objective, Result, Step
from rankwise.solvers.newton import Newton
from rankwise.solvers.trust_region import TrustRegion

SOLVERS: dict[str, Any] = {"newton": Newton, "trust-region": TrustRegion}

__all__ = ["SOLVERS", "Callback", "Expansion", "Newton", "Objective", "Result", "Step", "TrustRegion", "cheapest"]

PRODUCTS = 100  # Hessian products that a Newton step of the trust region solver typically takes
MATRIX_GAIN = 8  # how much cheaper an operation is inside a matrix product


def cheapest(n_rows: int, n_features: int, n_stored: int) -> str:
    """The solver to take: `newton` while writing out the Hessian costs less than the products it saves.

    Writing it out and factorising it takes n d² + d³/3 operations, all in matrix products; a product takes 2 operations
    for every stored value of X, and `PRODUCTS` of them make a step.
    """
    written_out = (n_rows * n_features**2 + n_features**3 / 3) / MATRIX_GAIN
    return "newton" if written_out <= 2 * PRODUCTS * n_stored else "trust-region"
