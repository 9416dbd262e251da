"""The data set that ships inside the package: a bookshop's search results, judged from 0 to 4.

120 queries of 10 to 40 books each, made by examples/make_sample.py, which tells how.
"""

from pathlib import Path

from rankwise.data.letor import read_letor
from rankwise.data.records import RankingData

SAMPLE_FILE = Path(__file__).parent / "embedded" / "bookshop.txt"
SAMPLE_FEATURES = (
    "title_match",
    "author_match",
    "text_match",
    "exact_phrase",
    "clicks",
    "rating",
    "reviews",
    "price",
    "age",
    "out_of_stock",
    "keyword_stuffing",
    "text_length",
    "cover_brightness",
)
N_TRAIN = 80


def load_sample(split: str | None = None) -> RankingData:
    """The whole sample, or its "train" part (queries 1 to 80) or its "test" part (queries 81 to 120).

    The columns of X are named by SAMPLE_FEATURES; the comments name the books, as in `docid = book-64`.
    """
    if split not in (None, "train", "test"):
        raise ValueError(f"split is {split!r}: give 'train', 'test' or None for all queries")
    data = read_letor(SAMPLE_FILE, n_features=len(SAMPLE_FEATURES), dense=True, comments=True)
    if split is None:
        return data
    return data.select(data.qid <= N_TRAIN if split == "train" else data.qid > N_TRAIN)
