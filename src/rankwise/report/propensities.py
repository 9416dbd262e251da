"""PropensityDisplay: how often users look at each position, with intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from rankwise.clicks.propensities import Propensities
from rankwise.foundation.arrays import Array
from rankwise.report.display import Display, drawn, dress, legend, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART = 0.12  # of a position, between the intervals of two curves
FEW = 20  # positions that have a tick each


@dataclass(eq=False, repr=False)
class PropensityDisplay(Display):
    """How often users look at each position, with intervals.

    curves  name -> the propensities of positions

    Examples
    --------
    >>> from rankwise.clicks import Propensities
    >>> from rankwise.report import PropensityDisplay
    >>> known = Propensities.of([1, 2, 3], [1.0, 0.5, 0.3], lower=[1.0, 0.4, 0.2], upper=[1.0, 0.6, 0.4])
    >>> display = PropensityDisplay.from_propensities(known).save("bias.png")
    >>> list(display.data)
    ['estimate', 'position', 'propensity', 'lower', 'upper']
    """

    curves: dict[str, Propensities]

    @classmethod
    def from_propensities(cls, propensities: Propensities | Mapping[str, Propensities]) -> Self:
        """Those of one estimate, or several by name."""
        if isinstance(propensities, Propensities):
            return cls({"propensity": propensities})
        return cls(dict(propensities))

    @property
    def data(self) -> dict[str, Array]:
        tables = [one.table_columns() for one in self.curves.values()]
        names = np.repeat(list(self.curves), [one.positions.size for one in self.curves.values()])
        return {"estimate": names} | {key: np.concatenate([one[key] for one in tables]) for key in tables[0]}

    def _draw(self, ax: "Axes") -> None:
        for i, (name, one) in enumerate(self.curves.items()):
            offset = APART * (i - (len(self.curves) - 1) / 2)
            beyond = np.abs([one.values - one.lower, one.upper - one.values])
            style = line_style(i)
            ax.errorbar(one.positions + offset, one.values, yerr=beyond, capsize=2.5, label=drawn(name), **style)
        ax.set_ylim(bottom=0)
        positions = np.unique(np.concatenate([one.positions for one in self.curves.values()]))
        if positions.size <= FEW:
            ax.set_xticks(positions)
        dress(ax, "position", "propensity, relative to position 1")
        if len(self.curves) > 1:
            legend(ax)
