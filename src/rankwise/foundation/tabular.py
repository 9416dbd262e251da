"""Results as tables: pandas DataFrames, and HTML for notebooks."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING

from rankwise.foundation.arrays import Array
from rankwise.foundation.texts import visible

if TYPE_CHECKING:
    from pandas import DataFrame

Columns = Mapping[str, Sequence[object] | Array]  # of equal length, holding numbers and strings
SHOWN = 20  # rows of an HTML table


class Tabular:
    """Base of results with `table_columns`: adds `to_frame`, and an HTML repr for notebooks."""

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
