"""`rankwise train --dask`: the same training on the workers of a cluster, which read the files themselves."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import typer

from rankwise.cli.inputs import names_for, note_one_query, parse_measures, read_names
from rankwise.cli.models import make_model
from rankwise.cli.speech import checked, doing
from rankwise.cli.work import Outcome, Training, follow, tell
from rankwise.metrics import default_measures
from rankwise.model_io.files import save_model

LOCAL = "local:"
PATIENCE = 10  # seconds for a scheduler to answer


def train(asked: Training, where: str, as_json: bool) -> None:
    from rankwise import distributed
    from rankwise.distributed.evaluation import judged

    measures = parse_measures(asked.measures)
    local = make_model(asked.model, asked.options, asked.normalize)
    estimator = getattr(distributed, f"Dask{type(local).__name__}", None)
    if estimator is None:
        raise typer.BadParameter(
            "a cluster trains linear ranksvm and rankrls, without --normalize", param_hint="--dask"
        )
    if asked.float32:
        raise typer.BadParameter("with --dask files are kept as they are stored: store float32", param_hint="--float32")
    asked.check_output()
    if asked.names is not None:
        read_names(asked.names)  # an error in them is reported before anything is trained
    with connected(where) as client:
        ranker = estimator(**local.get_params())
        ranker.client = client
        began = time.perf_counter()
        with doing("training") as progress:
            follow(ranker, progress)
            ranker.fit(asked.data)
        seconds = time.perf_counter() - began
        columns = replace(ranker.columns_, names=names_for(ranker.columns_, asked.names))
        save_model(ranker.to_local(), asked.output, columns.names, columns.first_index)
        evaluated = {"train": asked.data} | ({} if asked.valid is None else {"valid": [asked.valid]})
        asked_for = measures or default_measures(ranker.columns_.labels)
        judge = partial(judged, client, coef=ranker.coef_, measures=asked_for, like=columns)
        with doing("evaluating"):
            found = {name: judge((files, None, None, None)) for name, files in evaluated.items()}
    note_one_query(ranker.n_queries_, found["train"].n_documents)
    shape = {"documents": found["train"].n_documents, "queries": ranker.n_queries_, "features": ranker.n_features_in_}
    tell(asked, Outcome(ranker.result_, shape, seconds, found), as_json)


@contextmanager
def connected(where: str) -> Iterator[Any]:
    """A client of the scheduler at an address, or of `local:N` worker processes that live as long."""
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
