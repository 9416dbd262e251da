"""Text for display: escaped strings, counts, and tables in plain text, Markdown or LaTeX.

In a table the first column is aligned to the left, the others to the right.
"""

from collections.abc import Sequence

Rows = Sequence[Sequence[str]]


def visible(text: str) -> str:
    """The text with every character that is not printable replaced by an escape such as \\x1b or \\u202e.

    Every name, id, path and message that comes from data is passed through this function before it is shown: control
    characters could change the terminal, others could hide text or reverse its direction, and line ends could fake
    lines of output.
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def counted(n: int, what: str) -> str:
    """1 query, 2 queries."""
    one = what[:-3] + "y" if what.endswith("ies") else what[:-1]
    return f"{n:,} {one if n == 1 else what}"


def table(rows: Rows, header: Sequence[str]) -> str:
    """A table in plain text, with aligned columns."""
    lines = [[visible(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def aligned(line: Sequence[str]) -> str:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        return "  ".join([first.strip().ljust(widths[0]), *others]).rstrip()

    return "\n".join(map(aligned, lines))


def markdown_table(rows: Rows, header: Sequence[str]) -> str:
    """A table in Markdown, as GitHub reads it; vertical bars inside cells are escaped."""
    ruler = [":--", *["--:"] * (len(header) - 1)]
    lines = [[visible(cell).replace("|", "\\|") for cell in line] for line in [header, ruler, *rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex_table(rows: Rows, header: Sequence[str]) -> str:
    """A LaTeX tabular with the rules of the booktabs package; cells must be LaTeX already (see `latex_text`)."""
    head, *body = (" & ".join(line) + r" \\" for line in [header, *rows])
    opening = rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}"
    return "\n".join([opening, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"])


LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {sign: f"\\{sign}" for sign in "&%$#_{}"}


def latex_text(text: str) -> str:
    """Plain text with LaTeX's special characters escaped."""
    return "".join(LATEX.get(sign, sign) for sign in visible(text))
