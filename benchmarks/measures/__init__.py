"""Measurements that are no fits. Each is a function (folder, quick) that yields rows: {what, solver, value, unit, ...};
with `has_peer`, also of the path `liblinear`.

`solver` "rankwise" is what was measured of ours; rows of another name and the same `what` are what it is held against.
"""

from typing import Any

OURS = "rankwise"


def row(what: str, solver: str, timed: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"what": what, "solver": solver, **timed, **more}


def figure(what: str, value: float, unit: str, solver: str = OURS, **more: Any) -> dict[str, Any]:
    """A row that is not a time."""
    return {"what": what, "solver": solver, "value": value, "unit": unit, **more}
