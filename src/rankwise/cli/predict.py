"""`rankwise predict`: rows are scored block after block, so that memory is bounded and a pipe gets its scores early."""

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from rankwise.cli.inputs import (
    check_order,
    finite_scores,
    first_unused,
    ids_in,
    left_on_disk,
    note_ignored,
    note_zeros,
    options_for,
    read_data,
    read_ranker,
)
from rankwise.cli.options import Naming
from rankwise.cli.speech import counted, doing, say, stop_here
from rankwise.data import formats
from rankwise.data.columns import for_model, unknown
from rankwise.data.formats import Format, format_of
from rankwise.data.records import RankingData, joined
from rankwise.data.score_table import TABLES, scores_written
from rankwise.data.streams import name_of
from rankwise.foundation.arrays import Floats
from rankwise.foundation.devices import is_sparse
from rankwise.foundation.outputs import naming, written_beside
from rankwise.rankers.models import Model

NARROW = 1 << 12  # features up to which rows of text are read as dense ones: their scores do not depend on the blocks


def write_scores(model_file: str, data_file: str, columns: Naming, output: str) -> None:
    """One score per line."""
    done = 0
    with written_beside(output) as file:
        for _, scores in _scored(model_file, data_file, columns, output):
            file.write("".join(f"{score!r}\n" for score in scores.tolist()).encode())
            file.flush()
            done += scores.size
    _say_written(done, output)


def is_table(output: str) -> bool:
    """Whether the name of the file asks for a table."""
    return output != "-" and format_of(output).name in TABLES


def write_table(model_file: str, data_file: str, columns: Naming, output: str) -> None:
    """A table of qid, docid and score."""
    done = 0
    with scores_written(output, format_of(output).name if is_table(output) else "csv") as add:
        for data, scores in _scored(model_file, data_file, columns, output, with_ids=True):
            docid = np.arange(done + 1, done + scores.size + 1) if data.docid is None else data.docid
            add(data.qid, docid, scores)
            done += scores.size
    _say_written(done, output)


def write_trec(model_file: str, data_file: str, columns: Naming, output: str, tag: str, qrels: str | None) -> None:
    from rankwise.data.trec import write_qrels, write_run

    check_order(model_file, data_file)
    model = read_ranker(model_file, columns)
    data = read_data(data_file, model.columns, columns, comments=True, needs_labels=qrels is not None)
    documents = ids_in(data, data_file)
    write_run(output, finite_scores(model, data, model_file, data_file), data.qid, documents, tag)
    _say_written(len(data), output)
    if qrels is not None:
        write_qrels(qrels, data.y, data.qid, documents)


def _scored(
    model_file: str, data_file: str, columns: Naming, output: str, with_ids: bool = False
) -> Iterator[tuple[Any, Floats]]:
    """Blocks of rows and their scores."""
    check_order(model_file, data_file)
    model = read_ranker(model_file, columns)
    done = 0
    with closing(_blocks(model, data_file, columns, output, with_ids)) as blocks:
        for block in blocks:
            scores = finite_scores(model, block, model_file, data_file, done)
            yield block, scores
            done += scores.size


def _say_written(n_scores: int, output: str) -> None:
    if output != "-":
        say(f"{counted(n_scores, 'scores')} written to {output}")


def _progress(name: str, output: str) -> AbstractContextManager[Callable[[str], None]]:
    """A line that is renewed, unless the scores themselves appear at the terminal."""
    if output == "-" and sys.stdout.isatty():
        return nullcontext(lambda _: None)
    return doing(f"scoring {name}")


def _blocks(model: Model, source: str, columns: Naming, output: str, with_ids: bool) -> Generator[Any, None, None]:
    """The rows with the columns of the model; whole queries if it scales by query."""
    by_query = model.scaling is not None and model.scaling.by_query
    format = formats.sources_of(source, columns.format)[1]
    columns = replace(columns, format=format.name)
    stored = left_on_disk(model, [source], model.columns, columns)
    if stored is not None:
        yield stored
    elif with_ids and format.is_indexed:  # comments hold them, and all of these must be seen
        yield read_data(source, model.columns, columns, comments=True, needs_labels=False)
    elif not by_query:
        yield from _streamed(model, source, columns, format, output)
    elif source == "-":
        yield from _whole_queries(_streamed(model, source, columns, format, output), name_of(source))
    else:  # a query may have its rows anywhere in the file
        yield read_data(source, model.columns, columns, needs_labels=False)


def _streamed(model: Model, source: str, columns: Naming, format: Format, output: str) -> Iterator[RankingData]:
    known, scaling, name = model.columns, model.scaling, name_of(source)
    options = asdict(columns) | {"needs_labels": False} | options_for(known, format, name)
    if format.is_indexed:
        options["dense"] = (scaling is not None and scaling.moves_zeros) or known.n_features <= NARROW
    unused = known.first_index
    with _progress(name, output) as tell, naming(name):
        blocks = formats.stream_data(source, progress=lambda done, _: tell(counted(done, "rows")), **options)
        for number, block in enumerate(blocks):
            stop_here()
            if number == 0:
                note_ignored(unknown(block, known), name)
            if unused < known.first_index + known.n_features:
                leaves_zeros_out = format.is_indexed or is_sparse(block.X)
                unused = max(unused, first_unused(block) if leaves_zeros_out else block.first_index + block.n_features)
            yield for_model(block, known, name)
    note_zeros(unused, known, name)


def _whole_queries(blocks: Iterator[RankingData], name: str) -> Iterator[RankingData]:
    """The same rows in blocks of whole queries. A query that goes on after another one is refused: its first rows were
    scaled without the others.
    """
    held: list[RankingData] = []
    done: set[str] = set()
    for block in blocks:
        begins = np.flatnonzero(np.concatenate(([True], block.qid[1:] != block.qid[:-1])))
        goes_on = bool(held) and str(block.qid[0]) == str(held[-1].qid[-1])
        for query in block.qid[begins[int(goes_on) :]].tolist():
            if str(query) in done:
                raise ValueError(
                    f"{name}: query {query} goes on after another query, and the model scales by query: sort the rows "
                    "by query, or give a file"
                )
            done.add(str(query))
        last = int(begins[-1])
        if last or not goes_on:
            whole = held + ([block.select(slice(last))] if last else [])
            held = []
            if whole:
                yield joined(whole)
        held.append(block.select(slice(last, None)))
    yield joined(held)
