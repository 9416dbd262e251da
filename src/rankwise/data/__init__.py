"""Ranking data: in memory (`RankingData`), in files of every registered format, on disk in chunks, and synthetic.

The room knows X, labels, query ids and names of columns; it knows no losses, models or measures. It imports only from
`foundation` and `pairs`. Public are the names below and those that `rankwise` exports.
"""

from typing import TYPE_CHECKING

from rankwise.data.formats import Format, OnDisk, register_format
from rankwise.foundation.lazy import on_first_use

if TYPE_CHECKING:
    from rankwise.data.columns import Reading
    from rankwise.data.records import RankingData

__all__ = ["Format", "OnDisk", "RankingData", "Reading", "register_format"]

__getattr__ = on_first_use(__name__, {"RankingData": "records", "Reading": "columns"})
