"""CutoffDisplay: NDCG@k (or another measure at the top) of several rankers, for k = 1, 2, …"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.metrics import Measure, evaluate, parse
from rankwise.report.display import Display, Ranker, drawn, dress, legend, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CUTOFFS = tuple(range(1, 21))
FEW = 50  # up to here ticks are set explicitly, so that k = 1 has one


@dataclass(eq=False, repr=False)
class CutoffDisplay(Display):
    """NDCG@k (or another measure at the top) of several rankers, for k = 1, 2, …

    measure  without its cutoff, as it is printed
    cutoffs  the values of k
    curves   name -> the mean of measure@k for each k

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.report import CutoffDisplay
    >>> train, test = load_sample("train"), load_sample("test")
    >>> scores = {"RankSVM": RankSVM().fit(train).predict(test), "clicks": test.X[:, 4]}
    >>> display = CutoffDisplay.from_predictions(test.y, scores, test.qid, cutoffs=[1, 3, 5, 10]).save("cutoffs.png")
    >>> list(display.data)
    ['k', 'RankSVM', 'clicks']
    """

    measure: str
    cutoffs: Sequence[int]
    curves: dict[str, Floats]

    @classmethod
    def from_predictions(
        cls,
        y: object,
        scores: Mapping[str, object],
        qid: object = None,
        measure: str | Measure = "ndcg",
        cutoffs: Sequence[int] = CUTOFFS,
    ) -> Self:
        """name -> the scores of the documents with labels y."""
        measures = at_cutoffs(measure, cutoffs)
        found = {name: evaluate(y, one, qid, measures) for name, one in scores.items()}
        curves = {name: np.array([one[str(m)] for m in measures]) for name, one in found.items()}
        return cls(str(replace(measures[0], cutoff=None)), list(cutoffs), curves)

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[str, Ranker], X: object, y: object, qid: object = None, measure: str | Measure = "ndcg"
    ) -> Self:
        """name -> a fitted ranker, for k from 1 to 20."""
        return cls.from_predictions(y, {name: one.predict(X) for name, one in estimators.items()}, qid, measure)

    @property
    def data(self) -> dict[str, Array]:
        return {"k": np.array(self.cutoffs), **self.curves}

    def _draw(self, ax: "Axes") -> None:
        for i, (name, curve) in enumerate(self.curves.items()):
            ax.plot(self.cutoffs, curve, label=drawn(name), **line_style(i))
        if max(self.cutoffs) <= FEW:
            ax.set_xticks([k for k in self.cutoffs if len(self.cutoffs) <= 10 or k == 1 or k % 5 == 0])
        name, colon, options = self.measure.partition(":")
        dress(ax, "k", f"{name}@k{colon}{options}")
        legend(ax)


def at_cutoffs(measure: str | Measure, cutoffs: Sequence[int]) -> list[Measure]:
    """The measure with each of the cutoffs."""
    name, colon, options = str(measure).partition(":")
    base = parse(f"{name.partition('@')[0]}@1{colon}{options}")
    if not cutoffs or min(cutoffs) < 1:
        raise ValueError(f"cutoffs must be whole numbers from 1, got {list(cutoffs)}")
    return [replace(base, cutoff=int(k)) for k in cutoffs]
