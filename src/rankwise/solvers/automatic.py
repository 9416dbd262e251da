"""The solvers "auto" and "smoothing", whose methods depend on the size of X and on the loss."""

from dataclasses import replace

from rankwise.foundation.devices import library_of, stored
from rankwise.foundation.memory import memory_at_hand
from rankwise.objective.losses import Loss, hinge
from rankwise.objective.stored import Features, is_stored
from rankwise.solvers.conjugate import sample_size
from rankwise.solvers.dual import DualCoordinateAscent, bounded
from rankwise.solvers.newton import Newton
from rankwise.solvers.smoothing import Smoothing
from rankwise.solvers.span import InSpan
from rankwise.solvers.trust_region import TrustRegion

PRODUCTS = 30  # Hessian products that a step of the trust region solver typically takes
MATRIX_GAIN = 4  # how much cheaper an operation is in a matrix product, including the sums over pairs for it
STEPS = 10  # steps that Newton's method typically takes
SMALL = 1e8  # operations that take so little time that a Hessian is always formed
MATRICES = 3  # d × d matrices that a factorisation needs at a time
FEWER = 1.5  # times the rows: features from which on the span of the rows is worth finding
MOST_SPANNED = 2e7  # numbers of a dense copy of X
WORTH_SAMPLING = 8  # a sample pays if there are at least this many times its rows


def cheapest(n_rows: int, n_features: int, n_stored: int) -> Newton | TrustRegion:
    """The solver of "auto" for a smooth loss: Newton's method, if forming the Hessian is cheaper than products with it.

    Forming and factorising the Hessian takes n d² + d³/3 operations, all in matrix products. A product with it takes 2
    operations per stored value of X, and a step takes `PRODUCTS` of them. With many rows, only the Hessian of a sample
    is formed. If products are cheaper: conjugate gradients, until they have taken as long as `STEPS` steps with an
    explicit Hessian.
    """
    sampled = n_rows >= WORTH_SAMPLING * sample_size(n_features)
    rows = sample_size(n_features) if sampled else n_rows
    written_out = (rows * n_features**2 + n_features**3 / 3) / MATRIX_GAIN
    products = written_out / (2 * max(n_stored, 1))
    if products <= PRODUCTS or (written_out <= SMALL and not sampled):
        return TrustRegion(precondition="sampled") if sampled else Newton()
    fits = MATRICES * 8 * n_features**2 <= memory_at_hand() / 2
    return Newton(inner="cg", precondition="diagonal", patience=int(STEPS * products) if fits else None)


def automatic_name(loss: Loss) -> str:
    """The solver that "auto" uses if the loss has a corner; "auto" if it has none."""
    if loss.smooth:
        return "auto"
    return "smoothing" if loss.pieces == hinge().pieces else "bundle"


def automatic(
    loss: Loss, X: Features, tol: float, random_state: int, stopping: str, max_iter: int = Newton.max_iter
) -> Newton | TrustRegion | InSpan:
    """The cheapest solver of a smooth loss, with the dual as its rescue near separability."""
    rescue = _rescue(loss, X, tol, random_state)
    solver = cheapest(X.shape[0], X.shape[1], stored(X))
    solver = replace(solver, tol=tol, max_iter=max_iter, stopping=stopping, rescue=rescue)
    return InSpan(Newton(tol, max_iter, stopping=stopping, rescue=rescue), solver) if _few_rows(X) else solver


def smoothing(
    loss: Loss, X: Features, tol: float, random_state: int, max_iter: int = Smoothing.max_iter
) -> Smoothing | InSpan:
    """Smoothing, with the cheapest solver for its smooth problems."""
    smooth = cheapest(X.shape[0], X.shape[1], stored(X))
    inner = Newton(inner="cg", precondition="sampled") if isinstance(smooth, TrustRegion) else smooth
    solver = Smoothing(tol, max_iter, inner, rescue=_rescue(loss, X, tol, random_state))
    return InSpan(replace(solver, inner=Newton()), solver) if _few_rows(X) else solver


def _few_rows(X: Features) -> bool:
    """Whether the coordinates of the rows' span are so many fewer than the features that finding them pays."""
    n_rows, n_features = int(X.shape[0]), int(X.shape[1])
    if n_features < FEWER * n_rows or n_rows * n_features > MOST_SPANNED or not _in_memory(X):
        return False
    return 2 * n_rows**2 * n_features / MATRIX_GAIN <= max(SMALL, 2 * STEPS * PRODUCTS * stored(X))


def _in_memory(X: Features) -> bool:
    return library_of(X) is None and not is_stored(X)


def _rescue(loss: Loss, X: Features, tol: float, random_state: int) -> DualCoordinateAscent | None:
    return DualCoordinateAscent(tol, random_state=random_state) if _in_memory(X) and bounded(loss) else None
