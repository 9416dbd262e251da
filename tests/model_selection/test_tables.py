"""What fits and searches return: short reprs, data frames, HTML."""

from dataclasses import replace

import numpy as np
import pytest

from rankwise import RankSVM, make_ranking
from rankwise.model_selection import c_path, cross_validate, learning_curve

DATA = make_ranking(n_queries=12, docs_per_query=6, n_features=4, random_state=0)
GIVEN = DATA.X, DATA.y, DATA.qid


@pytest.fixture(scope="module")
def results():
    return {
        "result": RankSVM(C=0.1).fit(*GIVEN).result_,
        "path": c_path(*GIVEN, [0.1, 1.0]),
        "validation": cross_validate(RankSVM(C=0.1), *GIVEN, cv=3, measures=["map", "ndcg@10"]),
        "curve": learning_curve(RankSVM(C=0.1), *GIVEN, sizes=[4, 8], cv=3),
    }


def test_frames(results):
    result, path, validation, curve = results.values()
    frame = result.to_frame()
    assert frame["value"].tolist() == [step.value for step in result.history]
    assert path.to_frame()["C"].tolist() == [0.1, 1.0]
    assert path.to_frame()["value"].tolist() == [one.value for one in path.results]
    assert validation.to_frame()["map"].tolist() == validation.by_fold("map").tolist()
    assert curve.to_frame()["queries"].tolist() == [4, 8]
    np.testing.assert_array_equal(curve.to_frame()["valid"], curve.valid.mean(axis=1))


def test_reprs_are_short(results):
    result, path, validation, curve = results.values()
    assert repr(result).startswith(f"<Result: value {result.value:.9g}, gap at most ")
    assert repr(result).endswith(f"{result.message}>")
    assert "did not converge: " in repr(replace(result, converged=False))
    assert repr(path) == "<Path: 2 solutions of 4 features, C from 0.1 to 1>"
    assert repr(validation).startswith("3 folds, ")
    assert repr(curve).startswith("<LearningCurve: ndcg@10 by training queries, mean of 3 folds; 8 queries: ")
    for one in results.values():
        assert len(repr(one)) < 300
        assert one._repr_html_().count("<tr>") == len(one.to_frame()) + 1
