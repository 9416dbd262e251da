"""The benchmark suite's own parts: the evaluator, every solver that is installed, fresh processes, the page."""

import csv
import json
import lzma
import stat
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import numpy as np
import oracle
import pytest
from benchmarks import datasets, fits, process, report, run, solvers, sweep, where
from benchmarks.cases import BENCHMARKS
from benchmarks.datasets.synthetic import Plain, Scaled, Sparse, WebSearch
from benchmarks.datasets.text import Text
from benchmarks.measures import commands, penalties, selection, threads
from benchmarks.objective import Objective
from benchmarks.run import COLUMNS, RESULTS, folder_for, write
from benchmarks.solvers.liblinear import PROGRAM
from benchmarks.solvers.listed_pairs import count_pairs, list_pairs
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse

from rankwise import RankSVM, make_ranking, read_letor
from rankwise.metrics import evaluate

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
    first = np.flatnonzero(small.qid <= 6)
    test = SimpleNamespace(X=small.X[first], y=small.y[first], qid=small.qid[first])
    objective = Objective(small.X, small.y, small.qid, loss, 0.3, test=test)
    row = objective.evaluate_result(w)
    assert row["objective"] == pytest.approx(naive(loss, small, 0.3, w), rel=1e-12)
    slope = optimize.approx_fprime(w, lambda at: naive(loss, small, 0.3, at), 1e-7)
    assert row["gradient_norm"] == pytest.approx(np.linalg.norm(slope), rel=1e-4)
    scores = small.X @ w
    right = [(scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]) for i, j in oracle.pairs(small.y, small.qid)]
    assert row["accuracy"] == pytest.approx(np.mean(right))
    assert row["test_ndcg10"] == evaluate(test.y, test.X @ w, test.qid, "ndcg@10")["ndcg@10"]
    by_scores = objective.evaluate_result(scores=scores, test_scores=scores[first])
    assert {name: row[name] for name in by_scores} == by_scores
    assert "test_ndcg10" not in Objective(small.X, small.y, small.qid, loss, 0.3).evaluate_result(w)


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
    result = made.get_result()
    row = objective.evaluate_result(**({"scores": result["predict"](data.X)} if "predict" in result else result))
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
    assert datasets.load_test(tmp_path) is None


@pytest.mark.parametrize(
    "dataset", [Plain(200, 3), Sparse(60, 50, 5, 10), WebSearch(12), Scaled(2)], ids=lambda one: one.name
)
def test_synthetic_data_have_other_queries_for_a_test(dataset, tmp_path):
    data = dataset.get_data(None)
    datasets.store(data, tmp_path)
    test = datasets.load_test(tmp_path)
    assert (test.X != data.test.X).sum() == 0
    assert not set(test.qid) & set(data.qid)
    assert np.unique(test.qid).size == 10
    expected = getattr(dataset, "n_documents", 0) or dataset.n_queries * 100
    assert len(data.y) == expected or isinstance(dataset, WebSearch)
    assert data.X.shape[0] == len(data.y)


def test_text_has_the_queries_asked_for(tmp_path):
    megabytes = Text(2).write(tmp_path / "text.txt")
    data = read_letor(tmp_path / "text.txt")
    assert data.X.shape == (240, 136)
    assert data.n_queries == 2
    assert megabytes == pytest.approx(240 * 1.7e-3, rel=0.05)


