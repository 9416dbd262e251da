"""The record of a run in the model that it trains, and whether a repeated run has the same files and the same weights.

Files are identified by their SHA-256, as `sha256sum` prints it. Hashing takes place in a thread while the command reads
and trains.
"""

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import typer

from rankwise.cli.settings import OF_THE_RUN, READ, UNRECORDED, option_name
from rankwise.cli.speech import say
from rankwise.data.streams import status_of
from rankwise.foundation.arrays import Floats
from rankwise.foundation.strict_json import Json
from rankwise.model_io.files import versions
from rankwise.model_io.origins import SHOWN, each, words
from rankwise.rankers.models import KernelModel, LinearModel, Model

_ESCAPED = re.compile(r"\\x[0-9a-f]{2}")  # as `_plain` records such a byte


def data_files(ctx: typer.Context, data: list[str] | None, what: str = "ranking data") -> list[str]:
    """The files that were typed or, if none were, those of --config or --like."""
    files: list[str] = data or (ctx.default_map or {}).get("data") or []
    if not files:
        raise typer.BadParameter(f"give one or more files of {what}", param_hint="DATA...")
    return files


@dataclass(frozen=True)
class Before:
    """The run that --like repeats: its model, the path of this, and whether files may have changed."""

    path: str
    model: Model
    may_change: bool


class Run:
    """A run of `train` or `tune`."""

    def __init__(self, ctx: typer.Context, data: list[str]) -> None:
        self.command = str(ctx.info_name)
        self.data, self.valid, self.output = data, ctx.params["valid"], ctx.params["output"]
        self.options = {"data": _plain(data)} | given_options(ctx)
        like, may_change = ctx.params["like"], ctx.params["allow_changes"]
        self.before = None if like is None else Before(like, ctx.obj, may_change)
        given = {option_name(one): ctx.params[str(one.name)] for one in ctx.command.params if one.name in ctx.params}
        self.files = data + [path for name in READ[1:] if (path := given.get(name)) is not None]
        self.states: dict[str, tuple[int, int] | None] = {}
        self.hashes: dict[str, str | None] = {}
        self.hashing = Thread(target=self._hash, daemon=True)

    @property
    def reads(self) -> list[str]:
        """Every file that the command reads."""
        return self.files + ([] if self.before is None else [self.before.path])

    @property
    def typed(self) -> list[str]:
        """The command as it is typed, without the files that it writes."""
        return ["rankwise", self.command, *words(self.options)]

    def begin(self) -> None:
        """Start to hash the files. A repeated run waits for it: an error if a file is not what it was."""
        self.states = {path: _state(path) for path in self.files}
        self.hashing.start()
        if self.before is not None:
            self.hashing.join()
            self._check(self.before)

    def _hash(self) -> None:
        for path in self.files:
            self.hashes[path] = file_hash(path)

    def _check(self, before: Before) -> None:
        run: dict[str, Json] = before.model.run or {}
        named = {path for name in READ for path in each(run["options"].get(name, []))}
        for path in self.files:
            if path in named and not before.may_change:  # others were typed
                _check_unchanged(path, run["files"].get(path), self.hashes.get(path), before.path)
        if other := sorted(before.model.versions.items() - versions().items()):
            others = ", ".join(f"{name} {version[:SHOWN]}" for name, version in other)
            say(f"note: {before.path} was trained with {others}; weights may differ in their last digits")

    def recorded_in(self, model: Model, seed: int | None) -> Model:
        """The model with the record of this run."""
        self.hashing.join()
        unchanged = {path for path, state in self.states.items() if state == _state(path)}
        files = {_plain(path): self.hashes.get(path) if path in unchanged else None for path in self.files}
        options = self.options | ({} if seed is None else {"seed": seed})
        run = {"command": self.command, "options": dict(sorted(options.items())), "files": files}
        return replace(model, run=run)

    def compare(self, model: Model) -> bool:
        """Whether the weights are those of the run that was repeated, to the last bit; said on stderr."""
        if self.before is None:
            return True
        if model.columns.names != self.before.model.columns.names:
            say(f"the features are not those of {self.before.path}, in its order: the weights are not compared")
            return False
        ours, others = _weights(model), _weights(self.before.model)
        if all(map(np.array_equal, ours, others)):
            say(f"the weights are those of {self.before.path}, to the last bit")
            return True
        by = ""
        if ours[0].shape == others[0].shape:
            largest = float(np.abs(others[0]).max(initial=0.0)) or 1.0
            by = f" by up to {float(np.abs(ours[0] - others[0]).max()) / largest:.2g} of the largest"
        say(f"the weights differ from those of {self.before.path}{by}")
        return False


def _check_unchanged(path: str, recorded: str | None, found: str | None, model: str) -> None:
    if recorded is not None and recorded == found:
        return
    cure = "put it back, or give --allow-changes to go on"
    if recorded is None:
        raise ValueError(f"{model} does not say what {path} contained: give --allow-changes to go on")
    if found is None:
        if _ESCAPED.search(path):
            cure += rf"; if \x stands for a byte of its name that is not UTF-8, type the name beside --like {model}"
        raise ValueError(f"{path}, on which {model} was trained, cannot be read here: {cure}")
    raise ValueError(f"{path} has changed since {model} was trained: {cure}")


def given_options(ctx: typer.Context) -> dict[str, Json]:
    """The options that were typed or set by --config or --like, by name, without the data."""
    given: dict[str, Json] = {}
    for param in ctx.command.params:
        name = option_name(param)
        source = ctx.get_parameter_source(str(param.name))
        value = ctx.params.get(str(param.name))
        is_given = source is not None and source.name != "DEFAULT" and value is not None
        if is_given and name not in ("data", *UNRECORDED, *OF_THE_RUN):
            given[name] = _plain(value)
    return given


def _plain(value: Any) -> Any:
    """A value as JSON holds it; bytes of a path that are not UTF-8 become escapes."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return os.fsencode(value).decode(errors="backslashreplace") if isinstance(value, str) else value


def _state(path: str) -> tuple[int, int] | None:
    """Size and time of modification: what shows that a file was changed while it was read."""
    with suppress(OSError):
        return status_of(Path(path))
    return None


def file_hash(path: str | Path) -> str | None:
    """The SHA-256 of a file; of a folder that of a list of hashes and names; None of what cannot be read twice."""
    target = Path(path)
    if str(path) == "-":
        return None
    try:
        if target.is_dir():  # the manifest of chunks holds their checksums
            manifest = target / "manifest.json"
            files = [manifest] if manifest.exists() else sorted(target.glob("*.parquet"))
            lines = "".join(f"{file_hash(one)}  {one.name}\n" for one in files)
            return hashlib.sha256(os.fsencode(lines)).hexdigest()
        if not target.is_file():
            return None
        with open(target, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def trained_on(model: Model, path: str) -> bool:
    """Whether the file has the content of one of the data or clicks of the model."""
    if model.run is None:
        return False
    files, options = model.run["files"], model.run["options"]
    read = [one for key in ("data", "clicks") for one in each(options.get(key, []))]
    hashes = {files[one] for one in read if files.get(one) is not None}
    return bool(hashes) and file_hash(path) in hashes


def _weights(model: Model) -> list[Floats]:
    if isinstance(model, LinearModel):
        return [model.coef]
    assert isinstance(model, KernelModel)
    return [model.dual_coef, model.references]
