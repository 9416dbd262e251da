"""Public names of a room that are imported on first use, because their modules import NumPy or other large packages."""

from collections.abc import Callable, Mapping
from importlib import import_module


def on_first_use(room: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a room: `homes` has the module of each name; one of another room begins with a dot."""

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return getattr(import_module(f".{homes[name]}", room), name)

    return get
