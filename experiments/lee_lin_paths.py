"""How a method gets to the optimum: seconds, objective, gradient and test measures at every step, on one thread.

Seconds are the process's own, not the clock's: what else the machine does hardly counts.
The papers' methods are a solver and a way to sum over pairs each; rankwise's own choice is drawn beside them. Test
measures are computed afterwards, from the points that the solver went through.
"""

import time
import warnings
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.lee_lin_data import ORIGINALS, PAIRS, SYNTHETIC, load, scaled
from experiments.units import Unit
from rankwise import RankingData, evaluate
from rankwise.objective import losses
from rankwise.objective.building import Pairing, build
from rankwise.solvers import Result, Step, make_solver, needs_of

MOST_POINTS = 40  # at which test measures are computed
PATIENCE = 4  # seconds by the clock for one of the process's own
COMPILING = {"steps": 10, "tol": 1e-2}  # a short run that uses all kernels


@dataclass(frozen=True)
class Method:
    solver: str
    scheme: str = "auto"
    loss: str = "squared_hinge"
    tol: float = 1e-9

    def unit(self, called: str, name: str, exponent: float, **how: Any) -> Unit:
        """`how`: seconds at most, quick, and whether the test measures are wanted."""
        options = asdict(self) | {"name": name, "exponent": exponent} | how
        return Unit(called, path, options, limit=60 + 2 * PATIENCE * how["seconds"])


class Watched:
    """An objective that remembers the last expansions asked of it, to find the point that a solver's step speaks of."""

    def __init__(self, objective: Any) -> None:
        self.objective = objective
        self.seen: deque[Any] = deque(maxlen=3)
        self.points: list[Any] = []
        self.seconds: list[float] = []
        self.began = time.process_time()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objective, name)

    def at(self, w: Any) -> Any:
        return Seen(self.objective.at(w), self.seen)

    def smoothed(self, width: float) -> Any:
        smooth = Watched(self.objective.smoothed(width))
        smooth.seen = self.seen
        return smooth

    def note(self, step: Step) -> None:
        self.seconds.append(time.process_time() - self.began)
        found = [here.point for here in self.seen if here.value == step.value]
        self.points.append(found[-1] if found else self.points[-1])  # not among the last: it is the best one so far


class Seen:
    """An expansion that is remembered, as is the same with another loss: smoothing finds values of the hinge so."""

    def __init__(self, expansion: Any, seen: deque[Any]) -> None:
        self.expansion, self.seen = expansion, seen
        seen.append(expansion)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.expansion, name)

    def with_loss(self, loss: losses.Loss) -> Any:
        return Seen(self.expansion.with_loss(loss), self.seen)


def path(
    data: Path, name: str, exponent: float, seconds: float, quick: bool, measured: bool = False, **method: Any
) -> dict[str, list[Any]]:
    """Columns seconds, value, gradient (norm, as a share of that at zero), converged (at the last step, unless the time
    was up before), and the test measures where wanted.
    """
    train, _, test = load(data, name, quick)
    C = scaled(exponent, name, train)
    _run(train.select(slice(2000)), C, **method | COMPILING)  # with fewer rows than features another solver runs
    watched, result = _run(train, C, seconds=seconds, **method)
    history = result.history
    columns = {
        "seconds": watched.seconds,
        "value": [step.value for step in history],
        "gradient": [step.gradient_norm / history[0].gradient_norm for step in history],
        "converged": [*(len(history) - 1) * [False], result.converged],
    }
    if not measured:
        return columns
    kept = np.unique(np.geomspace(1, len(history), MOST_POINTS).astype(int) - 1)
    measures = [PAIRS, *filter(None, [ORIGINALS[name].ndcg])]
    tables = [evaluate(test.y, test.X @ watched.points[i], test.qid, measures) for i in kept]
    columns = {key: [values[i] for i in kept] for key, values in columns.items()}
    return columns | {measure: [float(table[measure]) for table in tables] for measure in measures}


def _run(
    train: RankingData,
    C: float,
    *,
    solver: str,
    scheme: str,
    loss: str,
    tol: float,
    seconds: float = np.inf,
    steps: float = np.inf,
) -> tuple[Watched, Result]:
    """Ends at the first step after so many of the process's seconds, or after so many steps."""
    kind = losses.parse(loss)
    watched = Watched(build(train.X, train.y, train.qid, loss=kind, C=C, pairing=Pairing(scheme), n_jobs=1))

    def over(step: Step) -> bool:
        watched.note(step)
        late = watched.seconds[-1] > seconds or step.seconds > PATIENCE * seconds
        return late or len(watched.seconds) >= steps

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopping = "gradient" if "smooth loss" in needs_of(solver) else "gap"
        return watched, make_solver(solver, kind, train.X, tol=tol, stopping=stopping)(watched, None, over)


def relative(values: list[float], optimum: float) -> Any:
    """|f - f*| / f*; what is left at the optimum itself is not drawn."""
    gap = np.abs(np.array(values) / optimum - 1)
    return np.where(gap > 1e-12, gap, np.nan)


def times_caption(gaps: tuple[float, float]) -> str:
    return (
        f"Seconds, one thread, until the relative function value is {gaps[0]:g} and {gaps[1]:g}. `> 2.5`: the time "
        "limit ended the run after 2.5 s, before it was known to be that close; how much longer it takes is not known. "
        + SYNTHETIC
    )


def seconds_to(found: dict[str, list[Any]], optimum: float, gap: float) -> str:
    """When the relative function value first was below `gap`.

    The optimum is the least value of all runs. If it is that of this very step, and the run was stopped there, the
    step may still be far from the real one.
    """
    below = np.flatnonzero(np.abs(np.array(found["value"]) / optimum - 1) <= gap)
    if below.size and (found["value"][below[0]] > optimum or found["converged"][-1]):
        return f"{found['seconds'][below[0]]:.2f}"
    return f"> {found['seconds'][-1]:.2g}"


def stopping_value(found: dict[str, list[float]], tol: float = 1e-3) -> float | None:
    """The objective where the gradient is first below `tol` of that at zero: LIBLINEAR's default stop."""
    below = np.flatnonzero(np.array(found["gradient"]) <= tol)
    return found["value"][below[0]] if below.size else None
