"""WeightsDisplay: the largest weights of a linear ranker, by feature name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.report.display import Display, drawn, signed_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class WeightsDisplay(Display):
    """The largest weights of a linear ranker, by feature name.

    names    of the features
    weights  one per feature
    top      how many to draw, the largest by absolute value

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.report import WeightsDisplay
    >>> train, test = load_sample("train"), load_sample("test")
    >>> display = WeightsDisplay.from_estimator(RankSVM().fit(train)).save("weights.png")
    >>> print(display.data["feature"][0])
    clicks
    """

    names: Sequence[str]
    weights: Floats
    top: int = 20

    @classmethod
    def from_estimator(cls, estimator: object, names: Sequence[str] | None = None, top: int = 20) -> Self:
        """A fitted linear ranker; names: its own, else the numbers of the features as in a file."""
        if not hasattr(estimator, "coef_"):
            raise ValueError(f"{type(estimator).__name__} has no weights of features to draw")
        weights = np.asarray(estimator.coef_)
        own = getattr(estimator, "feature_names_in_", None)
        first = getattr(estimator, "first_index_", 1)
        known = own if names is None else names
        texts = [f"feature {i + first}" for i in range(weights.size)] if known is None else list(map(str, known))
        if len(texts) != weights.size:
            raise ValueError(f"names has {len(texts)} names, the ranker has {weights.size} features")
        return cls(texts, weights, top)

    @property
    def data(self) -> dict[str, Array]:
        """All features, the largest weight first."""
        order = np.argsort(-np.abs(self.weights), kind="stable")
        return {"feature": np.array(self.names)[order], "weight": self.weights[order]}

    def _inches(self) -> tuple[float, float]:
        return 6.0, 1.0 + 0.22 * min(self.top, self.weights.size)

    def _draw(self, ax: "Axes") -> None:
        names, weights = (column[: self.top] for column in self.data.values())
        labels = [drawn(name) for name in names]
        signed_bars(ax, labels, weights, "weight", self.weights.size - weights.size)
