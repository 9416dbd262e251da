"""Seven rankers, tuned alike, on all training queries of three data sets."""

from typing import Any

from experiments import good_enough as shared
from experiments.good_enough import ALL, LABELS, NEEDS, SAMPLE, Point, how, listed, missing, points
from experiments.good_enough_methods import BASELINE, METHODS, TREES
from experiments.pages import Report, Table
from experiments.pictures import COLOURS, panels
from experiments.units import Unit
from rankwise.metrics.significance import holm, randomization_test

TITLE = "Is a linear ranker good enough? Seven rankers on all training queries"
QUICK_NEEDS = ()
CLEAR = 0.05  # p, after Holm's correction
TESTED = (
    "p is that of a randomisation test against RankSVM over the test queries, corrected by Holm for the six "
    f"comparisons of a data set; a difference is called clear if p is below {CLEAR}."
)
CPU = (
    "Seconds are CPU seconds of one thread (process time) for the chosen setting, means over the folds. They show the "
    "order of magnitude and are not a benchmark."
)
FORMATS = {"p": ".3f", "CPU s to train": ".2g", "CPU s per 1,000 documents": ".2g"}
Rows = list[dict[str, Any]]


def units(quick: bool) -> list[Unit]:
    names = (SAMPLE,) if quick else NEEDS
    return shared.units(names, dict.fromkeys(names, (ALL,)), quick)


def report(found: dict[str, Any]) -> Report:
    by_set: dict[str, list[Point]] = {}
    for point in points(found, ALL):
        by_set.setdefault(LABELS[point.name], []).append(point)
    compared = {label: rows_of(made) for label, made in by_set.items()}
    folds = [row for made in by_set.values() for point in made for row in by_fold(point)]
    return Report(
        verdict(compared) + missing(found),
        [row for rows in compared.values() for row in rows] + folds,
        [table(label, rows) for label, rows in compared.items()],
        f"{how(found)} {TESTED} {CPU}",
        _picture(compared) if compared else None,
        lead="How it was measured",
    )


def rows_of(made: list[Point]) -> Rows:
    """The summaries of one data set, each with its p against RankSVM."""
    others = [point for point in made if point.method != BASELINE]
    corrected = holm([randomization_test(point.differences).p_value for point in others])
    p = dict(zip((point.method for point in others), map(float, corrected), strict=True))
    times = {"CPU s to train": "seconds", "CPU s per 1,000 documents": "seconds per 1,000"}
    return [
        point.summary()
        | {"p": p.get(point.method), "folds": len(point.folds)}
        | {column: point.mean(key) for column, key in times.items()}
        for point in made
    ]


def by_fold(point: Point) -> Rows:
    """What was chosen and what came out in each fold, for the CSV."""
    return [
        {
            "data": LABELS[point.name],
            "method": point.method,
            "training queries": one["queries"],
            "test queries": len(one["test"]),
            "NDCG@10": sum(one["test"]) / len(one["test"]),
            "CPU s to train": one["seconds"],
            "CPU s per 1,000 documents": one["seconds per 1,000"],
            "fold": fold,
            "NDCG@10, validation": one["validation"],
            "setting": " ".join(f"{key}={value}" for key, value in one["setting"].items()),
        }
        for fold, one in zip(point.folds, point.outcomes, strict=True)
    ]


def verdict(compared: dict[str, Rows]) -> str:
    """What the figures say, in sentences."""
    trees = {label: [row for row in rows if row["method"] in TREES] for label, rows in compared.items()}
    enough = [label for label, rows in trees.items() if not any(clear(row) > 0 for row in rows)]
    sentences = []
    if enough:
        room = [f"{max(row['difference, high'] for row in trees[label]):.3f}" for label in enough]
        sentences.append(
            f"On {listed(enough)} a linear ranker is good enough: no ensemble of trees is clearly better than RankSVM. "
            f"The intervals leave room for a gain in NDCG@10 of up to {listed(room)}."
        )
    for label, rows in compared.items():
        for sign, word in ((1, "better"), (-1, "worse")):
            found = [f"{row['method']}, by {size(row)}" for row in rows if clear(row) == sign]
            if found:
                sentences.append(f"On {label} clearly {word} than RankSVM: {'; '.join(found)}.")
    return "\n".join(f"- {sentence}" for sentence in sentences)


def clear(row: dict[str, Any]) -> int:
    """1 if clearly better than RankSVM, -1 if clearly worse, else 0."""
    if row["p"] is None or row["p"] >= CLEAR:
        return 0
    return 1 if row["difference"] > 0 else -1


def size(row: dict[str, Any]) -> str:
    """The size of a difference and its interval, whoever is better."""
    low, high = sorted(abs(row[f"difference, {end}"]) for end in ("low", "high"))
    return f"{abs(row['difference']):.3f} ({low:.3f} to {high:.3f})"


def table(label: str, rows: Rows) -> Table:
    shown = [
        {
            "method": row["method"],
            "NDCG@10": f"{row['NDCG@10']:.4f} ({row['low']:.4f} to {row['high']:.4f})",
            "minus RankSVM's": ""
            if row["p"] is None
            else f"{row['difference']:+.4f} ({row['difference, low']:+.4f} to {row['difference, high']:+.4f})",
            **{key: row[key] for key in ("p", "CPU s to train", "CPU s per 1,000 documents")},
        }
        for row in rows
    ]
    first = rows[0]
    caption = (
        f"**{label}**: {first['training queries']:,} training queries per fold, {first['test queries']:,} test queries "
        f"in {first['folds']} fold{'s' if first['folds'] > 1 else ''}."
    )
    return Table(caption, shown, FORMATS)


def _picture(compared: dict[str, Rows]) -> Any:
    figure, axes = panels(2, len(compared), sharey=True)
    colours = dict(zip(METHODS, COLOURS, strict=False))
    for (label, rows), above, below in zip(compared.items(), *axes, strict=True):
        _bars(above, rows, "NDCG@10", ("low", "high"), colours)
        others = [row for row in rows if row["p"] is not None]
        _bars(below, others, "difference", ("difference, low", "difference, high"), colours)
        below.axvline(0, color="black", linewidth=0.8)
        below.locator_params(axis="x", nbins=5)
        above.set_title(label, fontsize=10)
        above.set_xlabel("NDCG@10", fontsize=9)
        below.set_xlabel("NDCG@10 minus RankSVM's", fontsize=9)
    axes[0, 0].invert_yaxis()
    return figure


def _bars(axes: Any, rows: Rows, column: str, ends: tuple[str, str], colours: dict[str, str]) -> None:
    """A bar per method with its interval, at the same height in every panel."""
    places = [list(METHODS).index(row["method"]) for row in rows]
    values = [row[column] for row in rows]
    errors = [[abs(row[end] - row[column]) for row in rows] for end in ends]
    drawn = {"color": [colours[row["method"]] for row in rows], "ecolor": "#333333", "capsize": 2, "height": 0.7}
    axes.barh(places, values, xerr=errors, **drawn)
    axes.set_axisbelow(True)
    axes.set_yticks(range(len(METHODS)), list(METHODS))
