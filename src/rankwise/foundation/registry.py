"""Registries: losses, solvers, measures, schemes, exports and others are looked up by name, in one `Registry` each.

An entry is an object, or the place where it is defined ("package.module:name"), which is imported on first use.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import signature
from typing import Generic, TypeVar, cast

from rankwise.foundation.names import key as _key
from rankwise.foundation.names import none_of

Entry = TypeVar("Entry")

NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
PLACE = re.compile(r"[\w.]+:\w+")


class Registry(Generic[Entry]):
    """Objects of one kind by name. Case does not matter, nor does `_` or `-`: Squared-Hinge is squared_hinge.

    kind       the argument that takes these names, for error messages: "loss"
    entries    the built-in names
    extension  a module that registers further names; imported when an unknown name is looked up or all are listed
    """

    def __init__(self, kind: str, entries: Mapping[str, Entry | str], extension: str | None = None) -> None:
        self.kind, self.extension = kind, extension
        self._entries = {_key(name): entry for name, entry in entries.items()}
        self._spellings = {_key(name): name for name in entries}

    def register(self, name: str, entry: Entry | str, *, replace: bool = False) -> None:
        """Register `entry` as `name`; an error if the name is already registered and `replace` is false."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError(
                f"the name of a {self.kind} must be lower-case words joined by '-' or '_', such as 'my-{self.kind}'; "
                f"got {name!r}"
            )
        if isinstance(entry, str) and not PLACE.fullmatch(entry):
            raise ValueError(f"{self.kind} {name!r} must be an object or 'package.module:name'; got {entry!r}")
        if name in self and not replace:
            raise ValueError(
                f"{self.kind} {self.spelling(name)!r} is registered already: choose another name, or pass replace=True"
            )
        self._spellings[_key(name)] = name
        self._entries[_key(name)] = entry

    def __getitem__(self, name: str) -> Entry:
        """The entry of that name; ValueError, with a list of all names, if there is none."""
        key = _key(self.spelling(name))
        entry = self._entries[key] = loaded(self._entries[key])
        return entry

    def spelling(self, name: str) -> str:
        """The name as it was registered."""
        if name not in self:
            raise ValueError(self.unknown(name))
        return self._spellings[_key(name)]

    def unknown(self, name: object) -> str:
        """The error message for a name that is not registered."""
        return none_of(self.kind, name, self)

    def name_of(self, entry: object) -> str | None:
        """The name under which this object is registered, if any."""
        return next((name for name in self if _if_loaded(self._entries[_key(name)]) is entry), None)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if _key(name) not in self._entries:
            self._extend()
        return _key(name) in self._entries

    def __iter__(self) -> Iterator[str]:
        self._extend()
        return iter(list(self._spellings.values()))

    def _extend(self) -> None:
        if self.extension is not None:
            import_module(self.extension)


def loaded(entry: Entry | str) -> Entry:
    """Import the object at "package.module:name"; any other object is returned as it is."""
    if not isinstance(entry, str):
        return entry
    module, _, name = entry.partition(":")
    return cast(Entry, getattr(import_module(module), name))


def can_take(function: object, *arguments: object) -> bool:
    """Whether `function` can be called with these arguments, as far as its signature tells."""
    if not callable(function):
        return False
    try:
        signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # written in C: some functions do not tell, and classes such as int are of no use here
        return not isinstance(function, type)
    return True


def _if_loaded(entry: Entry | str) -> object:
    """The object, or None if its module has not been imported: then no caller can hold the object."""
    module, _, name = entry.partition(":") if isinstance(entry, str) else ("", "", "")
    return getattr(sys.modules.get(module), name, None) if isinstance(entry, str) else entry
