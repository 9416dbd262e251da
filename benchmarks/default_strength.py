"""Which C and which normalisation of pairs do well without tuning: `python -m benchmarks.default_strength`.

Every data set, its features raw and scaled per query, is cross-validated over folds of whole queries for each
normalisation and each C of a grid. A default is judged by what it loses against the best value of all normalisations
and all C on the same folds, which favours the tuned model a little.
"""

import argparse
import csv
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn import datasets

from benchmarks.process import ROOT
from benchmarks.where import place
from rankwise import RankingData, RankSVM, load_sample, make_ranking, read_letor
from rankwise.metrics import evaluate
from rankwise.model_selection import QueryKFold, c_path
from rankwise.preprocessing import make_scaler

DATA = ROOT.parent / "shared" / "data"
RESULT = ROOT / "benchmarks" / "default_strength.csv"
NORMALIZATIONS = ("sum", "mean", "query", "svm-rank")
CS = tuple(round(lead * 10.0**k, 9) for k in range(-5, 4) for lead in (1, 3))
SCALINGS = ("raw", "query-minmax", "query-zscore")
MOST_QUERIES, MOST_ROWS = 300, 3000  # of a data set; a random choice of larger ones
CLOSE = 0.01  # of the tuned value: a default that comes as near is as good as tuned
DEFAULT = ("mean", 30.0)  # what RankSVM(C="auto") is


def letor(name: str) -> Callable[[Path], RankingData]:
    return lambda folder: read_letor([folder / name / f"S{part}.txt.xz" for part in range(1, 6)], dense=True)


def one_query(X: np.ndarray, y: np.ndarray) -> RankingData:
    return RankingData(np.asarray(X, dtype=np.float64), y, np.ones(len(y), np.int64))


def file_of_one_query(path: str) -> Callable[[Path], RankingData]:
    def read(folder: Path) -> RankingData:
        data = read_letor(folder / path, dense=True)
        return one_query(data.X, data.y)

    return read


def housing_by_place(folder: Path) -> RankingData:
    """California housing with a query per degree of latitude and longitude: real-valued labels within queries."""
    data = read_letor(folder / "cadata" / "cadata.txt.xz", dense=True)
    places = np.unique(np.round(data.X[:, -2:]), axis=0, return_inverse=True)[1].ravel()
    return RankingData(data.X, data.y, places)


DATASETS: dict[str, Callable[[Path], RankingData]] = {
    "MQ2008": letor("mq2008"),
    "MQ2007": letor("mq2007"),
    "OHSUMED": letor("ohsumed"),
    "OHSUMED, LETOR 2.0": letor("ohsumed-letor2"),
    "California housing": file_of_one_query("cadata/cadata.txt.xz"),
    "California housing by place": housing_by_place,
    "Adult": file_of_one_query("a9a/train.txt.xz"),
    "bundled sample": lambda _: load_sample(),
    "diabetes": lambda _: one_query(*datasets.load_diabetes(return_X_y=True, scaled=False)),
    "breast cancer": lambda _: one_query(*datasets.load_breast_cancer(return_X_y=True)),
    "wine": lambda _: one_query(*datasets.load_wine(return_X_y=True)),
    "synthetic, 20 queries": lambda _: make_ranking(20, 10, 10, random_state=0),
    "synthetic, 1,000 queries": lambda _: make_ranking(1000, 30, 50, noise=2.0, random_state=1),
    "synthetic, n < d": lambda _: make_ranking(30, 10, 500, random_state=2),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.default_strength", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of mq2007, mq2008, ohsumed, cadata and a9a")
    parser.add_argument("--result", type=Path, default=RESULT, help="the table to write, and to go on with")
    parser.add_argument("--table", action="store_true", help="print the table of what was measured before")
    options = parser.parse_args()
    if not options.table:
        measure(options.data, options.result)
    print(table(options.result))


