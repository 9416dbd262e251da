"""Parquet files, and folders of them, read in batches so that no more than one is there twice."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from rankwise.data.columns import Reading
from rankwise.data.frame import arrow, from_arrow, to_arrow
from rankwise.data.outputs import written_beside
from rankwise.data.records import RankingData

_GROUP = 1 << 24  # values of a row group


def parquet_files(path: Path) -> list[Path]:
    """The file, or the files of a folder: part-2 before part-10."""
    if not path.is_dir():
        return [path]
    found = sorted(
        path.glob("*.parquet"), key=lambda one: [int(n) if n.isdigit() else n for n in re.split(r"(\d+)", one.name)]
    )
    if not found:
        raise ValueError(f"{path} is a folder without .parquet files and without a manifest of chunks")
    return found


def parquet_blocks(path: Path, reading: Reading, rows: int = 1 << 16) -> Iterator[RankingData]:
    pa = arrow()
    from pyarrow import parquet

    path.stat()  # Arrow's own words for a missing file are many
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=rows):
                yield from_arrow(batch.replace_schema_metadata(file.schema_arrow.metadata), reading, str(path))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError, OSError) as error:
        if getattr(error, "errno", None) is not None:  # of the system; Arrow raises OSError without a number
            raise
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{path} is not a Parquet file, or is damaged: {reason}") from None


def write_parquet(target: Any, data: RankingData) -> None:
    arrow()
    from pyarrow import parquet

    batches = to_arrow(data, max(1, _GROUP * len(data) // max(data.X.size, 1)))
    first = next(batches)
    with written_beside(target) as file, parquet.ParquetWriter(file, first.schema, compression="zstd") as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)
