import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_svmlight_file

from rankwise import RankSVM, evaluate, load_sample, read_data, read_letor
from rankwise.cli import demo
from rankwise.data.synthetic import SAMPLE_FEATURES, SAMPLE_FILE

SCRIPT = Path(__file__).parents[2] / "examples" / "make_sample.py"


def test_the_script_writes_the_shipped_file_to_the_byte(tmp_path):
    subprocess.run([sys.executable, SCRIPT, tmp_path / "again.txt"], check=True)
    assert (tmp_path / "again.txt").read_bytes() == SAMPLE_FILE.read_bytes()
    assert SAMPLE_FILE.stat().st_size < 200_000


def test_it_is_what_scikit_learn_reads():
    data = load_sample()
    X, y, qid = load_svmlight_file(str(SAMPLE_FILE), n_features=len(SAMPLE_FEATURES), query_id=True)
    assert isinstance(data.X, np.ndarray)
    assert_array_equal(data.X, X.toarray())
    assert_array_equal(data.y, y)
    assert_array_equal(data.qid, qid)
    assert all(comment.startswith("docid = book-") for comment in data.comments)


def test_it_has_the_shape_it_claims():
    data = load_sample()
    assert_array_equal(np.unique(data.qid), np.arange(1, 121))
    lengths = np.bincount(data.qid)[1:]
    assert lengths.min() >= 10
    assert lengths.max() <= 40
    assert_array_equal(np.unique(data.y), range(5))
    assert np.mean(data.y == 0) > 0.4
    assert data.X.min() == 0
    assert data.X.max() == 1


def test_a_book_keeps_its_own_features_in_every_query():
    data = load_sample()
    own = [SAMPLE_FEATURES.index(name) for name in ("rating", "price", "age", "keyword_stuffing")]
    seen = {}
    for book, values in zip(data.comments, data.X[:, own].tolist(), strict=True):
        assert seen.setdefault(book, values) == values
    assert len(seen) < len(data)


def test_splits_part_the_queries(tmp_path):
    parts = {split: load_sample(split) for split in ("train", "vali", "test")}
    assert [part.n_queries for part in parts.values()] == [60, 20, 40]
    assert_array_equal(np.vstack([part.X for part in parts.values()]), load_sample().X)
    assert len(parts["test"].comments) == len(parts["test"])
    demo.save(str(tmp_path), force=False)
    assert (tmp_path / "names.txt").read_text().split() == list(SAMPLE_FEATURES)
    demo.save(str(tmp_path), force=False, to="csv")
    for split, part in parts.items():
        text = read_letor(tmp_path / f"{split}.txt", dense=True, comments=True)
        for saved in (text, read_data(tmp_path / f"{split}.csv")):
            for mine, its in ((saved.X, part.X), (saved.y, part.y), (saved.qid, part.qid), (saved.docid, part.docid)):
                assert_array_equal(mine, its)
        assert saved.names == SAMPLE_FEATURES
    with pytest.raises(ValueError, match="split must be one of 'train', 'vali', 'test', None; got 'valid'"):
        load_sample("valid")


def test_it_tells_a_story():
    train, test = load_sample("train"), load_sample("test")
    model = RankSVM(C=1.0).fit(train.X, train.y, train.qid)

    def quality(scores):
        return evaluate(test.y, scores, test.qid, ["ndcg@10"])["ndcg@10"]

    single = max(quality(sign * column) for column in test.X.T for sign in (1, -1))
    assert quality(model.predict(test.X)) > single + 0.1
    weight = dict(zip(SAMPLE_FEATURES, model.coef_, strict=True))
    negative = ("price", "age", "out_of_stock", "keyword_stuffing", "text_length", "reviews")
    assert max(weight[name] for name in negative) < -0.3
    assert min(weight[name] for name in ("text_match", "clicks", "rating", "title_match", "author_match")) > 0.5
    assert abs(weight["cover_brightness"]) < 0.1
