"""The table of the data, as a page of the documentation and in a terminal: python -m experiments data"""

import argparse
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Screen

from experiments import registry, sources
from experiments.pages import Row, Table
from experiments.sources import FOUND, MISSING, DataSet, Finding

COLOURS = {FOUND: "green", MISSING: "red"}
HEAD = """\
# Data of the experiments

After this page you can collect the data that `make papers` and `python -m experiments` read, and check your copies.

None of the data are part of rankwise. Put them into one folder, with one folder per set and each text compressed by xz,
and pass it by `--data FOLDER` (`make papers DATA=FOLDER`). `python -m experiments data --data FOLDER` compares it with
this page, file by file, and exits with status 0 if every file was found, and 1 otherwise. (The command with
`--markdown` makes this page.)

An experiment whose data are missing is skipped, with one sentence on what it needs. With values that differ from ours
an experiment runs, notes it at the top of its page, and writes to `build/experiments`, not to `experiments/results`.
Without any data, `python -m experiments --quick` runs the experiments that generate their data or can use rankwise's
synthetic sample, and a note at the top of each page says so.
"""
NOT_VERIFIED = """\
*Not verified* means that we could not look it up. The LETOR sets are for research: read Microsoft's agreement, and do
not pass them on. MQ2007 is the only copy of ours known to be a reconstruction.
"""
FOLDS = """\
## The five folds of a LETOR set

Fold i trains on parts S(i), S(i+1) and S(i+2), validates on S(i+3) and tests on S(i+4); after S5 comes S1. If you have
the folders Fold1 ... Fold5 but no parts, the test files are the parts: S5 is `Fold1/test.txt`, S1 is `Fold2/test.txt`,
and so on. `xz -c Fold2/test.txt > S1.txt.xz` makes a file of the layout above. Documents (queries) of each fold:
"""
FILES = """\
## Shape and checksum of each file

SHA-256 is that of the text before compression, in our copy: `xz -dc S1.txt.xz | sha256sum`. A file with another
checksum counts as found if labels, query ids and features are the same numbers. *Levels* are different labels. No row
of a9a's test part has the last of the 123 features.
"""
SYNTHETIC = """\
## Sets that synthetic data take the place of

The papers used these sets as well, and we do not have them. The experiments generate synthetic data of their shape, and
the headings of tables say so.
"""


def main(arguments: list[str], default: Path) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m experiments data",
        description="Say which data the experiments need and where they are published, and check a folder of them.",
    )
    parser.add_argument("--data", type=Path, default=default, help="the folder to check")
    parser.add_argument("--markdown", action="store_true", help="print the page of the documentation, check nothing")
    options = parser.parse_args(arguments)
    if options.markdown:
        print(page(), end="")
        return 0
    findings = [one for dataset in sources.datasets().values() for one in sources.check(options.data, dataset)]
    console = Console(soft_wrap=True, highlight=False)
    for dataset in sources.datasets().values():
        console.print(described(dataset), markup=False)
    Console().print(screen(findings, options.data))
    for one in findings:
        if one.detail:
            console.print(f"{one.path} {one.state}: {one.detail}", markup=False)
    lacking = [one for one in findings if one.state != FOUND]
    console.print(f"{len(findings) - len(lacking)} of {len(findings)} files found; whole checksums: docs/data.md")
    return 1 if lacking else 0


def described(dataset: DataSet) -> str:
    lines = [f"{dataset.folder}: {dataset.title}", f"published by {dataset.publisher}: {dataset.address}"]
    return "\n    ".join([*lines, f"terms: {dataset.terms}", f"our copy: {dataset.copy}"])


def screen(findings: list[Finding], data: Path) -> Screen:
    columns = ("file", *sources.Shape._fields, "SHA-256", "state")
    title = f"Data in {escape(str(data))}"
    table = Screen(*columns, title=title, box=None, padding=(0, 1, 0, 0), pad_edge=False)  # fits into 80 columns
    for column in table.columns[1:5]:
        column.justify = "right"
    for one in findings:
        state = f"[{COLOURS.get(one.state, 'yellow')}]{one.state}[/]"
        table.add_row(one.path, *map("{:,}".format, one.file.shape), one.file.sha256[:12], state)
    return table


def page() -> str:
    """docs/data.md."""
    known = sources.datasets().values()
    parts = [HEAD, "## The sets\n", _markdown([_about(one) for one in known]), NOT_VERIFIED]
    parts += [FILES, _markdown([row for one in known for row in _files(one)])]
    parts += [FOLDS, _markdown([row for one in known if len(one.files) == 5 for row in _folds(one)])]
    parts += [SYNTHETIC, _markdown([_replaced(one) for one in sources.stand_ins()])]
    return "\n".join(parts)


def _markdown(rows: list[Row]) -> str:
    return Table("", rows).markdown() + "\n"


def _about(one: DataSet) -> Row:
    users = [name for name in registry.names() if one.folder in registry.load(name).NEEDS]
    papers = dict.fromkeys(registry.paper_of(name) for name in users)
    return {
        "folder": f"`{one.folder}`",
        "what": one.title,
        "published by": f"[{one.publisher}]({one.address})",
        "terms": one.terms,
        "our copy": one.copy,
        "needed for": "; ".join(papers),
    }


def _files(one: DataSet) -> list[Row]:
    return [
        {"file": f"`{one.folder}/{file.name}`"}
        | {what: f"{number:,}" for what, number in file.shape._asdict().items()}
        | {"SHA-256": f"`{file.sha256}`"}
        for file in one.files
    ]


def _folds(one: DataSet) -> list[Row]:
    rows = []
    for fold in range(5):
        first, second, third, fourth, fifth = (one.files[(fold + step) % 5].shape for step in range(5))
        parts = {"training": (first, second, third), "validation": (fourth,), "test": (fifth,)}
        sums = {
            what: f"{sum(part.documents for part in of):,} ({sum(part.queries for part in of):,})"
            for what, of in parts.items()
        }
        rows.append({"set": f"`{one.folder}`", "fold": fold + 1} | sums)
    return rows


def _replaced(one: sources.StandIn) -> Row:
    return {"set": one.title, "published by": f"[{one.publisher}]({one.address})" if one.address else one.publisher}
