"""What a command may overwrite, checked before it does any work and again when a file is put in place.

A file that rankwise wrote (a model, a report, a journal, a folder of chunks) may be replaced by another of its kind.
All other files are replaced only with --force. A file that the command also reads is never overwritten.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from glob import glob
from pathlib import Path

from rankwise.foundation.outputs import check_again, check_writable, is_special, resolved

Mark = Callable[[str], bool]


def check_target(
    target: str, reads: Iterable[str | None], force: bool, is_ours: Mark | None = None, kind: str = ""
) -> None:
    """Raise an error if `target` cannot or must not be written; `is_ours` says whether a file is of this kind."""
    if target == "-" or not target or (is_special(target) and not Path(target).is_dir()):
        check_writable(target)
        return
    if Path(target).is_dir():
        raise ValueError(f"{target} is a folder: give the name of a file")
    check_unread(target, reads)
    if not force:
        check_replaceable = partial(_check_replaceable, target, is_ours, kind)
        check_replaceable()
        check_again(target, check_replaceable)
    check_writable(target)


def _check_replaceable(target: str, is_ours: Mark | None, kind: str) -> None:
    if Path(target).exists() and os.path.getsize(target) and not (is_ours and is_ours(target)):
        what = f" and is not a {kind}" if kind else ""
        raise ValueError(f"{target} exists{what}: give another name, or --force to replace it")


def check_unread(target: str, reads: Iterable[str | None]) -> None:
    """Raise an error if `target` is a file that is read, or a file in a folder that is read."""
    if not Path(target).exists():
        return
    for read in (file for one in reads if one not in (None, "-") for file in _files(str(one))):
        if _is_same(read, target):
            raise ValueError(f"{target} is both read and written: give another name for what is written")


def _is_same(read: str | Path, target: str) -> bool:
    with suppress(OSError):  # a broken link in a data folder
        return os.path.samefile(read, target)
    return False


def check_distinct(targets: Sequence[str | None]) -> None:
    """Raise an error if two of the files to be written are the same."""
    paths = [resolved(one) for one in targets if one is not None and one != "-" and not is_special(one)]
    if len(set(paths)) < len(paths):
        raise ValueError(f"{max(paths, key=paths.count)} would be written twice: give different names")


def _files(read: str) -> Sequence[str | Path]:
    """The files that a name refers to: itself, those in a folder, those that match a pattern, that of NAME=FILE."""
    path = Path(read)
    if path.is_dir():
        return [path, *path.iterdir()]
    return [path] if path.exists() else glob(read) + glob(read.partition("=")[2])
