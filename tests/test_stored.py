"""Rows read from disk give what rows in memory give, to the last bit, and are read once per pass."""

import numpy as np
import pytest
from scipy import sparse

from rankwise.objective import building, losses
from rankwise.objective import rows as features
from rankwise.objective.stored import StoredRows
from rankwise.solvers import Newton, TrustRegion


class Rows:
    """Rows in memory that act as if they were on disk, and count what is read."""

    def __init__(self, X):
        self.X, self.shape, self.nbytes, self.size = X, X.shape, features.MemoryRows(X).nbytes, X.size
        self.read = 0

    def load(self, low, high):
        self.read += high - low
        return self.X[low:high]


def make(form):
    rng = np.random.default_rng(0)
    q = np.repeat(np.arange(40), rng.integers(1, 30, 40))
    X, y = rng.normal(size=(q.size, 5)) * (rng.random((q.size, 5)) < 0.7), rng.integers(0, 4, q.size)
    return (X if form == "dense" else sparse.csr_array(X)), y, q


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("long", [False, True])
def test_a_pass_reads_every_row_once(form, long, monkeypatch):
    monkeypatch.setattr(features, "BLOCK_BYTES", 1 << 10)
    X, y, q = make(form)
    q = np.where(q < 20, 0, q) if long else q
    source, options = Rows(X), {"loss": losses.squared_hinge(), "C": 0.3}
    stored, memory = building.build(source, y, q, **options), building.build(X, y, q, **options)
    point, v = np.linspace(-1, 1, 5), np.ones(5)
    here, expected = stored.at(point), memory.at(point)
    assert source.read == y.size
    assert here.value == expected.value
    np.testing.assert_array_equal(here.gradient, expected.gradient)
    np.testing.assert_array_equal(here.hessian(v), expected.hessian(v))
    assert source.read == 2 * y.size
    np.testing.assert_array_equal(here.hessian_matrix(), expected.hessian_matrix())
    np.testing.assert_array_equal(here.hessian_diagonal(), expected.hessian_diagonal())
    assert source.read == 4 * y.size


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("solver", [Newton(1e-8), TrustRegion(1e-8), TrustRegion(1e-8, precondition="sampled")])
def test_the_same_model(form, solver):
    X, y, q = make(form)
    options = {"loss": losses.squared_hinge(), "C": 0.3}
    stored, memory = (solver(building.build(rows, y, q, **options)) for rows in (Rows(X), X))
    np.testing.assert_array_equal(stored.point, memory.point)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_rows_by_number(form):
    X, _, _ = make(form)
    rows = np.array([7, 3, 4, 5, 0, 1, 9, 8, 2])
    stored = StoredRows(Rows(X), 0, X.shape[0], 1)
    found, expected = stored.select(slice(10, 40), 1).select(rows, 1).X, X[10:40][rows]
    assert (found != expected).sum() == 0
    np.testing.assert_array_equal(stored.scores(np.arange(5.0)), features.MemoryRows(X).scores(np.arange(5.0)))


def test_costs_that_need_a_list_are_refused():
    X, y, q = make("dense")
    pairing = building.Pairing(costs=lambda better, worse: np.ones(better.size))
    with pytest.raises(ValueError, match=r"need a list of all pairs: pass data\.read\(\)"):
        building.build(Rows(X), y, q, loss=losses.squared_hinge(), C=0.3, pairing=pairing)
