"""`rankwise demo`: a bookshop's search, ranked by a model that learns from every preference pair."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from rankwise import metrics
from rankwise.cli.speech import answer, counted, doing, table
from rankwise.cli.targets import check_target
from rankwise.cli.work import weight_table
from rankwise.data.formats import DEFAULT, get_format, write_data
from rankwise.data.records import RankingData
from rankwise.data.synthetic import SAMPLE_FEATURES, SPLITS, load_sample
from rankwise.foundation.arrays import Floats
from rankwise.foundation.compiling import clock
from rankwise.foundation.outputs import written_beside
from rankwise.pairs.preferences import Preferences
from rankwise.rankers.ranksvm import RankSVMOptions
from rankwise.rankers.training import Training

MEASURES = ["ndcg@10", "map", "pairwise-accuracy"]
SHOWN = 5
NEXT = """
Next, with these data as CSV files, or with your own:

  rankwise demo --save . --to csv
  rankwise tune train.csv vali.csv --folds 5 -o tuned.json
  rankwise report tuned.json --data test.csv --baseline-column text_match -o report.html"""


def save(folder: str, force: bool, to: str = DEFAULT) -> None:
    """The sample in this format: 60 queries to train on, 20 to choose by, 40 to test on.

    LETOR text numbers its features, so their names get a file of their own.
    """
    written = get_format(to)
    written.check_installed()
    paths = {split: str(Path(folder) / f"{split}{written.suffixes[0]}") for split in SPLITS}
    names = str(Path(folder) / "names.txt")
    with suppress(OSError):  # the check below says what is wrong
        Path(folder).mkdir(exist_ok=True)
    for path in (*paths.values(), *([names] if written.is_indexed else [])):
        check_target(path, [], force)
    for split, path in paths.items():
        part = replace(load_sample(split), comments=None)  # which say what docid does
        write_data(path, part)
        answer(f"{path}: {counted(len(part), 'documents')}, {counted(part.n_queries, 'queries')}")
    if written.is_indexed:
        with written_beside(names) as file:
            file.writelines(f"{name}\n".encode() for name in SAMPLE_FEATURES)
        answer(f"{names}: {counted(len(SAMPLE_FEATURES), 'names')} of features")


def run() -> None:
    train, test = load_sample("train"), load_sample("test")
    pairs = Preferences(train.y, train.qid).active(np.zeros(len(train))).n_pairs
    answer(f"A bookshop's search (synthetic): {train.n_queries} queries to learn from ({len(train):,} judged books,")
    answer(f"{train.n_features} features, {pairs:,} preference pairs), {test.n_queries} other queries to test on.\n")
    began = clock()
    with doing("training"):
        model = Training(RankSVMOptions(C=0.01)).fit(train)
    assert model.result is not None
    answer(f"RankSVM learnt from all of them in {clock() - began:.2f} s: {model.result.message}.\n")
    scores = model.scores(test)
    answer(_comparison(test, scores))
    answer("\nWhat it has learnt:\n")
    answer(weight_table(model.coef, list(model.columns.names or ())))
    answer("\n" + _one_query(test, scores))
    answer(NEXT)


def _comparison(test: RankingData, scores: Floats) -> str:
    """RankSVM compared with the single features that rank best."""
    alone = {name: metrics.evaluate(test.y, test.X[:, i], test.qid, MEASURES) for i, name in enumerate(SAMPLE_FEATURES)}
    best = sorted(alone, key=lambda name: -alone[name]["ndcg@10"])[:3]
    ranked = {"RankSVM": metrics.evaluate(test.y, scores, test.qid, MEASURES)}
    ranked |= {f"by {name} alone": alone[name] for name in best}
    rows = [[name, *(f"{one[measure]:.3f}" for measure in MEASURES)] for name, one in ranked.items()]
    return table(rows, ["on the test queries", *MEASURES])


def _one_query(test: RankingData, scores: Floats) -> str:
    """The top of one query's list, by the best-known single feature and by the model."""
    title = SAMPLE_FEATURES.index("title_match")
    gains = metrics.evaluate(test.y, scores, test.qid, ["ndcg@10"]).per_query["ndcg@10"]
    losses = metrics.evaluate(test.y, test.X[:, title], test.qid, ["ndcg@10"]).per_query["ndcg@10"]
    query = np.unique(test.qid)[int(np.argmax(gains - losses))]
    rows = np.flatnonzero(test.qid == query)
    names = np.asarray(test.comments)[rows]
    lists = []
    for column in (test.X[rows, title], scores[rows]):
        order = np.argsort(-column, kind="stable")[:SHOWN]
        lists.append([f"{names[i].split()[-1]} ({test.y[rows[i]]:.0f})" for i in order])
    lines = [[str(i + 1), before, after] for i, (before, after) in enumerate(zip(*lists, strict=True))]
    heading = f"The top of query {query} (the judges' grades in brackets, 4 is best):\n\n"
    return heading + table(lines, ["", "by title_match", "by RankSVM"])
