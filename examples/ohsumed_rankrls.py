"""RankRLS and RLS regression on OHSUMED, beside tables 1 to 3 of Pahikkala et al. (2007).

python examples/ohsumed_rankrls.py --data ../shared/data

LETOR 2.0's OHSUMED, every feature scaled to [0, 1] within its query, LETOR's five folds: three parts to train, one to
choose alpha (and for RankRLS whether ties count) by MAP, one to test; figures are means over the folds.

What the paper does not say, and is assumed here: alpha among 2^-15, 2^-14, ..., 2^15; NDCG with gain 2^label - 1 and
discount 1 / log2(max(2, place)), as in LETOR's own scripts; RLS regression has an intercept. The paper says that only
label 2 is relevant for MAP, but its figures come out with labels 1 and 2, as LETOR's scripts have it: both are shown.
"""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from rankwise import RankingData, evaluate, read_letor
from rankwise.estimators.rankrls import RankRLS
from rankwise.preprocessing import QueryScaler

ALPHAS = [2.0**k for k in range(-15, 16)]
CHOSEN_BY = "map:relevant=1"
PLACES = range(1, 11)
MEASURES = {
    "MAP": "map:relevant=1",
    "MAP, label 2 only": "map:relevant=2",
    **{f"P@{k}": f"precision@{k}:relevant=1" for k in PLACES},
    **{f"NDCG@{k}": f"ndcg@{k}:letor" for k in PLACES},
}
PAPER = {  # (RankRLS, RLS)
    "MAP": (0.447, 0.450),
    "P@1": (0.644, 0.635),
    "P@2": (0.614, 0.615),
    "P@3": (0.586, 0.602),
    "P@4": (0.570, 0.580),
    "P@5": (0.557, 0.560),
    "P@6": (0.546, 0.541),
    "P@7": (0.534, 0.545),
    "P@8": (0.524, 0.539),
    "P@9": (0.516, 0.525),
    "P@10": (0.505, 0.510),
    "NDCG@1": (0.549, 0.527),
    "NDCG@2": (0.492, 0.499),
    "NDCG@3": (0.477, 0.491),
    "NDCG@4": (0.465, 0.474),
    "NDCG@5": (0.453, 0.461),
    "NDCG@6": (0.450, 0.454),
    "NDCG@7": (0.451, 0.459),
    "NDCG@8": (0.447, 0.460),
    "NDCG@9": (0.447, 0.458),
    "NDCG@10": (0.443, 0.452),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds ohsumed-letor2/S1.txt.xz …")
    parts = [_scaled(read_letor(path, dense=True)) for path in _paths(parser.parse_args().data)]
    ranked = _tested(parts, [(lambda a=a, t=t: RankRLS(a, t)) for t in ("include", "exclude") for a in ALPHAS])
    regressed = _tested(parts, [(lambda a=a: Ridge(a)) for a in ALPHAS])
    print("| measure | RankRLS | paper | RLS | paper |\n|---|---|---|---|---|")
    for name in MEASURES:
        first, second = (f"{value:.3f}" for value in PAPER[name]) if name in PAPER else ("", "")
        print(f"| {name} | {ranked[name]:.3f} | {first} | {regressed[name]:.3f} | {second} |")


def _paths(data: Path) -> list[Path]:
    paths = [data / "ohsumed-letor2" / f"S{part}.txt.xz" for part in range(1, 6)]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise SystemExit(f"there is no {missing[0]}: --data must be the folder that holds ohsumed-letor2")
    return paths


def _scaled(data: RankingData) -> RankingData:
    return RankingData(QueryScaler("minmax").fit_transform(data.X, qid=data.qid), data.y, data.qid)


def _tested(parts: list[RankingData], candidates: Iterable[Callable[[], Any]]) -> dict[str, float]:
    """The mean over the folds of every measure on the test part, by the model best on the validation part."""
    found = []
    for fold in range(5):
        train, valid, test = (_joined(parts, fold, which) for which in ((0, 1, 2), (3,), (4,)))
        fitted = [_fit(make(), train) for make in candidates]
        best = max(fitted, key=lambda model: evaluate(valid.y, model.predict(valid.X), valid.qid, CHOSEN_BY)[CHOSEN_BY])
        print(f"fold {fold + 1}: {best}", flush=True)
        result = evaluate(test.y, best.predict(test.X), test.qid, list(MEASURES.values()))
        found.append([result[measure] for measure in MEASURES.values()])
    return dict(zip(MEASURES, np.mean(found, axis=0), strict=True))


def _joined(parts: list[RankingData], fold: int, which: tuple[int, ...]) -> RankingData:
    chosen = [parts[(fold + part) % 5] for part in which]
    columns = ([getattr(part, name) for part in chosen] for name in ("X", "y", "qid"))
    return RankingData(*(np.concatenate(column) for column in columns))


def _fit(model: Any, train: RankingData) -> Any:
    return model.fit(train.X, train.y, train.qid) if isinstance(model, RankRLS) else model.fit(train.X, train.y)


if __name__ == "__main__":
    main()
