"""`rankwise train --dask`: training on the workers of a cluster, which read the files themselves."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import typer

from rankwise.cli.inputs import names_for, note_one_query, parse_measures, read_names
from rankwise.cli.models import check_signs, make_model
from rankwise.cli.options import Naming
from rankwise.cli.speech import checked, doing
from rankwise.cli.work import Outcome, Training, follow, show_outcome
from rankwise.data.columns import ModelColumns
from rankwise.data.records import LABEL, QUERY
from rankwise.foundation.compiling import clock
from rankwise.metrics import default_measures
from rankwise.model_io.conversion import model_of
from rankwise.model_selection.signs import with_signs_by_place

if TYPE_CHECKING:
    from rankwise.distributed.client import Client

LOCAL = "local:"
PATIENCE = 10  # seconds for a scheduler to answer


def train(request: Training, where: str, as_json: bool) -> None:
    from rankwise import distributed
    from rankwise.distributed.evaluation import judged

    measures = parse_measures(request.measures)
    local = make_model(request.model, request.options, request.normalize)
    estimator = getattr(distributed, f"Dask{type(local).__name__}", None)
    if estimator is None:
        raise typer.BadParameter(
            "on a cluster, only linear ranksvm and rankrls are available, without --normalize", param_hint="--dask"
        )
    if request.float32:
        raise typer.BadParameter("not available with --dask: store the files as float32", param_hint="--float32")
    columns = _by_name(request.columns)
    request.begin()
    if request.names is not None:  # so that an error is reported before the training
        names = tuple(read_names(request.names))
        columns_named = ModelColumns(len(names), names=names)
        check_signs(request.options["monotonic_cst"] or {}, columns_named)
        local = with_signs_by_place(local, columns_named)
    with connected(where) as client:
        ranker = estimator(**local.get_params())
        ranker.client = client
        began = clock()
        with doing("training") as progress:
            follow(ranker, progress)
            ranker.fit(request.data, *columns)
        seconds = clock() - began
        known = replace(ranker.columns_, names=names_for(ranker.columns_, request.names))
        model = model_of(ranker.to_local(), known.names, known.first_index)
        request.write(model)
        evaluated = {"train": request.data} | ({} if request.valid is None else {"valid": [request.valid]})
        measures = measures or parse_measures(default_measures(ranker.columns_.labels))
        judge = partial(judged, client, coef=ranker.coef_, measures=measures, like=known)
        with doing("evaluating"):
            evaluations = {name: judge((files, *columns)) for name, files in evaluated.items()}
    note_one_query(ranker.n_queries_, evaluations["train"].n_documents)
    shape = {
        "documents": evaluations["train"].n_documents,
        "queries": ranker.n_queries_,
        "features": ranker.n_features_in_,
    }
    kept = int(np.count_nonzero(ranker.coef_))
    show_outcome(request, Outcome(ranker.result_, shape, seconds, evaluations, kept), as_json)
    request.end(model)


def _by_name(columns: Naming) -> tuple[str | None, str | None, str | None]:
    """The names of labels, query ids and weights, if they are not the usual ones; the workers take no others."""
    for name, usual in asdict(Naming()).items():
        if name not in ("label", "qid", "weight") and getattr(columns, name) != usual:
            option = {"docid": "--doc", "format": "--from"}.get(name, f"--{name}")
            raise typer.BadParameter("not available with --dask: convert the files first", param_hint=option)
    label, qid = (None if given == usual else given for given, usual in ((columns.label, LABEL), (columns.qid, QUERY)))
    return label, qid, columns.weight


@contextmanager
def connected(where: str) -> Iterator["Client"]:
    """A client of the scheduler at an address, or of N worker processes (`local:N`), which end with the context."""
    from distributed import Client, LocalCluster

    from rankwise.foundation.threads import thread_count

    if where.startswith(LOCAL):
        n = checked("--dask", _count, where.removeprefix(LOCAL))
        threads = max(1, thread_count() // n)
        options = {"n_workers": n, "threads_per_worker": threads, "dashboard_address": ":0", "memory_limit": 0}
        with LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster, Client(cluster) as client:
            yield client
        return
    try:
        client = Client(where, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"no Dask scheduler answers at {where!r}: {error}") from None
    with client:
        yield client


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"{LOCAL}{text} must be {LOCAL} and a number of worker processes, as in {LOCAL}2")
    return int(text)
