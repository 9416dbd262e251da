"""The benchmark suite's own parts: the evaluator, every solver that is installed, fresh processes, the page."""

import stat
import sys
import tomllib
from types import SimpleNamespace

import numpy as np
import oracle
import pytest
from benchmarks import datasets, fits, process, report, solvers
from benchmarks.cases import BENCHMARKS
from benchmarks.datasets.text import Text
from benchmarks.objective import Objective
from benchmarks.run import COLUMNS, RESULTS, folder_for, write
from benchmarks.solvers.listed_pairs import count_pairs, list_pairs
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse

from rankwise import make_ranking, read_letor

LOSSES = {"squared_hinge": lambda m: max(0.0, 1 - m) ** 2, "hinge": lambda m: max(0.0, 1 - m)}


@pytest.fixture(scope="module")
def small():
    data = make_ranking(12, 10, 5, n_levels=3, random_state=0)
    return SimpleNamespace(X=data.X / data.X.std(axis=0), y=data.y, qid=data.qid)


def naive(loss, data, C, w):
    return 0.5 * w @ w + C * oracle.risk(LOSSES[loss], data.y, data.qid, None, data.X @ w)


@pytest.mark.parametrize("loss", LOSSES)
def test_evaluator_against_the_double_loop(small, loss):
    w = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    objective = Objective(small.X, small.y, small.qid, loss, 0.3)
    row = objective.evaluate_result(w)
    assert row["objective"] == pytest.approx(naive(loss, small, 0.3, w), rel=1e-12)
    slope = optimize.approx_fprime(w, lambda at: naive(loss, small, 0.3, at), 1e-7)
    assert row["gradient_norm"] == pytest.approx(np.linalg.norm(slope), rel=1e-4)
    scores = small.X @ w
    right = [(scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]) for i, j in oracle.pairs(small.y, small.qid)]
    assert row["accuracy"] == pytest.approx(np.mean(right))
    assert objective.evaluate_result(scores=scores)["ndcg10"] == row["ndcg10"]


@pytest.mark.parametrize("loss", LOSSES)
def test_gap_is_to_an_optimum_that_scipy_finds_too(small, loss):
    reference = Objective(small.X, small.y, small.qid, loss, 0.3).reference()
    better, worse = np.array(oracle.pairs(small.y, small.qid)).T
    power = 2 if loss == "squared_hinge" else 1

    def value(w):
        return 0.5 * w @ w + 0.3 * (np.maximum(0.0, 1 - (small.X[better] - small.X[worse]) @ w) ** power).sum()

    simplex = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-9, "fatol": 1e-9, "adaptive": True}
    start = np.zeros(5)
    for _ in range(3):  # a simplex may collapse too early: begin anew from where it ended
        found = optimize.minimize(value, start, method="Nelder-Mead", options=simplex)
        start = found.x
    assert reference["bound"] <= found.fun * (1 + 1e-9)
    assert reference["bound"] == pytest.approx(found.fun, rel=1e-5)
    objective = Objective(small.X, small.y, small.qid, loss, 0.3, reference["bound"])
    at_zero = naive(loss, small, 0.3, np.zeros(5))
    assert objective.evaluate_result(np.zeros(5))["gap"] == pytest.approx(1 - found.fun / at_zero, rel=1e-4)


SOLVED = [(key, loss) for key in solvers.WHERE for loss in solvers.make(key).solves]


@pytest.mark.parametrize(("key", "loss"), SOLVED, ids=str)
def test_every_solver_finds_what_it_looks_for(small, key, loss, external):
    made = solvers.make(key, liblinear=external, n_jobs=1)
    data = fitting(key, small)
    objective = Objective(data.X, data.y, data.qid, loss, 0.25)
    reason = made.skip(objective)
    if reason:
        pytest.skip(reason)
    if loss is not None:
        objective = Objective(data.X, data.y, data.qid, loss, 0.25, objective.reference()["bound"])
    made.prepare()
    made.set_objective(objective)
    made.run(made.tolerances[-1])
    row = objective.evaluate_result(**made.get_result())
    assert row["accuracy"] > 0.6
    if loss is not None and key not in ("xgboost", "lightgbm"):
        assert row["gap"] < 1e-3, "not the optimum of this objective"


def fitting(key, data):
    """Data that the solver takes: distinct labels in one query, two levels, or enough documents for a tree."""
    if key == "survival":
        made = make_ranking(1, (80, 80), 5, n_levels=None, random_state=0)
        return SimpleNamespace(X=made.X / made.X.std(axis=0), y=made.y, qid=None)
    if key == "dlib":
        return SimpleNamespace(X=data.X, y=np.minimum(data.y, 1.0), qid=data.qid)
    if key == "kernel-nystroem":
        made = make_ranking(11, 100, 5, random_state=0)
        return SimpleNamespace(X=made.X / made.X.std(axis=0), y=made.y, qid=made.qid)
    return data


