"""Judgements and a feature log of the synthetic catalogue, as a search team would have them.

    python examples/search/collect.py [--folder FOLDER]

writes train-judgments.csv and test-judgments.csv, of different queries, and log.jsonl with the features of all.
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
    found = {query.text: engine.search(query.text, N_JUDGED) for query in asked}
    write_log(folder / "log.jsonl", engine, found)
    by_id = {film.id: film for film in films}
    shown = {text: [by_id[id] for id in ids] for text, ids in found.items()}
    write_judgments(folder / "train-judgments.csv", asked[:N_TRAIN], shown, seed=3)
    write_judgments(folder / "test-judgments.csv", asked[N_TRAIN:], shown, seed=4)
    print(f"{len(films):,} films indexed; the best {N_JUDGED} for each of {len(asked)} queries judged, features logged")
    return engine, asked[N_TRAIN:]


def folder_argument(description: str) -> Path:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--folder", type=Path, default=Path("out"), help="where to write (default: out)")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    collect(folder_argument("Judgements and a feature log of the synthetic catalogue."))
