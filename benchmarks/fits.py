"""What runs in the fresh processes of a `Fit`: its data, its reference, one solver's times, and their evaluation."""

import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from benchmarks import solvers
from benchmarks.cases import BENCHMARKS
from benchmarks.datasets import MissingError, load, load_test, store
from benchmarks.objective import Objective, kept_bound
from benchmarks.process import memory, repeated

REPEATS, ENOUGH = 9, 10.0  # runs at one tolerance at most, and seconds after which no further one begins
QUICK_REPEATS, QUICK_ENOUGH = 3, 1.0


def make_data(case: str, folder: str, quick: bool, data: str | None) -> Iterator[dict[str, Any]]:
    """The data of the case, stored in the folder; what they are, or why they cannot be had."""
    chosen: Any = BENCHMARKS[case]
    dataset = chosen.small if quick and chosen.small is not None else chosen.data
    try:
        store(dataset.get_data(Path(data) if data else None), Path(folder))
        yield {"what": dataset.name, "reduced": dataset is not chosen.data}
    except MissingError as reason:
        yield {"what": dataset.name, "note": str(reason)}


def make_reference(case: str, folder: str) -> Iterator[dict[str, Any]]:
    found = _objective(case, folder).reference()
    (Path(folder) / "reference.json").write_text(json.dumps(found))
    yield found


def _objective(case: str, folder: str, test: Any = None) -> Objective:
    chosen: Any = BENCHMARKS[case]
    data = load(Path(folder))
    return Objective(data.X, data.y, data.qid, chosen.loss, chosen.C, kept_bound(Path(folder)), test)


def first_fit(case: str, folder: str, solver: str, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Imports and one fit: the parent decides whether compiled kernels are at hand."""
    made, objective = solvers.make(solver, **options), _objective(case, folder)
    yield _first(made, objective)


def times(
    case: str, folder: str, solver: str, options: dict[str, Any], quick: bool, budget: float
) -> Iterator[dict[str, Any]]:
    """The first fit of this process, then for every tolerance the times of more, and the file of what they found.

    Or, instead of all that, the reason why the solver cannot do the work. Another process evaluates the results: here
    that would take memory, and a process stopped at its limit would lose it. No new tolerance is begun once `budget`
    seconds are spent.
    """
    made, objective = solvers.make(solver, **options), _objective(case, folder)
    reason = made.skip(objective)
    if reason is not None:
        yield {"note": reason}
        return
    before = memory()[0]
    first = _first(made, objective)
    base = before + first.pop("imports_mb")
    yield first
    began = time.perf_counter()
    for tol in made.tolerances:
        if time.perf_counter() - began > budget:
            break
        limits = (QUICK_REPEATS, QUICK_ENOUGH) if quick else (REPEATS, ENOUGH)
        row = repeated(lambda tol=tol: _quiet(made, tol), *limits, less=lambda: made.overhead)
        peak = memory()[1]
        row |= {"phase": "hot", "tol": tol, "peak_mb": peak, "extra_mb": peak - base, "data_mb": megabytes(folder)}
        yield row | {"note": made.note, "result": _keep(made, Path(folder))}


def _keep(made: Any, folder: Path) -> str:
    """A file with the weights, or with the scores of a solver that has none."""
    result = made.get_result()
    if "predict" in result:
        parts = {"scores": load(folder), "test_scores": load_test(folder)}
        result = {name: result["predict"](data.X) for name, data in parts.items() if data is not None}
    with NamedTemporaryFile(dir=folder, suffix=".npz", delete=False) as file:
        np.savez(file, **result)
    return file.name


def evaluated(case: str, folder: str, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows with what their results are worth."""
    objective = _objective(case, folder, load_test(Path(folder)))
    for row in rows:
        yield row | (objective.evaluate_result(**np.load(row["result"])) if "result" in row else {})


def _first(made: Any, objective: Objective) -> dict[str, Any]:
    held = memory()[0]
    began = time.perf_counter()
    made.prepare()
    imports = time.perf_counter() - began
    imported = memory()[0] - held
    made.set_objective(objective)
    tol = made.tolerances[len(made.tolerances) // 2 if made.ours else 0]
    began = time.perf_counter()
    _quiet(made, tol)
    seconds = imports + time.perf_counter() - began
    return {"phase": "warm", "tol": tol, "value": seconds, "unit": "s", "repeats": 1, "imports_mb": imported}


def _quiet(made: Any, tol: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged: the gap tells
        made.run(tol)


def megabytes(folder: str) -> float:
    """MB of X as stored."""
    files = [path for path in Path(folder).glob("*.npy") if path.stem not in ("y", "qid")]
    return sum(path.stat().st_size for path in files) / 1e6