@pytest.fixture(scope="module")
def external(tmp_path_factory):
    """A program with LIBLINEAR's options, -s 8 -c C -e TOL DATA MODEL: Newton's method over all pairs, written out."""
    path = tmp_path_factory.mktemp("bin") / "train"
    path.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        "import numpy as np\n"
        "_, s, kind, c, C, e, tol, data, model = sys.argv\n"
        "assert (s, kind, c, e) == ('-s', '8', '-c', '-e')\n"
        "rows = [line.split() for line in open(data)]\n"
        "X = np.zeros((len(rows), max(int(f.split(':')[0]) for row in rows for f in row[2:])))\n"
        "for x, row in zip(X, rows):\n"
        "    for f in row[2:]: x[int(f.split(':')[0]) - 1] = float(f.split(':')[1])\n"
        "D = np.array([x - z for x, a in zip(X, rows) for z, b in zip(X, rows) if a[1] == b[1] and a[0] > b[0]])\n"
        "w, C, first = np.zeros(X.shape[1]), float(C), None\n"
        "while True:\n"
        "    short = 1 - D @ w; A = D[short > 0]\n"
        "    gradient = w - 2 * C * A.T @ short[short > 0]\n"
        "    size = np.linalg.norm(gradient); first = first or size\n"
        "    if size <= float(tol) * first: break\n"
        "    w = w - np.linalg.solve(np.eye(w.size) + 2 * C * A.T @ A, gradient)\n"
        "head = f'solver_type L2R_L2LOSS_RANKSVM\\nnr_class 2\\nlabel 1 -1\\nnr_feature {w.size}\\nbias -1\\nw\\n'\n"
        "open(model, 'w').write(head + ''.join(f'{one:.17g} \\n' for one in w))\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_peer_that_cannot_do_the_work_says_why(small):
    hinge = Objective(small.X, small.y, small.qid, "hinge", 1.0)
    assert solvers.make("dlib").skip(hinge) in ("takes two levels only", solvers.Solver.advice)
    squared = Objective(small.X, small.y, small.qid, "squared_hinge", 1.0)
    assert solvers.make("liblinear", liblinear=None).skip(squared) == "no program given: --liblinear PATH"
    assert "cannot be run" in solvers.make("liblinear", liblinear="/no/such/train").skip(squared)
    n = 100_000
    large = Objective(np.zeros((n, 8)), np.arange(n), None, "squared_hinge", 1.0)
    assert solvers.make("linearsvc").skip(large) == "too many pairs: 4,999,950,000 x 8 features"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12))
def test_listed_pairs(rows):
    y, qid = np.array(rows).T
    better, worse = list_pairs(y, qid)
    assert sorted(zip(better, worse, strict=True)) == sorted(oracle.pairs(y, qid))
    assert count_pairs(y, qid) == better.size


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_stored_data_come_back(small, tmp_path, kind):
    datasets.store(SimpleNamespace(X=kind(small.X), y=small.y, qid=None), tmp_path)
    back = datasets.load(tmp_path)
    assert (kind(small.X) != back.X).sum() == 0
    assert (back.y == small.y).all()
    assert back.qid is None


def test_text_has_the_queries_asked_for(tmp_path):
    megabytes = Text(2).write(tmp_path / "text.txt")
    data = read_letor(tmp_path / "text.txt")
    assert data.X.shape == (240, 136)
    assert data.n_queries == 2
    assert megabytes == pytest.approx(240 * 1.7e-3, rel=0.05)


def test_missing_data_are_a_reason(tmp_path):
    (row,) = fits.make_data("mq2007", str(tmp_path), False, str(tmp_path))
    assert "mq2007 is not in the folder" in row["note"]


def test_a_process_that_fails_or_takes_too_long_says_so():
    with pytest.raises(process.StoppedError, match="TypeError"):
        process.fresh("json:dumps", {})
    with pytest.raises(process.StoppedError, match=r"over the time limit of 0\.01 s"):
        process.fresh("json:dumps", {}, 0.01)


def test_targets_name_what_there_is():
    for target in tomllib.loads((report.HERE / "targets.toml").read_text())["target"]:
        assert target["case"] in BENCHMARKS
        assert ("at_most" in target) != ("at_least" in target)
        assert target.get("quantity", "seconds") in ("seconds", "faster", "slower", "memory", "value")


