"""Rows that documents share: the objective and the models of the copied rows, for the work of the different ones."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from rankwise import FactorizedRankSVM, RankRLS, RankSVM, RankSVMCV, ScaledRanker, save_model, write_chunks, write_data
from rankwise.data.repeated import SharedData
from rankwise.model_selection import cross_validate
from rankwise.objective import building, losses, row_kernels
from rankwise.objective import rows as features
from rankwise.objective.shared import SharedRows

FORMS = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "offset": lambda X: X + 1e9,  # so large that squares of it lose the differences
}


def make(form="dense"):
    """Queries of five of the ten documents of a group, as click problems are; each document is a row of X once."""
    rng = np.random.default_rng(0)
    X = FORMS[form](rng.integers(-3, 4, (80, 6)).astype(float))
    groups = np.sort(rng.integers(0, 7, 500))  # the last ten rows occur nowhere
    rows = np.concatenate([10 * group + rng.choice(10, 5, replace=False) for group in groups])
    y = np.tile([1.0, 0, 0, 0, 0], 500)
    weight = np.where(y > 0, rng.uniform(1, 5, y.size), 1.0)
    qid, names = np.repeat(np.arange(500), 5), [f"f{j}" for j in "abcdef"]
    return SharedData(X, rows, y, qid, names=names, weight=weight, groups=np.repeat(groups, 5))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_the_objective_is_that_of_copied_rows(form, loss, monkeypatch):
    monkeypatch.setattr(features, "LEAST_BLOCK", 1 << 14)  # several chunks
    shared = make(form)
    copied = shared.read()
    options = {"loss": losses.parse(loss), "C": 0.1, "n_jobs": 1}
    a, b = (building.build(X, copied.y, copied.qid, copied.weight, **options) for X in (shared, copied.X))
    w, v = np.random.default_rng(1).normal(size=(2, 6)) / 3
    here, expected = a.at(w), b.at(w)
    assert float(here.value) == pytest.approx(float(expected.value), rel=1e-12)
    found = (here.gradient, here.hessian(v), here.hessian_matrix())
    for one, other in zip(found, (expected.gradient, expected.hessian(v), expected.hessian_matrix()), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * max(np.abs(other).max(), 1))
    monkeypatch.setattr(building, "WORTH_THREADS", 0)
    again = building.build(shared, copied.y, copied.qid, copied.weight, **options | {"n_jobs": 3}).at(w)
    assert again.value == here.value
    for one, other in zip(found, (again.gradient, again.hessian(v), again.hessian_matrix()), strict=True):
        np.testing.assert_array_equal(one, other)


def test_products_take_each_different_row_once(monkeypatch):
    shared, passed = make(), SimpleNamespace(rows=0)

    def counting(kernel):
        def counted(arrays, first, last, *given):
            passed.rows += last - first
            kernel(arrays, first, last, *given)

        return counted

    for name in ("dot", "add_transposed"):
        monkeypatch.setattr(row_kernels, name, counting(getattr(row_kernels, name)))
    objective = building.build(shared, shared.y, shared.qid, shared.weight, loss=losses.squared_hinge(), C=0.1)
    expansion = objective.at(np.ones(6))
    expansion.gradient  # noqa: B018
    assert len(shared) == 2500
    assert passed.rows == 2 * 70
    expansion.hessian(np.ones(6))
    assert passed.rows == 4 * 70


@pytest.mark.parametrize("form", ["dense", "csr", "offset"])
def test_rankers_learn_what_they_learn_from_copied_rows(form):
    shared = make(form)
    copied = shared.read()
    for ranker in (RankSVM(tol=1e-10), RankSVM(loss="hinge", tol=1e-6), RankRLS(ties="exclude")):
        one, other = ranker.fit(shared).coef_.copy(), ranker.fit(copied).coef_
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6 * np.abs(other).max())
    assert ranker.feature_names_in_.tolist() == copied.names
    np.testing.assert_allclose(ranker.predict(shared), ranker.predict(copied), rtol=1e-12)
    assert ranker.score(shared) == ranker.score(copied)
    assert str(ranker.explain(shared, query=3)) == str(ranker.explain(copied, query=3))
    searches = [RankSVMCV([0.01, 0.1], 3, "mrr").fit(data).cv_values_ for data in (shared, copied)]
    np.testing.assert_allclose(*searches, rtol=1e-12)
    measured = [cross_validate(RankSVM(), data, cv=3, measures="mrr").by_fold("mrr") for data in (shared, copied)]
    np.testing.assert_allclose(*measured, rtol=1e-12)


def test_chunks_hold_their_own_rows_only():
    rows = SharedRows(make(), 1).select(slice(0, 50), 1)
    assert rows.different.n_rows == 10
    np.testing.assert_array_equal(rows.X, make().load(0, 50))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.array([0, 4])}, "rows must hold numbers of the 4 rows of X, from 0 on"),
        ({"rows": np.array([0, -1])}, "rows must hold numbers of the 4 rows of X, from 0 on"),
        ({"rows": np.array([0.0, 1.0])}, "rows must hold numbers"),
        ({"y": np.zeros(3)}, "y must have one entry for each of the 2 rows"),
        ({"weight": np.zeros((2, 1))}, "weight must have one entry for each of the 2 rows"),
        ({"X": np.array([[0.0], [np.nan], [0.0], [0.0]])}, "row 1 of X holds nan"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    columns = {"X": np.zeros((4, 1)), "rows": np.array([0, 3]), "y": np.array([0.0, 1.0]), "qid": np.zeros(2, int)}
    with pytest.raises(ValueError, match=message):
        SharedData(**columns | change)


def test_files_of_shared_rows(tmp_path):
    """A writer would write the different rows in place of those of the documents."""
    shared = replace(make(), groups=None)
    for write in (lambda: write_data(tmp_path / "a.csv", shared), lambda: write_chunks(tmp_path / "a", shared)):
        with pytest.raises(TypeError, match=r"data must be RankingData; got SharedData: give data\.read\(\)"):
            write()
    assert not list(tmp_path.iterdir())
    save_model(RankSVM().fit(shared), tmp_path / "m.json", data=shared)
    assert json.loads((tmp_path / "m.json").read_text())["data"]["queries"] == 500


def test_what_it_says():
    shared = make()
    assert repr(shared) == "SharedData(2,500 rows, 6 features, 500 queries, dense float64, 80 different rows)"
    for ranker in (ScaledRanker(RankSVM()), FactorizedRankSVM(), RankSVM(device="torch:cpu")):
        with pytest.raises(ValueError, match=r"give data\.read\(\)"):
            ranker.fit(shared)
    with pytest.raises(ValueError, match="a SharedData has labels and query ids already"):
        RankSVM().fit(shared, shared.y)
