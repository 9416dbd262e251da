"""Schemes: algorithms that sum over pairs, by name.

A scheme is called with a `Layout` and a number of threads and returns an `Engine` (`rankwise.pairs.graph`).
"""

from collections.abc import Callable

from rankwise.foundation.registry import Registry, can_take
from rankwise.pairs.graph import Engine, Layout

Scheme = Callable[[Layout, int], Engine]

SCHEMES: Registry[Scheme] = Registry(
    "scheme",
    {
        "auto": "rankwise.pairs.compiled:Engine",
        "compiled": "rankwise.pairs.compiled:Engine",
        "portable": "rankwise.pairs.portable:Engine",
    },
    extension="rankwise.papers",
)


def register_scheme(name: str, scheme: Scheme | str, *, replace: bool = False) -> None:
    """Register `name` for a scheme: `RankSVM(scheme=name)`.

    scheme   called with (layout, n_threads), returns an engine; or the place where it is defined, "package.module:name"
    replace  whether to replace a scheme that is registered under this name

    A scheme whose arrays may be on a GPU has the attribute `takes_devices = True`.

    Examples
    --------
    >>> from rankwise import RankSVM, load_sample, register_scheme
    >>> register_scheme("array-code", "rankwise.pairs.portable:Engine")
    >>> RankSVM(scheme="array-code").fit(load_sample()).result_.converged
    True
    """
    if not isinstance(scheme, str) and not can_take(scheme, "layout", 1):
        raise TypeError(f"a scheme is called with (layout, n_threads); got {scheme!r}")
    SCHEMES.register(name, scheme, replace=replace)


def check_scheme(scheme: str | Scheme) -> str | Scheme:
    """The name as it was registered, or the object itself; an error if it is not a scheme."""
    if isinstance(scheme, str):
        return SCHEMES.spelling(scheme)
    if not callable(scheme):
        raise TypeError(f"scheme must be a name or an object called with (layout, n_threads); got {scheme!r}")
    return scheme


def find_scheme(scheme: str | Scheme) -> Scheme:
    """The scheme of that name; an object is returned as it is."""
    return SCHEMES[scheme] if isinstance(scheme, str) else scheme
