"""The solvers "auto" and "smoothing", whose methods depend on the size of X and on the loss."""

from dataclasses import replace

import numpy as np

from rankwise.foundation.devices import is_sparse, library_of, stored
from rankwise.foundation.memory import memory_at_hand
from rankwise.objective.losses import Loss, hinge
from rankwise.objective.stored import Features
from rankwise.solvers.conjugate import sample_size
from rankwise.solvers.dual import DualCoordinateAscent, has_dual
from rankwise.solvers.newton import Newton
from rankwise.solvers.smoothing import Smoothing
from rankwise.solvers.span import InSpan
from rankwise.solvers.trust_region import TrustRegion

PER_VALUE, PER_ROW = 0.4, 45.0  # times in ns: of a Hessian product per stored value and per row,
PER_FEATURE, PER_PRODUCT = 10.0, 25e3  # of what conjugate gradients do besides, per feature and in all,
PER_SQUARE = 0.06  # of the Hessian per row and pair of features,
PER_SPAN = 0.2  # and of finding the span of the rows, per feature and pair of rows
FEW = 5  # the Hessian is formed at once if it takes as long as this many products
STEPS = 2  # else when products have taken as long as this many Hessians
PRODUCTS = 30  # a sample's Hessian is a preconditioner if forming it takes as long as at most this many products
MATRICES = 3  # d × d matrices that a factorisation holds at a time
WORTH_SAMPLING = 8  # a sample pays if there are at least this many times its rows
FEWER = 1.5  # the span of the rows is an alternative if there are this many times as many features
MOST_SPANNED = 2e7  # most numbers of a dense copy of X
AT_ONCE = 500  # the hinge is solved in the span if finding it takes as long as at most this many products


def cheapest(n_rows: int, n_features: int, n_stored: int) -> Newton | TrustRegion:
    """The solver of "auto" for a smooth loss and the penalty ½|w|².

    With many rows, a trust region method with the Hessian of a sample as preconditioner. Otherwise Newton's method with
    an explicit Hessian, if that takes hardly longer than products with it; else conjugate gradients, which need few
    products on well-conditioned problems, and the Hessian once they have taken as long as it.

    Examples
    --------
    >>> from rankwise.solvers import cheapest
    >>> type(cheapest(1_000, 20, 20_000)).__name__, type(cheapest(1_000_000, 20, 20_000_000)).__name__
    ('Newton', 'TrustRegion')
    """
    product = _product_time(n_rows, n_features, n_stored)
    sample = sample_size(n_features)
    if n_rows >= WORTH_SAMPLING * sample and _hessian_time(sample, n_features) <= PRODUCTS * product:
        return TrustRegion(precondition="sampled")
    return newton(n_rows, n_features, n_stored)


def newton(n_rows: int, n_features: int, n_stored: int) -> Newton:
    """Newton's method, with conjugate gradients or not."""
    products = _hessian_time(n_rows, n_features) / _product_time(n_rows, n_features, n_stored)
    if products <= FEW:
        return Newton()
    patience = int(STEPS * products) if _hessians_fit(n_features) else None
    return Newton(inner="cg", precondition="diagonal", patience=patience)


def _hessians_fit(n_features: int) -> bool:
    return MATRICES * 8 * n_features**2 <= memory_at_hand() / 2


def _product_time(n_rows: int, n_features: int, n_stored: int) -> float:
    return PER_VALUE * n_stored + PER_ROW * n_rows + PER_FEATURE * n_features + PER_PRODUCT


def _hessian_time(n_rows: int, n_features: int) -> float:
    return PER_ROW * n_rows + PER_SQUARE * (n_rows * n_features**2 + n_features**3 / 3)


def automatic_name(loss: Loss) -> str:
    """The solver that "auto" uses if the loss has corners; "auto" if it has none."""
    if loss.smooth:
        return "auto"
    return "smoothing" if loss.pieces == hinge().pieces else "bundle"


def automatic(
    loss: Loss,
    X: Features,
    tol: float,
    random_state: int,
    stopping: str,
    max_iter: int = Newton.max_iter,
    corners: bool = False,
) -> Newton | TrustRegion:
    """The cheapest solver of a smooth loss, with the dual as its rescue near separability."""
    if corners:
        return replace(newton(*_sizes(X)), tol=tol, max_iter=max_iter, stopping=stopping)
    rescue = _rescue(loss, X, tol, random_state)
    solver = cheapest(*_sizes(X))
    solver = replace(solver, tol=tol, max_iter=max_iter, stopping=stopping, rescue=rescue)
    if isinstance(solver, TrustRegion) or solver.patience is None or not _few_rows(X):
        return solver
    explicit = Newton(tol, max_iter, stopping=stopping, rescue=rescue)
    then = InSpan(explicit, replace(solver, patience=None))
    return replace(solver, patience=_span_products(X), detours=0, then=then)


def smoothing(
    loss: Loss, X: Features, tol: float, random_state: int, max_iter: int = Smoothing.max_iter, corners: bool = False
) -> Smoothing | InSpan:
    """Smoothing, with the cheapest solver for its smooth problems."""
    if corners:
        return Smoothing(tol, max_iter, newton(*_sizes(X)))
    smooth = cheapest(*_sizes(X))
    inner = Newton(inner="cg", precondition="sampled") if isinstance(smooth, TrustRegion) else smooth
    solver = Smoothing(tol, max_iter, inner, rescue=_rescue(loss, X, tol, random_state))
    few = inner.inner == "cg" and _few_rows(X) and _span_products(X) <= AT_ONCE
    return InSpan(replace(solver, inner=Newton()), solver) if few else solver


def _sizes(X: Features) -> tuple[int, int, int]:
    return int(X.shape[0]), int(X.shape[1]), stored(X)


def _few_rows(X: Features) -> bool:
    """Whether the rows have fewer dimensions than features, and X is small enough for a dense copy."""
    n_rows, n_features = int(X.shape[0]), int(X.shape[1])
    return n_features >= FEWER * n_rows and n_rows * n_features <= MOST_SPANNED and _in_memory(X)


def _span_products(X: Features) -> int:
    """How many Hessian products take as long as finding the span of the rows."""
    n_rows, n_features, n_stored = _sizes(X)
    return int(PER_SPAN * n_rows**2 * n_features / _product_time(n_rows, n_features, n_stored))


def _in_memory(X: Features) -> bool:
    """Whether this process has the rows, as arrays of NumPy or SciPy: not on disk, on a device or on a cluster."""
    return isinstance(X, np.ndarray) or (is_sparse(X) and library_of(X) is None)


def _rescue(loss: Loss, X: Features, tol: float, random_state: int) -> DualCoordinateAscent | None:
    return DualCoordinateAscent(tol, random_state=random_state) if _in_memory(X) and has_dual(loss) else None
