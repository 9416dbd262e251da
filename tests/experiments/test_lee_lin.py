"""Lee and Lin's experiments: the data are like theirs, paths are what the solver did, reports stand gaps."""

import numpy as np
import oracle
import pytest
from experiments import lee_lin_sparse as sparse
from experiments import registry
from experiments.lee_lin_data import LISTS, ORIGINALS, PAIRS, REAL, _imitate, count_pairs, load, scaled
from experiments.lee_lin_methods import METHODS, Case, optima
from experiments.lee_lin_paths import path, relative, seconds_to, stopping_value
from experiments.lee_lin_selection import L2, PARTIAL, SVR_L1, as_good, at, make, select
from experiments.lee_lin_table_2 import statistics
from experiments.lee_lin_table_5 import PAPER, PAPER_C, WAYS
from experiments.pages import page

from rankwise import RankSVM, evaluate

SYNTHETIC = [name for name in ORIGINALS if name not in REAL]
QUICK = "MQ2008-list*"


@pytest.mark.parametrize("name", SYNTHETIC)
def test_synthetic_sets_are_shaped_like_the_originals(name):
    train, valid, test = load(None, name, quick=True)
    original = ORIGINALS[name]
    assert train.n_features == original.features
    assert len(train) / train.n_queries == pytest.approx(original.rows / original.queries, rel=0.2)
    assert count_pairs(train) / len(train) == pytest.approx(original.pairs / original.rows, rel=0.45)
    ids = [set(one.qid) for one in (train, valid, test)]
    assert sum(map(len, ids)) == len(set.union(*ids))
    assert train.X.min() == 0
    assert train.X.max() == pytest.approx(1)


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_permutations(name):
    for part in load(None, name, quick=True):
        for query in np.unique(part.qid):
            ranks = np.sort(part.y[part.qid == query])
            assert ranks.tolist() == list(range(1, ranks.size + 1))


def test_pairs_are_counted_as_the_double_loop_does():
    train = _imitate(ORIGINALS["Yahoo set 2*"], 0.02, seed=3)[0].select(slice(120))
    assert count_pairs(train) == len(oracle.pairs(train.y, train.qid))


def test_c_is_scaled_to_the_pairs():
    train = load(None, QUICK, quick=True)[0]
    assert scaled(-3, QUICK, train) * count_pairs(train) == pytest.approx(ORIGINALS[QUICK].pairs / 8)
    assert scaled(5, "MQ2007", train) == 32


@pytest.mark.parametrize("name", sparse.SAMPLES)
def test_sparse_samples(name):
    train, test = sparse.make(name, quick=True)
    sample = sparse.SAMPLES[name]
    assert len(train) == len(test) == sample.rows // sparse.QUICK
    assert train.X.nnz / len(train) == pytest.approx(sample.stored, rel=0.02)
    assert count_pairs(train) == pytest.approx(sample.pairs / sparse.QUICK**2, rel=0.1)
    assert train.y.min() == 0
    assert train.y.max() == 1
    assert np.unique(sparse.clicks(np.arange(4.0 * sample.rows), sample)).size == sample.levels


@pytest.mark.parametrize(
    ("label", "tol"), [("rankwise", 1e-6), ("rankwise (L1)", 1e-4), ("bundle with line search (L1)", 1e-2)]
)
def test_path_ends_where_the_estimator_does(label, tol):
    method = METHODS[label]
    how = {"solver": method.solver, "scheme": method.scheme, "loss": method.loss, "tol": tol}
    found = path(None, QUICK, exponent=-14, seconds=20.0, quick=True, measured=True, **how)
    train, _, test = load(None, QUICK, quick=True)
    ranker = RankSVM(C=scaled(-14, QUICK, train), n_jobs=1, **how).fit(train.X, train.y, train.qid)
    assert found["value"][-1] == pytest.approx(ranker.result_.value, rel=1e-9)
    assert found["value"][-1] == min(found["value"])
    expected = evaluate(test.y, ranker.predict(test.X), test.qid, [PAIRS])[PAIRS]
    assert found[PAIRS][-1] == pytest.approx(expected, abs=1e-6)
    assert found["seconds"] == sorted(found["seconds"])
    assert found["value"][0] > found["value"][-1]


