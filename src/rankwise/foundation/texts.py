"""Text for display: escaped strings, counts, numbers, and tables in plain text, Markdown or LaTeX.

In a table the first column is aligned to the left, the others to the right.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TypeVar

Rows = Sequence[Sequence[str]]
Thing = TypeVar("Thing")


def visible(text: str) -> str:
    """The text with every character that is not printable replaced by an escape such as \\x1b or \\u202e.

    Every name, id, path and message that comes from data is passed through this function before it is shown: control
    characters could change the terminal, others could hide text or reverse its direction, and line ends could fake
    lines of output.
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def shell_word(text: str) -> str:
    """The text as one word of a command line, with characters that are not printable as escapes of bash and zsh."""
    if text.isprintable():
        return quote(text)
    plain = {"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
    signs = (plain.get(one, one if one.isprintable() else f"\\U{ord(one):08x}") for one in text)
    return f"$'{''.join(signs)}'"


def counted(n: int, what: str) -> str:
    """1 query, 2 queries."""
    one = what[:-3] + "y" if what.endswith("ies") else what[:-1]
    return f"{n:,} {one if n == 1 else what}"


def first_few(things: Sequence[Thing], most: int, show: Callable[[Thing], str] = repr) -> str:
    """'a', 'b', 'c', ...: for a message, in which all of them could be too many."""
    return ", ".join(map(show, things[:most])) + (", ..." if len(things) > most else "")


def decimals(value: float, sign: str = "") -> str:
    """Four decimals, or four digits and an exponent for large numbers; NaN as a dash. sign="+": with the sign."""
    if value != value:
        return "-"
    return f"{value:{sign}.4f}" if abs(value) < LARGE else f"{value:{sign}.3e}"


def table(rows: Rows, header: Sequence[str]) -> str:
    """A table in plain text, with aligned columns."""
    lines = [[visible(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def aligned(line: Sequence[str]) -> str:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        return "  ".join([first.strip().ljust(widths[0]), *others]).rstrip()

    return "\n".join(map(aligned, lines))


def markdown_table(rows: Rows, header: Sequence[str]) -> str:
    """A table in Markdown, as GitHub reads it; cells must be Markdown already (see `markdown_text`)."""
    ruler = [":--", *["--:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, ruler, *rows])


def markdown_text(text: str) -> str:
    """Plain text with Markdown's special characters escaped."""
    return _MARKDOWN.sub(r"\\\g<0>", visible(text))


def latex_table(rows: Rows, header: Sequence[str]) -> str:
    """A LaTeX tabular with the rules of the booktabs package; cells must be LaTeX already (see `latex_text`)."""
    head, *body = (" & ".join(line) + r" \\" for line in [header, *rows])
    opening = rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}"
    return "\n".join([opening, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"])


def latex_text(text: str) -> str:
    """Plain text with LaTeX's special characters escaped."""
    return "".join(_LATEX.get(sign, sign) for sign in visible(text))


LARGE = 1e9  # numbers from here on are shown with an exponent

_MARKDOWN = re.compile(r"[\\`*_\[\]<>&|~$#]|^[-+=]")  # the last three begin a list or underline a heading

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
_LATEX |= {sign: f"\\{sign}" for sign in "&%$#_{}"}
_LATEX |= {sign: f"{{{sign}}}" for sign in "[]*"}  # at the start of a row these would be arguments of the \\ before


@dataclass(frozen=True)
class Markup:
    """How tables are written in one language.

    text    a text from data, as a cell
    number  a number, as a cell
    best    the best number of a column
    mark    a mark of significance after a number
    remark  a line beside the tables
    table   rows of such cells under a header
    """

    text: Callable[[str], str]
    number: Callable[[str], str]
    best: Callable[[str], str]
    mark: Callable[[str], str]
    remark: Callable[[str], str]
    table: Callable[[Rows, Sequence[str]], str]


PLAIN = Markup(
    text=str,
    number=str,
    best=str,
    mark=lambda mark: mark or " ",  # a blank keeps the digits aligned
    remark=visible,
    table=table,
)
MARKDOWN = Markup(
    text=markdown_text,
    number=str,
    best=lambda number: f"**{number}**",
    mark=lambda mark: mark and f"<sup>{mark}</sup>",
    remark=markdown_text,
    table=markdown_table,
)
LATEX = Markup(
    text=latex_text,
    number=lambda number: f"${number}$",
    best=lambda number: rf"\textbf{{{number}}}",
    mark=lambda mark: mark and f"$^{{{mark}}}$",
    remark=lambda line: f"% {visible(line)}",
    table=latex_table,
)
