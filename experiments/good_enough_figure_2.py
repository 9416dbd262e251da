"""The same rankers on fewer and fewer training queries: from where on are trees ahead?"""

from typing import Any

from experiments import good_enough as shared
from experiments.good_enough import LABELS, NEEDS, SAMPLE, SIZES, how, listed, missing, points
from experiments.good_enough_methods import BASELINE, METHODS, TREES
from experiments.pages import Report, Table
from experiments.pictures import COLOURS, legend_below, marks, panels, query_axis
from experiments.units import Unit

TITLE = "Is a linear ranker good enough? Learning curves: where trees overtake"
QUICK_NEEDS = ()
MORE = (
    "Smaller training sets are queries of the training part, drawn at random once per fold, the smaller contained in "
    "the larger. Every method was tuned anew at each size, on the whole validation part, which nobody with ten judged "
    "queries has: the curves show what training queries add when tuning is no problem. A difference is "
    "called clear if its interval excludes 0, and intervals are not corrected for their number. A method overtakes for "
    "good where it is clearly ahead and stays so at all larger sizes."
)
Rows = list[dict[str, Any]]


def units(quick: bool) -> list[Unit]:
    return shared.units((SAMPLE,) if quick else NEEDS, SIZES, quick)


def report(found: dict[str, Any]) -> Report:
    sizes = sorted({size for name in LABELS for size in SIZES[name]})
    rows = [point.summary() | {"folds": len(point.folds)} for size in sizes for point in points(found, size)]
    rows.sort(key=lambda row: (list(LABELS.values()).index(row["data"]), row["training queries"]))
    by_set = {label: [row for row in rows if row["data"] == label] for label in LABELS.values()}
    by_set = {label: rows for label, rows in by_set.items() if rows}
    return Report(
        "\n".join(verdict(label, rows) for label, rows in by_set.items()) + missing(found),
        rows,
        [table(label, rows) for label, rows in by_set.items()],
        f"{how(found)} {MORE}",
        _picture(by_set) if by_set else None,
        lead="How it was measured",
    )


def verdict(label: str, rows: Rows) -> str:
    """Whether trees overtake RankSVM, where they are clearly ahead or behind, and how they begin."""
    curves = {method: [row for row in rows if row["method"] == method] for method in TREES}
    first = [curve[0] for curve in curves.values()]
    differences = sorted(row["difference"] for row in first)
    since = {method: first_of(curve, "difference, low") for method, curve in curves.items()}
    overtake = "; ".join(f"{method} overtakes RankSVM for good at {size:,}" for method, size in since.items() if size)
    clear = "; ".join(filter(None, (clearly(method, curve) for method, curve in curves.items())))
    sentences = [
        f"from {first[0]['training queries']:,} to {rows[-1]['training queries']:,} training queries, "
        + (overtake or "no ensemble of trees overtakes RankSVM for good"),
        clear[:1].upper() + clear[1:] or "No difference is clear",
        f"With {first[0]['training queries']:,}, the NDCG@10 of trees minus RankSVM's is {differences[0]:+.3f} to "
        f"{differences[-1]:+.3f}",
    ]
    return f"- {label}: {'. '.join(sentences)}."


def clearly(method: str, curve: Rows) -> str:
    """Where the interval of the difference excludes 0."""
    sizes = {
        "ahead": [f"{row['training queries']:,}" for row in curve if row["difference, low"] > 0],
        "behind": [f"{row['training queries']:,}" for row in curve if row["difference, high"] < 0],
    }
    said = [f"clearly {word} at {listed(where)}" for word, where in sizes.items() if where]
    return f"{method} is {' and '.join(said)}" if said else ""


def first_of(curve: Rows, column: str) -> int | None:
    """The number of training queries at which the column rises above 0 and then stays there."""
    first = None
    for row in reversed(curve):
        if row[column] <= 0:
            break
        first = row["training queries"]
    return first


def table(label: str, rows: Rows) -> Table:
    sizes = sorted({row["training queries"] for row in rows})
    values = {(row["method"], row["training queries"]): row["NDCG@10"] for row in rows}
    shown = [{"method": method} | {f"{size:,}": values.get((method, size)) for size in sizes} for method in METHODS]
    return Table(f"**{label}**: NDCG@10 by the number of training queries.", shown, {f"{n:,}": ".4f" for n in sizes})


def _picture(by_set: dict[str, Rows]) -> Any:
    """NDCG@10 above, differences from RankSVM below; a full mark where the interval of the difference excludes 0."""
    figure, axes = panels(2, len(by_set), sharex="col", sharey="row")
    for (label, rows), above, below in zip(by_set.items(), *axes, strict=True):
        for method, colour in zip(METHODS, COLOURS, strict=False):
            curve = [row for row in rows if row["method"] == method]
            sizes = [row["training queries"] for row in curve]
            style = {"color": colour, "linestyle": "--" if method in TREES else "-", "linewidth": 1.4}
            above.plot(sizes, [row["NDCG@10"] for row in curve], **style, label=method)
            if method == BASELINE:
                below.axhline(0, color=colour, linewidth=1.4)
                continue
            below.plot(sizes, [row["difference"] for row in curve], **style)
            ends = [(row["difference"], row["difference, low"], row["difference, high"]) for row in curve]
            marks(below, sizes, ends, colour)
        above.set_title(label, fontsize=10)
        query_axis(below, sizes)
    axes[0, 0].set_ylabel("NDCG@10", fontsize=9)
    axes[1, 0].set_ylabel("minus RankSVM's", fontsize=9)
    legend_below(figure, axes, ncols=1 + len(by_set))
    return figure
