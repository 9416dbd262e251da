"""Value, gradient and Hessian of risk and objective: against the double loop and against finite differences."""

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from strategies import problems as problems_of

from rankwise import Preferences
from rankwise.least_squares import regression
from rankwise.objective import building, chunks, losses
from rankwise.objective import rows as stored_rows
from rankwise.objective.fused import FusedChunk
from rankwise.objective.objective import hinge_slack
from rankwise.objective.risks import PairwiseRisk
from rankwise.objective.rows import MemoryRows
from rankwise.solvers import Newton

LOSSES = ["squared_hinge", "huber:0.5", "huber:3.0", "logistic:0.01", "squared"]


@given(
    problem=problems_of(), name=st.sampled_from([*LOSSES, "hinge"]), engine=st.sampled_from(["compiled", "portable"])
)
def test_risk_is_the_sum_over_pairs(problem, name, engine):
    labels, queries, weights, scores = problem
    loss = losses.parse(name)
    scores = scores + np.random.default_rng(0).choice([0.0, 0.25], len(scores))
    risk = PairwiseRisk(Preferences(labels, queries, weights, scheme=engine), loss)
    expected = oracle.risk(loss, *problem[:3], scores)
    np.testing.assert_allclose(risk.at(scores).value, expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("name", [*LOSSES, "hinge"])
def test_the_terms_are_at_least_what_is_added_up(name):
    """Rounding is bounded by their sum: pieces that cancel each other and pairs of u < 0 count in full."""
    loss, n = losses.parse(name), 30
    labels, scores = np.arange(n) % 4, 5 * np.random.default_rng(0).normal(size=n)
    pairs = np.array(oracle.pairs(labels, None))
    u = 1 - (scores[pairs[:, 0]] - scores[pairs[:, 1]])
    added = sum(
        np.sum(
            (1 - u < piece.threshold) * (abs(piece.constant) + abs(piece.slope * u) + abs(piece.curvature) / 2 * u**2)
        )
        for piece in loss.pieces
    )
    listed = building.build_from_pairs(np.eye(n), pairs, loss=loss, C=1.0).risk
    assert listed.at(scores).terms == pytest.approx(added, rel=1e-12)
    assert PairwiseRisk(Preferences(labels), loss).at(scores).terms >= added * (1 - 1e-12)


def test_the_allowance_for_rounding_grows_with_the_slope_of_a_corner():
    """Five times the hinge is the hinge with five times C, also in the bounds on its rounding errors."""
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(40, 3)), rng.integers(0, 3, 40), rng.normal(size=3)
    steep = losses.Loss("steep", (losses.Piece(1.0, 0.0, 5.0, 0.0),), smooth=False)
    one, other = building.build(X, y, loss=steep, C=0.1), building.build(X, y, loss=losses.hinge(), C=0.5)
    assert one.at(w).certificate.errors() == pytest.approx(other.at(w).certificate.errors(), rel=1e-12)


def test_a_large_offset_costs_no_digits():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 50), rng.integers(-8, 8, 50) / 8
    risk = PairwiseRisk(Preferences(labels), losses.squared_hinge())
    assert risk.at(scores + 2.0**30).value == pytest.approx(risk.at(scores).value, rel=1e-13)


def test_a_document_far_from_all_pairs_costs_no_digits():
    """It is below all others by far, as it should be: in no pair that counts, wherever it stands."""
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(1, 4, 50), rng.normal(size=50)
    expected = PairwiseRisk(Preferences(labels), losses.squared_hinge()).at(scores).value
    for place in (0, 25, 50):
        risk = PairwiseRisk(Preferences(np.insert(labels, place, 0)), losses.squared_hinge())
        assert risk.at(np.insert(scores, place, -1e9)).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("width", [1e-2, 1e-5, 1e-8, 1e-11])