OURS = {"solver": "rankwise RankSVM", "ours": True, "goal": 1e-6, "what": "made up, C = 1", "unit": "s"}
PEER = OURS | {"solver": "a peer", "ours": False}
HOT = {"phase": "hot", "threads": 1.5, "extra_mb": 30.0, "data_mb": 100.0}
CANNED = [
    OURS | {"phase": "cold", "value": 9.0},
    OURS | HOT | {"tol": 1e-2, "gap": 1e-4, "value": 0.1},
    OURS | HOT | {"tol": 1e-3, "gap": 1e-7, "value": 0.2},
    OURS | HOT | {"tol": 1e-4, "gap": 1e-9, "value": 0.4},
    PEER | HOT | {"tol": 1e-2, "gap": 1e-3, "value": 1.0},
    PEER | HOT | {"tol": 1e-4, "gap": 1e-5, "value": 5.0},
    OURS | {"solver": "another", "ours": False, "note": "not installed"},
    {"solver": "rankwise", "ours": True, "what": "exponent in documents", "value": 1.05, "unit": "exponent"},
    {"solver": "rankwise", "ours": True, "what": "growth with documents", "size": 10, "value": 1.0, "best": 0.9},
]
TARGETS = """
[[target]]
work = "met"
case = "canned"
at_most = 0.3
unit = "s"
[[target]]
work = "not met"
case = "canned"
quantity = "memory"
at_most = 1.2
unit = "x X"
reason = "It keeps a copy."
[[target]]
work = "ratio"
case = "canned"
quantity = "faster"
than = "a peer"
at_least = 20
unit = "x"
[[target]]
work = "exponent"
case = "canned"
quantity = "value"
what = "exponent in documents"
at_most = 1.15
unit = "exponent"
[[target]]
work = "nobody ran it"
case = "other"
at_most = 1.0
unit = "s"
[lee_lin]
canned = 77.0
"""


def test_page_from_canned_results(tmp_path):
    where = {"case": "canned", "command": "python -m benchmarks canned", "machine": "M", "cores": 2, "versions": "V"}
    write(tmp_path / "canned.csv", [dict.fromkeys(COLUMNS, "") | row | where for row in CANNED])
    (tmp_path / "targets.toml").write_text(TARGETS)
    page = report.write(tmp_path, tmp_path / "targets.toml").read_text()
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in page.splitlines() if line.startswith("| ")}
    assert "| 0.2 | a peer, 5 s (gap 1e-05) | 25 | `python -m benchmarks canned` | met |" in lines["met"]
    assert "| 1.3 |" in lines["not met"]
    assert lines["not met"].endswith("| **missed** |")
    assert "* not met: It keeps a copy." in page
    assert "| 25 | a peer" in lines["ratio"]
    assert lines["exponent"].endswith("| met |")
    assert lines["nobody ran it"].endswith("| not measured |")
    assert "| 77 |" in lines["Lee and Lin's paper (their machine, one thread)"]
    assert lines["another"].endswith("| not installed |")
    assert {path.name for path in tmp_path.glob("*.png")} == {"time_against_gap.png", "growth.png"}


@pytest.mark.slow
def test_a_benchmark_from_the_command_line(tmp_path):
    from benchmarks.run import main

    main(["million", "distinct", "--quick", "--results", str(tmp_path)])
    assert "smaller data" in (tmp_path / "README.md").read_text()
    rows = report.read(tmp_path)
    ours = [row for row in rows if row["case"] == "distinct" and row["ours"]]
    assert {row["phase"] for row in ours} == {"warm", "hot"}
    assert min(row["gap"] for row in ours if row["phase"] == "hot") < 1e-6


@pytest.mark.slow
def test_the_benchmark_of_serve(capsys):
    from benchmarks.serve import main

    main(["--quick"])
    table = capsys.readouterr().out
    assert "packed, 4 clients, 2 workers: p99" in table
    assert "malformed: wrong method" in table
    assert "get 5" not in table


def test_only_the_whole_run_renews_the_page():
    assert folder_for([], quick=False) == RESULTS
    assert folder_for([], quick=True) == RESULTS / "quick"
    assert RESULTS not in [folder_for(["loaders"], quick) for quick in (False, True)]


def test_a_problem_of_the_sweep_is_measured_by_every_solver():
    from benchmarks import sweep

    problem = next(one for one in (sweep.draw(1, number) for number in range(50)) if one.X.size < 20_000)
    rows = sweep.measure(problem, None)
    assert [row["solver"] for row in rows] == list(sweep.SOLVERS[problem.loss])
    assert all(row["seconds"] for row in rows if row["solver"] == "auto")
    assert "1 problems" in sweep.summary([{"number": 0} | row for row in rows])
