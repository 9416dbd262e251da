"""What the commands read: ranking files, models, scores, names; each fault is one sentence."""

import codecs
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import metrics
from rankwise.cli.speech import checked, doing, say
from rankwise.data import formats
from rankwise.data.columns import Known, matched, same_columns
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import is_rounded_integer, read_number
from rankwise.foundation.compression import open_bytes
from rankwise.foundation.devices import is_sparse
from rankwise.foundation.outputs import naming
from rankwise.model_io.conversion import estimator_of
from rankwise.model_io.files import is_model_file
from rankwise.rankers.models import KernelModel, LinearModel, Model


def parse_measures(asked: list[str] | None) -> list[metrics.Measure]:
    return [checked("--measure", _one_measure, one) for one in asked or []]


def _one_measure(text: str) -> metrics.Measure:
    first, comma, rest = text.partition(",")
    if comma and ":" not in first:  # commas stand between options, behind a colon
        raise ValueError(f"{text!r} holds a comma: for several measures repeat the option, -m {first} -m {rest}")
    return metrics.parse(text)


def read_data(source: Any, known: Known | None = None, **options: Any) -> RankingData:
    """Ranking data of any format; with the columns that a model knows, in its order, where they are for one."""
    name = source if isinstance(source, str) else " ".join(source)
    is_indexed = known is not None and formats.format_of(source).is_indexed
    if known is not None and is_indexed:
        options |= {"n_features": known.n_features, "zero_based": known.first_index == 0}
    with doing(f"reading {name}"):
        data = formats.read_data(source, **options)
    if known is None:
        return data
    if is_indexed or is_sparse(data.X):
        note_zeros(first_unused(data), known, name)
    return matched(data, known, name)


def first_unused(data: RankingData) -> int:
    """The number of the first feature after the last one that is not 0 in every row."""
    X, used = data.X, data.n_features
    if is_sparse(X):
        used = int(X.indices.max(initial=-1)) + 1
    else:
        while used and not X[:, used - 1].any():
            used -= 1
    return data.first_index + used


def note_zeros(first: int, known: Known, name: str) -> None:
    """Ranking text leaves zeros out, so that one cannot tell a short line from data of fewer features: say so."""
    last = known.first_index + known.n_features - 1
    if first <= last:
        which = f"feature {first}" if first == last else f"features {first} to {last}"
        say(f"note: {name} has no value other than 0 for {which} of the model")


def read_for(model: Model, source: str, **options: Any) -> Any:
    known = model.columns
    stored = None if options.get("comments") else left_on_disk(model, [source], known)
    return read_data(source, known, **options) if stored is None else stored


def left_on_disk(ranker: Any, sources: list[str], known: Known | None = None) -> Any:
    """Data on disk whose rows the ranker reads part by part; None if it needs the rows in memory."""
    on_disk = formats.format_of(sources[0]).on_disk if len(sources) == 1 else None
    if on_disk is None or not getattr(ranker, "reads_parts", False):
        return None
    with doing(f"checking {sources[0]}"):
        data = on_disk.open(sources[0], verify=True)
    return data if known is None or same_columns(data, known) else None


def note_one_query(n_queries: int, n_documents: int) -> None:
    if n_queries == 1 < n_documents:
        say("warning: all documents are of one query (or no qid is given): each is compared with every other")


def names_for(data: Known, path: str | None) -> Any:
    """The names of a model's features: those of the data, or those in a file of names."""
    if path is None:
        return data.names
    names = read_names(path)
    if len(names) != data.n_features:
        raise ValueError(
            f"{path} holds {len(names)} names, the data have {data.n_features} features: one name per line"
        )
    if data.names is not None and names != list(data.names):
        raise ValueError(f"{path} names the features otherwise than the data do: leave out --names")
    return names


def read_names(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        names = [line.strip() for line in file if line.strip()]
    if len(set(names)) < len(names):
        raise ValueError(f"{path} holds {max(names, key=names.count)!r} twice: every feature needs a name of its own")
    return names


def check_order(model: str, data: str | None) -> None:
    """One sentence where a model is given for the data, and something else for the model."""
    if data not in (None, "-") and is_model_file(str(data)) and not (model != "-" and is_model_file(model)):
        raise ValueError(f"{data} is a model, and {model} is not: the order is MODEL DATA")


def finite_scores(model: Any, data: Any, of: str, on: str, rows_before: int = 0) -> Any:
    """Scores by the model `of` a file `on` another one; one sentence where they overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = scores_of(model, data)
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise ValueError(
            f"{of} gives row {rows_before + bad[0] + 1} of {on} the score {scores[bad[0]]}: "
            "its weights, or the features, are too large"
        )
    return scores


def scores_of(model: Any, data: Any) -> Any:
    """By a model, or by an estimator."""
    if isinstance(model, LinearModel):
        return model.scores(data)
    ranker = estimator_of(model) if isinstance(model, KernelModel) else model
    return ranker.predict(data.X, data.qid) if hasattr(ranker, "scaler_") else ranker.predict(data.X)


def is_model(path: str) -> bool:
    with open_bytes(Path(path), "rb") as file:
        return file.read(64).lstrip().startswith(b"{")


def read_scores(path: str, n: int) -> Any:
    name = "standard input" if path == "-" else path
    with naming(name), nullcontext(sys.stdin.buffer) if path == "-" else open_bytes(Path(path), "rb") as file:
        lines = file.read().split(b"\n")
    lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
    lines = lines[:-1] if lines and not lines[-1].strip() else lines
    if len(lines) != n:
        raise ValueError(f"{name} holds {len(lines)} scores, the data have {n} documents: one score per line")
    scores = np.empty(n)
    for i, line in enumerate(lines):
        scores[i] = read_number(line.strip())
        if not np.isfinite(scores[i]):
            found = line[:40].decode(errors="replace")
            raise ValueError(f"{name}, line {i + 1}: expected a score, one finite number per line, found {found!r}")
        if is_rounded_integer(line.strip()):
            found = line.strip()[:40].decode()
            raise ValueError(f"{name}, line {i + 1}: the score {found!r} is rounded by float64: write a smaller number")
    return scores
