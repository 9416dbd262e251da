"""The papers' pair schemes: against the double loop, against the compiled engine, and the trees against their laws."""

import math
import tracemalloc
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, thresholds

from rankwise import Preferences
from rankwise.foundation import memory
from rankwise.objective.losses import huber, squared_hinge
from rankwise.objective.risks import PairwiseRisk
from rankwise.pairs import listing, swept
from rankwise.pairs.schemes import SCHEMES
from rankwise.papers import tree_kernels as trees

PAPERS = [name for name in SCHEMES if name not in ("auto", "compiled", "portable")]
schemes = pytest.mark.parametrize("scheme", PAPERS)
search_trees = pytest.mark.parametrize("kind", [trees.RED_BLACK, trees.AVL, trees.AA])

# (documents, distinct labels, queries)
SHAPES = {
    "few levels, many queries": (5000, 5, 300),
    "all labels distinct": (3000, None, 7),
    "one query": (1500, 97, 1),
}


@schemes
@given(problem=problems(), threshold=thresholds | st.sampled_from([-np.inf, -2.5]), n_threads=st.integers(1, 2))
def test_sums_are_those_of_the_double_loop(scheme, problem, threshold, n_threads):
    labels, queries, weights, scores = problem
    A = oracle.adjacency(*problem, threshold)
    graph = SCHEMES[scheme](Preferences(labels, queries, weights).layout, n_threads).ranked(scores).active(threshold)
    V = np.random.default_rng(0).normal(size=(len(labels), 3))
    close = {"rtol": 1e-12, "atol": 1e-11}
    assert graph.n_pairs == A.sum()
    np.testing.assert_array_equal(graph.degree, A.sum(0) + A.sum(1))
    np.testing.assert_array_equal(graph.balance, A.sum(1) - A.sum(0))
    for v in (V, V[:, 0], V[:, :0]):  # a matrix, a strided vector, no column at all
        np.testing.assert_allclose(graph.below(v), A @ v, **close)
        np.testing.assert_allclose(graph.above(v), A.T @ v, **close)
    np.testing.assert_allclose(graph.laplacian(V), np.diag(graph.degree) @ V - A @ V - A.T @ V, **close)


@schemes
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scope", ["all", "adjacent"])
def test_the_risk_is_that_of_the_compiled_engine(scheme, shape, scope, monkeypatch):
    monkeypatch.setattr(swept, "PIECE", 400)  # several pieces
    n, n_levels, n_queries = SHAPES[shape]
    rng = np.random.default_rng(n)
    labels = rng.normal(size=n) if n_levels is None else rng.integers(0, n_levels, n)
    queries, weights = rng.integers(0, n_queries, n), rng.uniform(0.5, 2, n)
    scores, v = labels / 2 + rng.normal(size=n), rng.normal(size=(n, 2))

    def close(found, expected):
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * scale)

    for loss in (squared_hinge(), huber(0.5)):
        ours, theirs = (
            PairwiseRisk(Preferences(labels, queries, weights, scope=scope, scheme=name, n_jobs=2), loss).at(scores)
            for name in ("compiled", scheme)
        )
        close(theirs.value, ours.value)
        close(theirs.gradient, ours.gradient)
        close(theirs.hessian(v), ours.hessian(v))
        close(theirs.hessian(v[:, 0]), ours.hessian(v[:, 0]))


@schemes
def test_the_margin_is_compared_in_floating_point(scheme):
    """0.3 - 0.2 < 0.1 in floating point, 0.1 + 0.2 > 0.3: no rearranging of s_i - s_j < t passes."""
    scores = np.array([0.3, 0.2, 0.1 + 0.2, 0.1, 1e16, 1e16 - 2, 1.0])
    layout = Preferences(np.arange(7)[::-1]).layout
    for threshold in {a - b for a in scores for b in scores} | {0.1, 0.2, 1e16}:
        A = oracle.adjacency(np.arange(7)[::-1], None, None, scores, threshold)
        graph = SCHEMES[scheme](layout, 1).ranked(scores).active(threshold)
        np.testing.assert_array_equal(graph.below(np.eye(7)), A)
        np.testing.assert_array_equal(graph.above(np.eye(7)), A.T)


@schemes
def test_threads_do_not_change_a_bit(scheme, monkeypatch):
    monkeypatch.setattr(swept, "PIECE", 100)
    rng = np.random.default_rng(5)
    n = 3000
    scores, v = rng.normal(size=n), rng.normal(size=n)
    layout = Preferences(rng.integers(0, 40, n), rng.integers(0, 30, n)).layout
    one, two = (SCHEMES[scheme](layout, n_threads).ranked(scores).active(1.0) for n_threads in (1, 2))
    np.testing.assert_array_equal(one.laplacian(v), two.laplacian(v))


@given(problem=problems())
def test_every_pair_is_listed_once_query_after_query(problem):
    layout = Preferences(problem.labels, problem.queries).layout
    better, worse = listing.list_pairs(layout)
    listed = list(zip(better.tolist(), worse.tolist(), strict=True))
    assert sorted(listed) == sorted(oracle.pairs(problem.labels, problem.queries))
    if problem.queries is not None:
        met = list(dict.fromkeys(problem.queries.tolist()))
        queries = [met.index(problem.queries[i]) for i in better]
        assert queries == sorted(queries)


