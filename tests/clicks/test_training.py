"""Training data from clicks: the objective is that of the listed pairs, and it corrects the bias of positions."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from rankwise import RankRLS, RankSVM, losses, make_ranking, open_chunks, to_frame, write_chunks
from rankwise.clicks import ClickLog, Propensities, click_data, shared_click_data, simulate_clicks
from rankwise.foundation.devices import library_of, on_device_of, to_host
from rankwise.objective.building import build

LOSSES = {  # by name, its formula of the margin
    "squared_hinge": lambda margin: np.maximum(0, 1 - margin) ** 2,
    "hinge": lambda margin: np.maximum(0, 1 - margin),
    "squared": lambda margin: (1 - margin) ** 2,
    "huber:0.5": lambda margin: np.where(margin > 0.5, np.maximum(0, 1 - margin) ** 2, 0.75 - margin),
    "logistic": lambda margin: losses.logistic()(margin),  # its pieces; test_losses.py has their error
}
ENGINES = ("dense", "dense-float32", "csr", "csr-float32", "chunks", "shared", "torch", "torch-float32", "torchcsr")


@pytest.fixture(scope="module")
def ranking():
    data = make_ranking(n_queries=12, docs_per_query=7, n_features=4, random_state=0)
    first = np.searchsorted(data.qid, data.qid)
    return replace(data, docid=np.array([f"d{row}" for row in np.arange(len(data)) - first]))  # ids repeat over queries


@pytest.fixture(scope="module")
def simulated(ranking):
    scores = np.random.default_rng(0).normal(size=(2, len(ranking)))
    return simulate_clicks(ranking, scores, 400, depth=5, noise=0.4, random_state=0)


def listed(log, data, propensities, clip):
    """(better row of X, worse row of X, weight) of every click, one by one."""
    row_of = {(str(q), str(d)): row for row, (q, d) in enumerate(zip(data.qid, data.docid, strict=True))}
    pairs = []
    for i in range(log.n_lists):
        rows = range(log.starts[i], log.starts[i + 1])
        of_list = {row: row_of[str(log.queries[log.query[i]]), str(log.docs[log.doc[row]])] for row in rows}
        for row in rows:
            if log.click[row]:
                weight = 1 / max(propensities.values[log.position[row] - 1], clip)
                pairs += [(of_list[row], of_list[other], weight) for other in rows if other != row]
    return np.array(pairs)


def stored(shared, engine, folder):
    """The rows of the data as an engine holds them."""
    if engine == "shared":
        return shared
    data = shared.read()
    if engine == "chunks":
        write_chunks(folder / "some.chunks", data, chunk_bytes=2000)
        return open_chunks(folder / "some.chunks")
    kind, _, dtype = engine.partition("-")
    X = data.X.astype(dtype or np.float64)
    if kind.startswith("torch"):
        X = pytest.importorskip("torch").as_tensor(X)
    return {"csr": sparse.csr_array, "torchcsr": lambda one: one.to_sparse_csr()}.get(kind, lambda one: one)(X)


@pytest.fixture(scope="module")
def problem(ranking, simulated):
    """Ranking data from clicks, with features that float32 holds exactly; and better rows, worse rows and weights."""
    log, _, propensities = simulated
    ranking = replace(ranking, X=np.round(8 * ranking.X) / 8)
    pairs = listed(log, ranking, propensities, 0.3)
    data = shared_click_data(log, ranking, propensities, clip=0.3)
    lists = [slice(*ends) for ends in itertools.pairwise(log.starts)]
    clicked = [
        (query, one, row) for query, one in zip(log.query, lists, strict=True) for row in log.doc[one][log.click[one]]
    ]
    assert (
        data.read().n_queries
        == len({(query, frozenset(log.doc[one]), row) for query, one, row in clicked})
        < len(clicked)
    )
    assert max(np.bincount(log.list_of_row, log.click)) > 1  # lists with several clicks
    return ranking.X, data, pairs[:, :2].astype(int), pairs[:, 2]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_engine_has_the_objective_of_the_listed_pairs(problem, engine, loss, tmp_path):
    X, data, pairs, weights = problem
    rows = stored(data, engine, tmp_path)
    objective = build(rows, data.y, data.qid, data.weight, loss=losses.parse(loss), C=0.1)
    for w in np.random.default_rng(1).normal(size=(3, 4)):
        margins = (X[pairs[:, 0]] - X[pairs[:, 1]]) @ w
        expected = 0.5 * w @ w + 0.1 * weights @ LOSSES[loss](margins)
        point = w if library_of(rows) is None else on_device_of(rows, w)
        assert float(objective.at(point).value) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("engine", ["dense", "csr-float32", "chunks", "shared", "torch"])
def test_the_optimum_is_that_of_the_listed_pairs(problem, engine, tmp_path):
    X, data, pairs, weights = problem
    rows = stored(data, engine, tmp_path)
    given = (rows,) if engine in ("chunks", "shared") else (rows, data.y, data.qid, data.weight)
    smooth, hinge = ("squared_hinge", 1e-9), ("hinge", 1e-5)  # |w - w*|² <= 2 f(w) - 2 f(w*)
    for loss, apart in (smooth,) if engine == "torch" else (smooth, hinge):  # the hinge takes seconds there
        options = {"C": 0.01, "loss": loss, "tol": 1e-12}
        ranker = RankSVM(**options).fit(*given)
        referee = RankSVM(**options).fit(X, pairs=pairs, pair_weight=weights)
        assert float(ranker.result_.value) == pytest.approx(float(referee.result_.value), rel=1e-10)
        np.testing.assert_allclose(to_host(ranker.coef_), referee.coef_, rtol=1e-6, atol=apart)
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    ridge = (differences.T * weights) @ differences + 0.5 * np.eye(4)
    ranker = RankRLS(alpha=0.5, ties="exclude").fit(*given)
    np.testing.assert_allclose(to_host(ranker.coef_), np.linalg.solve(ridge, differences.T @ weights), rtol=1e-6)


def test_weights_correct_the_bias_of_positions():
    """A bad ranker shows bad documents first; without weights its order is learned, with weights that of the users."""
    data = make_ranking(n_queries=40, docs_per_query=10, n_features=5, noise=0.1, random_state=0)
    data = replace(data, docid=np.arange(len(data)))
    best = RankSVM(C=1.0).fit(data).coef_
    log, _, propensities = simulate_clicks(data, -data.X @ best, 20_000, eta=2, noise=0, random_state=0)

    def cosine(given):
        coef = RankSVM().fit(click_data(log, data, given, clip=0.001)).coef_
        return coef @ best / np.linalg.norm(coef) / np.linalg.norm(best)

    assert cosine(propensities) > 0.8
    assert cosine(propensities) > cosine(None) + 0.3


def test_lists_without_clicks_or_of_one_document_are_left_out(ranking):
    docs = ranking.docid[ranking.qid == ranking.qid[0]]
    query = str(ranking.qid[0])  # a number in the data, a text in the log
    log = ClickLog.of(
        [query] * 6, docs[[0, 1, 2, 2, 0, 1]], [1, 2, 1, 1, 1, 2], [1, 1, 1, 0, 0, 0], list("aabcdd"), first_position=1
    )
    data = click_data(log, ranking, None)
    assert data.qid.tolist() == [0, 0, 1, 1]  # two clicks in one list
    assert sorted(zip(data.qid, data.docid, data.y, strict=True)) == sorted(
        [(0, docs[0], 1.0), (0, docs[1], 0.0), (1, docs[0], 0.0), (1, docs[1], 1.0)]
    )
    assert (data.weight == 1).all()


def test_errors(ranking, simulated):
    log, _, propensities = simulated
    with pytest.raises(ValueError, match="clip must be above 0"):
        click_data(log, ranking, propensities, clip=0)
    with pytest.raises(ValueError, match="features must have docid"):
        click_data(log, replace(ranking, docid=None), propensities)
    with pytest.raises(
        TypeError, match=r"features must be a RankingData; got a DataFrame: .*from_frame\(frame, label=None"
    ):
        click_data(log, to_frame(ranking), propensities)
    with pytest.raises(
        ValueError, match=r"features lacks \d+ of \d+ documents of lists with clicks, first the document"
    ):
        click_data(log, ranking.select(slice(10, None)), propensities)
    twice = np.append(np.arange(len(ranking)), 3)
    with pytest.raises(ValueError, match=r"features has the document 'd3' .* twice, in the rows 3 and 84"):
        click_data(log, ranking.select(twice), propensities)
    with pytest.raises(ValueError, match="no propensity is known for position"):
        click_data(log, ranking, Propensities.of([1, 2], [1, 0.5]))
    with pytest.raises(ValueError, match="no click in a list of several documents"):
        click_data(ClickLog.of(["q"], ["d"], [1], [1], first_position=1), ranking, propensities)
