"""HTML as strings. Every text from data passes through `text`, so that a name is never markup."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape, unescape

import numpy as np

from rankwise.foundation.arrays import Floats
from rankwise.foundation.texts import visible

LONGEST = 200  # characters of a name; longer ones are cut
DIGITS = 12  # below the first one of a double: differences under it are rounding


def text(value: object, most: int = LONGEST) -> str:
    """A text from data as HTML: escaped, without control characters, quoted if it is blank, cut if it is very long."""
    shown = visible(str(value))
    shown = shown if shown.strip() else f"“{shown}”"
    return escape(shown if len(shown) <= most else f"{shown[: most - 1]}…")


def number(value: float, form: str = ".3f") -> str:
    """A number with a real minus sign, and no sign if it is rounded to 0; a dash for NaN."""
    if value != value:
        return "–"
    shown = f"{value:{form}}"
    return shown.replace("-", "−") if float(shown.replace(",", "")) else shown.lstrip("+-")


def form_of(values: Floats, sign: str = "", span: float | None = None) -> str:
    """The format in which the largest of the values has three digits, and all have the same number of decimals.

    span  if given and smaller than the largest value, it has the three digits: values that differ by it look different
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    power = _power(largest)
    finest = max(_power(min(span or largest, largest)), power - DIGITS)
    if largest and not 1e-4 <= largest < 1e6:
        return f"{sign}.{2 + power - finest}e"
    return f"{sign}.{max(0, 2 - finest)}f"


def _power(value: float) -> int:
    """Of ten, at or below the value; 0 for 0."""
    return math.floor(math.log10(value)) if value else 0


def share(part: float) -> str:
    return f"{100 * part:.0f} %"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    title     as HTML
    is_text   aligned to the left
    """

    title: str
    is_text: bool = False


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], caption: str, kind: str = "") -> str:
    """A table whose cells are HTML already; the first cell of a row is its header."""
    alignments = ["" if column.is_text else ' class="n"' for column in columns]
    head = "".join(
        f'<th scope="col"{align}>{column.title}</th>' for column, align in zip(columns, alignments, strict=True)
    )
    body = "\n".join(f"<tr>{_cells(row, alignments)}</tr>" for row in rows)
    named = f' class="{kind}"' if kind else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(_first_sentence(caption))}"><table{named}>'
        f"<caption><div>{caption}</div></caption><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def _cells(row: Sequence[str], alignments: Sequence[str]) -> str:
    first, *others = row
    cells = (f"<td{align}>{cell}</td>" for cell, align in zip(others, alignments[1:], strict=True))
    return f'<th scope="row"{alignments[0]}>{first}</th>' + "".join(cells)


def _first_sentence(caption: str) -> str:
    """Of a caption, which is HTML without tags, as text."""
    return unescape(caption).partition(". ")[0].rstrip(".")


def folded(summary: str, body: str, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>{body}</details>"


def paragraph(sentence: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f"<p{named}>{sentence}</p>"
