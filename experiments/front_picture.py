"""The README's picture, trees against RankSVM by the number of training queries, from the rows of good_enough_figure_2:
`python -m experiments.front_picture` writes docs/trees.png.
"""

import csv
from pathlib import Path
from typing import Any

from experiments.good_enough_methods import METHODS, TREES
from experiments.pages import png
from experiments.pictures import COLOURS, legend_below, marks, panels, query_axis
from experiments.units import write_whole

ROOT = Path(__file__).resolve().parents[1]
ROWS = ROOT / "experiments" / "results" / "good_enough_figure_2.csv"
PICTURE = ROOT / "docs" / "trees.png"
APART = 1.05  # between the marks of one size


def picture(rows: list[dict[str, str]]) -> Any:
    """Differences in NDCG@10 from RankSVM, with 95 % intervals; a full mark where the interval excludes 0."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, axes = panels(1, len(names), sharey="row")
    for name, panel in zip(names, axes[0], strict=True):
        panel.axhline(0, color=COLOURS[0], linewidth=2, label="RankSVM")
        for place, method in enumerate(TREES, start=-1):
            curve = [row for row in rows if (row["data"], row["method"]) == (name, method)]
            sizes = [int(row["training queries"]) for row in curve]
            middle, low, high = ([float(row[f"difference{end}"]) for row in curve] for end in ("", ", low", ", high"))
            colour = COLOURS[list(METHODS).index(method)]
            places = [size * APART**place for size in sizes]
            panel.plot(places, middle, color=colour, linewidth=1.4, linestyle="--", label=method)
            panel.vlines(places, low, high, color=colour, linewidth=1.2)
            marks(panel, places, list(zip(middle, low, high, strict=True)), colour)
        panel.set_title(name, fontsize=10)
        query_axis(panel, sizes)
    axes[0, 0].set_ylabel("NDCG@10 minus RankSVM's", fontsize=9)
    legend_below(figure, axes, ncols=1 + len(TREES))
    return figure


if __name__ == "__main__":
    with open(ROWS, newline="") as file:
        write_whole(PICTURE, png(picture(list(csv.DictReader(file)))))