def test_the_bound_is_one_whatever_the_width(width):
    """Against the dual's value at C clip(u/h, 0, 1), pair by pair; rounding only ever lowers it."""
    rng = np.random.default_rng(0)
    X, y, q, _ = make(200, 5)
    X, w, C = 1e3 * X, rng.normal(size=5) / 1e3, 0.1
    here = building.build(X, y, q, loss=losses.huber(width), C=C).at(w)
    pairs = np.array(oracle.pairs(y, q))
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    alpha = C * np.clip((1 - differences @ w) / width, 0, 1)
    exact = alpha.sum() - 0.5 * np.sum((alpha @ differences) ** 2)
    hinge = building.build(X, y, q, loss=losses.hinge(), C=C).at(w)
    gradient_error, value_error = here.certificate.errors()
    bound = hinge.value - hinge_slack(here, hinge.value) - 0.5 * (np.linalg.norm(here.gradient) + gradient_error) ** 2
    assert bound - value_error <= exact + 1e-12 * abs(exact)
    lost = gradient_error * (np.linalg.norm(here.gradient) + gradient_error) + value_error
    assert exact - bound <= 2 * lost + 1e-9 * abs(exact)


def check_derivatives(function, point, rng, step=1e-5):
    """Central differences along a random direction: value -> gradient -> Hessian product."""
    direction = rng.normal(size=point.size)
    here, ahead, behind = (function.at(point + t * direction) for t in (0, step, -step))
    slope = (ahead.value - behind.value) / (2 * step)
    assert here.gradient @ direction == pytest.approx(slope, rel=1e-6, abs=1e-6)
    change = (ahead.gradient - behind.gradient) / (2 * step)
    np.testing.assert_allclose(here.hessian(direction), change, rtol=1e-4, atol=1e-4 * np.abs(change).max())


