"""`rankwise convert`: ranking data from one format into another."""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.options import Force, Jobs, Naming, naming_columns
from rankwise.cli.speech import checked, command, counted, doing, say, stop_here
from rankwise.data.formats import Format, OnDisk, format_names, format_of, get_format, sources_of, suffixes_shown
from rankwise.foundation.compiling import clock

if TYPE_CHECKING:
    from rankwise.data.chunks import ChunkedData
    from rankwise.data.records import RankingData


@command
@naming_columns
def convert(
    columns: Naming,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="IN... OUT",
            help="Files or folders to read as one, then where to write; - for stdin and stdout (text). Formats by "
            f"suffix: {suffixes_shown()}.",
            show_default=False,
        ),
    ],
    to: Annotated[str | None, typer.Option("--to", metavar="FORMAT", help=f"{', '.join(format_names())}.")] = None,
    float32: Annotated[bool, typer.Option("--float32", help="Features in single precision.")] = False,
    jobs: Jobs = None,
    force: Force = False,
) -> None:
    """Write ranking data in another format; chunks are for data larger than memory.

    Example: rankwise convert train.txt vali.txt both.parquet
    """
    if len(files) < 2:
        raise typer.BadParameter("give the files to read and, last, the file to write", param_hint="IN... OUT")
    *sources, target = files
    written = checked("--to", lambda name: get_format(name) if name else format_of(target, writing=True), to)
    _check(sources, target, written, force)
    began = clock()
    options = asdict(columns) | {"n_jobs": jobs, "dtype": "float32" if float32 else None}
    options["format"] = sources_of(sources, columns.format)[1].name
    data: RankingData | ChunkedData
    if written.on_disk is not None:
        data = _as_stream(sources, target, written.on_disk, options)
    else:
        data = _as_whole(sources, target, written, options)
    shape = ((len(data), "documents"), (data.n_queries, "queries"), (data.n_features, "features"))
    size = ", ".join(counted(n, what) for n, what in shape)
    say(f"{size} written to {'standard output' if target == '-' else target} in {clock() - began:.1f} s")


def _check(sources: list[str], target: str, written: Format, force: bool) -> None:
    """Check the target before any work; --force replaces a file, never a folder with other content."""
    from rankwise.cli.targets import check_target, check_unread
    from rankwise.foundation.outputs import check_writable

    written.check_installed()
    if written.on_disk is None:
        check_target(target, sources, force)
        return
    if target == "-":
        raise ValueError(f"{written.name} cannot go to standard output: give a folder")
    check_unread(target, sources)
    written.on_disk.check_target(target)
    check_writable(target)


def _as_whole(sources: list[str], target: str, written: Format, options: dict[str, Any]) -> "RankingData":
    from rankwise.data.formats import read_data, write_data

    with doing(f"reading {' '.join(sources)}"):
        data = read_data(sources, comments=True, **options)
    with doing(f"writing {target}"):
        write_data(target, data, format=written.name)
    return data


def _as_stream(sources: list[str], target: str, written: OnDisk, options: dict[str, Any]) -> "ChunkedData":
    from rankwise.data.formats import stream_data
    from rankwise.foundation.outputs import naming, resolved, temporary_file

    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # Arrow's default reserves 1 GB of address space
    with doing(f"writing {target}") as tell, ExitStack() as closing:
        files = sources
        if "-" in sources:  # LETOR text is read twice, which needs a file
            spool, handle = closing.enter_context(temporary_file(resolved(target)))
            with naming(target), open(handle, "wb", closefd=False) as file:
                while block := _read_stdin(1 << 20):
                    file.write(block)
            files = [str(spool) if one == "-" else one for one in sources]
        written.write(target, stream_data(files, progress=_progress(tell), **options))
    return written.open(target)


def _read_stdin(size: int) -> bytes:
    from rankwise.foundation.outputs import naming

    with naming("standard input"):
        return sys.stdin.buffer.read(size)


def _progress(tell: Callable[[str], None]) -> Callable[[int, int | None], None]:
    """Shows the rows done, and the time left once the number of all rows is known."""
    known_since: list[float] = []

    def progress(done: int, total: int | None) -> None:
        stop_here()
        if total is None:
            tell(f"{done:,} documents")
            return
        known_since.append(clock())
        left = (known_since[-1] - known_since[0]) * (total - done) / done
        tell(f"{done:,} of {total:,} documents, {left:.0f} s left")

    return progress
