"""What is wrong with ranking data before a ranker is trained on them: `check(data).findings`.

The room knows features, labels, queries and pairs; it imports from `metrics` and the rooms before it, and no losses or
models. Every kind of finding has a code, listed in `CODES` and in docs/checking.md.
"""

from rankwise.checking.checks import check
from rankwise.checking.findings import CODES, Finding, Report

__all__ = ["CODES", "Finding", "Report", "check"]
