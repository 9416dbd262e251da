"""Starting costs nothing: what must not be imported is not, and the public names are there."""

import subprocess
import sys

import pytest

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


def test_public_names():
    for name in rankwise.__all__:
        assert getattr(rankwise, name) is not None
    assert set(dir(rankwise)) == set(rankwise.__all__)
    with pytest.raises(AttributeError, match="no attribute 'RankSVN'"):
        rankwise.RankSVN  # noqa: B018


def test_a_read_only_cache_does_not_break_anything():
    """Where neither the package nor the home can be written, kernels are compiled anew."""
    code = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
import rankwise
assert rankwise.Preferences([1, 0]).active([0.0, 0.0]).n_pairs == 1
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).returncode == 0


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
