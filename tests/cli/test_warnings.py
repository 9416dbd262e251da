"""What the commands say of data that look like a result and are none."""

import numpy as np
import pytest
from commands import run

from rankwise import RankingData, load_sample, write_letor


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ratings")
    data = load_sample("train")
    write_letor(folder / "t.txt", RankingData(data.X, data.y + 1, data.qid))
    write_letor(folder / "one.txt", RankingData(data.X[:50], data.y[:50], np.ones(50, int)))
    run("train", folder / "t.txt", "-o", folder / "m.json")
    return folder


@pytest.mark.parametrize("measure", ["map", "precision@5", "mrr"])
def test_measures_of_relevance_on_ratings(ratings, measure):
    data, model = ratings / "t.txt", ratings / "m.json"
    for command in (["evaluate", model, data], ["train", data, "-o", ratings / "n.json"]):
        told = run(*command, "-m", measure).stderr
        assert told.count(f"rankwise: warning: {measure}: every document is relevant (label > 0)") == 1


def test_map_is_not_shown_unasked_where_it_tells_nothing(ratings):
    shown = run("evaluate", ratings / "m.json", ratings / "t.txt")
    assert "map" not in shown.stdout
    assert "warning" not in shown.stderr


def test_one_query_is_noted_by_every_way_to_train(ratings):
    for command in (["train"], ["tune", "-C", 1, "--folds", 2, "-m", "pairwise-accuracy"]):
        told = run(command[0], ratings / "one.txt", "-o", ratings / "n.json", *command[1:]).stderr
        assert "warning: all documents belong to one query (or no qid is given)" in told
