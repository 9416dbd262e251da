"""The pair schemes by name; the module that holds one is imported when it is first asked for."""

from importlib import import_module
from typing import cast

from rankwise.pairs.graph import Engine, Layout

SCHEMES = {  # name -> module of this package
    "auto": "compiled",
    "compiled": "compiled",
    "portable": "portable",
    "explicit": "explicit",
    "by-level": "by_level",
    "red-black-tree": "trees",
    "score-red-black-tree": "trees",
    "selection-tree": "trees",
    "avl-tree": "trees",
    "aa-tree": "trees",
}


def make_engine(name: str, layout: Layout, n_threads: int = 1) -> Engine:
    if name not in SCHEMES:
        raise ValueError(f"pairs is {name!r}: there are {', '.join(SCHEMES)}")
    module = import_module(f"rankwise.pairs.{SCHEMES[name]}")
    kind = {"kind": name} if SCHEMES[name] == "trees" else {}
    return cast(Engine, module.Engine(layout, n_threads, **kind))
