"""`rankwise explain`: why the documents of a query have their scores, and why one is above another."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.options import Data, Force, Json, Model, Naming, naming_columns
from rankwise.cli.speech import answer, answer_json, command, doing, say

if TYPE_CHECKING:
    from rankwise.explaining.explanations import Explanation, PairExplanation

Query = Annotated[
    str | None, typer.Option("--query", "-q", metavar="ID", help="The query; not needed if the data have only one.")
]
Documents = Annotated[
    list[str] | None,
    typer.Option(
        "--doc",
        metavar="ID",
        help="A document to explain against the query's mean, by its id or, in data without ids, by the number of its "
        "row from 1. Given twice: the first document against the second.",
    ),
]
Top = Annotated[int | None, typer.Option("--top", "-n", metavar="N", min=1, help="Show this many features.")]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="A picture (*.png, *.svg, *.pdf), a page (*.html) or a table (*.csv)."
    ),
]

WRITERS = {".html": "to_html", ".csv": "to_csv"}  # other files are pictures


@command
@naming_columns
def explain(
    model: Model,
    data: Data,
    columns: Naming,
    query: Query = None,
    doc: Documents = None,
    top: Top = None,
    output: Output = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Show what each feature adds to the scores of a query's documents, or why one document is above another.

    Example: rankwise explain model.json test.txt --query 81 --doc book-122 --doc book-464
    """
    documents = doc or []
    if len(documents) > 2:
        raise typer.BadParameter("give one document, or two to compare", param_hint="--doc")
    if output is not None:
        _check_output(output, [model, data], force)
    found = _explained(model, data, columns, query, documents)
    found = found if top is None else replace(found, top=top)
    if output is not None:
        _write(found, output)
    if as_json:
        answer_json(found.to_dict())
    else:
        answer(str(found))


def _check_output(output: str, reads: list[str | None], force: bool) -> None:
    from rankwise.cli.targets import check_target
    from rankwise.report.display import FORMATS, matplotlib

    ending = Path(output).suffix.lower()
    if ending not in (*FORMATS, *WRITERS):
        known = ", ".join(f"*{one}" for one in (*FORMATS, *WRITERS))
        raise typer.BadParameter(f"{output} has no known ending: name it {known}", param_hint="--output")
    if ending in FORMATS:
        matplotlib("figure")
    check_target(output, reads, force)


def _explained(
    model_file: str, data_file: str, columns: Naming, query: str | None, documents: list[str]
) -> "Explanation | PairExplanation":
    import numpy as np

    from rankwise.cli.inputs import check_order, read_data, read_ranker
    from rankwise.data.document_ids import known_ids
    from rankwise.explaining import contributions
    from rankwise.explaining.choosing import Candidates
    from rankwise.model_io.conversion import formula_of

    check_order(model_file, data_file)
    model = read_ranker(model_file, columns)
    rows = read_data(data_file, model.columns, columns, comments=True, needs_labels=False)
    ids = known_ids(rows)
    if ids is None and (odd := next((one for one in documents if not one.isdecimal()), None)):
        cure = "name their column by --doc-column COLUMN, or give --doc the number of a row"
        raise ValueError(f"{data_file} has no document ids, and --doc {odd} is no number of a row: {cure}")
    ids = np.arange(1, len(rows) + 1) if ids is None else ids
    candidates, formula = Candidates(rows.X, rows.qid, ids), formula_of(model)
    with doing("explaining"):
        if len(documents) == 2:
            first, second = documents
            return contributions.explain_pair(formula, candidates, first, second, query)
        found = contributions.explain(formula, candidates, query)
    return found.document(documents[0]) if documents else found


def _write(found: "Explanation | PairExplanation", output: str) -> None:
    with doing("writing"):
        getattr(found, WRITERS.get(Path(output).suffix.lower(), "save"))(output)
    say(f"explanation written to {output}")
