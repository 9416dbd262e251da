"""The law for a fit: one clear error where doubles cannot hold the numbers, or a true certificate.

1. `result_.gap` bounds the distance to the best value that anybody found, in extended precision.
2. `converged` means within the tolerance of it, and so do all solvers that converged agree. If rounding X in its last
   digit would change the best value by more than the tolerance, that change is allowed too.
3. Results and weights are finite, and weights have the signs asked for.
4. A fit of so little data ends soon.
"""

import signal
import tempfile
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise import RankSVM
from rankwise.data.frame import RankingData
from rankwise.objective import losses
from rankwise.solvers import SOLVERS, needs_of
from rankwise.solvers.dual import has_dual

from .problems import Problem
from .referee import Truth, truth_of

SECONDS = 20  # that a fit of a small problem may take
DEVICE_SECONDS = 60  # and on a device, where each of thousands of calls has its overhead
LOOSE = 3.0  # times the tolerance, as estimates are no proofs
STOCHASTIC = 10.0  # times the tolerance where steps are random and only their settling is seen
SENTENCES = (  # that a user may get instead of a fit
    "the objective overflows at w = 0: scale the features, or use a smaller C",
    "the gradient at w = 0 is only",
    "the Hessian overflows: scale the features, or use a smaller C",
    "RankRLS overflows: scale the features or the labels to a usual size",
    "RankRLS's scores underflow: scale the features or the labels to a usual size",
)
LARGE, TINY = 1e140, 1e-140  # numbers whose squares near the end of the range: only beyond is an error in order
LARGE_FLOAT32 = 1e16
LAST_DIGIT = float(np.finfo(np.float64).eps)
NOTHING = 1e-12  # share of the value that may be rounding, in sums of many terms
FEW = {"sgd": 60, "sgd-queries": 60, "bmrm": 300, "bundle": 500, "dual": 300}  # steps of the slow ones


@dataclass
class Fit:
    """What came of one solver on one problem."""

    solver: str
    engine: str = "numpy"
    error: str = ""
    result: Any = None
    coef: Any = None
    seconds: float = 0.0
    warned: list[str] = field(default_factory=list)
    value: Any = None  # by the referee

    def __str__(self) -> str:
        return f"{self.solver} by {self.engine}"


class TooSlowError(Exception):
    pass


@contextmanager
def limited(seconds: float):
    """TooSlowError in the main thread after so many seconds."""

    def ring(*_: Any) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


ORDER = (  # what a seed draws depends on it
    *("newton", "newton-cg", "newton-minres", "trust-region", "trust-region-diagonal", "trust-region-sampled"),
    *("sgd", "sgd-queries", "dual", "smoothing", "bundle", "bmrm"),
)
SMOOTH = [name for name in SOLVERS if "smooth loss" in needs_of(name)]


def solvers_for(loss: str) -> list[str]:
    """Those that take the loss."""
    smooth = losses.parse(loss).smooth
    left_out = {"auto"} | ({"smoothing"} if smooth else set(SMOOTH))
    if not has_dual(losses.parse(loss)):
        left_out.add("dual")
    return [name for name in (*ORDER, *(new for new in SOLVERS if new not in ORDER)) if name not in left_out]


def penalised_solvers_for(loss: str) -> list[str]:
    """Those that take the loss and penalties too."""
    return ["newton", "newton-cg"] if losses.parse(loss).smooth else ["smoothing"]


def attempt(problem: Problem, solver: str, engine: str = "numpy") -> Fit:
    """A fit, with all that it said."""
    fit = Fit(solver, engine)
    device = engine if engine.startswith("torch") else None
    ranker = RankSVM(
        C=problem.C,
        loss=problem.loss,
        solver=solver,
        tol=problem.tol,
        max_iter=FEW.get(solver),
        random_state=0,
        device=device,
        monotonic_cst=problem.signs,
        l1_ratio=problem.l1_ratio,
    )
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, limited(DEVICE_SECONDS if device else SECONDS):
        warnings.simplefilter("always")
        try:
            _fit(ranker, problem, engine)
        except TooSlowError:
            fit.error = "too slow"
        except Exception as error:
            fit.error = f"{type(error).__name__}: {error}"
    fit.seconds = time.perf_counter() - began
    fit.warned = [one.category.__name__ for one in caught if one.category is not ConvergenceWarning]
    if not fit.error:
        fit.result, fit.coef = ranker.result_, ranker.coef_
    return fit


