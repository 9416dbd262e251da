"""FeaturePathDisplay: the weights along a path over C, the number of features kept, and the measure beside them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.model_selection.choice import means_and_errors
from rankwise.report.display import COLOURS, GREY, Display, drawn, dress, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TICKS = 9  # numbers of features above the figure, at most
APART = 5  # points from one marker of a line to the next


class Followed(Protocol):
    """A path over C, such as `c_path` returns."""

    @property
    def Cs(self) -> Floats: ...
    @property
    def coef(self) -> Floats: ...
    @property
    def names(self) -> tuple[str, ...] | None: ...
    @property
    def measure(self) -> str | None: ...
    @property
    def cv_values(self) -> Floats | None: ...


@dataclass(eq=False, repr=False)
class FeaturePathDisplay(Display):
    """
    names      of the features
    Cs         in rising order
    weights    one row per C
    measure    what `values` are, by fold and C; both may be None
    top        how many features are named, those with the largest weights; the others are grey
    """

    size: ClassVar[tuple[float, float]] = (7.5, 4.2)

    names: list[str]
    Cs: Floats
    weights: Floats
    measure: str | None = None
    values: Floats | None = None
    top: int = 10

    @classmethod
    def from_path(cls, path: Followed, top: int = 10) -> Self:
        """The result of `rankwise.model_selection.c_path`; with `cv`, its measure is drawn too."""
        order = np.argsort(path.Cs, kind="stable")
        names = [f"feature {i}" for i in range(path.coef.shape[1])] if path.names is None else list(path.names)
        values = None if path.cv_values is None else path.cv_values[:, order]
        return cls(names, path.Cs[order], path.coef[order], path.measure, values, top)

    @property
    def n_kept(self) -> Ints:
        """How many features have a weight other than 0, at each C."""
        kept: Ints = (self.weights != 0.0).sum(axis=1)
        return kept

    @property
    def data(self) -> dict[str, Array]:
        columns: dict[str, Array] = {"C": self.Cs, "features": self.n_kept}
        if self.values is not None:
            columns["mean"], columns["standard_error"] = means_and_errors(self.values)
        return columns | {f"weight {name}": self.weights[:, j] for j, name in enumerate(self.names)}

    def _draw(self, ax: "Axes") -> None:
        largest = np.argsort(-np.abs(self.weights).max(axis=0), kind="stable")
        for j in largest[self.top :]:
            ax.plot(self.Cs, self.weights[:, j], color=GREY, linewidth=0.7, alpha=0.6)
        for i, j in enumerate(sorted(largest[: self.top], key=lambda j: -self.weights[-1, j])):
            style = line_style(i) | {"markevery": APART, "linestyle": "-" if i < len(COLOURS) else ":"}
            ax.plot(self.Cs, self.weights[:, j], label=drawn(self.names[j]), **style)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xscale("log")
        dress(ax, "C", "weight")
        self._draw_counts(ax)
        if self.values is not None:
            self._draw_measure(ax, self.values)
        beside = 1.02 if self.values is None else 1.16
        if self.top:
            ax.legend(loc="center left", bbox_to_anchor=(beside, 0.5), frameon=False, fontsize="small")

    def _draw_counts(self, ax: "Axes") -> None:
        places = np.unique(np.linspace(0, self.Cs.size - 1, min(TICKS, self.Cs.size)).round().astype(int))
        above = ax.secondary_xaxis("top")
        above.set_xticks(self.Cs[places], [str(n) for n in self.n_kept[places]])
        above.minorticks_off()
        above.set_xlabel("features kept")

    def _draw_measure(self, ax: "Axes", values: Floats) -> None:
        ranks = self.n_kept > 0  # without features all documents are tied: that is no ranking
        mean, error = (one[ranks] for one in means_and_errors(values))
        beside = ax.twinx()
        beside.fill_between(self.Cs[ranks], mean - error, mean + error, color=GREY, alpha=0.15, linewidth=0)
        beside.plot(self.Cs[ranks], mean, color=GREY, linewidth=2, linestyle=(0, (4, 2)))
        beside.set_ylabel(f"{drawn(self.measure)} (dashed, ± one standard error)")
        beside.spines[["top", "left"]].set_visible(False)
