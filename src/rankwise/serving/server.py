"""Running the application: a listening socket, one process or several workers, signals.

SIGTERM and SIGINT stop accepting connections, and end when the requests in flight are answered; SIGHUP loads the model
again. Workers are forked from a process that only starts them anew and passes signals on.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from rankwise.serving.app import make_app
from rankwise.serving.counters import Counters
from rankwise.serving.limits import Limits
from rankwise.serving.model_file import ModelFile

try:
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol
except ImportError as error:
    raise ImportError(f"serving needs uvicorn ({error}): pip install starlette uvicorn") from None

KEPT_ALIVE = 5  # seconds that an idle connection stays open
GRACE = 30  # seconds that requests in flight have when the server stops
MOST_CONNECTIONS = 1_000  # per worker; beyond, requests get 503
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
RESTART = 1.0  # seconds before a worker that died is started anew

log = logging.getLogger("rankwise.serving")


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 is one that the system chooses."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(MOST_CONNECTIONS)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"cannot listen on {host}, port {port}: {why}; give another --host or --port") from None
    listening.setblocking(False)
    return listening


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(model: ModelFile, listening: socket.socket, limits: Limits, workers: int = 1) -> None:
    """Answer requests until a signal ends it."""
    counters = Counters.for_workers(workers)
    if workers == 1:
        _work(model, listening, limits, counters)
    else:
        parent = os.getpid()
        _supervise(
            lambda row: _work(model, listening, limits, counters.of_worker(row), parent), workers, listening.close
        )


def _work(
    model: ModelFile, listening: socket.socket, limits: Limits, counters: Counters, parent: int | None = None
) -> None:
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # else every malformed request would be a line
    config = uvicorn.Config(
        make_app(model, limits, counters=counters),
        http=_protocol(limits.seconds),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=KEPT_ALIVE,
        timeout_graceful_shutdown=GRACE,
    )
    server = Worker(config, parent)
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn takes their place, and raises them again at its end
        signal.signal(number, server.stop)
    signal.signal(signal.SIGHUP, lambda *_: model.ask_to_reload())
    gc.collect()
    gc.freeze()  # what is there now stays: collections in the middle of requests need not look at it
    server.run(sockets=[listening])


class Worker(uvicorn.Server):
    """A server that also ends when the process that started it has ended."""

    def __init__(self, config: uvicorn.Config, parent: int | None) -> None:
        super().__init__(config)
        self.parent = parent

    def stop(self, number: int, frame: FrameType | None) -> None:
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        orphaned = self.parent is not None and os.getppid() != self.parent
        return orphaned or await super().on_tick(counter)


def _protocol(seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's protocol, but a connection is closed if the head of its next request takes longer than `seconds`, or
    the rest of a body that was refused. (The application limits the time of other bodies.)
    """

    class Punctual(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.set_deadline()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self.set_deadline()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self.deadline is not None:
                self.deadline.cancel()

        def set_deadline(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
            self.deadline = self.loop.call_later(seconds, self.close_if_waiting)

        def close_if_waiting(self) -> None:
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Punctual


def _supervise(work: Callable[[int], None], workers: int, close: Callable[[], None]) -> None:
    """Run `work(0)`, `work(1)`, ... in processes of their own, each started anew if it dies; `close` when they stop."""
    running: dict[int, int] = {}  # process id -> its row
    stopping = False

    def pass_on(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        if number != signal.SIGHUP:
            stopping = True
            close()
        for pid in running:
            os.kill(pid, signal.SIGTERM if stopping else number)

    def start(row: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # one that arrives now is passed on to this worker too
        if not stopping:
            running[_forked(work, row)] = row
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    for number in SIGNALS:
        signal.signal(number, pass_on)
    for row in range(workers):
        start(row)
    while running:
        pid, status = os.wait()
        row = running.pop(pid)
        if not stopping:
            log.error("worker %d ended (status %d) and is started anew", pid, os.waitstatus_to_exitcode(status))
            time.sleep(RESTART)
            start(row)


def _forked(work: Callable[[int], None], row: int) -> int:
    """The id of a process that runs `work(row)`."""
    pid = os.fork()
    if pid:
        return pid
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    os.setpgid(0, 0)  # so that Ctrl-C reaches the parent alone, which passes it on once
    try:
        work(row)
    except BaseException:
        log.exception("a worker failed")
        os._exit(1)
    os._exit(0)
