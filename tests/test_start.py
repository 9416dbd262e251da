"""Starting costs nothing: what must not be imported is not, and the public names are there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import obey_modes, run, write_sample

import rankwise


def modules_after(code: str) -> set[str]:
    program = f"{code}\nimport sys; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    return set(out.splitlines()[-1].split())


def test_import_brings_in_nothing_heavy():
    loaded = modules_after("import rankwise")
    assert not loaded & {"numpy", "scipy", "sklearn", "numba", "typer", "rich"}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_starts_light(option):
    code = f"""
import sys
sys.argv = ["rankwise", "{option}"]
from rankwise.cli import main
try:
    main()
except SystemExit as stop:
    assert not stop.code
"""
    assert not modules_after(code) & {"numpy", "scipy", "sklearn", "numba"}


def test_the_help_of_train_lists_what_is_registered():
    code = """
import sys
sys.argv = ["rankwise", "train", "--help"]
from rankwise.cli import main
try:
    main()
except SystemExit:
    assert not {"sklearn", "numba"} & set(sys.modules)
from rankwise.pairs.schemes import SCHEMES
from rankwise.solvers import SOLVERS
for registry in (SOLVERS, SCHEMES):
    print(",".join(registry), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown = "".join(done.stdout.split())  # names are broken at their hyphens
    for names in ("huber:WIDTH,logistic:ERROR", *done.stderr.splitlines()):
        assert names in shown


MODEL, TRAIN, TEST = "model.json", "train.txt", "test.txt"
LIGHT = {
    "train": ("train", TRAIN, "-o", MODEL, "--valid", TEST),
    "scaled": ("train", TRAIN, "-o", "scaled.json", "--normalize", "query-zscore"),
    "sparse": ("train", "sparse.txt", "-o", "sparse.json", "--normalize", "zscore"),
    "rankrls": ("train", TRAIN, "-o", "rankrls.json", "--model", "rankrls", "--normalize", "minmax"),
    "chunks": ("train", "train.chunks", "-o", "chunks.json"),
    "a paper's": ("train", TRAIN, "-o", "paper.json", "--scheme", "avl-tree", "--solver", "bmrm"),
    "predict": ("predict", MODEL, TEST, "-o", "scores.txt"),
    "predict scaled": ("predict", "scaled.json", TEST),
    "predict chunks": ("predict", MODEL, "train.chunks"),
    "evaluate": ("evaluate", MODEL, TEST),
    "evaluate scores": ("evaluate", "scores.txt", TEST),
    "compare": ("compare", MODEL, "rankrls.json", "--data", TEST),
    "inspect": ("inspect", MODEL, "--json"),
    "report": ("report", MODEL, "--data", TEST, "-o", "report.html"),
    "join": ("join", "--judgments", TRAIN, "--features", TRAIN, "-o", "joined.parquet", "--missing", "0"),
    "export": ("export", MODEL, "--to", "solr", "-o", "solr.json"),
    "export checked": ("export", "rankrls.json", "--to", "sql", "-o", "model.sql", "--check", TEST),
    "demo": ("demo",),
}


def test_the_commands_need_no_scikit_learn(tmp_path):
    """One after the other in one process, and each named by the first module of scikit-learn that it brings in."""
    code = f"""
import os, sys
os.chdir({str(tmp_path)!r})
import rankwise
from rankwise.cli import main
data = rankwise.load_sample()
for name in ("train.txt", "test.txt"):
    rankwise.write_letor(name, data)
lines = (f"{{i % 3}} qid:{{i // 6}} {{7 * i + 1}}:0.5 {{8 * i + 900}}:{{i % 5}}" for i in range(60))
open("sparse.txt", "w").write("\\n".join(lines) + "\\n")
rankwise.write_chunks("train.chunks", rankwise.read_data("train.txt"))  # whose features have numbers, not names
for name, args in {LIGHT!r}.items():
    sys.argv = ["rankwise", *args]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, name
    found = [one for one in sys.modules if one.split(".")[0] == "sklearn"]
    assert not found, (name, found[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("args", "heavy"),
    [
        (["predict", "model.json", "train.txt", "-o", "scores.txt"], {"numba", "scipy.linalg"}),
        (["train", "train.txt", "-o", "model.json"], set()),
        (["export", "model.json", "--to", "sql", "-o", "model.sql"], {"numba", "scipy.linalg"}),
    ],
)
def test_linear_models_start_light(tmp_path, monkeypatch, args, heavy):
    """Dense data need no sparse matrices, and a linear model and a small file no compiled kernels to predict."""
    code = f"""
import sys
sys.argv = ["rankwise", *{args!r}]
from rankwise.cli import main
try:
    main()
except SystemExit as stop:
    assert not stop.code
"""
    write_sample(tmp_path)
    run("train", tmp_path / "train.txt", "-o", tmp_path / "model.json")
    monkeypatch.chdir(tmp_path)
    heavy |= {"scipy.sparse", "scipy.optimize", "scipy.stats", "sklearn", "pandas", "pyarrow", "rich"}
    assert not modules_after(code) & heavy


def test_public_names():
    for name in rankwise.__all__:
        assert getattr(rankwise, name) is not None
    assert set(dir(rankwise)) == {*rankwise.__all__, "distributed"}
    with pytest.raises(AttributeError, match="no attribute 'RankSVN'"):
        rankwise.RankSVN  # noqa: B018


SMALL_KERNEL = "from rankwise.pairs.compiled import first_node; assert first_node(3, True) == 3"  # one of the package's


def test_a_read_only_cache_does_not_break_anything():
    """Where neither the package nor the home can be written, kernels are compiled anew."""
    code = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
"""
    done = subprocess.run([sys.executable, "-c", code + SMALL_KERNEL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


DOUBLING = "from rankwise.foundation.jit import kernel\n@kernel\ndef double(x): return 2 * x\n"  # compiled in no time
DOUBLED = "import doubling; assert doubling.double(2) == 4"


def test_a_full_disk_under_the_cache_does_not_stop_a_fit(tmp_path):
    """Files of more than 2,000 bytes cannot be written here: the index can, the compiled code cannot."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
    (tmp_path / "doubling.py").write_text(DOUBLING)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", limit + DOUBLED]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("*.nbc"))
    assert not list(tmp_path.rglob("*.tmp.*"))


def test_a_damaged_cache_is_compiled_anew(tmp_path):
    (tmp_path / "doubling.py").write_text(DOUBLING)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", DOUBLED], cwd=tmp_path, env=environment, check=True)
        cached = list(tmp_path.rglob("*.nb[ic]"))
        assert len(cached) >= 2
        assert all(path.stat().st_size > 100 for path in cached)
        for path in cached:
            path.write_bytes(path.read_bytes()[:50])


OTHER_NUMBA = {
    "no module": "None",
    "no class": "SimpleNamespace(FunctionCache=real.FunctionCache)",
    "no method": "SimpleNamespace(FunctionCache=real.FunctionCache, IndexDataCacheFile=Renamed)",
    "another signature": "SimpleNamespace(FunctionCache=real.FunctionCache, IndexDataCacheFile=lambda: None)",
    "no attribute": "SimpleNamespace(FunctionCache=Bare, IndexDataCacheFile=real.IndexDataCacheFile)",
}


def test_a_numba_with_other_private_parts_caches_in_its_own_way(tmp_path):
    """One process for all differences: the modules that look at Numba are imported anew for each."""
    others = ", ".join(f"{difference!r}: {other}" for difference, other in OTHER_NUMBA.items())
    code = f"""
import importlib, sys
from pathlib import Path
from types import SimpleNamespace
import numba.core.caching as real
Renamed = type("Renamed", (real.IndexDataCacheFile,), {{"_save_data": property(lambda self: self.gone)}})
Bare = type("Bare", (), {{"__init__": lambda self, function: None}})
known = importlib.import_module
def import_module(name, *rest):
    found = other if name == "numba.core.caching" else known(name, *rest)
    if found is None:
        raise ImportError(name)
    return found
importlib.import_module = import_module
for number, (difference, other) in enumerate({{{others}}}.items()):
    for name in ("rankwise.foundation.jit", "rankwise.foundation.jit_cache"):
        sys.modules.pop(name, None)
    assert known(f"doubling_{{number}}").double(2) == 4, difference
    assert list(Path().rglob(f"doubling_{{number}}.*.nbc")), difference
"""
    for number in range(len(OTHER_NUMBA)):
        (tmp_path / f"doubling_{number}.py").write_text(DOUBLING)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_read_only_package_and_no_home(tmp_path):
    package = shutil.copytree(rankwise.__path__[0], tmp_path / "rankwise", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SMALL_KERNEL], env=environment, capture_output=True, preexec_fn=obey_modes
    )
    assert done.returncode == 0, done.stderr
    assert not list(Path(package).rglob("__pycache__"))
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)


def test_threads_survive_a_fork():
    code = """
import multiprocessing, numpy as np, rankwise
labels, queries = np.arange(60_000) % 7, np.arange(60_000) // 60
def work(_):
    return rankwise.Preferences(labels, queries, n_jobs=2).active(np.zeros(60_000), 1.0).n_pairs
expected = work(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map_async(work, range(4)).get(timeout=60) == [expected] * 4
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).returncode == 0
