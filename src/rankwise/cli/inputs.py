"""What the commands read: ranking files, models, scores, names; each error is one sentence."""

import codecs
import sys
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise import metrics
from rankwise.cli.click_options import Clicks, check_stdin
from rankwise.cli.options import Naming
from rankwise.cli.speech import checked, doing, say
from rankwise.data import formats
from rankwise.data.columns import Known, for_model, same_columns, unknown
from rankwise.data.document_ids import document_ids
from rankwise.data.formats import Format
from rankwise.data.header import TextColumnsError
from rankwise.data.records import RankingData
from rankwise.data.repeated import SharedData
from rankwise.data.score_table import SCORE
from rankwise.data.streams import name_of
from rankwise.foundation.arrays import Array, Floats, is_rounded_integer, read_number
from rankwise.foundation.compression import decompressed
from rankwise.foundation.devices import is_sparse
from rankwise.foundation.outputs import naming
from rankwise.foundation.texts import first_few
from rankwise.model_io.conversion import scores_of
from rankwise.model_io.files import is_model_file, read_model
from rankwise.rankers.models import Model

if TYPE_CHECKING:
    from rankwise.data.chunks import ChunkedData


USUAL = Naming()


def parse_measures(names: list[str] | None) -> list[metrics.Measure]:
    return [checked("--measure", _one_measure, name) for name in names or []]


def _one_measure(text: str) -> metrics.Measure:
    first, comma, rest = text.partition(",")
    if comma and ":" not in first:  # commas separate the parts after a colon
        raise ValueError(f"{text!r} has a comma: for several measures repeat the option, -m {first} -m {rest}")
    return metrics.parse(text)


def read_data(
    source: str | Sequence[str], known: Known | None = None, columns: Naming = USUAL, **options: Any
) -> RankingData:
    """Ranking data of any format; for a model, with its columns in its order (`known`)."""
    name = source if isinstance(source, str) else " ".join(source)
    sources, format = formats.sources_of(source, columns.format)
    options |= asdict(columns) | {"format": format.name}
    if known is not None:
        options |= options_for(known, format, name)
    with doing(f"reading {name}"):
        data = formats.read_data(sources, **options)
    if known is None:
        return data
    if format.is_indexed or is_sparse(data.X):
        note_zeros(first_unused(data), known, name)
    note_ignored(unknown(data, known), name)
    return for_model(data, known, name)


def read_judged(
    source: str | Sequence[str], columns: Naming, wanted: Collection[str] = (), **options: Any
) -> RankingData:
    """Ranking data to judge rankers on, without columns of text; an error if one of these is `wanted` as a ranker."""
    while True:
        try:
            return read_data(source, None, columns, **options)
        except TextColumnsError as error:
            if columns.features is not None or source == "-":
                raise
            unwanted = [name for name in error.names if name not in wanted]
            if not unwanted:
                cure = "documents are ranked by numbers, such as days in place of a date"
                raise ValueError(f"{error.fault}: {cure}") from None
            columns = replace(columns, ignore=(*columns.ignore, *unwanted))


def read_features(
    files: Sequence[str],
    known: Known | None = None,
    columns: Naming = USUAL,
    needs_labels: bool = False,
    **options: Any,
) -> RankingData:
    """The features of documents with ids."""
    data = read_data(files, known, columns, comments=True, needs_labels=needs_labels, **options)
    if data.docid is None:
        raise ValueError(
            f"{' '.join(files)} has no document ids, by which the documents of a click log are found: name their "
            "column by --doc COLUMN; in LETOR text they are comments, # docid = ID"
        )
    return data


def click_problems(clicks: Clicks, files: Sequence[str], columns: Naming = USUAL, **options: Any) -> SharedData:
    """Training data from a click log and the features of its documents."""
    from rankwise.clicks import shared_click_data

    check_stdin([*clicks.files, *files])
    log, propensities = clicks.read()
    features = read_features(files, None, columns, **options)
    with doing("weighting clicks"):
        data = shared_click_data(log, features, propensities, clip=clicks.clip)
    say(f"{name_of(clicks.path)}: {log.summary()}")
    return data


def options_for(known: Known, format: Format, name: str) -> dict[str, Any]:
    """The options of `rankwise.read_data` for data that a model is to score."""
    noted: list[None] = []

    def note_once(ignored: list[str]) -> None:
        if not noted:
            note_ignored(ignored, name)
        noted.append(None)

    options: dict[str, Any] = {"known": known, "on_unknown": note_once}
    if format.is_indexed:
        options |= {"n_features": known.n_features, "zero_based": known.first_index == 0}
    return options


