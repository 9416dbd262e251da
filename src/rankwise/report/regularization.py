"""RegularizationDisplay: a measure against C (or alpha), with the spread over folds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.strict_json import Json
from rankwise.model_selection.choice import means_and_errors
from rankwise.report.display import BLUE, GREY, RED, Display, drawn, dress, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 10  # folds drawn as separate lines


class Searched(Protocol):
    """A fitted estimator that has tried several values of a parameter."""

    measure_: str
    cv_values_: Floats


@runtime_checkable
class SearchedTwice(Searched, Protocol):
    """One that has tried several l1_ratios too."""

    l1_ratios_: Floats
    l1_ratio_: float


@dataclass(eq=False, repr=False)
class RegularizationDisplay(Display):
    """A measure against C (or alpha), with the spread over folds.

    parameter  its name: C or alpha
    grid       its values
    values     one row per fold (or query left out), one column per value of the grid; NaN where there is no value
    chosen     the chosen value
    measure    what the values are

    Examples
    --------
    >>> from rankwise import RankSVMCV, load_sample
    >>> from rankwise.report import RegularizationDisplay
    >>> ranker = RankSVMCV(Cs=[0.001, 0.01, 0.1], cv=3).fit(load_sample())
    >>> display = RegularizationDisplay.from_estimator(ranker).save("path.png")
    >>> display.chosen == ranker.C_
    True
    """

    parameter: str
    grid: Floats
    values: Floats
    chosen: float
    measure: str

    @classmethod
    def from_estimator(cls, estimator: Searched) -> Self:
        """A fitted RankSVMCV or RankRLSCV; of several l1_ratios, the path of the chosen one."""
        parameter, grid = ("C", "Cs_") if hasattr(estimator, "Cs_") else ("alpha", "alphas_")
        if not hasattr(estimator, grid):
            raise ValueError(f"{type(estimator).__name__} has no path to draw: use a fitted RankSVMCV or RankRLSCV")
        chosen, values = float(getattr(estimator, f"{parameter}_")), estimator.cv_values_
        if isinstance(estimator, SearchedTwice) and values.ndim > 2:  # by fold, l1_ratio and C
            values = values[:, estimator.l1_ratios_ == estimator.l1_ratio_][:, 0]
        return cls(parameter, getattr(estimator, grid), values, chosen, estimator.measure_)

    @classmethod
    def from_cv_results(cls, results: Mapping[str, ArrayLike], parameter: str = "C", measure: str = "score") -> Self:
        """The `cv_results_` of scikit-learn's searches, or of RankSVMCV; the best mean is the one chosen.

        If other parameters were searched too, those of the best are kept.
        """
        column = next((key for key in results if key == f"param_{parameter}" or key.endswith(f"__{parameter}")), None)
        if column is None:
            raise ValueError(f"the results have no column param_{parameter}: they have {', '.join(results)}")
        grid = np.asarray(results[column], dtype=np.float64)
        folds = [key for key in results if key.startswith("split") and key.endswith("_test_score")]
        values = np.array([results[key] for key in folds], dtype=np.float64)
        best = int(np.nanargmax(results["mean_test_score"]))
        names = [key for key in results if key.startswith("param_") and key != column]
        others = [list(map(repr, np.asarray(results[key], dtype=object))) for key in names]
        path = [i for i in range(grid.size) if all(one[i] == one[best] for one in others)]
        return cls(parameter, grid[path], values[:, path], float(grid[best]), measure)

    @classmethod
    def from_tuning(cls, told: Json) -> Self:
        """The output of `rankwise tune --json`: the path for the chosen values of the other options."""
        chosen = told["chosen"]
        parameter = "alpha" if "alpha" in chosen else "C"
        others = {key: value for key, value in chosen.items() if key != parameter}
        rows = [row for row in told["results"] if {key: row[key] for key in others} == others]
        values = np.array([row["folds"] for row in rows], dtype=np.float64).T
        grid = np.array([row[parameter] for row in rows])
        return cls(parameter, grid, values, float(chosen[parameter]), told["measure"])

    @property
    def mean(self) -> Floats:
        return means_and_errors(self.values)[0]

    @property
    def standard_error(self) -> Floats:
        """0 for a value of the grid at which fewer than two folds have a value."""
        return means_and_errors(self.values)[1]

    @property
    def data(self) -> dict[str, Array]:
        columns = {self.parameter: self.grid, "mean": self.mean}
        if len(self.values) > 1:
            columns["standard_error"] = self.standard_error
        return columns | {f"fold_{i + 1}": row for i, row in enumerate(self._folds())}

    def _folds(self) -> Floats:
        return self.values if 1 < len(self.values) <= FEW else self.values[:0]

    def _draw(self, ax: "Axes") -> None:
        order = np.argsort(self.grid)
        grid, mean = self.grid[order], self.mean[order]
        for i, row in enumerate(self._folds()):
            ax.plot(grid, row[order], color=GREY, linewidth=0.7, alpha=0.6, label=None if i else "each fold")
        if len(self.values) > 1:
            error = self.standard_error[order]
            label = "± one standard error"
            ax.fill_between(grid, mean - error, mean + error, label=label, color=BLUE, alpha=0.18, linewidth=0)
        ax.plot(grid, mean, color=BLUE, linewidth=2, label="mean")
        at = float(mean[int(np.argmin(np.abs(grid - self.chosen)))])
        label = f"chosen: {drawn(self.parameter)} = {_power(self.chosen)}"
        ax.axvline(self.chosen, color=RED, linewidth=1, linestyle=(0, (4, 3)))
        ax.plot([self.chosen], [at], color=RED, marker="o", markersize=6, linestyle="none", label=label)
        ax.set_xscale("log", base=2 if all(map(_is_power, grid)) else 10)
        dress(ax, drawn(self.parameter), drawn(self.measure))
        legend(ax)


def _is_power(value: float) -> bool:
    return float(np.log2(value)).is_integer()


def _power(value: float) -> str:
    return f"$2^{{{int(np.log2(value))}}}$" if _is_power(value) else f"{value:.3g}"