def test_when_a_path_is_how_far():
    found = {"seconds": [1.0, 2.0, 3.5], "value": [12.0, 10.1, 10.0], "gradient": [1.0, 1e-2, 1e-3]}
    ended, stopped = (found | {"converged": [False, False, at_last]} for at_last in (True, False))
    assert seconds_to(stopped, 10.0, 0.02) == "2.00"
    assert seconds_to(stopped, 9.0, 0.02) == "> 3.5"
    assert seconds_to(ended, 10.0, 1e-3) == "3.50"
    assert seconds_to(stopped, 10.0, 1e-3) == "> 3.5"  # its own last value is no optimum
    assert seconds_to(stopped, 9.999, 1e-3) == "3.50"  # another run's is
    assert stopping_value(found) == 10.0
    assert stopping_value(found, tol=1e-4) is None
    gaps = relative(found["value"], 10.0)
    assert gaps[:2] == pytest.approx([0.2, 0.01])
    assert np.isnan(gaps[2])


def test_each_loss_has_an_optimum_of_its_own():
    paths = {label: {"value": [9.0, place + 1.0]} for place, label in enumerate(METHODS)}
    least = optima(paths)
    assert {least[label] for label, method in METHODS.items() if method.loss == "hinge"} == {4.0}
    assert least["rankwise"] == 1.0


def test_as_good_names_the_flat_part():
    validation = {str(exponent): {"m": value} for exponent, value in ((-5, 0.5), (0, 0.599), (5, 0.6), (10, 0.4))}
    assert as_good(validation, "m") == "0 … 5"
    assert as_good(validation, "m", tolerance=0.0) == "5"


def test_selection_takes_the_best_of_the_validation_set():
    found = select(None, QUICK, L2, quick=True)
    best = max(found["validation"], key=lambda exponent: found["validation"][exponent][PAIRS])
    assert found["chosen"][PAIRS]["log2 C"] == best
    assert 0.75 < found["chosen"][PAIRS][PAIRS] < 0.95
    assert make(PARTIAL, QUICK).scope == "adjacent"
    assert make(SVR_L1, QUICK).epsilon == 0


@pytest.mark.parametrize("name", [one for one in registry.names() if one.startswith("lee_lin_figure")])
def test_figures_are_drawn_from_paths_and_without_late_ones(name):
    module = registry.load(name)
    columns = {"seconds": [0.1, 0.2], "value": [3.0, 2.0], "gradient": [1.0, 1e-4], "converged": [False, True]}
    measures = {one: [0.5, 0.7] for one in (PAIRS, "mean-ndcg:letor", "ndcg@10:yahoo")}
    units = module.units(quick=False)
    found = {unit.name: columns | (measures if unit.options.get("measured") else {}) for unit in units}
    found[units[0].name] = None
    report = module.report(found)
    assert report.picture is not None
    assert "| rankwise |" in page(name, module.TITLE, report)
    assert len(report.rows) == 2 * (len(found) - 1)


def test_case_names_its_units_as_it_finds_them():
    case = Case("MQ2008", 7, 8)
    units = case.units(seconds=1.0, quick=True)
    assert list(case.paths({unit.name: {} for unit in units})) == list(METHODS)
    assert {unit.options["exponent"] for unit in units if unit.options["loss"] == "hinge"} == {8}


@pytest.mark.parametrize("name", REAL)
def test_real_sets_have_the_papers_statistics(letor_data, name):
    found = statistics(letor_data, name, quick=False)
    original = ORIGINALS[name]
    assert [found[key] for key in ("rows", "features", "levels", "queries", "pairs")] == [
        getattr(original, key) for key in ("rows", "features", "levels", "queries", "pairs")
    ]


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("place", [0, 1])
def test_table_5_at_the_papers_c(letor_data, name, place):
    one = (PAIRS, "mean-ndcg:letor")[place]
    for way in ("rankwise's own", "optimum"):
        found = at(letor_data, name, PAPER_C[name][place], **WAYS[way])
        assert found[one] == pytest.approx(PAPER[name][place][0], abs=0.005)
