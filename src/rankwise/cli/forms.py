"""The form in which results are written: a table, CSV, JSON, Markdown or LaTeX."""

from pathlib import Path

import typer

from rankwise.cli.speech import checked
from rankwise.foundation.compression import COMPRESSED
from rankwise.foundation.names import spelled
from rankwise.foundation.tabular import FORMS, write_text


def chosen_form(form: str | None, output: str, **flags: bool) -> str:
    """The form that --format, one of the flags (json=True) or the suffix of the output gives."""
    given = [f"--{name}" for name, is_given in flags.items() if is_given]
    if len(given) + (form is not None) > 1:
        options = ", ".join(["--format", *(f"--{name}" for name in flags)])
        raise typer.BadParameter(f"give one of {options}: each says how results are written")
    if form is not None or given:
        name = given[0].removeprefix("--") if given else form
        return checked("--format", lambda one: spelled("format", one, FORMS), name)
    return "table" if output == "-" else checked("--output", form_of, output)


def form_of(file: str) -> str:
    """The form by the suffix of a file."""
    path = Path(file)
    suffix = (path.with_suffix("") if path.suffix in COMPRESSED else path).suffix.lower()
    form = next((form for form, its_suffix in FORMS.items() if suffix == its_suffix), None)
    if form is None:
        raise ValueError(f"{file} must end in {', '.join(FORMS.values())}, or --format must name the form")
    return form


def deliver(text: str, output: str) -> None:
    """Write a result to a file or to "-", standard output."""
    write_text(output, text if text.endswith("\n") else f"{text}\n")
