"""Judgements and feature logs of search engines, joined into ranking data (docs/joining.md).

`judgments` and `ranklib` read judgements, `feature_logs`, `feature_tables` and `ranklib` read features, `formats` tells
the formats apart, and `matching` joins both and reports what did not match. The room imports from `foundation`, `pairs`
and `data`. Public are the names below.
"""

from typing import TYPE_CHECKING

from rankwise.foundation.lazy import on_first_use

if TYPE_CHECKING:
    from rankwise.joining.matching import Joined, join
    from rankwise.joining.report import JoinReport

__all__ = ["JoinReport", "Joined", "join"]

__getattr__ = on_first_use(__name__, {"JoinReport": "report", "Joined": "matching", "join": "matching"})
