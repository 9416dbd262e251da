"""Labels under which every ranking has the same value: said, as such a value looks like a result."""

import warnings

import numpy as np
import pytest

from rankwise import evaluate

SCORES = np.arange(6.0)
QID = [1, 1, 1, 2, 2, 2]
RATINGS = np.array([1, 2, 5, 3, 1, 4])
GRADES = np.array([0, 2, 1, 0, 1, 0])


def told(y, measures, qid=QID):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        evaluate(y, SCORES, qid, measures)
    return [str(one.message) for one in seen]


@pytest.mark.parametrize("measure", ["map", "mrr", "mrr@3", "precision@2", "recall@2", "map:relevant=1"])
def test_ratings_are_all_relevant(measure):
    (text,) = told(RATINGS, [measure, "ndcg@3"])
    assert text.startswith(f"{measure}: every document is relevant (label ")
    assert "so every ranking has the same value: set the threshold, as in " in text
    cure = text.rpartition(" ")[2]
    assert not told(RATINGS, [cure])


def test_one_sentence_for_all_measures():
    (text,) = told(RATINGS, ["map", "mrr"])
    assert text.startswith("map, mrr: every document")


def test_nothing_is_relevant():
    (text,) = told(GRADES, ["map:relevant=3"])
    assert text.startswith("map:relevant=3: no document is relevant (label >= 3)")
    (text,) = told(np.array([0, -1, -2, -3, 0, -1]), ["map"])
    assert "no document is relevant (label > 0)" in text


@pytest.mark.parametrize("y", [np.zeros(6), np.full(6, 3), np.array([1, 1, 1, 2, 2, 2])])
@pytest.mark.parametrize("measure", ["ndcg@10", "map", "err", "dcg", "pairwise-accuracy", "kendall-tau-b"])
def test_equal_labels(y, measure):
    (text,) = told(y, measure)
    assert text == f"{measure}: within every query all labels are equal, so no ranking is better than another"


@pytest.mark.parametrize("measure", ["map", "ndcg@10", "pairwise-accuracy", "mrr", "auc"])
def test_silence_where_there_is_something_to_tell(measure):
    assert not told(np.minimum(GRADES, 1), measure)
    assert not told(np.array([1, 1, 1, 0, 1, 1]), measure)  # one query of two: the other still tells
    assert not told(np.minimum(GRADES, 1), measure, None)


def test_grades_from_1_are_no_fault_of_ndcg():
    assert not told(RATINGS, ["ndcg@10", "err", "dcg@3", "pairwise-accuracy"])
