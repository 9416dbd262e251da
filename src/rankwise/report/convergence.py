"""ConvergenceDisplay: how solvers approach the optimum over time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.names import one_of
from rankwise.report.display import Display, drawn, dress, legend, line_style
from rankwise.solvers import Result, Step

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY = 60  # with so many steps, markers would hide the line
FLOOR = 1e-13  # a relative gap below it is rounding
QUANTITIES = {"relative_gap": "(objective − optimum) / optimum", "gradient_norm": "norm of the gradient"}


class Solved(Protocol):
    """An estimator fitted by a solver."""

    result_: Result


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """How solvers approach the optimum over time.

    histories  name -> the Steps of a `Result.history`
    optimum    the value to measure the gap from; None: the smallest that any solver reached
    quantity   "relative_gap", or "gradient_norm"

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.report import ConvergenceDisplay
    >>> data = load_sample()
    >>> rankers = {solver: RankSVM(solver=solver).fit(data) for solver in ("newton", "trust-region")}
    >>> display = ConvergenceDisplay.from_estimators(rankers).save("convergence.png")
    >>> sorted(set(display.data["solver"].tolist()))
    ['newton', 'trust-region']
    """

    histories: dict[str, list[Step]]
    optimum: float | None = None
    quantity: str = "relative_gap"

    def __post_init__(self) -> None:
        one_of("quantity", self.quantity, QUANTITIES)
        empty = [name for name, steps in self.histories.items() if not steps]
        if empty or not self.histories:
            raise ValueError(f"{empty[0] if empty else 'nothing'} has no history: models from files have none")

    @classmethod
    def from_results(
        cls, results: Mapping[str, Result], optimum: float | None = None, quantity: str = "relative_gap"
    ) -> Self:
        """name -> the result of a solver, or the `result_` of an estimator."""
        return cls({name: list(one.history) for name, one in results.items()}, optimum, quantity)

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[str, Solved], optimum: float | None = None, quantity: str = "relative_gap"
    ) -> Self:
        """name -> a fitted ranker."""
        return cls.from_results({name: one.result_ for name, one in estimators.items()}, optimum, quantity)

    @property
    def best(self) -> float:
        reached = min(step.value for steps in self.histories.values() for step in steps)
        return reached if self.optimum is None else self.optimum

    @property
    def data(self) -> dict[str, Array]:
        steps = [(name, step) for name, steps in self.histories.items() for step in steps]
        value = np.array([step.value for _, step in steps])
        return {
            "solver": np.array([name for name, _ in steps]),
            "iteration": np.array([step.iteration for _, step in steps]),
            "seconds": np.array([step.seconds for _, step in steps]),
            "value": value,
            "relative_gap": (value - self.best) / abs(self.best),
            "gradient_norm": np.array([step.gradient_norm for _, step in steps]),
        }

    def _draw(self, ax: "Axes") -> None:
        columns = self.data
        for i, name in enumerate(self.histories):
            own = columns["solver"] == name
            seconds, height = columns["seconds"][own], columns[self.quantity][own]
            shown = height > (FLOOR if self.quantity == "relative_gap" else 0)
            style = line_style(i) | ({"marker": None} if np.count_nonzero(shown) > MANY else {})
            ax.plot(seconds[shown], height[shown], label=drawn(name), **style)
        ax.set_yscale("log")
        self._scale_time(ax, columns["seconds"])
        dress(ax, "seconds", QUANTITIES[self.quantity])
        legend(ax)

    @staticmethod
    def _scale_time(ax: "Axes", seconds: Floats) -> None:
        """Logarithmic if the runs differ in time by orders of magnitude."""
        positive = seconds[seconds > 0]
        if positive.size and positive.max() > 100 * positive.min():
            ax.set_xscale("log")
