"""Ways to sum over pairs, all under the same trust region Newton method."""

from typing import Any

from experiments.lee_lin_data import LISTS, chosen
from experiments.lee_lin_paths import Method, relative, seconds_to, stopping_value, times_caption
from experiments.pages import Report, Table
from experiments.pictures import COLOURS, legend_below, panels
from experiments.units import Unit

TITLE = "Lee and Lin, figure 4: direct counting and order-statistic trees"
NEEDS = ()
SETS = ("MSLR 30k*", "Yahoo set 1*", *LISTS)
SCHEMES = {
    "direct-count": "by-level",
    "y-rbtree": "red-black-tree",
    "wTx-rbtree": "score-red-black-tree",
    "selectiontree": "selection-tree",
    "y-avltree": "avl-tree",
    "y-aatree": "aa-tree",
    "rankwise": "auto",
}
GAPS = (0.1, 1e-3)
NOTHING: dict[str, list[float]] = {"seconds": [], "value": [], "gradient": []}  # of a unit whose time was up


def units(quick: bool) -> list[Unit]:
    seconds = 0.5 if quick else 6.0
    return [
        Method("trust-region", scheme).unit(f"{name}, {label}", name, 0, seconds=seconds, quick=quick)
        for name in chosen(SETS, quick)
        for label, scheme in SCHEMES.items()
    ]


def report(found: dict[str, Any]) -> Report:
    paths = {tuple(unit.rsplit(", ", 1)): one for unit, one in found.items() if one is not None}
    best: dict[str, float] = {}
    for (name, _), one in paths.items():
        best[name] = min(best.get(name, float("inf")), *one["value"])
    rows = [
        {"data": name, "scheme": label, "seconds": seconds, "relative function value": gap}
        for (name, label), one in paths.items()
        for seconds, gap in zip(one["seconds"], relative(one["value"], best[name]).tolist(), strict=True)
    ]
    until: dict[str, dict[str, str]] = {label: {"scheme": label} for label in SCHEMES}
    for (name, label), one in paths.items():
        until[label] |= {f"{name} to {gap:g}": seconds_to(one, best[name], gap) for gap in GAPS}
    return Report(
        claim="The paper: all trees take about the same time, and direct counting is slow where there are many levels "
        "(the -list sets). C = 1, scaled to the number of pairs at hand.",
        rows=rows,
        tables=[Table(times_caption(GAPS), list(until.values()))],
        why="the paper gives curves only, of the full sets in C++ on a 2.5 GHz Xeon E5504; these are shares of "
        "synthetic sets. `rankwise` is what the library does by itself in the same solver.",
        picture=draw(paths, best),
    )


def draw(paths: dict[tuple[str, str], Any], best: dict[str, float]) -> Any:
    figure, axes = panels((len(best) + 1) // 2, 2)
    for axis, name in zip(axes.flat, best, strict=False):
        for place, label in enumerate(SCHEMES):
            one = paths.get((name, label), NOTHING)
            own = {"color": "black", "linewidth": 2.4} if label == "rankwise" else {"color": COLOURS[place]}
            axis.loglog(one["seconds"], relative(one["value"], best[name]), label=label, **own)
        stop = stopping_value(paths.get((name, "rankwise"), NOTHING))
        if stop is not None:
            axis.axhline(abs(stop / best[name] - 1), color="grey", linestyle=":", label="default stop")
        axis.set(title=name, xlabel="seconds, one thread", ylabel="relative function value")
    legend_below(figure, axes, ncols=4)
    return figure
