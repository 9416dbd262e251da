"""The directive `rankwise-commands`: the reference of the command line, made from the commands themselves."""

import re

import typer
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

EXAMPLES = re.compile(r"^Examples?: ", re.MULTILINE)


class Commands(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        from rankwise.cli.app import app

        group = typer.main.get_command(app)
        lines = [line for name, one in group.commands.items() for line in described(one, f"rankwise {name}")]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app):
    app.add_directive("rankwise-commands", Commands)
    return {"parallel_read_safe": True}


def described(command, path, level=2):
    """A section on a command, and sections on its own commands, in Markdown."""
    yield from ["#" * level + f" {path}", ""]
    about, examples = explained(command)
    yield from [about, ""]
    if examples:
        yield from ["```sh", *examples, "```", ""]
    if inner := getattr(command, "commands", None):
        for name, one in inner.items():
            yield from described(one, f"{path} {name}", level + 1)
        return
    context = command.context_class(command, info_name=path)
    command.get_help(context)  # some commands complete the help of their options only when it is shown
    rows = [record for one in command.get_params(context) if (record := one.get_help_record(context))]
    yield from ["| | |", "|---|---|", *(f"| {literal(what)} | {cell(meaning)} |" for what, meaning in rows), ""]


def explained(command):
    """What a command's help says, and its examples as lines of shell."""
    about, *examples = EXAMPLES.split(command.help or "")
    lines = [line.strip() for text in examples for line in " ".join(text.split()).split("; ")]
    return plain(about), lines


def literal(text):
    """How a parameter is written, without the type that typer adds to arguments."""
    return "`" + re.sub(r" <.*>$", "", text).replace("|", "\\|") + "`"


def cell(text):
    return plain(" ".join(text.split())).replace("|", "\\|")


def plain(text):
    """Help is plain text: what Markdown would take for its own marks is escaped, except code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>\[\]{}#])", r"\\\1", part) for part in parts)
