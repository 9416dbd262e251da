"""Judgements by a simulated person, written as Quepid exports a case: query,docid,rating.

The rule, rounded down to a rating from 0 to 4:

    2 if the query's topic is the first topic of the film, 1 if it is the second
    + the share of the query's words that are in the title
    + 0.3 log10(1 + votes)
    - 0.1 for each ten years before 2020
    + 3 if this is the film that was searched for
    + normal noise with standard deviation 0.5

A ranker knows the topics of neither the query nor the film: it has to do with what the engine can measure.
"""

import csv
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from films import Film, Query


def rating(rng: random.Random, query: Query, film: Film) -> int:
    words = query.text.split()
    relevance = 2.0 if query.topic == film.topics[0] else 1.0 if query.topic == film.topics[1] else 0.0
    relevance += sum(word in film.title.lower().split() for word in words) / len(words)
    relevance += 0.3 * math.log10(1 + film.votes)
    relevance += 0.1 * (film.year - 2020) / 10
    relevance += 3 * (query.film == film.id)
    return min(4, max(0, math.floor(relevance + rng.gauss(0, 0.5))))


def write_judgments(path: Path, shown: Mapping[Query, Sequence[Film]], seed: int, unrated: float = 0.03) -> None:
    """Ratings of the films shown for each query; some are left blank, as people do."""
    rng = random.Random(seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["query", "docid", "rating"])
        for query, films in shown.items():
            for film in films:
                given = rating(rng, query, film)
                writer.writerow([query.text, film.id, "" if rng.random() < unrated else given])
