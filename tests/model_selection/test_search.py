"""The driver of folds and paths: the same choice on every engine, early stopping, what is known already, progress."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from rankwise import RankRLS, RankRLSCV, RankSVM, RankSVMCV, load_sample, make_ranking, open_chunks, write_chunks
from rankwise.foundation.devices import to_host
from rankwise.metrics import parse
from rankwise.model_selection import QueryKFold, cross_validate
from rankwise.model_selection import search as driver
from rankwise.model_selection.choice import passed_its_best
from rankwise.model_selection.folds import Documents, RefitFold
from rankwise.model_selection.search import Judged, Workers, search

DATA = make_ranking(n_queries=30, docs_per_query=10, n_features=5, random_state=1)
CS = np.array([0.1, 0.001, 10.0, 0.01])
FOLDS = QueryKFold(3, shuffle=True, random_state=2)
SAMPLE = load_sample()


def dense(_, **options):
    return RankSVMCV(CS, FOLDS, **options).fit(DATA.X, DATA.y, DATA.qid)


def csr(_, **options):
    return RankSVMCV(CS, FOLDS, **options).fit(sparse.csr_array(DATA.X), DATA.y, DATA.qid)


def disk(tmp_path, **options):
    write_chunks(tmp_path / "chunks", DATA, chunk_bytes=2000)
    return RankSVMCV(CS, FOLDS, **options).fit(open_chunks(tmp_path / "chunks"))


def moved_to_torch(_, ranker=None, **options):
    pytest.importorskip("torch")
    ranker = clone(ranker or RankSVM()).set_params(device="torch:cpu")
    model = RankSVMCV(CS, FOLDS, ranker=ranker, **options).fit(DATA.X, DATA.y, DATA.qid)
    assert isinstance(model.coef_, np.ndarray)
    return model


def torch_arrays(_, **options):
    torch = pytest.importorskip("torch")
    model = RankSVMCV(CS, FOLDS, **options).fit(torch.as_tensor(DATA.X), torch.as_tensor(DATA.y), DATA.qid)
    assert isinstance(model.coef_, torch.Tensor)
    return model


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def torch_csr(_, **options):
    torch = pytest.importorskip("torch")
    rows = torch.as_tensor(DATA.X).to_sparse_csr()
    return RankSVMCV(CS, FOLDS, **options).fit(rows, torch.as_tensor(DATA.y), DATA.qid)


def cluster(_, **options):
    da, distributed = pytest.importorskip("dask.array"), pytest.importorskip("distributed")
    from rankwise.distributed import DaskRankSVMCV

    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        model = DaskRankSVMCV(CS, FOLDS, **options)
        model.client = client
        given = (da.from_array(one, chunks=(100, *one.shape[1:])) for one in (DATA.X, DATA.y, DATA.qid))
        return model.fit(*given)


@pytest.fixture(scope="module")
def expected():
    """A ranker fitted alone for every fold and C."""
    values = np.empty((3, CS.size))
    for j, C in enumerate(CS):
        values[:, j] = cross_validate(RankSVM(C=C), DATA.X, DATA.y, DATA.qid, cv=FOLDS).by_fold("ndcg@10")
    return values


@pytest.mark.parametrize("engine", [dense, csr, disk, moved_to_torch, torch_arrays, torch_csr, cluster])
@pytest.mark.filterwarnings("ignore:C = ", "ignore:.*queries are in several partitions", "ignore:Sparse")
def test_every_engine_finds_the_same(engine, tmp_path, expected):
    model = engine(tmp_path)
    np.testing.assert_allclose(model.cv_values_, expected, atol=2e-3)
    assert CS[np.argmax(expected.mean(axis=0))] == model.C_
    alone = RankSVM(C=model.C_).fit(DATA.X, DATA.y, DATA.qid)
    np.testing.assert_allclose(to_host(model.coef_), alone.coef_, rtol=0.02, atol=1e-3)
    assert model.best_ranker_.C == model.C_
    assert model.n_features_in_ == 5


@pytest.mark.parametrize("engine", [moved_to_torch, cluster])
@pytest.mark.filterwarnings("ignore:C = ", "ignore:.*queries are in several partitions")
def test_every_engine_takes_penalties(engine, tmp_path):
    options = {"l1_ratio": [0.0, 0.9], "ranker": RankSVM(monotonic_cst=[0, -1, 0, 0, 1])}
    expected, model = dense(None, **options), engine(tmp_path, **options)
    np.testing.assert_allclose(model.cv_values_, expected.cv_values_, atol=1e-3)
    assert (model.C_, model.l1_ratio_) == (expected.C_, expected.l1_ratio_)
    np.testing.assert_allclose(to_host(model.coef_), expected.coef_, rtol=1e-6, atol=1e-9)
    if engine is cluster:
        assert model.to_local().l1_ratio_ == expected.l1_ratio_


def folds_of(ranker, parameter):
    documents = Documents(DATA.X, DATA.y, DATA.qid)
    halves = [lambda split=split: documents.halves(split) for split in documents.splits(FOLDS)]
    return [RefitFold(one, ranker, parameter, parse("ndcg@10")) for one in halves]


def test_any_ranker_with_a_strength(expected):
    table = search(folds_of(RankSVM(), "C"), CS, np.argsort(CS))
    np.testing.assert_allclose(table.values, expected, atol=1e-12)
    assert (table.seconds > 0).all()


class Curve:
    """A fold whose score is known for every strength; it counts what is computed."""

    def __init__(self, scores, weights=True):
        self.scores, self.weights, self.starts = dict(scores), weights, []

    def path(self, strengths, start):
        self.starts.append((strengths[0], start))
        for strength in strengths:
            yield Judged(self.scores[strength], 0.01, np.full(2, strength) if self.weights else None)


STRENGTHS = np.arange(1.0, 13.0)
RISE_AND_FALL = np.array([0.3, 0.4, 0.5, 0.49, 0.45, 0.44, 0.43, 0.42, 0.41, 0.4, 0.39, 0.38])


def curves(values=RISE_AND_FALL, n=3):
    return [Curve(zip(STRENGTHS, values + 0.001 * k * np.arange(values.size), strict=True)) for k in range(n)]


def test_a_path_ends_once_the_measure_has_clearly_passed_its_best():
    table = search(curves(), STRENGTHS, np.arange(12))
    done = ~np.isnan(table.values[0])
    assert done.tolist() == [True] * 7 + [False] * 5  # four in a row from the fourth on
    assert (np.isnan(table.values) == ~done).all()
    full = search(curves(), STRENGTHS, np.arange(12), early_stopping=False)
    assert not np.isnan(full.values).any()
    assert np.nanargmax(table.values.mean(axis=0)) == np.argmax(full.values.mean(axis=0)) == 2


@pytest.mark.parametrize(
    ("values", "errors", "passed"),
    [
        ([[0.5, 0.4, 0.4, 0.4, 0.4]], 0.05, True),
        ([[0.5, 0.4, 0.4, 0.4, 0.4]], 0.09, False),  # one fold: within 1.28 standard errors of the best
        ([[0.5, 0.4, 0.4, 0.4, 0.4]], 0.0, False),  # and no error known
        ([[0.5, 0.4, 0.4, 0.4, 0.4], [0.7, 0.61, 0.61, 0.61, 0.61]], 0.05, True),
        ([[0.5, 0.4, 0.4, 0.4, 0.4], [0.7, 0.7, 0.7, 0.7, 0.7]], 0.05, False),  # the folds disagree
        ([[0.5, 0.4, 0.4, 0.5, 0.4], [0.7, 0.61, 0.61, 0.7, 0.61]], 0.05, False),  # not in a row
        ([[0.5, 0.4, 0.4, 0.4]], 0.01, False),  # too few
        ([[0.5, 0.4, 0.4, 0.4, 0.4], [np.nan] * 5], 0.05, True),  # a fold in which no query counts
        ([[np.nan] * 5], 0.05, False),
    ],
)
def test_what_is_clearly_past_its_best(values, errors, passed):
    assert passed_its_best(np.array(values), np.full(np.shape(values), errors)) is passed


@pytest.mark.parametrize("workers", [Workers(), Workers(2), Workers(all_held=False)])
@pytest.mark.parametrize("known", [0, 1, 4, 7, 20])
def test_what_is_known_is_not_computed_again(known, workers):
    whole = search(curves(), STRENGTHS, np.arange(12), workers=workers)
    cells = sorted(whole.known, key=lambda cell: cell[::-1])[:known]
    before = {(k, j): (Judged(whole.values[k, j], 0.01, whole.coefs[k, j]), 1.0) for k, j in cells}
    folds, seen = curves(), []
    table = search(folds, STRENGTHS, np.arange(12), workers=workers, known=before, observer=seen.append)
    np.testing.assert_array_equal(table.values, whole.values)
    assert {(cell.fold, cell.place) for cell in seen} == whole.known - set(cells)
    for fold, curve in enumerate(folds):
        for strength, start in curve.starts:  # from the weights at the strength before
            place = int(strength) - 1
            assert start is None if not place else (start == place).all(), fold


def test_rows_of_one_fold_at_a_time(monkeypatch):
    """Folds that are too large to be held together take turns; the choice is the same."""
    grid = 2.0 ** np.arange(-12, 4)
    held = RankSVMCV(grid, FOLDS).fit(DATA.X, DATA.y, DATA.qid)
    monkeypatch.setattr(driver, "SIDE_BY_SIDE", 0)
    turns = RankSVMCV(grid, FOLDS).fit(DATA.X, DATA.y, DATA.qid)
    assert turns.C_ == held.C_
    both = ~np.isnan(held.cv_values_) & ~np.isnan(turns.cv_values_)
    assert both.sum() >= 15
    np.testing.assert_allclose(turns.cv_values_[both], held.cv_values_[both], atol=5e-3)


@pytest.mark.parametrize("rule", ["best", "one-se"])
@pytest.mark.parametrize("measure", ["ndcg@10", "map", "pairwise-accuracy"])
def test_early_stopping_does_not_change_the_choice(measure, rule):
    stopped, full = (
        RankSVMCV(measure=measure, rule=rule, early_stopping=early).fit(SAMPLE.X, SAMPLE.y, SAMPLE.qid)
        for early in (True, False)
    )
    assert stopped.C_ == full.C_
    np.testing.assert_array_equal(stopped.coef_, full.coef_)
    done = ~np.isnan(stopped.scores_)
    np.testing.assert_array_equal(stopped.scores_[done], full.scores_[done])
    assert not np.isnan(full.cv_values_).any()


def test_progress_is_one_line_per_strength(capsys):
    RankSVMCV([0.01, 0.1], cv=3, verbose=1).fit(DATA.X, DATA.y, DATA.qid)
    lines = capsys.readouterr().err.splitlines()
    for C, line in zip(("0.01", "0.1"), lines, strict=True):
        assert re.fullmatch(rf"C = {C} +ndcg@10 0\.\d{{4}} ± 0\.\d{{4}}   3 folds, \d+\.\d\d s", line)
    RankRLSCV([1.0, 10.0, 100.0], cv=2).fit(DATA.X, DATA.y, DATA.qid)
    assert capsys.readouterr().err == ""


def test_progress_says_what_was_left_out(capsys, monkeypatch):
    monkeypatch.setattr("rankwise.estimators.ranksvm_cv.path_fold", lambda *_: Curve(zip(STRENGTHS, RISE_AND_FALL)))  # noqa: B905
    with pytest.raises(ValueError, match="warm_start"):  # the weights of a Curve are of two features
        RankSVMCV(STRENGTHS, cv=3, verbose=1).fit(DATA.X, DATA.y, DATA.qid)
    assert capsys.readouterr().err.splitlines()[-1] == "ndcg@10 has passed its best: 5 of 12 Cs skipped"


@pytest.mark.parametrize("options", [{"solver": "cg"}, {"device": "torch:cpu"}, {"ties": "exclude"}], ids=str)
def test_rankrls_by_folds(options):
    if "device" in options:
        pytest.importorskip("torch")
    alphas = [1.0, 100.0, 10_000.0]
    model = RankRLSCV(alphas, FOLDS, "ndcg@10", ranker=RankRLS(**options)).fit(DATA.X, DATA.y, DATA.qid)
    for j, alpha in enumerate(alphas):
        alone = cross_validate(RankRLS(alpha, ties=model.best_ranker_.ties), DATA.X, DATA.y, DATA.qid, cv=FOLDS)
        np.testing.assert_allclose(model.cv_values_[:, j], alone.by_fold("ndcg@10"), atol=1e-6)
    assert model.alpha_ == alphas[int(np.argmax(model.scores_))]
    exact = RankRLS(model.alpha_, ties=model.best_ranker_.ties).fit(DATA.X, DATA.y, DATA.qid)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-5)


def test_both_tell_the_same():
    """One shape: the same parameters of the choice, the same attributes."""
    svm = RankSVMCV([0.01, 0.1], cv=3).fit(DATA.X, DATA.y, DATA.qid)
    shared = set(svm.get_params(deep=False)) - {"Cs", "l1_ratio"}
    for cv in (None, 3):
        rls = RankRLSCV([1.0, 10.0], cv=cv).fit(DATA.X, DATA.y, DATA.qid)
        assert shared <= set(rls.get_params(deep=False))
        names = {
            name.replace("C", "alpha", 1) if name in ("C_", "Cs_") else name for name in vars(svm) if name[-1] == "_"
        }
        assert names - {"l1_ratio_", "l1_ratios_"} <= set(vars(rls))
        assert rls.best_ranker_.alpha == rls.alpha_
        assert set(rls.cv_results_) >= {"param_alpha", "mean_test_score", "std_test_score", "rank_test_score"}
        np.testing.assert_allclose(rls.best_ranker_.predict(DATA.X), rls.predict(DATA.X))


def test_options_of_the_ranker_by_the_old_parameters():
    with pytest.warns(DeprecationWarning, match=r"give ranker=RankRLS\(ties='exclude', solver='dual'\)"):
        old = RankRLSCV([1.0, 10.0], ties="exclude", solver="dual").fit(DATA.X, DATA.y, DATA.qid)
    new = RankRLSCV([1.0, 10.0], ranker=RankRLS(ties="exclude", solver="dual")).fit(DATA.X, DATA.y, DATA.qid)
    np.testing.assert_array_equal(old.coef_, new.coef_)


def test_exact_formulas_are_for_numpy():
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="needs arrays of NumPy: cv=5 chooses by folds instead"):
        RankRLSCV().fit(torch.as_tensor(DATA.X), torch.as_tensor(DATA.y), DATA.qid)


def test_one_se_of_queries_left_out():
    """The largest alpha within one standard error, over queries, of the best."""
    options = {"measure": "ndcg@10"}
    best, careful = (RankRLSCV(rule=rule, **options).fit(SAMPLE.X, SAMPLE.y, SAMPLE.qid) for rule in ("best", "one-se"))
    place = int(np.argmax(best.scores_))
    values = best.cv_values_[:, place]
    error = np.nanstd(values, ddof=1) / np.sqrt(np.count_nonzero(~np.isnan(values)))
    assert careful.alpha_ == best.alphas_[best.scores_ >= best.scores_[place] - error].max() >= best.alpha_


def test_a_number_on_disk_that_is_none(tmp_path, monkeypatch):
    """It is named, as by RankSVM, once it has spoilt the objective."""
    write_chunks(tmp_path / "chunks", DATA)
    data = open_chunks(tmp_path / "chunks")
    rows = type(data).rows
    monkeypatch.setattr(type(data), "rows", lambda self, low, high: rows(self, low, high) * np.nan)
    with pytest.raises(ValueError, match="chunks"):
        RankSVMCV(CS, FOLDS).fit(data)
