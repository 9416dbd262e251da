"""Write the data set that ships with rankwise: a bookshop's search results, judged from 0 to 4 (perfect).

The data are synthetic. A book has a rating, a price, an age and so on; a query returns some books, each topical to some
degree. Labels depend on that degree, which no feature measures directly: the title match is coarse, the text match
grows with long and stuffed descriptions, well-known books (many reviews) are clicked anyway, and long queries match
more but have fewer relevant books. A good ranker therefore gives negative weights to reviews, length and stuffing. All
features are in [0, 1].

    python examples/make_sample.py [FILE]
"""

import sys
from pathlib import Path

import numpy as np

from rankwise.data.synthetic import SAMPLE_FEATURES, SAMPLE_FILE

N_BOOKS, N_QUERIES = 600, 120


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE_FILE
    target.write_text(sample(), encoding="ascii", newline="\n")


def sample() -> str:
    """The text of the file; it never changes, because NumPy guarantees the stream of RandomState."""
    rng = np.random.RandomState(1)
    books = catalogue(rng)
    return "".join("".join(results(rng, books, query)) for query in range(1, N_QUERIES + 1))


def catalogue(rng: np.random.RandomState) -> dict[str, np.ndarray]:
    quality = rng.normal(size=N_BOOKS)
    return {
        "quality": quality,
        "rating": sigmoid(0.8 * quality + rng.normal(0.5, 0.8, N_BOOKS)),
        "reviews": rng.beta(1.2, 4, N_BOOKS),
        "price": rng.beta(2, 5, N_BOOKS),
        "age": rng.beta(1, 3, N_BOOKS),
        "out_of_stock": rng.uniform(size=N_BOOKS) < 0.15,
        "keyword_stuffing": rng.beta(2, 3, N_BOOKS) * (rng.uniform(size=N_BOOKS) < 0.25),
        "text_length": rng.beta(2, 4, N_BOOKS),
        "cover_brightness": rng.uniform(size=N_BOOKS),
    }


def results(rng: np.random.RandomState, books: dict[str, np.ndarray], query: int) -> list[str]:
    """The lines of one query."""
    size = min(40, 10 + int(rng.exponential(6)))
    found = rng.choice(N_BOOKS, size, replace=False)
    book = {name: values[found] for name, values in books.items()}
    long_query, richness = rng.normal(size=2)
    topical = rng.normal(size=size)
    words = topical + 2.5 * book["keyword_stuffing"] + 2 * book["text_length"]
    seen = 0.9 * topical + 0.5 * book["quality"] + 2 * book["reviews"]
    features = {
        "title_match": np.round(4 * sigmoid(topical + rng.normal(0, 0.8, size) + 0.6 * long_query)) / 4,
        "author_match": rng.uniform(size=size) < 0.25 * sigmoid(2 * topical - 1),
        "text_match": sigmoid(words + rng.normal(0, 0.6, size) + 0.6 * long_query - 1),
        "exact_phrase": rng.uniform(size=size) < 0.4 * sigmoid(1.5 * topical - 0.5 - long_query),
        "clicks": sigmoid(seen + rng.normal(0, 0.8, size) - 2),
        **book,
    }
    relevance = topical + 0.6 * book["quality"] + 0.8 * features["author_match"] - 1.2 * book["out_of_stock"]
    relevance += rng.normal(0, 0.5, size) - 1.5 * book["price"] - 0.8 * book["age"] + 0.5 * richness - 0.6 * long_query
    labels = np.searchsorted([0.0, 0.8, 1.6, 2.4], relevance + 0.5)
    columns = np.round(np.column_stack([features[name] for name in SAMPLE_FEATURES]), 2)
    return [line(*one) for one in zip(labels, [query] * size, columns, found, strict=True)]


def line(label: int, query: int, values: np.ndarray, book: int) -> str:
    features = " ".join(f"{i}:{value:g}" for i, value in enumerate(values, start=1) if value)
    return f"{label} qid:{query} {features} # docid = book-{book}\n"


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


if __name__ == "__main__":
    main()
