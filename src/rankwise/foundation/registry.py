"""Names and what they stand for: losses, solvers, measures and schemes are looked up in one `Registry` each.

An entry is an object, or the place where it is defined ("package.module:name"), which is imported on first use.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar, cast

from rankwise.foundation.names import key as _key
from rankwise.foundation.names import unknown_name

Entry = TypeVar("Entry")

NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
PLACE = re.compile(r"[\w.]+:\w+")


class Registry(Generic[Entry]):
    """The names of one kind of thing. Upper case and `_` for `-` make no difference: Squared-Hinge is squared_hinge.

    kind       the argument that takes these names, as messages call it: "loss"
    entries    the names known from the start
    extension  a module that registers further names; imported when a name is not among those known, or all are listed
    """

    def __init__(self, kind: str, entries: Mapping[str, Entry | str], extension: str | None = None) -> None:
        self.kind, self.extension = kind, extension
        self._entries = {_key(name): entry for name, entry in entries.items()}
        self._spellings = {_key(name): name for name in entries}

    def register(self, name: str, entry: Entry | str, *, replace: bool = False) -> None:
        """Let `name` stand for `entry`; a name that is taken is refused unless `replace` is true."""
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
        """What the name stands for; ValueError, with the names there are, where it stands for nothing."""
        key = _key(self.spelling(name))
        entry = self._entries[key] = loaded(self._entries[key])
        return entry

    def spelling(self, name: str) -> str:
        """The name as it was registered."""
        if name not in self:
            raise ValueError(self.unknown(name))
        return self._spellings[_key(name)]

    def unknown(self, name: object) -> str:
        """What to say of a name that is not registered."""
        return unknown_name(self.kind, name, list(self))

    def name_of(self, entry: object) -> str | None:
        """The name under which this very object is registered."""
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
    """The object that "package.module:name" is the place of; any other object is returned as it is."""
    if not isinstance(entry, str):
        return entry
    module, _, name = entry.partition(":")
    return cast(Entry, getattr(import_module(module), name))


def _if_loaded(entry: Entry | str) -> object:
    """The object, if its module has been imported: only then can anyone have it."""
    module, _, name = entry.partition(":") if isinstance(entry, str) else ("", "", "")
    return getattr(sys.modules.get(module), name, None) if isinstance(entry, str) else entry
