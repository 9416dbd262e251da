"""What the result of a fit on a cluster has in addition."""

from dataclasses import dataclass, fields
from typing import Any

from rankwise.distributed.partitions import Traffic
from rankwise.solvers import Result


@dataclass(frozen=True)
class ClusterResult(Result):
    """rounds: of messages; bytes: sent in them, both ways."""

    rounds: int = 0
    bytes: int = 0


def with_traffic(result: Result, traffic: Traffic) -> ClusterResult:
    told: dict[str, Any] = {field.name: getattr(result, field.name) for field in fields(Result)}
    return ClusterResult(**told, rounds=traffic.rounds, bytes=traffic.bytes)
