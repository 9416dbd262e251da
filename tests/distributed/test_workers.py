"""Many workers in one process: the tree of messages, and results that do not depend on who has what."""

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import rankwise
from rankwise.distributed import DaskRankRLS, DaskRankSVM, partitions

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*queries are in several partitions")]


@pytest.fixture(scope="module")
def data():
    return rankwise.make_ranking(n_queries=200, docs_per_query=20, n_features=12, random_state=1)


def fitted(data, n_workers, threads=1):
    options = {"processes": False, "dashboard_address": ":0", "threads_per_worker": threads}
    with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster):
        X, y, qid = (da.from_array(one, chunks=(170, *one.shape[1:])) for one in (data.X, data.y, data.qid))
        return [
            DaskRankSVM(C=0.1, tol=1e-8).fit(X, y, qid),
            DaskRankSVM(C=0.1, loss="hinge", solver="smoothing").fit(X, y, qid),
            DaskRankRLS(solver="cg").fit(X, y, qid),
        ]


def test_to_the_last_bit_for_any_number_of_workers(data):
    expected = fitted(data, 1)
    for n_workers, threads in ((2, 1), (3, 2), (5, 1)):
        for one, other in zip(fitted(data, n_workers, threads), expected, strict=True):
            np.testing.assert_array_equal(one.coef_, other.coef_)
            assert one.result_.value == other.result_.value


def test_requests_are_passed_on(data, monkeypatch):
    """With two messages from the client, and two from each worker, a tree of three levels serves nine workers."""
    flat = fitted(data, 9)
    sent = []
    whole = partitions.Partitions._send

    async def count(self, request, posts):
        sent.append(len(posts))
        return await whole(self, request, posts)

    monkeypatch.setattr(partitions, "FAN_OUT", 2)
    monkeypatch.setattr(partitions.Partitions, "_send", count)
    for one, other in zip(fitted(data, 9), flat, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        assert one.result_.rounds == other.result_.rounds
    assert max(sent) == 2


def depth(posts):
    return 1 + max(depth(post.below) for post in posts.values()) if posts else 0


@pytest.mark.parametrize("n", [1, 8, 9, 100])
def test_everybody_has_one_post(n):
    owners = [(f"worker {i}", {i: f"key {i}"}) for i in range(n)]
    posts = partitions._tree(owners)

    def walk(posts):
        for address, post in posts.items():
            assert len(post.below) <= partitions.FAN_OUT
            yield address
            yield from walk(post.below)

    assert sorted(walk(posts)) == sorted(address for address, _ in owners)
    assert depth(posts) <= np.ceil(np.log(max(n, 2)) / np.log(partitions.FAN_OUT)) + 1
