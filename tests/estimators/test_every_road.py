"""Where two roads lead to one optimum, they agree: solvers, pair schemes, forms of X, weights and costs."""

import numpy as np
import pytest
from scipy import sparse

from rankwise import RankingData, RankSVM, make_ranking, read_letor
from rankwise.objective import losses
from rankwise.objective.building import Pairing, build
from rankwise.pairs.schemes import SCHEMES
from rankwise.preprocessing import FeatureScaler
from rankwise.solvers import SOLVERS, needs_of

SMOOTH = [name for name in SOLVERS if "smooth loss" in needs_of(name)]
EVERY_LOSS = ["hinge", "squared_hinge", "huber:0.5", "logistic:0.01", "squared"]
CORNERED = {"hinge"}


def takes(solver: str, loss: str) -> bool:
    if solver == "dual":
        return loss in ("hinge", "squared_hinge", "huber:0.5")
    return loss == "hinge" if solver == "smoothing" else not (solver in SMOOTH and loss in CORNERED)


ROADS = [(solver, loss) for solver in SOLVERS for loss in EVERY_LOSS if takes(solver, loss)]
FIRST_ORDER = {"sgd", "sgd-queries", "bmrm"}
HARD = 3e-7  # well below the 1e-6 to agree within


def settings(solver: str) -> dict:
    if solver.startswith("sgd"):
        return {"tol": 5e-3, "max_iter": 300, "random_state": 0}  # half of the 1e-2 to agree within
    return {"tol": 1e-8 if solver in SMOOTH else HARD, "max_iter": 20_000, "random_state": 0}


def check_road(X, y, qid, solver, loss, C):
    exact = RankSVM(C=C, loss=loss, tol=1e-8 if loss in CORNERED else 1e-9).fit(X, y, qid).result_
    best = exact.value - exact.gap if loss in CORNERED else exact.value
    for form in (np.asarray, sparse.csr_array):
        result = RankSVM(C=C, loss=loss, solver=solver, **settings(solver)).fit(form(X), y, qid).result_
        within = 1e-2 if solver.startswith("sgd") else 1e-6
        assert best * (1 - 1e-9) <= result.value <= best * (1 + within), result.message
        if result.gap is not None:
            assert result.value - result.gap <= exact.value * (1 + 1e-12)


SMALL = make_ranking(n_queries=30, docs_per_query=12, n_features=5, random_state=0)
REAL = make_ranking(n_queries=1, docs_per_query=(300, 300), n_features=4, n_levels=None, random_state=1)


@pytest.mark.parametrize(("solver", "loss"), ROADS)
def test_graded_queries(solver, loss):
    check_road(SMALL.X, SMALL.y, SMALL.qid, solver, loss, C=0.01)


@pytest.mark.parametrize(("solver", "loss"), ROADS)
def test_one_query_of_real_labels(solver, loss):
    check_road(REAL.X, REAL.y, None, solver, loss, C=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "loss"), ROADS)
def test_mq2008(read_parts, solver, loss):
    data = read_parts("mq2008", 1, 2, 3)
    check_road(data.X, data.y, data.qid, solver, loss, C=2**-5)


@pytest.mark.parametrize("scheme", list(SCHEMES))
@pytest.mark.parametrize("scope", ["all", "adjacent"])
def test_every_scheme_gives_the_same(scheme, scope):
    """Value, gradient and Hessian product to 1e-10."""
    w, v = np.random.default_rng(0).normal(size=(2, 5))
    looks = [
        build(
            SMALL.X, SMALL.y, SMALL.qid, loss=losses.huber(0.5), C=0.1, pairing=Pairing(scheme=one, scope=scope)
        ).at(w)
        for one in ("compiled", scheme)
    ]  # fmt: skip
    assert looks[1].value == pytest.approx(looks[0].value, rel=1e-10)
    np.testing.assert_allclose(looks[1].gradient, looks[0].gradient, rtol=1e-10)
    np.testing.assert_allclose(looks[1].hessian(v), looks[0].hessian(v), rtol=1e-10)


