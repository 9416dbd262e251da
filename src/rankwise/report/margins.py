"""MarginDisplay: the score differences of all preference pairs.

The number of pairs with s_i - s_j < t is the number of edges of G(t), so a histogram consists of differences of edge
counts over a grid of t. Pairs are never enumerated.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.pairs.graph import Ranking
from rankwise.pairs.preferences import Preferences
from rankwise.report.display import BLUE, ORANGE, RED, Display, Ranker, dress, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARE = 0.002  # of the pairs may be outside the figure on each side
HALVINGS = 20  # to a millionth of the widest margin


@dataclass(eq=False, repr=False)
class MarginDisplay(Display):
    """The score differences of all preference pairs.

    edges   where the bins begin and end: -inf first and inf last; 0 and 1 are among them
    counts  pairs with edges[k] ≤ s_i - s_j < edges[k + 1]
    tied    pairs with s_i = s_j

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample
    >>> from rankwise.report import MarginDisplay
    >>> train, test = load_sample("train"), load_sample("test")
    >>> display = MarginDisplay.from_estimator(RankSVM().fit(train), test.X, test.y, test.qid).save("margins.png")
    >>> int(display.data["pairs"].sum())
    2715
    """

    edges: Floats
    counts: Ints
    tied: int

    @classmethod
    def from_predictions(cls, y: object, scores: object, qid: object = None, bins: int = 60) -> Self:
        """From the labels y and scores of documents; with about so many bins."""
        preferences = Preferences(y, qid)
        if not preferences.any:
            raise ValueError("y has no preference pair: there are no margins to draw")
        centred = _centred(np.asarray(scores, dtype=np.float64), preferences)
        ranking = preferences.ranked(centred)
        edges = _edges(ranking, float(np.ptp(centred)), bins)
        below = np.array([int(ranking.active(t).n_pairs) for t in edges])
        tied = int(ranking.active(float(np.nextafter(0.0, 1.0))).n_pairs) - int(ranking.active(0.0).n_pairs)
        return cls(edges, np.diff(below), tied)

    @classmethod
    def from_estimator(cls, estimator: Ranker, X: object, y: object, qid: object = None, bins: int = 60) -> Self:
        """From the scores of a fitted ranker."""
        return cls.from_predictions(y, estimator.predict(X), qid, bins)

    @property
    def data(self) -> dict[str, Array]:
        return {"from": self.edges[:-1], "to": self.edges[1:], "pairs": self.counts}

    def _draw(self, ax: "Axes") -> None:
        low, high = self.edges[:-1], self.edges[1:]
        total = self.counts.sum()
        groups = {
            "wrong": (high <= 0, 0, RED),
            "right by < 1": ((low >= 0) & (high <= 1), self.tied, ORANGE),
            "right by ≥ 1": (low >= 1, 0, BLUE),
        }
        shown = np.isfinite(low) & np.isfinite(high)
        for name, (own, ties, colour) in groups.items():
            bars = own & shown
            label = f"{name}: {(self.counts[own].sum() - ties) / total:.1%}"
            widths = high[bars] - low[bars]
            ax.bar(
                low[bars],
                self.counts[bars],
                widths,
                align="edge",
                label=label,
                color=colour,
                edgecolor="white",
                linewidth=0.4,
            )
        for t in (0.0, 1.0):
            ax.axvline(t, color="black", linewidth=0.8, linestyle="-" if t == 0 else (0, (4, 3)))
        ax.yaxis.set_major_formatter(_count)
        apart = {"tied": self.tied, "beyond the edges": int(self.counts[~shown].sum())}
        told = [f"{total:,} pairs", *(f"{count:,} {what}" for what, count in apart.items() if count)]
        dress(ax, "score of the preferred document − score of the other\n" + ", ".join(told), "pairs", grid="y")
        legend(ax)


def _count(value: float, _: object) -> str:
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value:,.0f}"


def _centred(scores: Floats, preferences: Preferences) -> Floats:
    """The scores without the offsets of queries, which do not change a margin but cost digits."""
    return preferences.centred(scores, np.ones(scores.size))


def _edges(ranking: Ranking, widest: float, bins: int) -> Floats:
    """-inf, then multiples of a round step that include nearly all pairs, 0 and 1, then inf."""
    total = ranking.active(np.inf).n_pairs
    low, high = (_quantile(ranking, share * total, widest) for share in (SHARE, 1 - SHARE))
    low, high = min(low, 0.0), max(high, 1.0)
    step = 1.0 / max(1, round(bins / (high - low)))  # a whole number of steps from 0 to 1
    if (high - low) / step > 2 * bins:
        step = float(np.ceil((high - low) / bins))
    inner = step * np.arange(np.floor(low / step), np.ceil(high / step) + 1)
    return np.unique(np.concatenate(([-np.inf, 0.0, 1.0, np.inf], inner)))


def _quantile(ranking: Ranking, wanted: float, widest: float) -> float:
    """The t with about `wanted` pairs below it."""
    low, high = -widest, widest
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if ranking.active(middle).n_pairs < wanted else (low, middle)
    return high
