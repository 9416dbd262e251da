"""`rankwise serve`: a model as an HTTP service."""

import logging
from typing import Annotated

import typer

from rankwise.cli.options import MISSING_HELP, Model
from rankwise.cli.speech import checked, command, counted, say
from rankwise.serving.limits import DEFAULTS, Limits

Host = Annotated[str, typer.Option(metavar="NAME", help="Address to listen on; 0.0.0.0 for all networks.")]
Port = Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port to listen on; 0: the system chooses.")]
Workers = Annotated[int, typer.Option(metavar="N", min=1, max=256, help="Processes that answer requests.")]
Missing = Annotated[float | None, typer.Option(metavar="X", help=MISSING_HELP)]
IgnoreUnknown = Annotated[
    bool, typer.Option("--ignore-unknown", help="Ignore features that the model does not have; else they are an error.")
]
MostBytes = Annotated[int, typer.Option(metavar="N", min=1, help="Bytes that the body of a request may have.")]
MostDocuments = Annotated[int, typer.Option(metavar="N", min=1, help="Documents that a request may have.")]
Timeout = Annotated[float, typer.Option(metavar="S", min=0.1, max=3600, help="Seconds a request may take to arrive.")]


@command
def serve(
    model: Model,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,
    missing: Missing = None,
    ignore_unknown: IgnoreUnknown = False,
    max_bytes: MostBytes = DEFAULTS.size,
    max_documents: MostDocuments = DEFAULTS.documents,
    timeout: Timeout = DEFAULTS.seconds,
) -> None:
    """Rank the documents of queries over HTTP: POST /rank, GET /model, /health and /metrics.

    A model file that is replaced is loaded again; SIGTERM ends the service when all requests are answered.

    Example: rankwise serve model.json --port 8000 --workers 2
    """
    from rankwise.cli.inputs import note_missing
    from rankwise.data.columns import check_missing
    from rankwise.serving import server
    from rankwise.serving.model_file import ModelFile

    checked("--missing", check_missing, missing)
    file = ModelFile(model, missing, ignore_unknown)
    listening = server.listen(host, port)
    _log_by_say()
    served = file.current.model
    note_missing(served, model, missing)
    features = counted(served.columns.n_features, "features")
    say(f"rankwise: {model} ({served.kind}, {features}) is served at {server.address_of(listening)}")
    server.serve(file, listening, Limits(max_bytes, max_documents, timeout), workers)
    say("rankwise: stopped")


def _log_by_say() -> None:
    """Messages of the service are lines on stderr, as those of commands are; a traceback follows its message."""

    class Saying(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(f"rankwise: {record.getMessage()}")
            for line in (logging.Formatter().formatException(record.exc_info) if record.exc_info else "").splitlines():
                say(line)

    logging.getLogger().addHandler(Saying(logging.WARNING))