def test_hinge_on_mq2008_is_certified(read_parts):
    """An independent calculation gave 24916.6535 ≤ optimum ≤ 24916.6560."""
    data = read_parts("mq2008", 1, 2, 3)
    result = RankSVM(C=1.0, loss="hinge", tol=1e-5).fit(data.X, data.y, data.qid).result_
    assert result.value == pytest.approx(24916.65, rel=1e-5)
    assert result.gap <= 1e-5 * result.value
    assert result.value >= 24916.6535 * (1 - 1e-9)
    assert result.value - result.gap <= 24916.6560


def planes(data, loss, **params):
    qid = data.qid if data.n_queries > 1 else None
    rankers = (RankSVM(loss=loss, solver=solver, max_iter=20_000, **params) for solver in ("bundle", "bmrm"))
    return [ranker.fit(data.X, data.y, qid).n_iter_ for ranker in rankers]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_line_search_saves_two_planes_of_three(read_parts, loss):
    with_search, without = planes(read_parts("mq2008", 1, 2, 3), loss, C=2**-5, tol=1e-3)
    assert with_search <= without / 3


@pytest.mark.slow
def test_a_line_search_saves_two_planes_of_three_on_cadata(letor_data):
    data = read_letor(letor_data / "cadata" / "cadata.txt.xz", dense=True)
    scaled = RankingData(FeatureScaler("zscore").fit_transform(data.X), data.y, data.qid)
    with_search, without = planes(scaled, "hinge", C=1000.0, normalize_pairs="mean", tol=1e-3)
    assert with_search <= without / 3


def test_dual_coefficients_are_those_of_the_rows_given():
    rows = np.random.default_rng(0).permutation(len(SMALL))
    X, y, qid = SMALL.X[rows], SMALL.y[rows], SMALL.qid[rows]  # scattered queries
    ranker = RankSVM(C=0.01, loss="hinge", solver="dual", tol=1e-6, random_state=0).fit(X, y, qid)
    alpha = ranker.dual_coef_.tocoo()
    assert (qid[alpha.row] == qid[alpha.col]).all()
    assert (y[alpha.row] > y[alpha.col]).all()
    np.testing.assert_allclose((X[alpha.row] - X[alpha.col]).T @ alpha.data, ranker.coef_, rtol=1e-9, atol=1e-12)


def test_a_stream_of_queries_comes_near_the_optimum():
    data = make_ranking(n_queries=400, docs_per_query=12, n_features=5, random_state=3)
    ranker = RankSVM(C=0.01, solver="sgd", random_state=0)
    for first in range(0, 400, 20):
        rows = np.isin(data.qid, np.unique(data.qid)[first : first + 20])
        ranker.partial_fit(data.X[rows], data.y[rows], data.qid[rows])
    best = RankSVM(C=0.01).fit(data.X, data.y, data.qid)
    close = ranker.coef_ @ best.coef_ / np.linalg.norm(ranker.coef_) / np.linalg.norm(best.coef_)
    assert close > 0.99
    assert not hasattr(RankSVM(solver="newton"), "partial_fit")
    assert hasattr(RankSVM(solver="SGD_queries"), "partial_fit")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"loss": "hinge", "solver": "trust-region"}, "'trust-region' needs a smooth loss, and hinge has a corner"),
        ({"loss": "squared_hinge", "solver": "smoothing"}, "'smoothing' is for the hinge loss"),
        ({"loss": "logistic", "solver": "dual"}, "dual"),
        ({"scheme": "quantum"}, "scheme must be one of 'auto', .*; got 'quantum'"),
        ({"scope": "some"}, "scope must be one of 'all', 'adjacent'; got 'some'"),
        ({"costs": "loss"}, "costs must be one of 'gain', 'dcg', 'ndcg', or an array, .*; got 'loss'"),
        ({"rescaling": "both"}, "rescaling must be one of 'slack', 'margin'; got 'both'"),
        ({"normalize_pairs": "max"}, "normalize_pairs must be one of 'sum', .*; got 'max'"),
        (
            {"costs": lambda i, j: np.ones(i.size), "scheme": "by-level"},
            "scheme='by-level' cannot sum with these costs",
        ),
        ({"costs": np.ones((2, 2))}, "a table must be 5 × 5"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(params, words):
    with pytest.raises(ValueError, match=words):
        RankSVM(**params).fit(SMALL.X, SMALL.y, SMALL.qid)
