"""From judgements and a feature log to a ranker in production, in one script.

    python examples/search/road.py [--folder FOLDER]

Films are indexed with tantivy, and their features logged; judgements and log are joined; a ranker is trained and
compared with BM25 on queries that it has not seen; it is exported, and every export must rank these as the model does;
then the exported Python function ranks what the engine finds.
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from bodies import REQUESTS, body
from collect import N_JUDGED, collect, folder_argument
from engine import FEATURES, Engine
from exported import SCORERS, python_function
from films import Query

from rankwise import RankingData, evaluate, read_data

FILES = {"python": "ranker.py", "onnx": "ranker.onnx", "elasticsearch": "elasticsearch.json", "solr": "solr.json"}
BASELINE = "text_bm25"

Score = Callable[[Mapping[str, float]], float]


def walk() -> dict[str, float]:
    """The whole road in the current folder. Returns NDCG@10 on the test queries."""
    engine, unseen = collect(Path())
    learn()
    export()
    data = read_data("test.parquet")
    predicted = predict()
    check_exports(data, predicted)
    check_live(engine, unseen, data, predicted)
    write_requests(unseen[0].text, engine)
    rankings = {"BM25": data.X[:, data.names.index(BASELINE)], "learnt": predicted}
    return {name: evaluate(data.y, scores, data.qid, ["ndcg@10"])["ndcg@10"] for name, scores in rankings.items()}


def rankwise(*arguments: str) -> None:
    print("\n$ rankwise", *arguments, flush=True)
    if subprocess.run([sys.executable, "-m", "rankwise", *arguments]).returncode:
        sys.exit(1)  # it has said why


def learn() -> None:
    for part in ("train", "test"):
        files = ("--judgments", f"{part}-judgments.csv", "--features", f"{part}-log.jsonl", "-o", f"{part}.parquet")
        rankwise("join", *files, "--missing", "0", "--force")  # 0: as Elasticsearch scores what does not match
    rankwise("check", "train.parquet", "--against", "test.parquet")
    rankwise("train", "train.parquet", "-o", "model.json", "--normalize", "zscore", "--force")
    rankwise("compare", "model.json", "--baseline-column", BASELINE, "--data", "test.parquet", "-m", "ndcg@10")


def export() -> None:
    for target, file in FILES.items():
        scaling = () if target == "python" else ("--scaling", "engine")  # years lose digits in float32 if folded
        engine = ("--feature-set", "films") if target in ("elasticsearch", "solr") else ()
        options = ("--name", "films", *engine, *scaling, "--check", "test.parquet", "--force")
        rankwise("export", "model.json", "--to", target, "-o", file, *options)


def predict() -> np.ndarray:
    """The scores by the model itself, one per row of the test data."""
    rankwise("predict", "model.json", "test.parquet", "-o", "scores.txt", "--force")
    return np.loadtxt("scores.txt")


def check_exports(data: RankingData, predicted: np.ndarray) -> None:
    print()
    for target, file in FILES.items():
        scores = SCORERS[target](Path(file), data.X, data.names)
        wrong = sum(reordered(scores[rows], predicted[rows]) for rows in by_query(data))
        if wrong:
            sys.exit(f"{file} orders {wrong} pairs of documents otherwise than the model")
        print(f"{file} ranks {len(data):,} documents of unseen queries as `rankwise predict` does")


def reordered(scores: np.ndarray, predicted: np.ndarray) -> int:
    """Pairs of documents with different orders, or tied by one alone."""
    signs = [np.sign(np.subtract.outer(one, one)) for one in (scores, predicted)]
    return int((signs[0] != signs[1]).sum()) // 2


def by_query(data: RankingData) -> list[np.ndarray]:
    return [np.flatnonzero(data.qid == query) for query in dict.fromkeys(data.qid)]


def check_live(engine: Engine, unseen: Sequence[Query], data: RankingData, predicted: np.ndarray) -> None:
    """The engine with the exported function must rank as the model did from the log."""
    score = python_function(Path(FILES["python"]))
    for query in unseen:
        rows = np.flatnonzero(data.qid == query.text)
        expected = data.docid[rows[np.argsort(-predicted[rows], kind="stable")]].tolist()
        live = [id for id in rerank(engine, score, query.text) if id in expected]  # some were not judged
        if live != expected:
            sys.exit(f"{query.text!r}: the engine ranks otherwise than the model")
    print(f"tantivy with {FILES['python']} ranks the same for {len(unseen)} queries; for {unseen[0].text!r}:")
    print("  by BM25    ", *engine.search(unseen[0].text, 5))
    print("  re-ranked  ", *rerank(engine, score, unseen[0].text)[:5])


def rerank(engine: Engine, score: Score, text: str, n: int = N_JUDGED) -> list[str]:
    """The best n documents by BM25, ranked by the model: this is all that production needs."""
    absent = dict.fromkeys(FEATURES, 0.0)  # as --missing in the join
    features = engine.features(text, engine.search(text, n))
    return sorted(features, key=lambda id: -score(absent | features[id]))


def write_requests(text: str, engine: Engine) -> None:
    """The requests to a real Elasticsearch, OpenSearch or Solr, for one query."""
    folder = Path("requests")
    folder.mkdir(exist_ok=True)
    for request in sorted(REQUESTS.glob("*.json")):
        filled = body(request.stem, text, engine.search(text, N_JUDGED))
        (folder / request.name).write_text(json.dumps(filled, indent=1) + "\n", encoding="utf-8")
    print(f"requests for {text!r} are in {folder}/; the models to upload are {', '.join(list(FILES.values())[2:])}")


if __name__ == "__main__":
    with contextlib.chdir(folder_argument("From judgements to a ranker in production.")):
        print("\nNDCG@10 on test queries:", *(f"{name} {value:.4f}" for name, value in walk().items()))
