"""What the commands read: ranking files, models, scores, names; each fault is one sentence."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import metrics
from rankwise.cli.speech import checked, doing
from rankwise.data import files
from rankwise.data.chunks import open_chunks
from rankwise.data.outputs import naming
from rankwise.data.records import RankingData
from rankwise.data.streams import open_bytes
from rankwise.stored import is_stored


def parse_measures(asked: list[str] | None) -> list[metrics.Measure]:
    return [checked("--measure", metrics.parse, one) for one in asked or []]


def fitting_measures(labels: Any) -> list[str]:
    """What to show when nothing was asked for: NDCG and MAP make sense for grades, not for any real number."""
    grades = bool((labels >= 0).all() and (labels <= 31).all() and (labels == np.round(labels)).all())
    return ["ndcg@10", "map", "pairwise-accuracy"] if grades else ["pairwise-accuracy", "kendall-tau-b"]


def read_data(source: Any, names: Any = None, **options: Any) -> RankingData:
    """Ranking data of any format; where they have names, their columns in the order of `names`."""
    name = source if isinstance(source, str) else " ".join(source)
    with doing(f"reading {name}"):
        data = files.read_data(source, **options)
    return data if names is None or data.names is None else files.in_order(data, list(names), name)


def read_for(model: Any, source: str, **options: Any) -> Any:
    ways = options_for(model)
    stored = None if options else left_on_disk(model, [source], ways["names"])
    return read_data(source, **ways, **options) if stored is None else stored


def left_on_disk(ranker: Any, sources: list[str], names: Any = None) -> Any:
    """A folder of chunks whose rows the ranker reads part by part; None where it needs the rows in memory."""
    if len(sources) != 1 or files.format_of(sources[0]) != "chunks" or not _reads_parts(ranker):
        return None
    with doing(f"checking {sources[0]}"):
        data = open_chunks(sources[0], verify=True)
    return data if names is None or data.names is None or list(data.names) == list(names) else None


def _reads_parts(ranker: Any) -> bool:
    from rankwise.estimators.ranksvm import RankSVM
    from rankwise.solvers import RANDOM

    return isinstance(ranker, RankSVM) and ranker.solver not in RANDOM and ranker.device in (None, "cpu")


def options_for(model: Any) -> dict[str, Any]:
    """How to read data for a model: its columns, in its order."""
    names = getattr(model, "feature_names_in_", None)
    ordered = None if names is None else tuple(names)
    return {"names": ordered, "n_features": model.n_features_in_, "zero_based": model.first_index_ == 0}


def read_names(path: str, n_features: int) -> list[str]:
    with open(path, encoding="utf-8") as file:
        names = [line.strip() for line in file if line.strip()]
    if len(names) != n_features:
        raise ValueError(f"{path} holds {len(names)} names, the data have {n_features} features: one name a line")
    return names


def scores_of(model: Any, data: Any) -> Any:
    if is_stored(data):
        return model.predict(data)
    return model.predict(data.X, data.qid) if hasattr(model, "scaler_") else model.predict(data.X)


def is_model(path: str) -> bool:
    with open_bytes(Path(path), "rb") as file:
        return file.read(64).lstrip().startswith(b"{")


def read_scores(path: str, n: int) -> Any:
    name = "standard input" if path == "-" else path
    with naming(name), nullcontext(sys.stdin.buffer) if path == "-" else open_bytes(Path(path), "rb") as file:
        lines = file.read().split(b"\n")
    lines = lines[:-1] if lines and not lines[-1].strip() else lines
    if len(lines) != n:
        raise ValueError(f"{name} holds {len(lines)} scores, the data have {n} documents: one score a line")
    scores = np.empty(n)
    for i, line in enumerate(lines):
        try:
            scores[i] = float(line)
        except ValueError:
            scores[i] = np.nan
        if not np.isfinite(scores[i]):
            found = line[:40].decode(errors="replace")
            raise ValueError(f"{name}, line {i + 1}: expected a score, one finite number a line, found {found!r}")
    return scores
