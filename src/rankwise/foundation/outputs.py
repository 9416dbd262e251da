"""Safe writing, for every file that rankwise writes: to a temporary file beside the target, fsynced, then renamed.

If the process or the machine crashes, a reader finds either the old or the new content, never a mixture.

The names of temporary files begin with `.rankwise-tmp-`, and the writer holds a lock (flock) on its file while it runs.
A file without a lock was left by a killed process; the next write into the same folder removes it. Process ids cannot
replace the locks, because they differ between containers, nor can O_TMPFILE, which cannot replace an existing file. If
the file system has no locks, nothing is removed.
"""

import errno
import fcntl
import io
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from rankwise.foundation.compression import open_bytes

FileName: TypeAlias = str | os.PathLike[str]

TEMPORARY = ".rankwise-tmp-"
_NAME_KEPT = 40  # last characters of the target's name that a temporary name contains: names are limited in length
_ATTEMPTS = 100
_LINKS = 40  # longest chain of symbolic links, as in Linux
_checks: dict[Path, Callable[[], None]] = {}  # of `check_again`, by the file that is to be written


@contextmanager
def written_beside(target: FileName) -> Iterator[BinaryIO]:
    """A binary file that replaces `target` when the block ends without an error; until then `target` is unchanged.

    `target` may also be "-" for standard output, or a device or pipe; these are written directly.
    """
    if str(target) == "-":
        with naming("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    with naming(target):
        path = resolved(target)
        if is_special(target):
            with open(target, "wb") as file:
                yield file
            return
        with temporary_file(path) as (beside, handle):
            with open_bytes(beside, "wb") as file:
                yield file
            if path.exists():
                os.fchmod(handle, stat.S_IMODE(path.stat().st_mode))
            os.fsync(handle)
            _put(beside, path)
            sync_folder(path.parent)


def check_again(target: FileName, check: Callable[[], None]) -> None:
    """Let `written_beside` call `check` if it finds a file at `target` in the end, which may have appeared meanwhile;
    the file is replaced unless this raises an error.
    """
    _checks[resolved(target)] = check


@contextmanager
def checks_ended() -> Iterator[None]:
    """Drop all checks of `check_again` when the block ends: they belong to one command."""
    try:
        yield
    finally:
        _checks.clear()


def _put(beside: Path, path: Path) -> None:
    """Give the temporary file its name."""
    if path in _checks:
        try:
            os.link(beside, path)  # unlike a rename, it never replaces a file; `temporary_file` removes the other name
        except OSError:  # there is a file, or the file system has no links
            if path.exists():
                _checks[path]()
        else:
            del _checks[path]  # a second write of the same command replaces its own file
            return
    os.replace(beside, path)
    _checks.pop(path, None)


@contextmanager
def naming(target: FileName) -> Iterator[None]:
    """Let system errors name `target`: those of a full disk name no file, and others name the temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (error.filename is not None and TEMPORARY not in str(error.filename)):
            raise
        raise OSError(error.errno, error.strerror, str(target)) from error


@contextmanager
def temporary_file(path: Path) -> Iterator[tuple[Path, int]]:
    """An empty file beside `path`, locked, and a handle on it; removed at the end unless it was renamed."""
    _remove_stale(path.parent)
    beside, handle = _new_file(path)
    try:
        yield beside, handle
    finally:
        with suppress(OSError):
            beside.unlink()
        os.close(handle)


def _new_file(path: Path) -> tuple[Path, int]:
    for _ in range(_ATTEMPTS):
        beside = path.with_name(f"{TEMPORARY}{secrets.token_hex(4)}-{path.name[-_NAME_KEPT:]}")
        handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if _lock(handle) is not False and _is_at(handle, beside):
            return beside, handle
        os.close(handle)  # another process took it for a stale file before it was locked
    raise OSError(errno.EAGAIN, "no temporary file can be created beside it", str(path))


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """An empty folder beside `path`, for one process at a time; removed at the end unless it was renamed.

    A second writer of the same folder gets an error here, before it does any work.
    """
    beside = path.with_name(f"{TEMPORARY}folder-{path.name}")
    _remove_stale(path.parent)
    handle = _own_folder(beside, path)
    try:
        yield beside
    finally:
        if _is_at(handle, beside):
            shutil.rmtree(beside, ignore_errors=True)
        os.close(handle)


def _own_folder(beside: Path, path: Path) -> int:
    for _ in range(_ATTEMPTS):
        try:
            os.mkdir(beside)
            is_new = True
        except FileExistsError:
            is_new = False
        try:
            handle = os.open(beside, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        locked = _lock(handle)
        if (locked or (locked is None and is_new)) and _is_at(handle, beside) and not os.listdir(beside):
            return handle
        os.close(handle)
        if locked is False:
            raise ValueError(f"{path} is being written by another process: wait for it, or give another name")
        if locked is None:
            raise ValueError(f"{beside} is in the way: remove it if no other process is writing {path}")
        _remove_if_dead(beside)
    raise OSError(errno.EAGAIN, "no temporary folder can be created beside it", str(path))


def _remove_stale(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(TEMPORARY):
                _remove_if_dead(Path(entry.path))


def _remove_if_dead(path: Path) -> None:
    with suppress(OSError):
        is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
        handle = os.open(path, os.O_NOFOLLOW | os.O_NONBLOCK | (os.O_RDONLY if is_folder else os.O_RDWR))
        try:
            if _lock(handle) and _is_at(handle, path):
                shutil.rmtree(path) if is_folder else path.unlink()
        finally:
            os.close(handle)


def _lock(handle: int) -> bool | None:
    """True: locked until the handle is closed. False: another process has the lock. None: locks are not supported."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


@contextmanager
def locked_file(path: Path) -> Iterator[BinaryIO]:
    """A file to read and to append to, for one process at a time; created if it does not exist."""
    for _ in range(_ATTEMPTS):
        file = open(path, "a+b", buffering=0)  # noqa: SIM115  closed below
        locked = _lock(file.fileno())
        if locked is False:
            file.close()
            raise ValueError(f"{path} is in use by another process: wait for it, or give another name")
        if _is_at(file.fileno(), Path(os.path.realpath(path))):
            break
        file.close()  # removed by its owner before it was locked
    else:
        raise OSError(errno.EAGAIN, "it cannot be locked", str(path))
    with file:
        yield file


def append(file: BinaryIO, line: bytes) -> None:
    """Append to a file of `locked_file`: on return the line is on disk; if it fails, none of it is."""
    size = file.seek(0, os.SEEK_END)
    with naming(file.name):
        try:
            while line:
                line = line[file.write(line) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(size)
            raise


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A new file in a folder of `temporary_folder`, on disk when the block ends."""
    with naming(path), open(path, "xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def rename(old: Path, new: Path) -> None:
    os.rename(old, new)
    sync_folder(new.parent)


def sync_folder(folder: Path) -> None:
    """Fsync a folder, so that its current file names survive a crash of the machine."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems do not support it
            raise
    finally:
        os.close(handle)


def is_special(target: FileName) -> bool:
    """Whether the target is a device, a pipe or a folder, which cannot be replaced by renaming a file."""
    return Path(target).exists() and not Path(target).is_file()


def resolved(target: FileName) -> Path:
    """The file that the system opens by this name, links followed; an error if its folder does not exist.

    `os.path.realpath` alone would resolve `missing/../name` to `name`, where the system reports an error.
    """
    path = str(target)
    if not path:
        raise ValueError("the name of the file to write is empty: give one")
    for _ in range(_LINKS):
        folder, name = os.path.split(str(Path(path)))
        _check_folder(folder, target)
        if name in ("", ".."):
            return Path(os.path.realpath(path))
        if not os.path.islink(os.path.join(folder, name)):
            return Path(os.path.realpath(folder or "."), name)
        path = os.path.join(folder, os.readlink(os.path.join(folder, name)))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(target))


def _check_folder(folder: str, target: FileName) -> None:
    for one in (*reversed(Path(folder).parents), Path(folder)):
        try:
            is_folder = stat.S_ISDIR(os.stat(one).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_folder = False
        if not is_folder:
            raise ValueError(f"{target} cannot be written: there is no folder {one}")


def check_writable(target: FileName) -> None:
    """Raise an error now if `target` cannot be written, before any work is done; leaves no file."""
    if str(target) == "-":
        with naming("standard output"), suppress(io.UnsupportedOperation):  # it may be a buffer in memory
            os.write(sys.stdout.fileno(), b"")
        return
    path = resolved(target)
    if is_special(target) and not path.is_dir():
        return
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "it is write-protected", str(target))
    with naming(target), temporary_file(path):
        sync_folder(path.parent)
