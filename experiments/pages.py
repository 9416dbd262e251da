"""Reports on disk: the rows as CSV, a page in Markdown with the paper's own figures beside ours, and the picture."""

import csv
import io
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.where import commit, processor

from experiments.units import write_whole

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows for the page; `formats` gives a column's format, such as ".4f" (floats: ".4g" unless told)."""

    caption: str
    rows: Sequence[Row]
    formats: Mapping[str, str] = field(default_factory=dict)

    def markdown(self) -> str:
        columns = columns_of(self.rows)
        lines = [columns, ["---"] * len(columns)]
        lines += [[self._cell(column, row.get(column)) for column in columns] for row in self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def _cell(self, column: str, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        return format(value, self.formats.get(column, ".4g" if isinstance(value, float) else ""))


@dataclass(frozen=True)
class Report:
    """What came out: `claim` is what the paper says, `why` a sentence or two on why ours differ from its figures.

    Without a paper, `claim` is what the figures say, and `why` says what `lead` announces.
    """

    claim: str
    rows: Sequence[Row]  # all that was measured, for the CSV
    tables: Sequence[Table]
    why: str
    picture: Any = None  # a matplotlib Figure
    lead: str = "Why they differ"


def columns_of(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def write(name: str, title: str, report: Report, folder: Path, notes: Sequence[str] = ()) -> None:
    """NAME.csv, NAME.png and NAME.md into the folder; the notes come first on the page."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = io.StringIO()
    writer = csv.DictWriter(rows, columns_of(report.rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(report.rows)
    write_whole(folder / f"{name}.csv", rows.getvalue().encode())
    if report.picture is not None:
        write_whole(folder / f"{name}.png", png(report.picture))
    write_whole(folder / f"{name}.md", page(name, title, report, notes).encode())


def png(figure: Any) -> bytes:
    """In a palette: a third of the size, and no difference to the eye."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=100)
    Image.open(drawn).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def page(name: str, title: str, report: Report, notes: Sequence[str] = ()) -> str:
    parts = [f"# {title}", *(f"**Note:** {note}" for note in notes), report.claim]
    if report.picture is not None:
        parts.append(f"![{title}]({name}.png)")
    for table in report.tables:
        parts += [table.caption, table.markdown()]
    made = f"Made by `python -m experiments {name}` on {machine()}. [Rows]({name}.csv)"
    parts += [f"{report.lead}: {report.why}", made]
    return "\n\n".join(parts) + "\n"


def machine() -> str:
    """The processor, its cores, the versions that matter, and the commit."""
    used = [f"{one} {version(one)}" for one in ("rankwise", "numpy", "scikit-learn")]
    known = [f"{processor()}, {os.cpu_count()} cores", f"Python {platform.python_version()}", *used]
    return ", ".join([*known, f"commit {commit()}"])