def make(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return X, rng.integers(0, 4, n), rng.integers(0, 6, n), rng.random(n)


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives(name):
    rng = np.random.default_rng(1)
    X, y, q, w = make()
    loss = losses.parse(name)
    check_derivatives(PairwiseRisk(Preferences(y, q, w), loss), rng.normal(size=len(y)), rng, step=1e-7)
    check_derivatives(building.build(X, y, q, w, loss=loss, C=0.3), 0.3 * rng.normal(size=X.shape[1]), rng, step=1e-7)


FORMS = {
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csr with 64-bit indices": lambda X: _long(sparse.csr_array(X)),
    "float32": lambda X: X.astype(np.float32),
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


def _long(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block_bytes", [1 << 22, 512])
def test_every_form_of_the_matrix_gives_the_same(form, block_bytes, monkeypatch):
    """Also when X is cut into many parts, or a query is larger than a block."""
    X, y, q, w = make()
    X = X.astype(np.float32).astype(np.float64)
    point, V = np.array([0.3, -1, 0.5, 0.1]), np.eye(4)
    whole = building.build(X, y, q, w, loss=losses.huber(0.5), C=0.7).at(point)
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", block_bytes)
    here = building.build(FORMS[form](X), y, q, w, loss=losses.huber(0.5), C=0.7).at(point)
    assert here.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_allclose(here.gradient, whole.gradient, rtol=1e-10)
    matrix = np.column_stack([whole.hessian(e) for e in V])
    for hessian in (here.hessian(V), here.hessian_matrix(), np.column_stack([here.hessian(e) for e in V])):
        np.testing.assert_allclose(hessian, matrix, rtol=1e-10, atol=1e-12)


def test_one_large_query_among_small_ones(monkeypatch):
    """A query of many blocks is worked on by all threads together, and the bits do not depend on how many they are."""
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", 512)
    monkeypatch.setattr(building, "WORTH_THREADS", 0)
    rng = np.random.default_rng(3)
    X, y, q = rng.normal(size=(400, 4)), rng.integers(0, 3, 400), np.repeat([0, 1, 2, 3], [20, 320, 28, 32])
    built = [building.build(X, y, q, loss=losses.squared_hinge(), C=1.0, n_jobs=j) for j in (1, 2, 3)]
    assert [part.large for part in built[0].sum.executor.chunks].count(True) == 1
    point = rng.normal(size=4)
    looks = [one.at(point) for one in built]
    for look in looks[1:]:
        assert look.value == looks[0].value
        np.testing.assert_array_equal(look.gradient, looks[0].gradient)
        np.testing.assert_array_equal(look.hessian(point), looks[0].hessian(point))
        np.testing.assert_array_equal(look.hessian_matrix(), looks[0].hessian_matrix())
    A = oracle.adjacency(y, q, None, X @ point, 1.0)
    L = np.diag(A.sum(0) + A.sum(1)) - A - A.T
    np.testing.assert_allclose(looks[0].hessian_matrix(), np.eye(4) + 2 * X.T @ L @ X, rtol=1e-10)


@pytest.mark.parametrize("d", [3, 60])
def test_hessian_matrix_of_a_part_wider_than_a_group_of_columns(d, monkeypatch):
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", 512)
    rng = np.random.default_rng(d)
    X, y, q = rng.normal(size=(50, d)), rng.integers(0, 3, 50), rng.integers(0, 4, 50)
    here = building.build(X, y, q, loss=losses.squared_hinge(), C=1.0).at(np.zeros(d))
    np.testing.assert_allclose(here.hessian_matrix(), here.hessian(np.eye(d)), rtol=1e-10, atol=1e-10)


@given(
    problem=problems_of(),
    name=st.sampled_from([*LOSSES, "hinge"]),
    margins=st.booleans(),
    form=st.sampled_from(["dense", "csr"]),
)
def test_one_pass_gives_what_the_parts_of_it_give(problem, name, margins, form):
    """The compiled pass over whole queries against features, risk and features again."""
    labels, queries, weights, _ = problem
    rng = np.random.default_rng(len(labels))
    order = np.arange(len(labels)) if queries is None else np.argsort(queries, kind="stable")
    X = rng.integers(-2, 3, (len(labels), 3)) / 2
    preferences = Preferences(
        labels[order], None if queries is None else queries[order], None if weights is None else weights[order]
    )
    risk = PairwiseRisk(preferences, losses.parse(name), rng.integers(0, 3, len(labels)) / 2 if margins else None)
    rows = MemoryRows(X if form == "dense" else sparse.csr_array(X))
    point, direction, v = rng.integers(-2, 3, 3) / 2, rng.integers(-2, 3, 3), rng.normal(size=3)
    both = FusedChunk(rows, risk), chunks.PlainChunk(rows, risk, False)
    fused, plain = (chunk.at(point) for chunk in both)
    close = {"rtol": 1e-11, "atol": 1e-10}
    np.testing.assert_allclose(fused.sums[:-1], plain.sums[:-1], **close)
    for chunk in both:
        again = chunk.with_loss(losses.hinge()).at(point).with_loss(risk.loss)
        np.testing.assert_allclose(again.sums[:-1], plain.sums[:-1], **close)
        ray = chunk.along(point - 0.5 * direction, direction)
        np.testing.assert_allclose(ray.slope(0.5), plain.sums[: -chunks.SCALARS] @ direction, **close)
    assert fused.sums[-1] >= plain.sums[-1] * (1 - 1e-12)  # sizes: query by query they cancel less
    if not risk.loss.smooth:
        return
    np.testing.assert_allclose(fused.hessian(v), plain.hessian(v), **close)
    np.testing.assert_allclose(fused.hessian_matrix(), plain.hessian_matrix(), **close)
    np.testing.assert_allclose(fused.degree_moments(), plain.degree_moments(), **close)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_the_diagonal_does_not_see_an_offset(form):
    """Preconditioned by squares of the offset, conjugate gradients took a hundred times as many products."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)) + np.array([0, 30, 100]), rng.integers(0, 3, 300)
    qid = np.repeat(np.arange(15), 20)
    objective = building.build(
        X if form == "dense" else sparse.csr_array(X), y, qid, loss=losses.squared_hinge(), C=1.0
    )
    at_zero = objective.at(np.zeros(3))
    np.testing.assert_allclose(at_zero.hessian_diagonal(), np.diag(at_zero.hessian_matrix()), rtol=0.2)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_the_diagonal_does_not_depend_on_the_chunks(form, monkeypatch):
    rng = np.random.default_rng(1)
    qid = np.repeat(np.arange(40), 10)
    X, y = rng.normal(size=(400, 3)) + 5 * rng.normal(size=(40, 3))[qid], rng.integers(0, 3, 400)
    found = []
    for block in (1 << 10, 1 << 22):
        monkeypatch.setattr(stored_rows, "BLOCK_BYTES", block)
        monkeypatch.setattr(stored_rows, "LEAST_BLOCK", block)
        rows = X if form == "dense" else sparse.csr_array(X)
        objective = building.build(rows, y, qid, loss=losses.squared_hinge(), C=1.0)
        found.append((len(objective.sum.executor.chunks), objective.at(np.zeros(3)).hessian_diagonal()))
    (many, divided), (one, together) = found
    assert one == 1 < many
    np.testing.assert_allclose(divided, together, rtol=1e-12)


def test_gradients_of_chunks_take_less_memory_than_wide_rows(monkeypatch):
    """Each chunk keeps one: chunks that fit the cache would have gradients many times as large as themselves."""
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(stored_rows, "LEAST_BLOCK", 1 << 9)
    rng = np.random.default_rng(0)
    X = sparse.random_array((6000, 1000), density=0.01, format="csr", rng=rng)
    objective = building.build(X, rng.integers(0, 3, 6000), np.arange(6000) // 10, loss=losses.squared_hinge(), C=1.0)
    executor = objective.sum.executor
    kept = [chunk.at(executor.zero).sums.nbytes for chunk in executor.chunks]
    assert sum(kept) < 0.5 * executor.rows.nbytes
    assert len(kept) >= 8


@pytest.mark.parametrize("sizes", [[3000], [40] * 60, [2000, *[30] * 50], [700] * 40])
def test_a_sample_estimates_the_whole(sizes):
    rng = np.random.default_rng(0)
    q = np.repeat(np.arange(len(sizes)), sizes)
    X, y = rng.normal(size=(q.size, 3)), rng.integers(0, 4, q.size)
    whole = building.build(X, y, q, loss=losses.squared_hinge(), C=1.0)
    point = np.array([0.1, -0.2, 0.3])
    samples = [whole.sampled(600, seed) for seed in range(60)]
    assert all(200 <= one.rows.n_rows <= 1300 for one in samples)
    means = np.mean([one.at(point).sum.value for one in samples])
    assert means == pytest.approx(whole.at(point).sum.value, rel=0.05)


def test_a_sample_large_enough_is_the_whole():
    X, y, q, w = make()
    whole = building.build(X, y, q, w, loss=losses.squared_hinge(), C=0.5)
    sample, point = whole.sampled(10_000, 0), np.array([0.1, -0.2, 0.3, 0.4])
    assert sample.at(point).value == pytest.approx(whole.at(point).value, rel=1e-12)
    np.testing.assert_allclose(sample.at(point).gradient, whole.at(point).gradient, rtol=1e-10)


@pytest.mark.parametrize("normalize", building.NORMALIZATIONS)
def test_listed_pairs_weigh_by_query_what_others_do(normalize):
    """Workers of a cluster report these totals, by which the whole is normalised."""
    X, y, q, w = make()
    q[y == 3], y[q == 5] = 5, 3  # a query without pairs
    options = {"loss": losses.squared_hinge(), "C": 1.0}
    listed = building.Pairing(costs="dcg", rescaling="margin", normalize=normalize)
    found = building.build(X, y, q, w, pairing=listed, **options).sum.executor.totals
    expected = building.build(X, y, q, w, pairing=building.Pairing(normalize=normalize), **options).sum.executor.totals
    assert expected.min() == 0
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_little_work_is_left_to_one_thread():
    X, y, q, _ = make()
    options = {"loss": losses.squared_hinge(), "C": 1.0, "n_jobs": 2}
    executors = {
        "labels": building.build(X, y, q, **options).sum.executor,
        "pairs": building.build_from_pairs(X, [(0, 1)], **options).sum.executor,
        "RankRLS": regression.build(X, y, q, None, ties="include", scaling="pairs", n_jobs=2),
    }
    assert {name: one.rows.n_threads for name, one in executors.items()} == dict.fromkeys(executors, 1)


def test_nothing_is_computed_again_where_a_solver_is_told_what_is_known():
    X, y, q, w = make()
    objective = building.build(X, y, q, w, loss=losses.squared_hinge(), C=0.5)
    end = Newton(tol=1e-8)(objective).end
    points, start = [], end.times(3.0)

    class Watched:
        size, zero = objective.size, objective.zero

        def at(self, w):
            points.append(w.copy())
            return objective.times(3.0).at(w)

    found = Newton(tol=1e-8)(Watched(), start)
    assert found.converged
    assert all((one != 0).any() and (one != end.expansion.point).any() for one in points)
    exact = objective.times(3.0).at(end.expansion.point)
    assert start.expansion.value == pytest.approx(exact.value, rel=1e-14)
    np.testing.assert_allclose(start.expansion.gradient, exact.gradient, rtol=1e-12)
    assert start.at_zero[1] == pytest.approx(objective.times(3.0).at(objective.zero).value, rel=1e-14)
    assert found.value == pytest.approx(Newton(tol=1e-8)(objective.times(3.0)).value, rel=1e-7)