def test_text_of_several_blocks_ends_in_part_of_one(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.datasets.text.BLOCK_QUERIES", 2)
    Text(5).write(tmp_path / "text.txt")
    data = read_letor(tmp_path / "text.txt", dense=True)
    assert data.X.shape[0] == 5 * 120
    assert data.n_queries == 5
    assert (data.X[:120] == data.X[-120:]).all()


def test_a_pipe_is_read_while_it_is_written(tmp_path):
    (tmp_path / "text.txt").write_text("line\n" * 100_000)
    program = (
        "import sys, time\nfor n, line in enumerate(sys.stdin):\n    print(n, flush=n == 0)\n    n or time.sleep(0.5)\n"
    )
    first, total, peak = commands._piped(
        [sys.executable, "-c", program + "print(7.5, file=sys.stderr)"], tmp_path / "text.txt"
    )
    assert first < total - 0.4
    assert peak == 7.5


def test_auto_and_newton_are_compared_on_one_problem():
    data = selection.heavy_tailed(100, 5, 10)
    assert np.unique(data.qid).size == 10
    assert data.X.std(axis=0).max() > 10 * data.X.std(axis=0).min()
    ratio, above = selection._compared(data, 1.0, 1)
    assert ratio > 0
    assert abs(above) < 1e-3


def test_a_fit_is_timed_with_as_many_threads_as_there_are_cores(tmp_path, monkeypatch):
    monkeypatch.setattr("rankwise.foundation.threads.thread_count", lambda n_jobs=None: n_jobs or 2)
    datasets.store(WebSearch(12).get_data(None), tmp_path)
    rows = list(threads.threads(str(tmp_path), quick=True))
    assert [row["what"] for row in rows] == ["one fit, 1 thread", "one fit, 2 threads"]
    assert all(row["value"] > 0 for row in rows)


def test_missing_data_are_a_reason(tmp_path):
    (row,) = fits.make_data("mq2007", str(tmp_path), False, str(tmp_path))
    assert "mq2007 is not in the folder" in row["note"]


def test_a_named_benchmark_without_its_data_fails_and_others_are_written(tmp_path, capsys, monkeypatch):
    def rows_of(case, options, tell):
        return [{"what": "MQ2007", "note": "no data"}] if case.name == "mq2007" else [{"solver": "ours", "value": 1.0}]

    monkeypatch.setattr(run, "rows_of", rows_of)
    monkeypatch.setattr(report, "write", lambda folder: folder)
    monkeypatch.setattr(run, "BENCHMARKS", {name: run.BENCHMARKS[name] for name in ("mq2007", "small")})
    assert run.main(["mq2007", "small", "--results", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "mq2007 was not measured: no data\n"
    assert [row["value"] for row in report.read(tmp_path) if row["case"] == "small"] == [1.0]
    assert run.main(["small", "--results", str(tmp_path)]) == 0
    assert not capsys.readouterr().err
    assert run.main(["--results", str(tmp_path)]) == 0
    assert capsys.readouterr().err == "mq2007 was not measured: no data\n"


def test_real_data_are_tested_on_the_test_part_of_fold_1(tmp_path):
    (tmp_path / "mq2008").mkdir()
    for part in (1, 2, 3, 5):
        with lzma.open(tmp_path / "mq2008" / f"S{part}.txt.xz", "wt") as file:
            file.write(f"2 qid:{part} 1:0.5 2:1\n0 qid:{part} 1:1\n")
    (row,) = fits.make_data("two-levels-hinge", str(tmp_path / "stored"), False, str(tmp_path))
    assert "note" not in row
    assert set(datasets.load(tmp_path / "stored").qid) == {1, 2, 3}
    test = datasets.load_test(tmp_path / "stored")
    assert test.qid.tolist() == [5, 5]
    assert test.y.tolist() == [1, 0]


def test_a_process_that_fails_or_takes_too_long_says_so():
    with pytest.raises(process.StoppedError, match="TypeError"):
        process.fresh("json:dumps", {})
    with pytest.raises(process.StoppedError, match=r"over the time limit of 0\.01 s"):
        process.fresh("json:dumps", {}, 0.01)


def test_the_limit_ends_the_programs_of_a_process_and_keeps_its_rows(tmp_path):
    (tmp_path / "slow_peer.py").write_text(
        "import subprocess\n"
        "def times(pid):\n"
        "    program = subprocess.Popen(['sleep', '600'])\n"
        "    open(pid, 'w').write(str(program.pid))\n"
        "    yield {'tol': 0.1}\n"
        "    program.wait()\n"
    )
    pid = tmp_path / "pid"
    with pytest.raises(process.StoppedError, match="over the time limit of 3 s") as stop:
        process.fresh("slow_peer:times", {"pid": str(pid)}, 3.0, PYTHONPATH=str(tmp_path))
    assert stop.value.rows == [{"tol": 0.1}]
    state = subprocess.run(["ps", "-o", "stat=", "-p", pid.read_text()], capture_output=True, text=True).stdout
    assert state.strip()[:1] in ("", "Z"), "the program goes on"


def test_a_solver_over_its_limit_leaves_what_it_had(small, tmp_path, monkeypatch):
    data = SimpleNamespace(**vars(small), test=small)
    datasets.store(data, tmp_path)
    (tmp_path / "reference.json").write_text(json.dumps({"bound": 0.0}))
    np.savez(tmp_path / "kept.npz", w=np.ones(5))
    had = [{"phase": "warm", "value": 2.0}, {"phase": "hot", "value": 1.0, "result": str(tmp_path / "kept.npz")}]

    def fresh(target, arguments, limit, **environment):
        if target == "benchmarks.fits:times":
            raise process.StoppedError("over the time limit of 9 s", had)
        return list(fits.evaluated(**arguments))

    monkeypatch.setattr(run, "fresh", fresh)
    given = {"case": "mq2008", "folder": str(tmp_path), "solver": "linearsvc", "options": {}}
    warm, hot, note = run._solved(given, quick=True, limit=9.0)
    assert warm["solver"] == hot["solver"] == note["solver"] == "LinearSVC on all pairs"
    assert 0 < hot["test_ndcg10"] < 1
    assert hot["gap"] == 1.0
    assert note["note"] == "over the time limit of 9 s"


def test_targets_name_what_there_is():
    for target in tomllib.loads((report.HERE / "targets.toml").read_text())["target"]:
        assert target["case"] in BENCHMARKS
        assert ("at_most" in target) != ("at_least" in target)
        assert target.get("quantity", "seconds") in ("seconds", "faster", "slower", "memory", "value")


OURS = {"solver": "rankwise RankSVM", "ours": True, "goal": 1e-6, "what": "synthetic, C = 1", "unit": "s"}
PEER = OURS | {"solver": "a peer", "ours": False}
HOT = {"phase": "hot", "threads": 1.5, "extra_mb": 30.0, "data_mb": 100.0}
CANNED = [
    OURS | {"phase": "cold", "value": 9.0},
    OURS | HOT | {"tol": 1e-2, "gap": 1e-4, "value": 0.1},
    OURS | HOT | {"tol": 1e-3, "gap": 1e-7, "value": 0.2, "test_ndcg10": 0.75},
    OURS | HOT | {"tol": 1e-4, "gap": 1e-9, "value": 0.4},
    PEER | HOT | {"tol": 1e-2, "gap": 1e-3, "value": 1.0},
    PEER | HOT | {"tol": 1e-4, "gap": 1e-5, "value": 5.0},
    OURS | {"solver": "another", "ours": False, "note": "over the time limit of 900 s"},
    {"solver": "rankwise", "ours": True, "what": "the same file", "value": 2.0, "unit": "s"},
    {"solver": "a program", "ours": False, "what": "the same file", "value": 5.0, "unit": "s"},
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
work = "looser"
case = "canned"
gap = 1e-3
at_most = 0.3
unit = "s"
[[target]]
work = "no peer"
case = "canned"
quantity = "faster"
than = "another"
at_least = 2
unit = "x"
[[target]]
work = "a file"
case = "canned"
quantity = "value"
what = "the same file"
at_most = 3
unit = "s"
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
    assert lines["another"].endswith("| over the time limit of 900 s |")
    assert "| 0.1 | a peer, 1 s (gap 1e-03) | 10 |" in lines["looser"]
    assert lines["no peer"].endswith("| not measured; another: over the time limit of 900 s |")
    assert "| 2 | a program, 5 s | 2.5 |" in lines["a file"]
    assert "| test ndcg@10 |" in page
    assert "| 0.75 | 30 | 1.5 |" in lines["rankwise RankSVM"]
    assert {path.name for path in tmp_path.glob("*.png")} == {"time_against_gap.png", "growth.png"}


def test_tables_of_several_runs_become_one_page(tmp_path):
    for case, commit in (("one", "a"), ("two", "b")):
        where = {"case": case, "command": "", "machine": "M", "cores": 2, "versions": f"commit {commit}"}
        write(tmp_path / f"{case}.csv", [dict.fromkeys(COLUMNS, "") | row | where for row in CANNED])
    table = (tmp_path / "two.csv").read_text()
    (tmp_path / "two.csv").write_text(table.replace("test_ndcg10", "ndcg10"))  # an older table, of training data
    page = report.write(tmp_path).read_text()
    assert "Measured on M, 2 cores; commit a: one.\n\nMeasured on M, 2 cores; commit b: two." in page
    one, two = (page.split(f"### {case}\n")[1].split("##")[0] for case in ("one", "two"))
    assert "| 0.75 |" in one
    assert "| 0.75 |" not in two


def test_penalties_are_compared_with_the_fit_without(small):
    rows = list(penalties.compared(small, "squared_hinge", 0.1, 1))
    assert [row["what"].split(",")[0] for row in rows] == list(penalties.options_for(np.ones(5)))
    assert all(row["value"] > 0 and "not converge" not in row["note"] for row in rows)
    kept = {row["what"].split(",")[0]: int(row["note"].split()[0]) for row in rows}
    assert kept["signs that hold anyway"] == 5


@pytest.mark.slow
@pytest.mark.parametrize(("l1_ratio", "positive"), [(1.0, False), (0.5, False), (0.0, True)])
def test_skglm_on_listed_pairs_finds_the_same_weights(small, l1_ratio, positive):
    pytest.importorskip("skglm")
    from benchmarks.solvers.skglm_pairs import solve

    better, worse = list_pairs(small.y, small.qid)
    theirs = solve(np.asfortranarray(small.X[better] - small.X[worse]), 0.02, l1_ratio, positive, 1e-10)
    signs = np.ones(5, int) if positive else None
    ours = RankSVM(C=0.02, l1_ratio=l1_ratio, monotonic_cst=signs, tol=1e-12).fit(small.X, small.y, small.qid).coef_
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert 0 < (theirs != 0).sum() < 5 or l1_ratio == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("case", ["selection", "train-text", "predict", "loaders", "penalties"])
def test_a_measure_has_the_rows_that_targets_name(case, tmp_path):
    run.main([case, "--quick", "--results", str(tmp_path)])
    rows = report.read(tmp_path)
    for target in tomllib.loads((report.HERE / "targets.toml").read_text())["target"]:
        if target["case"] == case and (PROGRAM.exists() or "LIBLINEAR" not in target["what"]):
            value, row = report.measured(rows, target)
            assert value > 0
            assert row["unit"] == target["unit"]


@pytest.mark.slow
def test_a_benchmark_from_the_command_line(tmp_path):
    run.main(["million", "distinct", "--quick", "--results", str(tmp_path)])
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


@pytest.mark.parametrize("loss", sweep.SOLVERS)
def test_a_problem_of_the_sweep_is_measured_by_every_solver(loss, small, monkeypatch):
    monkeypatch.setattr(sweep, "ENOUGH", 0.0)
    problem = sweep.Problem("small", small.X, small.y, small.qid, loss, 0.1, 1e-4)
    rows = sweep.measure(problem, None)
    assert [row["solver"] for row in rows] == [*sweep.SOLVERS[loss], *[sweep.SQUARED] * (loss == "hinge")]
    assert all(row["seconds"] for row in rows if row["solver"] in ("auto", sweep.SQUARED))
    assert "1 problems" in sweep.summary([{"number": 0} | row for row in rows])


@pytest.mark.parametrize(
    ("law", "good", "n_bad", "bad"),
    [
        (sweep.BEHIND, 1.0, 60, 1.2),  # each breaks one bound: that of the median,
        (sweep.BEHIND, 1.0, 10, 2.0),  # of 95 %,
        (sweep.BEHIND, 1.0, 1, 4.0),  # of the worst
        (sweep.AHEAD, 6.0, 60, 2.0),
        (sweep.AHEAD, 6.0, 1, 0.5),
        (sweep.HINGE, 4.0, 1, 6.0),
    ],
)
def test_a_law_holds_or_is_missed(law, good, n_bad, bad):
    assert sweep._judged(law, [good] * 100).endswith("| met |")
    assert sweep._judged(law, [good] * (100 - n_bad) + [bad] * n_bad).endswith("| **missed** |")
    assert sweep._judged(law, []).endswith("| not measured |")


def test_a_drawn_problem_is_the_same_again(monkeypatch):
    monkeypatch.setattr(sweep, "MOST_VALUES", 2_000)
    for number in range(20):
        problem, again = (sweep.draw(1, number) for _ in range(2))
        assert (problem.X != again.X).sum() == 0
        assert (problem.name, problem.C) == (again.name, again.C)
        assert problem.X.shape[0] == problem.y.size == problem.qid.size >= 100
        assert problem.goal in sweep.GOALS[problem.loss]


def test_the_page_shows_the_sweep(tmp_path):
    known = {"seed": 7, "problem": "p", "loss": "hinge", "C": "1", "goal": 1e-4, "gap": "1e-5", "tol": 1e-3, "note": ""}
    known |= {"commit": "1234567", "machine": "a machine"}
    times = {
        "auto": (3.0, 1.0, ""),
        "bundle": (1.5, 2.0, 4.0),
        "liblinear": (12.0, "", ""),
        sweep.SQUARED: (1.0, 1.0, 1.0),
    }
    with open(tmp_path / "sweep.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, sweep.COLUMNS)
        writer.writeheader()
        for number in range(3):
            writer.writerows(
                known | {"number": number, "solver": solver, "seconds": s[number]} for solver, s in times.items()
            )
    page = report.write(tmp_path).read_text()
    assert "`python -m benchmarks.sweep --seed 7`: 3 problems; auto missed the gap in 1." in page
    assert page.endswith("Measured on a machine; commit 1234567: sweep.\n")
    assert "| auto / best solver | 1 | 1.05 | 1.5 | 1.95 | 2 |" in page
    assert "| LIBLINEAR / auto | 4 | 4 | 4 | 4 | 4 |" in page
    assert "| hinge / squared hinge | 1 | 1.1 | 2 | 2.9 | 3 |" in page
    assert "* 2, 0: p, hinge, C 1, goal 0.0001: 3 s, bundle 1.5 s" in page
    assert "* 2: p, hinge, C 1, goal 0.0001: ended at 1e-5" in page


def test_a_row_takes_the_place_of_the_one_with_its_key(tmp_path):
    path = tmp_path / "scale" / "engines.csv"
    where.keep(path, {"engine": "one", "cores": 1}, {"seconds": 3.0})
    where.keep(path, {"engine": "one", "cores": 2}, {"seconds": 2.0, "machine": "a GPU"})
    where.keep(path, {"engine": "one", "cores": 1}, {"seconds": 1.0, "rounds": None})
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = [(row["cores"], row["seconds"], row["rounds"], row["machine"] == "a GPU") for row in rows]
    assert found == [("2", "2.0", "", True), ("1", "1.0", "", False)]
    assert {row["commit"] for row in rows} == {where.commit()}
