"""Judgements and feature logs of search engines, joined into ranking data (docs/joining.md).

`judgments` and `ranklib` read judgements, `feature_logs`, `feature_tables` and `ranklib` read features, `formats` tells
the formats apart, and `matching` joins both and reports what did not match. The room imports from `foundation`, `pairs`
and `data`. Public are the names below.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.joining.matching import Joined, join
    from rankwise.joining.report import JoinReport

__all__ = ["JoinReport", "Joined", "join"]

_LATER = {"JoinReport": "report", "Joined": "matching", "join": "matching"}  # these import NumPy


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
