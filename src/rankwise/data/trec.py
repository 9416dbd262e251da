"""TREC's files, one document per line: runs `qid Q0 docid rank score tag`, judgements (qrels) `qid 0 docid label`.

Ids are texts without blanks. Runs and qrels are joined by (qid, docid). The rank column is written but never read, as
in trec_eval: scores decide.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from rankwise.data.streams import name_of, opened, streamed
from rankwise.foundation.arrays import Array, Floats, finite, is_rounded_integer, read_number
from rankwise.foundation.outputs import FileName, written_beside
from rankwise.pairs.queries import Queries, id_array, id_texts

RUN = ("qid", "Q0", "docid", "rank", "score", "tag")
QRELS = ("qid", "0", "docid", "label")
_BLANK = " \t\r\v\f"  # other scripts' blanks are letters of an id
_FIELD = re.compile(f"[^{_BLANK}]+")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True, eq=False)
class TrecRows:
    """The lines of a run or of qrels.

    qid, docid  texts
    values      scores or labels
    places      (qid, docid) -> row
    name        of the file, for messages
    """

    qid: Array
    docid: Array
    values: Floats
    places: dict[tuple[str, str], int] = field(repr=False)
    name: str

    @classmethod
    def of(cls, qid: Array, docid: Array, values: Floats, name: str) -> "TrecRows":
        """Of ids of any type, each document once per query."""
        queries, documents = id_texts(qid), id_texts(docid)
        places = {key: row for row, key in enumerate(zip(queries, documents, strict=True))}
        return cls(id_array(queries), id_array(documents), values, places, name)

    def __len__(self) -> int:
        return int(self.values.size)


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """A run with labels, one row per document, as `rankwise.evaluate(y, scores, qid)` takes.

    Within a query the last docid of the alphabet comes first: measures with ties=stable then break ties as trec_eval.
    """

    y: Floats
    scores: Floats
    qid: Array
    docid: Array


def read_run(source: FileName) -> TrecRows:
    """Read a run from a path, which may be compressed, or from "-", standard input."""
    return _read(source, RUN, "score")


def read_qrels(source: FileName) -> TrecRows:
    """Read judgements from a path, which may be compressed, or from "-", standard input."""
    return _read(source, QRELS, "label")


def write_run(target: FileName, scores: ArrayLike, qid: ArrayLike, docid: ArrayLike, tag: str = "rankwise") -> None:
    """Write a run, query after query and best document first; rows with equal scores keep their order."""
    values = finite(scores, "scores")
    queries, names = Queries(qid, values.size), _ids(docid, values.size)
    order = np.lexsort((-values, queries.codes))
    ranks = np.arange(values.size) - np.repeat(queries.starts[:-1], queries.sizes) + 1
    query_ids = _ids(queries.ids, len(queries))[queries.codes[order]]
    columns = zip(query_ids, names[order], ranks.tolist(), values[order].tolist(), strict=True)
    _write(target, (f"{q} Q0 {d} {rank} {score!r} {_id(tag)}\n" for q, d, rank, score in columns))


def write_qrels(target: FileName, y: ArrayLike, qid: ArrayLike, docid: ArrayLike) -> None:
    """Write judgements in the order of the rows; whole labels as whole numbers, as trec_eval requires."""
    labels = finite(y, "y")
    queries, names = Queries(qid, labels.size), _ids(docid, labels.size)
    query_ids = _ids(queries.ids, len(queries))[queries.codes]
    texts = (str(int(label)) if label.is_integer() else repr(label) for label in labels.tolist())
    _write(target, (f"{q} 0 {d} {label}\n" for q, d, label in zip(query_ids, names, texts, strict=True)))


def scores_for(run: TrecRows, qid: ArrayLike, docid: ArrayLike) -> Floats:
    """The run's scores of these documents, in their order. The run must rank each of them, and no other documents of
    their queries.
    """
    keys = list(zip(id_texts(np.asarray(qid)), id_texts(np.asarray(docid)), strict=True))
    missing = next((key for key in keys if key not in run.places), None)
    if missing is not None:
        raise ValueError(f"{run.name} has no document {missing[1]} of query {missing[0]}, which the data have")
    known, queries = set(keys), {key[0] for key in keys}
    extra = next((key for key in run.places if key[0] in queries and key not in known), None)
    if extra is not None:
        raise ValueError(f"{run.name} ranks document {extra[1]} of query {extra[0]}, which the data do not have")
    return run.values[[run.places[key] for key in keys]]


def join(run: TrecRows, qrels: TrecRows, unjudged: float | None = None, unretrieved_last: bool = False) -> JudgedRun:
    """The judged queries, each with its documents' labels and scores.

    unjudged          the label of documents that the run ranks and the qrels do not judge; None: they are an error
    unretrieved_last  rank judged documents that the run lacks below all others; else they are an error
    """
    judged = set(qrels.qid.tolist())
    extra = [key for key in run.places if key[0] in judged and key not in qrels.places]
    if extra and unjudged is None:
        cure = "give a label for such documents (unjudged; 0 is trec_eval's)"
        raise ValueError(f"{qrels.name} does not judge document {extra[0][1]} of query {extra[0][0]}: {cure}")
    keys = [*qrels.places, *extra]
    labels = np.append(qrels.values, np.full(len(extra), unjudged, np.float64))
    scores = _scores_or_last(run, keys, qrels.name, unretrieved_last)
    qid, docid = (id_array(list(column)) for column in zip(*keys, strict=True))
    by_name = np.argsort(docid, kind="stable")[::-1]
    order = by_name[np.argsort(Queries(qid, qid.size).codes[by_name], kind="stable")]
    return JudgedRun(labels[order], scores[order], qid[order], docid[order])


def _scores_or_last(run: TrecRows, keys: list[tuple[str, str]], judge: str, unretrieved_last: bool) -> Floats:
    lowest: dict[str, float] = {}
    for query, score in zip(run.qid.tolist(), run.values.tolist(), strict=True):
        lowest[query] = min(score, lowest.get(query, np.inf))
    scores = np.empty(len(keys))
    for i, key in enumerate(keys):
        place = run.places.get(key)
        if key[0] not in lowest:
            raise ValueError(f"{run.name} has no document of query {key[0]}, which {judge} judges")
        if place is None and not unretrieved_last:
            cure = "rank such documents last (unretrieved_last)"
            raise ValueError(f"{run.name} lacks document {key[1]} of query {key[0]}, which {judge} judges: {cure}")
        scores[i] = np.nextafter(lowest[key[0]], -np.inf) if place is None else run.values[place]
    return scores


def _read(source: FileName, fields: tuple[str, ...], value: str) -> TrecRows:
    name = name_of(source)
    value_at = fields.index(value)
    places: dict[tuple[str, str], int] = {}
    lines: list[int] = []
    values: list[float] = []
    for number, line in _lines(source, name):
        parts = fields_of(line)
        if len(parts) != len(fields):
            expected = f"{len(fields)} fields, `{' '.join(fields)}`"
            raise ValueError(f"{name}, line {number}: expected {expected}, found {len(parts)}")
        key = parts[0], parts[2]
        if places.setdefault(key, len(values)) != len(values):
            first = lines[places[key]]
            raise ValueError(f"{name}, line {number}: document {key[1]} of query {key[0]} was on line {first} already")
        values.append(_number(parts[value_at], value, name, number))
        lines.append(number)
    if not values:
        raise ValueError(f"{name} is empty: expected lines `{' '.join(fields)}`")
    qid, docid = (id_array(list(column)) for column in zip(*places, strict=True))
    return TrecRows(qid, docid, np.array(values), places, name)


def fields_of(line: str) -> list[str]:
    """What blanks separate in a line."""
    return _FIELD.findall(line)


def _number(text: str, what: str, name: str, line: int) -> float:
    written = text.encode(errors="surrogateescape")
    value = read_number(written)
    if not np.isfinite(value):
        raise ValueError(f"{name}, line {line}: the {what} must be a finite number, found {text[:40]!r}")
    if is_rounded_integer(written):
        raise ValueError(f"{name}, line {line}: the {what} {text[:40]!r} is rounded by float64: write a smaller number")
    return value


def _lines(source: FileName, name: str) -> Iterator[tuple[int, str]]:
    """(line number, line) of all lines that are not blank."""
    with ExitStack() as closing:
        for text in streamed(opened(source, closing), name):
            lines = text.data[text.start :].decode(errors="surrogateescape").split("\n")
            yield from ((i, line) for i, line in enumerate(lines, text.first_line) if line.strip(_BLANK))


def _ids(given: ArrayLike, n: int) -> Array:
    ids = np.array([_id(one) for one in np.asarray(given).tolist()], dtype=object)
    if ids.shape != (n,):
        raise ValueError(f"docid must hold one name for each of the {n} documents, got an array of shape {ids.shape}")
    return ids


def _id(given: object) -> str:
    text = str(given)
    if len(text.split()) != 1 or CONTROL.search(text):
        raise ValueError(
            f"{text!r} cannot stand in a TREC file: ids and tags must not be empty, hold blanks or control characters"
        )
    return text


def _write(target: FileName, lines: Iterator[str]) -> None:
    text = "".join(lines)
    with written_beside(target) as file:
        file.write(text.encode(errors="surrogateescape"))
