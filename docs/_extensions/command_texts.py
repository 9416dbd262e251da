"""Every command of `rankwise` with its options and examples, as Markdown."""

import re

EXAMPLES = re.compile(r"^Examples?: ", re.MULTILINE)


def commands():
    """Name -> command, as typer builds it."""
    from typer.main import get_command

    from rankwise.cli.app import app

    return get_command(app).commands


def every_command():
    return "\n".join(line for name, one in commands().items() for line in described(one, f"rankwise {name}"))


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
    yield from [
        "| option | meaning |",
        "|---|---|",
        *(f"| {literal(what)} | {cell(meaning)} |" for what, meaning in rows),
        "",
    ]


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
