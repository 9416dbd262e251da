"""Choosing C by the validation set, as the paper does: 2^-15 … 2^10, the best for each measure. Shared by tables.

RankSVM goes up the grid from the last optimum, on all cores; for L2-loss SVR, one value of C per core is fitted at a
time. Only the fits at the chosen C are timed, each alone on one thread. SVR is LIBLINEAR's by way of
scikit-learn, without intercept and with ε = 0, as in the paper; L2 loss in the primal, L1 loss (of which LIBLINEAR has
only the dual) with its iterations bounded.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sklearn.svm import LinearSVR

from experiments.lee_lin_data import ORIGINALS, PAIRS, REAL, chosen, load, scaled
from experiments.processor import timed
from experiments.units import Unit
from rankwise import RankingData, RankSVM, evaluate
from rankwise.foundation.threads import thread_count

GRID = tuple(range(-15, 11))
# Where a fit takes seconds: L1-loss SVR, and on synthetic data all but L2-loss RankSVM.
COARSE = tuple(range(-15, 11, 5))
WITH_PAPERS = (-15, -10, -5, 0, 5, 8, 10)  # and the paper's own choice for L1-loss SVR on the real sets
L2, L1, PARTIAL = "L2-loss RankSVM", "L1-loss RankSVM", "L2-loss RankSVM, adjacent levels only"
SVR_L2, SVR_L1 = "L2-loss SVR", "L1-loss SVR"
# A fit at a C too large to be of use must not take for ever; the first is LIBLINEAR's own bound.
SVR_PASSES, FEWER_PASSES, MOST_STEPS = 1000, 50, 60


def measures_of(name: str) -> list[str]:
    return [PAIRS, *filter(None, [ORIGINALS[name].ndcg])]


def measure(ranker: Any, rows: RankingData, name: str) -> dict[str, float]:
    table = evaluate(rows.y, ranker.predict(rows.X), rows.qid, measures_of(name))
    return {one: float(table[one]) for one in measures_of(name)}


def units(names: tuple[str, ...], models: tuple[str, ...], quick: bool) -> list[Unit]:
    """Named "SET, MODEL"."""
    return [
        Unit(f"{name}, {model}", select, {"name": name, "model": model, "quick": quick}, limit=240)
        for name in chosen(names, quick)
        for model in models
    ]


def select(data: Path, name: str, model: str, quick: bool) -> dict[str, Any]:
    """The validation measures along the grid, and for each measure the best C with its test measures and seconds."""
    train, valid, test = load(data, name, quick)
    grid = grid_of(model, name, quick)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that does not converge at 2^10 is part of the comparison
        checked = dict(zip(grid, _along(grid, train, valid, name, model), strict=True))
        best = {one: max(checked, key=lambda exponent: checked[exponent][one]) for one in measures_of(name)}
        fits = {exponent: fit(train, test, name, model, exponent) for exponent in dict.fromkeys(best.values())}
        chosen = {one: {"log2 C": best[one]} | fits[best[one]] for one in best}
    return {"validation": checked, "chosen": chosen}


def _along(
    grid: tuple[int, ...], train: RankingData, valid: RankingData, name: str, model: str
) -> list[dict[str, float]]:
    """The validation measures of every C."""
    strengths = [scaled_for(model, exponent, name, train) for exponent in grid]
    if model == SVR_L2:
        with ThreadPoolExecutor(thread_count()) as pool:  # LIBLINEAR releases the GIL
            rankers = pool.map(lambda C: fitted(make(model, name).set_params(C=C), train), strengths)
            return [measure(ranker, valid, name) for ranker in rankers]
    ranker = make(model, name)  # L1-loss SVR one by one: its random numbers are LIBLINEAR's, one stream per process
    if model != SVR_L1:
        ranker.set_params(n_jobs=None)
    return [measure(fitted(ranker.set_params(C=C), train), valid, name) for C in strengths]


def grid_of(model: str, name: str, quick: bool) -> tuple[int, ...]:
    if quick:
        return COARSE
    if model in (L2, PARTIAL):
        return GRID
    if name in REAL:
        return WITH_PAPERS if model == SVR_L1 else GRID
    return COARSE


def at(data: Path, name: str, exponent: int, solver: str, tol: float, stopping: str = "gap") -> dict[str, Any]:
    """Test measures and seconds of L2-loss RankSVM at a given C."""
    train, _, test = load(data, name)
    ranker = RankSVM(C=2.0**exponent, solver=solver, tol=tol, n_jobs=1, stopping=stopping)
    return train_and_test(ranker, train, test, name)


def stopped(data: Path, name: str, exponent: int, passes: int) -> dict[str, Any]:
    """L1-loss SVR after so many passes over the data."""
    train, _, test = load(data, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        svr = make(SVR_L1, name).set_params(C=2.0**exponent, max_iter=passes)
        return train_and_test(svr, train, test, name)


def fit(train: RankingData, test: RankingData, name: str, model: str, exponent: float) -> dict[str, Any]:
    """From zero, on one thread, as a user would who knows C."""
    ranker = make(model, name)
    ranker.set_params(C=scaled_for(model, exponent, name, train))
    return train_and_test(ranker, train, test, name)


def train_and_test(ranker: Any, train: RankingData, test: RankingData, name: str) -> dict[str, Any]:
    seconds, _ = timed(lambda: fitted(ranker, train))
    return {"seconds": seconds} | measure(ranker, test, name)


def make(model: str, name: str) -> Any:
    if model == SVR_L2:
        return LinearSVR(loss="squared_epsilon_insensitive", dual=False, fit_intercept=False, tol=1e-3)
    if model == SVR_L1:
        passes = SVR_PASSES if name in REAL else FEWER_PASSES
        return LinearSVR(fit_intercept=False, tol=0.1, max_iter=passes, random_state=0)
    scope, loss = "adjacent" if model == PARTIAL else "all", "hinge" if model == L1 else "squared_hinge"
    return RankSVM(loss=loss, scope=scope, warm_start=True, n_jobs=1, max_iter=MOST_STEPS)


def fitted(ranker: Any, train: RankingData) -> Any:
    return ranker.fit(train.X, train.y, train.qid) if isinstance(ranker, RankSVM) else ranker.fit(train.X, train.y)


def scaled_for(model: str, exponent: float, name: str, train: RankingData) -> float:
    """C so that the sum of losses weighs as on the whole set: over the pairs, or over the documents."""
    if model in (L2, L1):
        return scaled(exponent, name, train)
    return float(2.0**exponent * ORIGINALS[name].rows / len(train))


def best_values(found: dict[str, Any], paper: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of tables 3 and 4: log2 of the best C, the paper's beside it, and how far one may go from it."""
    rows = []
    for model, values in paper.items():
        for name, of_paper in zip(ORIGINALS, values, strict=True):
            for one, theirs in zip(measures_of(name), of_paper, strict=False):
                if f"{name}, {model}" not in found:
                    continue
                ours = found[f"{name}, {model}"]
                row = {"model": model, "data": name, "measure": one, "paper": theirs}
                if ours is not None:
                    row |= {"here": ours["chosen"][one]["log2 C"], "as good": as_good(ours["validation"], one)}
                rows.append(row)
    return rows


def as_good(validation: dict[str, Any], one: str, tolerance: float = 0.002) -> str:
    """The values of log2 C whose validation measure is within `tolerance` of the best."""
    values = {int(exponent): table[one] for exponent, table in validation.items()}
    good = [exponent for exponent, value in values.items() if value >= max(values.values()) - tolerance]
    return f"{min(good)} … {max(good)}" if len(good) > 1 else f"{good[0]}"
