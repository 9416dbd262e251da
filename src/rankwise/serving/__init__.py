"""A model as an HTTP service: the documents of a query in, their order, scores and contributions out.

`requests` reads what a client sends, `features` makes a matrix of it, `ranking` answers; these three know nothing of
HTTP. `app` is the ASGI application (Starlette), `model_file` the model that it serves and reloads, `counters` what
/metrics shows, and `server` runs it (uvicorn).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.serving.app import make_app
    from rankwise.serving.limits import Limits
    from rankwise.serving.ranking import ServedModel, rank

_HOME = {"Limits": "limits", "ServedModel": "ranking", "make_app": "app", "rank": "ranking"}

__all__ = ["Limits", "ServedModel", "make_app", "rank"]


def __getattr__(name: str) -> object:
    """The public names on first use: `rank` needs neither Starlette nor uvicorn."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
