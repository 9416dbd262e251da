"""Results as tables: pandas DataFrames, HTML for notebooks, and texts in every form of `FORMS`."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.foundation.arrays import Array
from rankwise.foundation.outputs import FileName, written_beside
from rankwise.foundation.texts import LATEX, MARKDOWN, PLAIN, Markup, decimals, visible

if TYPE_CHECKING:
    from pandas import DataFrame

Columns = Mapping[str, Sequence[object] | Array]  # of equal length, holding numbers and strings
FORMS = {"table": ".txt", "csv": ".csv", "json": ".json", "markdown": ".md", "latex": ".tex"}  # form -> suffix
SHOWN = 20  # rows of a table in a notebook or at the prompt


class Tabular:
    """Base of results with `table_columns`: adds `to_frame`, an HTML repr for notebooks, and the texts of the table."""

    def table_columns(self) -> Columns:
        raise NotImplementedError

    def summary(self) -> str:
        """One line that says what the table contains."""
        return type(self).__name__

    def to_frame(self) -> "DataFrame":
        """The table as a pandas DataFrame."""
        return data_frame(self.table_columns())

    def _repr_html_(self) -> str:
        return f"<p>{escape(visible(self.summary()))}</p>{html_table(self.table_columns())}"

    def to_text(self) -> str:
        return marked_up(self.table_columns(), PLAIN)

    def to_markdown(self) -> str:
        return marked_up(self.table_columns(), MARKDOWN)

    def to_latex(self) -> str:
        """LaTeX for the booktabs package."""
        return marked_up(self.table_columns(), LATEX)

    def to_csv(self, target: FileName | None = None) -> str:
        """The table as CSV: numbers are exact, NaN is an empty cell. Also written to the file `target`, if given."""
        text = csv_text(self.table_columns())
        if target is not None:
            write_text(target, text)
        return text

    def to_json(self) -> str:
        return json.dumps({name: plain_list(column) for name, column in self.table_columns().items()}, indent=1)

    def to_form(self, form: str) -> str:
        """The text in a form of `FORMS`."""
        name = "text" if form == "table" else form
        text: str = getattr(self, f"to_{name}")()
        return text


class Table(Tabular, dict[str, Any]):
    """Columns of equal length by name: arrays, or lists of texts."""

    def table_columns(self) -> Columns:
        return self

    def summary(self) -> str:
        return f"{len(next(iter(self.values()), ())):,} rows"

    def __repr__(self) -> str:
        """The first rows."""
        n_rows = len(next(iter(self.values()), ()))
        more = f"\n{n_rows - SHOWN:,} more rows" if n_rows > SHOWN else ""
        return marked_up({name: column[:SHOWN] for name, column in self.items()}, PLAIN) + more


def data_frame(columns: Columns) -> "DataFrame":
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install pandas") from None
    return pandas.DataFrame(dict(columns))


def html_table(columns: Columns) -> str:
    """The first rows as an HTML table; strings from data are escaped."""
    header = "".join(f"<th>{escape(visible(name))}</th>" for name in columns)
    rows = list(zip(*(column[:SHOWN] for column in columns.values()), strict=True))
    cells = ("".join(f"<td>{escape(cell_text(value))}</td>" for value in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    n_rows = max((len(column) for column in columns.values()), default=0)
    more = f"<p>{n_rows - SHOWN:,} more rows</p>" if n_rows > SHOWN else ""
    return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>{more}"


def cell_text(value: object) -> str:
    """A float with four significant digits; NaN and None as an empty string."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return visible(str(value))


def marked_up(columns: Columns, markup: Markup) -> str:
    def cell(value: object) -> str:
        if value is None or isinstance(value, float):
            return markup.number(decimals(np.nan if value is None else value))
        return markup.text(str(value))

    rows = [[cell(value) for value in row] for row in zip(*map(plain_list, columns.values()), strict=True)]
    return markup.table(rows, [markup.text(name) for name in columns])


def csv_text(columns: Columns) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*map(plain_list, columns.values()), strict=True))
    return text.getvalue()


def plain_list(column: Sequence[object] | Array) -> list[object]:
    """Python's own numbers and texts, dates as texts; None for NaN."""
    if isinstance(column, np.ndarray):
        column = (column.astype(str) if column.dtype.kind in "mM" else column).tolist()
    return [None if value != value else value for value in column]


def write_text(target: FileName, text: str) -> None:
    """Write the text, which ends with a line end, to a file or to "-", standard output."""
    with written_beside(target) as file:
        file.write(text.encode(errors="surrogateescape"))
