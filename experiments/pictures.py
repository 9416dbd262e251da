"""How the pictures look: one style for all."""

from typing import Any

COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#e0a030", "#7b5ea7", "#5f6b6d", "#c06c9b", "#2a9d8f")
WIDTH, HEIGHT = 3.7, 2.9  # inches of one panel


def panels(rows: int, columns: int, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes, a 2-d array."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for one in axes.flat:
        one.grid(alpha=0.25)
        one.spines[["top", "right"]].set_visible(False)
        one.tick_params(labelsize=9)
    return figure, axes


def query_axis(panel: Any, sizes: list[int]) -> None:
    """Numbers of training queries on a logarithmic axis, with a tick for each."""
    panel.set_xscale("log")
    panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
    panel.minorticks_off()
    panel.set_xlabel("training queries", fontsize=9)


def marks(panel: Any, places: list[float], points: list[tuple[float, float, float]], colour: str) -> None:
    """Points (middle, low, high): a full mark where the interval excludes 0."""
    faces = [colour if low > 0 or high < 0 else "white" for _, low, high in points]
    panel.scatter(places, [middle for middle, _, _ in points], s=18, c=faces, edgecolors=colour, zorder=3)


def legend_below(figure: Any, axes: Any, **options: Any) -> None:
    """One legend for all panels, below them, each label once."""
    lines = {}
    for one in axes.flat:
        lines.update({label: line for line, label in zip(*one.get_legend_handles_labels(), strict=True)})
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", frameon=False, fontsize=9, **options)
