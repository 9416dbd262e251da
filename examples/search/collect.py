"""Judgements and a feature log of the synthetic catalogue, as a search team would have them.

    python examples/search/collect.py [--folder FOLDER]

writes train-judgments.csv and train-log.jsonl, and test-judgments.csv and test-log.jsonl of other queries.
"""

import argparse
from pathlib import Path

from engine import Engine
from films import Query, catalogue, queries
from judgments import write_judgments
from log_features import write_log

N_JUDGED = 30  # documents per query: the best by BM25
N_TRAIN = 200  # queries; the others are for the test


def collect(folder: Path) -> tuple[Engine, list[Query]]:
    """The engine, and the queries of the test."""
    films = catalogue()
    engine = Engine(films)
    asked = queries(films)
    print(f"{len(films):,} films indexed; {N_JUDGED} documents judged and logged for each of {len(asked)} queries")
    by_id = {film.id: film for film in films}
    parts = {"train": asked[:N_TRAIN], "test": asked[N_TRAIN:]}
    for seed, (name, part) in enumerate(parts.items()):
        found = {query: engine.search(query.text, N_JUDGED) for query in part}
        shown = {query: [by_id[id] for id in ids] for query, ids in found.items()}
        write_judgments(folder / f"{name}-judgments.csv", shown, seed)
        write_log(folder / f"{name}-log.jsonl", engine, {query.text: ids for query, ids in found.items()})
    return engine, parts["test"]


def folder_argument(description: str) -> Path:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--folder", type=Path, default=Path("out"), help="where to write (default: out)")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    collect(folder_argument("Judgements and a feature log of the synthetic catalogue."))
