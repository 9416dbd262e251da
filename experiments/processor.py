"""Seconds of the process itself, on one thread: what else the machine does hardly counts."""

import time
from collections.abc import Callable
from typing import Any

from threadpoolctl import threadpool_limits


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long `work` took, and what it returned."""
    with threadpool_limits(1):
        began = time.process_time()
        outcome = work()
        return time.process_time() - began, outcome