def note_ignored(ignored: list[str], name: str) -> None:
    if ignored:
        say(f"note: {name} has columns that the model does not know, which are ignored: {first_few(ignored, 8, str)}")


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
    """Say if the last features are 0 throughout: text omits zeros, so the data may also have fewer features."""
    last = known.first_index + known.n_features - 1
    if first <= last:
        which = f"feature {first}" if first == last else f"features {first} to {last}"
        say(f"note: {name} has no value other than 0 for {which} of the model")


def left_on_disk(
    ranker: object, sources: list[str], known: Known | None = None, columns: Naming = USUAL
) -> "ChunkedData | None":
    """Data on disk whose rows the ranker reads part by part; None if it needs the rows in memory."""
    has_usual_names = replace(columns, format=None) == USUAL
    on_disk = formats.format_of(sources[0]).on_disk if len(sources) == 1 and has_usual_names else None
    if on_disk is None or not getattr(ranker, "reads_parts", False):
        return None
    with doing(f"checking {sources[0]}"):
        data = on_disk.open(sources[0], verify=True)
    return data if known is None or same_columns(data, known) else None


def note_one_query(n_queries: int, n_documents: int) -> None:
    if n_queries == 1 < n_documents:
        say("warning: all documents belong to one query (or no qid is given): each is compared with every other")


def names_for(data: Known, path: str | None) -> Sequence[str] | None:
    """The names of a model's features: those of the data, or those in a file of names."""
    if path is None:
        return data.names
    names = read_names(path)
    if len(names) != data.n_features:
        raise ValueError(
            f"{path} holds {len(names)} names, the data have {data.n_features} features: one name per line"
        )
    if data.names is not None and names != list(data.names):
        raise ValueError(f"the names in {path} are not those in the data: leave out --names")
    return names


def read_names(path: str) -> list[str]:
    with open(path, encoding="utf-8-sig") as file:
        names = [line.strip() for line in file if line.strip()]
    if len(set(names)) < len(names):
        raise ValueError(f"{path} holds {max(names, key=names.count)!r} twice: every feature needs a name of its own")
    return names


def read_ranker(path: str, columns: Naming) -> Model:
    """The model in a file, to score data with these columns."""
    model = read_model(path)
    note_missing(model, path, columns.missing)
    return model


def trained_missing(model: Model) -> float | None:
    """The `--missing` with which the model was trained."""
    value: float | None = (model.run or {}).get("options", {}).get("missing")
    return value


def note_missing(model: Model, path: str, missing: float | None) -> None:
    """Say if the model was trained with a `--missing` that is not the one given now."""
    trained = trained_missing(model)
    if trained is not None and trained != missing:
        now = "give the same for data with missing values" if missing is None else f"now it is {missing:g}"
        say(f"note: {path} was trained with --missing {trained:g}: {now}")


def check_order(model: str, data: str | None) -> None:
    """Raise an error if a model is given as the data, and something else as the model."""
    if data not in (None, "-") and is_model_file(str(data)) and not (model != "-" and is_model_file(model)):
        raise ValueError(f"{data} is a model, and {model} is not: the order is MODEL DATA")


def finite_scores(
    model: Model, data: "RankingData | ChunkedData", model_file: str, data_file: str, rows_before: int = 0
) -> Floats:
    """The scores of the data by the model; an error that names the files if one overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = scores_of(model, data)
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        raise ValueError(
            f"{model_file} gives row {rows_before + bad[0] + 1} of {data_file} the score {scores[bad[0]]}: "
            "its weights, or the features, are too large"
        )
    return scores


def ids_in(data: RankingData, path: str) -> Array:
    """The ids of the documents; an error that names the file if a query has one twice."""
    try:
        return document_ids(data)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def is_model(path: str) -> bool:
    with decompressed(path, path) as file:
        return file.read(64).lstrip().startswith(b"{")


def read_scores(path: str, n: int) -> Floats:
    name = "standard input" if path == "-" else path
    with naming(name), nullcontext(sys.stdin.buffer) if path == "-" else decompressed(path, path) as file:
        lines = file.read().split(b"\n")
    lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
    lines = lines[:-1] if not lines[-1].strip() else lines
    scores = np.empty(len(lines))
    for i, line in enumerate(lines):
        scores[i] = read_number(line.strip())
        if not np.isfinite(scores[i]):
            text = line[:40].decode(errors="replace")
            table = "; a table of scores must be a file with a suffix, as .csv" if SCORE.encode() in line else ""
            raise ValueError(
                f"{name}, line {i + 1}: expected a score, one finite number per line, found {text!r}{table}"
            )
        if is_rounded_integer(line.strip()):
            text = line.strip()[:40].decode()
            raise ValueError(f"{name}, line {i + 1}: the score {text!r} is rounded by float64: write a smaller number")
    if len(lines) != n:
        raise ValueError(f"{name} has {len(lines)} scores, the data have {n} documents: one score per line")
    return scores