def _fit(ranker: RankSVM, problem: Problem, engine: str) -> None:
    if engine != "chunks":
        ranker.fit(problem.X, problem.y, problem.qid, problem.weights)
        return
    from rankwise.data.chunk_writer import write_chunks
    from rankwise.data.chunks import open_chunks

    with tempfile.TemporaryDirectory() as folder:
        qid = np.zeros(len(problem.y), np.int64) if problem.qid is None else problem.qid
        order = np.argsort(qid, kind="stable")  # weights go with the rows as they are stored, query after query
        weights = None if problem.weights is None else problem.weights[order]
        rows = RankingData(problem.X[order], problem.y[order], qid[order])
        write_chunks(Path(folder) / "chunks", rows, chunk_bytes=200)
        ranker.fit(open_chunks(Path(folder) / "chunks"), sample_weight=weights)


def engines_for(problem: Problem, solver: str, torch: bool) -> list[str]:
    """Besides NumPy."""
    chunks = [] if "single pairs" in needs_of(solver) else ["chunks"]
    devices = ["torch:cpu"] if torch and solver in ("auto", "smoothing", *SMOOTH) else []
    return chunks + devices


def judge(problem: Problem, fits: list[Fit]) -> tuple[list[str], Any]:
    """The sentences of all that is against the law, and the least value."""
    data = (problem.dense, problem.y, problem.qid, problem.weights)
    truth = truth_of(*data, problem.loss, problem.C, problem.l1_ratio, problem.signs)
    wrong = [f"{fit}: {one}" for fit in fits for one in _alone(truth, fit, problem.X.dtype == np.float32)]
    finite = [fit for fit in fits if fit.coef is not None and np.isfinite(fit.coef).all()]
    if not finite:
        return wrong, None
    for fit in finite:
        fit.value = truth.value(fit.coef)
    first = min(finite, key=lambda fit: fit.value)
    at_zero = truth.value(np.zeros(problem.X.shape[1]))
    point = truth.better(first.coef)
    best = min(truth.value(point), at_zero)
    by_data = truth.rounding(point, LAST_DIGIT)
    for fit in finite:
        wrong += [f"{fit}: {one}" for one in _beside(problem, truth, fit, best, at_zero, by_data)]
    return wrong, best


def _alone(truth: Truth, fit: Fit, narrow: bool) -> list[str]:
    """What one sees without knowing the optimum."""
    if fit.error:
        known = any(fit.error.startswith(f"ValueError: {sentence}") for sentence in SENTENCES)
        if not known:
            return [fit.error]
        return [] if _extreme(truth, narrow) else [f"needless: {fit.error}"]
    result, wrong = fit.result, []
    numbers = [result.value, result.gradient_norm]
    bounds = [one for one in (result.gap, result.gap_estimate) if one is not None]  # inf: none that rounding leaves
    if not np.isfinite(numbers).all() or np.isnan(bounds).any() or not np.isfinite(fit.coef).all():
        wrong.append(f"not finite: {numbers}, {fit.coef}")
    if (fit.coef * truth.signs < 0).any():
        wrong.append(f"forbidden signs: {fit.coef}")
    return wrong


def _extreme(truth: Truth, narrow: bool) -> bool:
    """Whether squares of what is added up leave the range of doubles."""
    if not truth.weights.size or not truth.differences.size:
        return False
    sizes = np.abs(truth.differences).max(axis=0)
    pulls = truth.weights @ np.abs(truth.differences)
    largest = max(sizes.max(), pulls.max(), (truth.weights.sum() * sizes**2).max() ** 0.5)
    return bool(largest > (LARGE_FLOAT32 if narrow else LARGE) or pulls.max() < TINY)


def _beside(problem: Problem, truth: Truth, fit: Fit, best: Any, at_zero: Any, by_data: float) -> list[str]:
    """What one sees beside the optimum, whose value depends by that much on the last digits of X."""
    wrong, result = [], fit.result
    excess, unsure = fit.value - best, truth.rounding(fit.coef)
    told = np.longdouble(result.value) - best
    if result.gap is not None:
        over = max(excess, told) - result.gap
        if over > 1e-6 * result.gap + unsure:
            wrong.append(
                f"the gap {result.gap:.6g} is no bound: value {result.value:.12g}, by the referee "
                f"{float(fit.value):.12g}, best {float(best):.12g}"
            )
    scale = min(best, at_zero - best)
    loose = STOCHASTIC if fit.solver.startswith("sgd") else LOOSE
    if result.converged and excess > loose * problem.tol * scale + NOTHING * best + unsure + by_data:
        values = f"converged at {float(fit.value):.9g}, best {float(best):.9g}, f(0) {float(at_zero):.9g}"
        wrong.append(f"{values}: {result.message}")
    return wrong
