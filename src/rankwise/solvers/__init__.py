"""Solvers: frozen dataclasses of options, called with (objective, start, callback); they know no ranking."""

from dataclasses import replace
from functools import partial
from typing import Any

from rankwise.foundation.devices import library_of, stored
from rankwise.foundation.functions import Expansion, Function
from rankwise.foundation.memory import memory_at_hand
from rankwise.objective.losses import Loss
from rankwise.objective.stored import is_stored
from rankwise.solvers.base import Callback, Result, Start, Step
from rankwise.solvers.bundle import Bundle
from rankwise.solvers.conjugate import sample_size
from rankwise.solvers.dual import DualCoordinateAscent, bounded
from rankwise.solvers.newton import Newton
from rankwise.solvers.smoothing import Smoothing
from rankwise.solvers.stochastic import Stochastic
from rankwise.solvers.trust_region import TrustRegion

__all__ = [
    "SOLVERS",
    "Bundle",
    "Callback",
    "DualCoordinateAscent",
    "Expansion",
    "Function",
    "Newton",
    "Result",
    "Smoothing",
    "Start",
    "Step",
    "Stochastic",
    "TrustRegion",
    "cheapest",
    "make_solver",
]

SMOOTH: dict[str, Any] = {  # for losses without a corner
    "newton": Newton,
    "newton-cg": partial(Newton, inner="cg"),
    "newton-minres": partial(Newton, inner="minres"),
    "trust-region": TrustRegion,
    "trust-region-diagonal": partial(TrustRegion, precondition="diagonal"),
    "trust-region-sampled": partial(TrustRegion, precondition="sampled"),
}
RANDOM: dict[str, Any] = {
    "sgd": Stochastic,
    "sgd-queries": partial(Stochastic, over="queries"),
    "dual": DualCoordinateAscent,
}
SOLVERS: dict[str, Any] = (
    SMOOTH
    | RANDOM
    | {
        "smoothing": Smoothing,
        "bundle": Bundle,
        "bmrm": partial(Bundle, line_search=False),
    }
)

PRODUCTS = 30  # Hessian products that a step of the trust region solver typically takes
MATRIX_GAIN = 4  # how much cheaper an operation is inside a matrix product, the sums over pairs beside it included
STEPS = 10  # of Newton's method, typically
SMALL = 1e8  # operations that take so little time that saving them is not worth a choice
MATRICES = 3  # of d × d numbers, that a factorisation holds at a time
WORTH_SAMPLING = 8  # times the rows of a sample, from where on it saves more than it costs


def cheapest(n_rows: int, n_features: int, n_stored: int) -> Newton | TrustRegion:
    """The solver of "auto" for a smooth loss: Newton's method while writing out the Hessian costs less than it saves.

    Writing it out and factorising it takes n d² + d³/3 operations, all in matrix products; a product takes 2 operations
    for every stored value of X, and `PRODUCTS` of them make a step. With much data, only a sample's is written out.
    Else conjugate gradients, until their products have cost as much as some `STEPS` with the Hessian would have.
    """
    sampled = n_rows >= WORTH_SAMPLING * sample_size(n_features)
    rows = sample_size(n_features) if sampled else n_rows
    written_out = (rows * n_features**2 + n_features**3 / 3) / MATRIX_GAIN
    products = written_out / (2 * max(n_stored, 1))
    if products <= PRODUCTS or (written_out <= SMALL and not sampled):
        return TrustRegion(precondition="sampled") if sampled else Newton()
    fits = MATRICES * 8 * n_features**2 <= memory_at_hand() / 2
    return Newton(inner="cg", precondition="diagonal", patience=int(STEPS * products) if fits else None)


def make_solver(
    name: str,
    loss: Loss,
    X: Any,
    *,
    tol: float,
    max_iter: int | None = None,
    random_state: int = 0,
    stopping: str = "gap",
) -> Any:
    """The solver of that name; "auto" is the cheapest for a smooth loss, and smoothing by it for the hinge.

    What cannot work is refused here, before anything is computed.
    """
    if name not in ("auto", *SOLVERS):
        raise ValueError(f"solver is {name!r}: there are 'auto', {', '.join(map(repr, SOLVERS))}")
    if name == "auto" and not loss.smooth:
        name = "smoothing"
    if library_of(X) and name not in ("auto", *SMOOTH, "smoothing"):
        raise ValueError(f"solver {name!r} takes arrays of NumPy only: for others take 'auto'")
    if is_stored(X) and name in RANDOM:
        raise ValueError(f"solver {name!r} looks at single rows, which must be in memory: take 'auto', or data.read()")
    if name in SMOOTH and not loss.smooth:
        raise ValueError(f"solver {name!r} needs a smooth loss, and {loss} has a corner: take 'auto' or 'smoothing'")
    options: dict[str, Any] = {"tol": tol}
    if max_iter is not None:
        options["max_iter"] = max_iter
    if name in ("auto", *SMOOTH):
        options["stopping"] = stopping
    elif stopping != "gap":
        raise ValueError(f"stopping={stopping!r} is for solvers of smooth losses: solver {name!r} stops by its gap")
    if name in RANDOM:
        options["random_state"] = random_state
    smooth = cheapest(X.shape[0], X.shape[1], stored(X))
    in_memory = library_of(X) is None and not is_stored(X)
    rescue = DualCoordinateAscent(tol, random_state=random_state) if in_memory and bounded(loss) else None
    if name == "auto":
        return replace(smooth, rescue=rescue, **options)
    if name == "smoothing":
        by_sample = isinstance(smooth, TrustRegion)
        options["inner"] = Newton(inner="cg", precondition="sampled") if by_sample else smooth
        options["rescue"] = rescue
    return SOLVERS[name](**options)
