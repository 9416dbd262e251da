"""The nonlinear pointwise models of tables 6, 7 and 9, with the paper's settings.

LightGBM's gradient boosting has learning rate 0.1 and depth 4; scikit-learn's random forests look at ⌊√n⌋ features a
split and grow without limit. Seconds are the process's own, over all cores.
"""

from math import isqrt
from pathlib import Path
from typing import Any

from experiments.lee_lin_data import PAIRS, chosen, load
from experiments.lee_lin_selection import measures_of, train_and_test
from experiments.units import Unit

FOREST, BOOSTING = "random forests", "GBDT"


def make(model: str, n_trees: int, n_features: int) -> Any:
    if model == FOREST:
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(n_trees, max_features=isqrt(n_features), n_jobs=-1, random_state=0)
    from lightgbm import LGBMRegressor

    depth = 4
    shape = {"max_depth": depth, "num_leaves": 2**depth}
    return LGBMRegressor(n_estimators=n_trees, learning_rate=0.1, **shape, n_jobs=1, random_state=0, verbose=-1)


def grow(data: Path, name: str, model: str, n_trees: int, quick: bool) -> dict[str, Any]:
    """Seconds of training and test measures."""
    train, _, test = load(data, name, quick)
    return train_and_test(make(model, n_trees, train.n_features), train, test, name)


def units(counts: dict[str, dict[str, int]], quick: bool) -> list[Unit]:
    """For {set: {model: number of trees}}, named "SET, MODEL"."""
    return [
        Unit(f"{name}, {model}", grow, {"name": name, "model": model, "n_trees": n, "quick": quick}, limit=300)
        for name, models in counts.items()
        if chosen([name], quick)
        for model, n in models.items()
    ]


def rows_of(found: dict[str, Any], counts: dict[str, dict[str, int]], paper: dict[str, Any]) -> list[dict[str, Any]]:
    """A row a set and model; `paper` holds (seconds, pairwise accuracy, NDCG) of forests, then of boosting."""
    rows = []
    for name, models in counts.items():
        for place, (model, n_trees) in enumerate(models.items()):
            if f"{name}, {model}" not in found:
                continue
            ours, theirs = found[f"{name}, {model}"] or {}, dict(zip(COLUMNS, paper[name][place], strict=True))
            ndcg = next((one for one in measures_of(name) if one != PAIRS), "")
            got = dict(zip(COLUMNS, (ours.get("seconds"), ours.get(PAIRS), ours.get(ndcg)), strict=True))
            row: dict[str, Any] = {"data": name, "model": model, "trees": n_trees}
            rows.append(
                row | {f"{key}{whose}": of[key] for key in COLUMNS for whose, of in (("", got), (", paper", theirs))}
            )
    return rows


COLUMNS = ("seconds", "pairwise accuracy", "NDCG")
FORMATS = {
    f"{column}{whose}": ".3g" if column == "seconds" else ".4f" for column in COLUMNS for whose in ("", ", paper")
}
