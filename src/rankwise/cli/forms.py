"""The form in which results are written: a table, CSV, JSON, Markdown or LaTeX."""

from pathlib import Path

import typer

from rankwise.cli.speech import checked
from rankwise.foundation.compression import plain_suffix
from rankwise.foundation.names import spelled
from rankwise.foundation.tabular import FORMS, write_text


def chosen_form(form: str | None, output: str, **flags: bool) -> str:
    """The form that --format, one of the flags (json=True) or else the suffix of the output names."""
    given = [name for name, is_given in flags.items() if is_given] + ([] if form is None else [form])
    if len(given) > 1:
        options = ", ".join(["--format", *(f"--{name}" for name in flags)])
        raise typer.BadParameter(f"give one of {options}: each says how results are written")
    if given:
        return checked("--format", lambda one: spelled("format", one, FORMS), given[0])
    return "table" if output == "-" else checked("--output", form_of, output)


def form_of(file: str, otherwise: str | None = None) -> str:
    """The form by the suffix of a file; for one without a known suffix `otherwise`."""
    suffix = plain_suffix(Path(file))
    form = next((form for form, its_suffix in FORMS.items() if suffix == its_suffix), otherwise)
    if form is None:
        raise ValueError(f"{file} must end in {', '.join(FORMS.values())}, or --format must say how it is written")
    return form


def deliver(text: str, output: str) -> None:
    """Write a result to a file or to "-", standard output."""
    write_text(output, text if text.endswith("\n") else f"{text}\n")