def measure(folder: Path, result: Path) -> None:
    """One line per data set, scaling, normalisation and C; what the file has already is left out."""
    done = {(row["data"], row["scaling"]) for row in read(result)} if result.exists() else set()
    here = place()
    with result.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(("data", "scaling", "measure", "normalize_pairs", "C", "value", *here))
        for name, load in DATASETS.items():
            try:
                data = part_of(load(folder))
            except FileNotFoundError as error:
                print(f"{name} is left out: {error}")
                continue
            for scaling in SCALINGS:
                if (name, scaling) not in done:
                    writer.writerows((name, scaling, *row, *here.values()) for row in measured(data, scaling))
                    file.flush()
                    print(f"{name}, {scaling}: done", flush=True)


def part_of(data: RankingData) -> RankingData:
    random = np.random.default_rng(0)
    queries = np.unique(data.qid)
    if queries.size == 1 and len(data) > MOST_ROWS:
        return data.select(np.sort(random.permutation(len(data))[:MOST_ROWS]))
    if queries.size > MOST_QUERIES:
        return data.select(np.isin(data.qid, random.permutation(queries)[:MOST_QUERIES]))
    return data


def measured(data: RankingData, scaling: str) -> list[tuple[str, str, float, float]]:
    """(measure, normalisation, C, mean over folds): NDCG@10 for grades in several queries, else pairwise accuracy."""
    X = data.X if scaling == "raw" else make_scaler(scaling).fit_transform(data.X, qid=data.qid)
    several = np.unique(data.qid).size > 1
    grades = several and bool((data.y >= 0).all() and (data.y == np.round(data.y)).all() and data.y.max() <= 31)
    name = "ndcg@10" if grades else "pairwise-accuracy"
    folds = QueryKFold(5, shuffle=True, random_state=0)
    splits = list(folds.split(X, data.y, data.qid if several else np.arange(len(data))))
    rows = []
    for normalization in NORMALIZATIONS:
        values = np.zeros(len(CS))
        for train, test in splits:
            values += path_values(X, data.y, data.qid, train, test, normalization, name)
        means = values / len(splits)
        rows += [(name, normalization, C, float(value)) for C, value in zip(CS, means, strict=True)]
    return rows


def path_values(
    X: np.ndarray, y: np.ndarray, qid: np.ndarray, train: np.ndarray, test: np.ndarray, normalization: str, name: str
) -> np.ndarray:
    ranker = RankSVM(normalize_pairs=normalization, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # large C on raw features need not converge
        path = c_path(X[train], y[train], qid[train], CS, ranker=ranker)
    return np.array([evaluate(y[test], X[test] @ w, qid[test], name, n_jobs=1)[name] for w in path.coef])


def read(result: Path) -> list[dict[str, str]]:
    with result.open(newline="") as file:
        return list(csv.DictReader(file))


def table(result: Path) -> str:
    """Markdown: tuned and default value per data set and scaling, then what every candidate loses."""
    cases: dict[tuple[str, str, str], dict[tuple[str, float], float]] = {}
    for row in read(result):
        case = row["data"], row["scaling"], row["measure"]
        cases.setdefault(case, {})[row["normalize_pairs"], float(row["C"])] = float(row["value"])
    lines = ["| data | features | measure | tuned | default | sum, C = 1 |", "|:--|:--|:--|--:|--:|--:|"]
    for case, values in cases.items():
        numbers = max(values.values()), values[DEFAULT], values["sum", 1.0]
        lines.append(f"| {' | '.join(case)} | {' | '.join(f'{number:.3f}' for number in numbers)} |")
    lines += ["", f"| pairs | C | within {CLOSE} | mean loss | largest loss |", "|:--|--:|--:|--:|--:|"]
    for candidate in next(iter(cases.values())):
        losses = np.array([max(values.values()) - values[candidate] for values in cases.values()])
        close = f"{np.count_nonzero(losses <= CLOSE)} of {losses.size}"
        lines.append(f"| {candidate[0]} | {candidate[1]:g} | {close} | {losses.mean():.4f} | {losses.max():.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
