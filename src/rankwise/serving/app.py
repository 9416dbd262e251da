"""The ASGI application: POST /rank, GET /model, /health and /metrics. Errors are {"error": one sentence}."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rankwise import __version__
from rankwise.foundation.strict_json import Json, shown
from rankwise.model_io.files import Ranker
from rankwise.rankers.models import LinearModel
from rankwise.serving.counters import DOCUMENTS, FAILED_RELOADS, RELOADS, Counters
from rankwise.serving.limits import DEFAULTS, Limits
from rankwise.serving.model_file import ModelFile, ModelInMemory
from rankwise.serving.ranking import ServedModel, answer
from rankwise.serving.requests import MALFORMED, TOO_LARGE, RequestError, parse, read

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError as error:
    raise ImportError(f"serving needs Starlette and uvicorn ({error}): pip install starlette uvicorn") from None

LOOKS = 1.0  # seconds between two looks at the model file
TIMED_OUT, UNSUPPORTED, FAILED = 408, 415, 500


def make_app(
    model: "ModelFile | Ranker",
    limits: Limits = DEFAULTS,
    *,
    missing: float | None = None,
    ignore_unknown: bool = False,
    counters: Counters | None = None,
) -> Starlette:
    """A service that ranks by a model file, which is loaded again whenever it is replaced, or by a fitted ranker.

    missing         the value of features that a document lacks; None: they are an error
    ignore_unknown  whether features that the model does not have are ignored
    counters        shared by the workers; None if there is only one
    """
    if isinstance(model, str | os.PathLike):
        model = ModelFile(os.fspath(model), missing, ignore_unknown)
    elif not isinstance(model, ModelFile):
        model = ModelInMemory(ServedModel.of(model, missing, ignore_unknown))
    service = Service(model, limits, counters or Counters())
    app = Starlette(
        routes=[
            Route("/rank", service.rank, methods=["POST"]),
            Route("/model", service.model),
            Route("/health", service.health),
            Route("/metrics", service.metrics),
        ],
        middleware=[Middleware(Counted, counters=service.counters)],
        exception_handlers={
            RequestError: _refused,
            HTTPException: _not_routed,
            ClientDisconnect: _gone,
            Exception: _failed,
        },
        lifespan=service.lifespan,
    )
    app.router.redirect_slashes = False
    return app


@dataclass(frozen=True)
class Service:
    """The endpoints."""

    source: ModelFile | ModelInMemory
    limits: Limits
    counters: Counters

    async def rank(self, request: Request) -> Response:
        query = read(parse(await self._body(request)), self.limits.documents)
        response = answer(self.source.current, query)
        self.counters.add(DOCUMENTS, len(query.ids))
        return _json(response)

    async def _body(self, request: Request) -> bytes:
        """The body, never more of it in memory than is allowed."""
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            raise RequestError(f"the content type is {shown(kind)}, expected application/json", UNSUPPORTED)
        coding = request.headers.get("content-encoding", "identity")
        if coding.lower() != "identity":
            raise RequestError(f"the content encoding is {shown(coding)}: send the body uncompressed", UNSUPPORTED)
        most = self.limits.size
        too_large = RequestError(f"the body has more than {most:,} bytes, the most that is allowed", TOO_LARGE)
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and (len(announced) > len(str(most)) or int(announced) > most):
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        raise too_large
        except TimeoutError:
            sentence = f"the body did not arrive within {self.limits.seconds:g} s"
            raise RequestError(sentence, TIMED_OUT) from None
        return bytes(body)

    async def model(self, request: Request) -> Response:
        model = self.source.current.model
        scaler = None if model.scaling is None else model.scaling.name
        return _json(
            {
                "kind": model.kind,
                "linear": isinstance(model, LinearModel),
                "scaler": scaler,
                "n_features": model.columns.n_features,
                "features": self.source.current.features.names,
            }
        )

    async def health(self, request: Request) -> Response:
        source = self.source
        model = {"file": source.name, "sha256": source.sha256, "loaded": source.loaded}
        return _json({"status": "ready", "version": __version__, "model": model, "error": source.error})

    async def metrics(self, request: Request) -> Response:
        return PlainTextResponse(self.counters.text(), media_type="text/plain; version=0.0.4")

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        while isinstance(self.source, ModelFile):
            await asyncio.sleep(LOOKS)
            if self.source.changed:
                loaded = await asyncio.to_thread(self.source.reload)
                self.counters.add(RELOADS if loaded else FAILED_RELOADS)


@dataclass(frozen=True)
class Counted:
    """Middleware that counts requests and measures their time."""

    app: ASGIApp
    counters: Counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), FAILED

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            self.counters.add_request(scope["path"], status, time.perf_counter() - began)


def _json(content: Json, status: int = 200) -> Response:
    return Response(json.dumps(content, allow_nan=False), status, media_type="application/json")


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    response = _json({"error": str(error)}, error.status)
    if error.status == TIMED_OUT:
        response.headers["connection"] = "close"  # nobody waits for the rest of the body
    return response


def _not_routed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path, allowed = request.scope["path"], (error.headers or {}).get("Allow")
    if allowed is None:
        sentence = f"there is no {shown(path)}: use POST /rank, or GET /model, /health or /metrics"
    else:
        sentence = f"{path} does not take {shown(request.method)}: use {allowed}"
    response = _json({"error": sentence}, error.status_code)
    response.headers.update(error.headers or {})
    return response


def _gone(request: Request, error: Exception) -> Response:
    return _json({"error": "the connection was closed before the whole body had arrived"}, MALFORMED)


def _failed(request: Request, error: Exception) -> Response:
    return _json({"error": "the server failed; its log tells why"}, FAILED)