def test_pairs_beyond_memory_are_refused_before_any_is_listed(monkeypatch):
    n = 10**5
    layout = Preferences(np.arange(n)).layout
    monkeypatch.setattr(listing, "memory_at_hand", lambda: 2e9)
    tracemalloc.start()
    message = r'4,999,950,000 preference pairs takes 40\.0 GB, but 2\.0 GB of memory are available: use scheme="auto"'
    with pytest.raises(ValueError, match=message):
        SCHEMES["explicit"](layout, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * n


def test_just_enough_memory_is_enough(monkeypatch):
    layout = Preferences(np.arange(100)).layout
    monkeypatch.setattr(listing, "memory_at_hand", lambda: 2 * 4 * 4950)
    assert listing.list_pairs(layout)[0].size == 4950


def test_memory_at_hand_is_some_but_not_all():
    assert 1e6 < listing.memory_at_hand() < 1e14


def test_the_memory_of_a_group_is_not_used_up_by_files_it_has_read(monkeypatch):
    files = {"memory.max": "8000000\n", "memory.current": "7900000\n"}
    files["memory.stat"] = "anon 400000\ninactive_file 7000000\nactive_file 100\n"
    monkeypatch.setattr(Path, "read_text", lambda path: files.get(path.name, "MemAvailable: 99999999 kB\n"))
    assert memory.memory_at_hand() == 7_100_000

    def without_stat(path):
        if path.name == "memory.stat":
            raise FileNotFoundError(path)
        return files.get(path.name, "MemAvailable: 99999999 kB\n")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", without_stat)
        assert memory.memory_at_hand() == 100_000
    files["memory.max"] = "max\n"
    assert memory.memory_at_hand() == 1024 * 99_999_999


def test_an_unknown_scheme_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"scheme must be one of 'auto', .*'explicit'.*'aa-tree'; got 'splay-tree'\."):
        Preferences([1, 0], scheme="splay-tree")


def grown(kind, keys, values, n_levels=0):
    tree = trees.new_tree(kind, max(len(keys), 4 * n_levels), values.shape[1])
    trees.clear(tree, n_levels)
    for row, key in enumerate(keys):
        trees.insert(tree, float(key), values, row)
    return tree


def law_of_ranks(tree, node):
    """Check the rank of one node against its children's; what is returned is the law's own height."""
    left, right = tree.child[node]
    rank, ranks = tree.rank, (tree.rank[left], tree.rank[right])
    if tree.kind == trees.RED_BLACK:
        assert rank[node] in (trees.RED, trees.BLACK)
        assert rank[node] == trees.BLACK or ranks == (trees.BLACK, trees.BLACK)
    elif tree.kind == trees.AVL:
        assert rank[node] == 1 + max(ranks)
        assert abs(int(ranks[0]) - int(ranks[1])) <= 1
    else:
        assert ranks[0] == rank[node] - 1
        assert ranks[1] in (rank[node], rank[node] - 1)
        assert right == 0 or rank[tree.child[right, trees.RIGHT]] < rank[node]


def walk(tree, node, expected):
    """The keys of a subtree in order, its depth, and the black nodes on each way down; every node's laws checked."""
    if node == 0:
        return [], 0, 0
    law_of_ranks(tree, node)
    lefts, rights = (walk(tree, child, expected) for child in tree.child[node])
    assert lefts[2] == rights[2]
    keys = [*lefts[0], tree.key[node], *rights[0]]
    np.testing.assert_array_equal(tree.own[node], expected[tree.key[node]])
    np.testing.assert_array_equal(tree.total[node], sum(expected[key] for key in keys))
    is_black = tree.kind == trees.RED_BLACK and tree.rank[node] == trees.BLACK
    return keys, 1 + max(lefts[1], rights[1]), lefts[2] + is_black


key_lists = st.lists(st.integers(-12, 12), max_size=80) | st.permutations(range(60)) | st.just(range(100))


@search_trees
@given(keys=key_lists, descending=st.booleans())
def test_search_trees_stay_balanced_ordered_and_summed(kind, keys, descending):
    keys = list(keys)[::-1] if descending else list(keys)
    values = np.column_stack([np.ones(len(keys)), np.arange(len(keys))])  # sizes, and sums of small integers
    expected = {float(key): values[np.array(keys) == key].sum(0) for key in keys}
    tree = grown(kind, keys, values)
    found, depth, _ = walk(tree, tree.child[0, trees.RIGHT], expected)
    assert found == sorted(expected)
    assert depth <= 2 * math.log2(len(found) + 1)
    assert tree.rank[tree.child[0, trees.RIGHT]] == trees.BLACK or kind != trees.RED_BLACK


@given(levels=st.lists(st.integers(0, 10), max_size=40), n_levels=st.integers(11, 20))
def test_selection_trees_hold_a_level_a_leaf(levels, n_levels):
    values = np.column_stack([np.ones(len(levels)), np.arange(len(levels))])
    tree = grown(trees.SELECTION, [-level for level in levels], values, n_levels)
    width = tree.size[0]
    assert n_levels <= width < 2 * n_levels
    for node in range(1, width):
        np.testing.assert_array_equal(tree.total[node], tree.total[2 * node] + tree.total[2 * node + 1])
    for level in range(n_levels):
        leaf = tree.total[2 * width - 1 - level]
        np.testing.assert_array_equal(leaf, values[np.array(levels, int) == level].sum(0))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [name for name in PAPERS if name.endswith("tree")])
def test_time_grows_little_faster_than_the_number_of_documents(scheme):
    """Four times the documents with labels all distinct: far from the sixteen times of a count pair by pair."""
    import time

    rng = np.random.default_rng(0)

    def seconds(n):
        engine, scores = SCHEMES[scheme](Preferences(rng.normal(size=n)).layout, 1), rng.normal(size=n)
        times = []
        for _ in range(5):
            begin = time.thread_time()
            engine.ranked(scores).active(1.0).laplacian(scores)
            times.append(time.thread_time() - begin)
        return min(times)

    seconds(1000)
    assert seconds(40_000) / seconds(10_000) < 8
