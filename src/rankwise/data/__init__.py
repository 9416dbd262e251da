"""Ranking data: in memory (`RankingData`), in files of every registered format, on disk in chunks, and synthetic.

The room knows X, labels, query ids and names of columns; it knows no losses, models or measures. It imports only from
`foundation` and `pairs`. Public are the names below and those that `rankwise` exports.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from rankwise.data.formats import Format, OnDisk, register_format

if TYPE_CHECKING:
    from rankwise.data.columns import Reading
    from rankwise.data.records import RankingData

__all__ = ["Format", "OnDisk", "RankingData", "Reading", "register_format"]

_LATER = {"RankingData": "records", "Reading": "columns"}  # these import NumPy


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'rankwise.data' has no attribute {name!r}")
    return getattr(import_module(f"rankwise.data.{_LATER[name]}"), name)
