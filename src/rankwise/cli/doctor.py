"""`rankwise doctor`: what this machine has, and whether a fit works on it."""

import os
import platform
import re
import shlex
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import typer

from rankwise import __version__
from rankwise.cli.options import Json
from rankwise.cli.speech import answer, answer_json, command, doing

REQUIRED = ("numpy", "scipy", "scikit-learn", "numba", "threadpoolctl", "typer", "rich")
EXTRAS = {  # what pip installs for each extra
    "plot": ("matplotlib",),
    "parquet": ("pyarrow",),
    "zstd": ("zstandard",),
    "onnx": ("onnx", "onnxruntime"),
    "serve": ("starlette", "uvicorn"),
    "dask": ("dask[dataframe]", "distributed"),
    "torch": ("torch",),
    "cupy": ("cupy-cuda12x",),
}
FAILED = 1  # exit code
C, TOL, AGREE = 0.01, 1e-6, 1e-9  # of the self-test


class Finding(NamedTuple):
    """One line of the answer; `works` is None for what may be missing."""

    name: str
    value: str
    works: bool | None = None


@command
def doctor(as_json: Json = False) -> None:
    """Show versions, threads, memory, cache and GPU, and test whether a fit works on this machine.

    Exit code 0: everything works; 1: something does not.

    Example: rankwise doctor --json
    """
    with doing("testing"):
        found = list(findings())
    failed = [one.name for one in found if one.works is False]
    if as_json:
        lines = [{"name": one.name, "value": one.value, "works": one.works} for one in found]
        answer_json({"findings": lines, "failed": failed})
    else:
        width = max(len(one.name) for one in found)
        marks = {True: "  works", False: "  FAILS", None: ""}
        answer("\n".join(f"{one.name:<{width}}  {one.value}{marks[one.works]}" for one in found))
    if failed:
        raise typer.Exit(FAILED)


def findings() -> Iterator[Finding]:
    yield Finding("rankwise", __version__)
    yield Finding("Python", f"{platform.python_version()} on {platform.platform()}")
    for name in REQUIRED:
        yield Finding(name, _version(name) or "missing", None if _version(name) else False)
    distributions = packages_distributions()  # CuPy and onnxruntime have one per kind of GPU
    for extra, names in EXTRAS.items():
        modules = [re.split(r"\[|-", name)[0] for name in names]
        versions = [f"{module} {version(distributions[module][0])}" for module in modules if module in distributions]
        yield Finding(f"extra {extra}", ", ".join(versions) or f"not installed: pip install {shlex.join(names)}")
    yield _threads()
    yield _memory()
    yield _gpu()
    yield _self_test()
    yield _cache()  # after kernels were compiled and stored


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _threads() -> Finding:
    from rankwise.foundation.threads import thread_count

    limits = [f"{name}={os.environ[name]}" for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS") if name in os.environ]
    return Finding("threads", ", ".join([str(thread_count()), *limits]))


def _memory() -> Finding:
    from rankwise.foundation.memory import memory_at_hand

    return Finding("memory", f"{memory_at_hand() / 2**30:.1f} GiB available")


def _gpu() -> Finding:
    """Whether arrays can be moved to a GPU; no GPU is no failure."""
    from rankwise.foundation.devices import check_device

    reasons = []
    for library, device in (("torch", "cuda"), ("cupy", "cupy")):
        if find_spec(library) is None:
            continue
        try:
            check_device(device)
            return Finding("GPU", f'device="{device}"', True)
        except ValueError as error:
            reasons.append(str(error))
    return Finding("GPU", "; ".join(reasons) or "not looked for: neither torch nor CuPy is installed")


def _self_test() -> Finding:
    """Fit the sample, and compare the objective with a loop over all pairs."""
    import numpy as np

    from rankwise.data.synthetic import load_sample
    from rankwise.foundation.compiling import clock
    from rankwise.rankers.ranksvm import RankSVMOptions
    from rankwise.rankers.training import Training

    data = load_sample("train")
    began = clock()
    result = Training(RankSVMOptions(C=C, tol=TOL)).fit(data).result
    seconds = clock() - began
    assert result is not None
    scores = data.X @ result.point
    is_pair = (data.qid[:, None] == data.qid) & (data.y[:, None] > data.y)
    shortfalls = np.maximum(0.0, 1.0 - (scores[:, None] - scores))[is_pair]
    exact = 0.5 * float(result.point @ result.point) + C * float(shortfalls @ shortfalls)
    works = result.converged and abs(result.value - exact) <= AGREE * exact
    told = f"{is_pair.sum():,} pairs in {seconds:.2f} s, objective {result.value:.9g}, by a loop {exact:.9g}"
    return Finding("self-test", told, works)


def _cache() -> Finding:
    """Where compiled kernels are stored, and whether they can be."""
    from rankwise.pairs.compiled import sweep

    folder = getattr(getattr(sweep, "stats", None), "cache_path", None)
    if folder is None:
        cure = "set NUMBA_CACHE_DIR to a folder that you may write to"
        return Finding("kernel cache", f"none: kernels are compiled anew in every process; {cure}", False)
    works = os.access(folder, os.W_OK) and Path(folder).is_dir()
    return Finding("kernel cache", str(folder), works)
