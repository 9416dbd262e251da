"""A model as an HTTP service: the documents of a query in, their order, scores and contributions out.

`requests` reads what a client sends, `features` makes a matrix of it, `ranking` answers; these three know nothing of
HTTP. `app` is the ASGI application (Starlette), `model_file` the model that it serves and reloads, `counters` what
/metrics shows, and `server` runs it (uvicorn).
"""

from typing import TYPE_CHECKING

from rankwise.foundation.lazy import on_first_use

if TYPE_CHECKING:
    from rankwise.serving.app import make_app
    from rankwise.serving.limits import Limits
    from rankwise.serving.ranking import ServedModel, rank

__all__ = ["Limits", "ServedModel", "make_app", "rank"]


__getattr__ = on_first_use(  # `rank` needs neither Starlette nor uvicorn
    __name__, {"Limits": "limits", "ServedModel": "ranking", "make_app": "app", "rank": "ranking"}
)


def __dir__() -> list[str]:
    return __all__
