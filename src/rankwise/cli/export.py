"""`rankwise export`: a model in the format of a search engine, a runtime or another tool."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.options import Force, Model, Naming, naming_columns
from rankwise.cli.speech import checked, chosen, command, doing, say
from rankwise.exporting.targets import TARGETS

if TYPE_CHECKING:
    from rankwise.data.records import RankingData
    from rankwise.rankers import models

ABSENT = dict.fromkeys(("elasticsearch", "opensearch"), "0") | {"solr": "the default of the feature"}

To = Annotated[str, typer.Option("--to", metavar="TARGET", help=f"{', '.join(TARGETS)}.", show_default=False)]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the exported model.")]
Name = Annotated[str, typer.Option(metavar="NAME", help="Name of the model in the target.")]
FeatureSet = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Feature set of Elasticsearch and OpenSearch, or feature store of Solr."),
]
Scaling = Annotated[
    str | None,
    typer.Option(
        metavar="HOW",
        help="A scaling over all data: fold (multiplied into the weights; the default) or engine (normalisers of the "
        "target).",
    ),
]
Precision = Annotated[
    str | None, typer.Option(metavar="TYPE", help="With --to onnx: float32 (the default) or float64.")
]
Names = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Names of the features, one per line, for a model that has only numbers."),
]
FeatureMap = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="With --to vespa: a JSON object of feature names and rank expressions."),
]
Check = Annotated[
    str | None,
    typer.Option(metavar="DATA", help="Compare the order of these documents by the exported model with the model's."),
]
MOST_BYTES = 1 << 26  # of a feature map


@command
@naming_columns
def export(
    model: Model,
    to: To,
    columns: Naming,
    output: Output = "-",
    name: Name = "rankwise",
    feature_set: FeatureSet = None,
    scaling: Scaling = None,
    precision: Precision = None,
    names: Names = None,
    feature_map: FeatureMap = None,
    check: Check = None,
    force: Force = False,
) -> None:
    """Write MODEL in the format of a search engine, a runtime or another tool.

    Example: rankwise export model.json --to solr -o solr.json --name ranker --check test.txt
    """
    from rankwise.cli.inputs import note_missing, read_names, trained_missing
    from rankwise.cli.targets import check_target
    from rankwise.exporting.exports import SCALINGS
    from rankwise.exporting.exports import export as exported
    from rankwise.exporting.parts import model_to_export

    target = checked("--to", TARGETS.spelling, to)
    scaling = chosen("scaling", scaling, SCALINGS)
    precision = chosen("precision", precision, TARGETS[target].arithmetic)
    check_target(output, [model, names, feature_map, check], force)
    known = model_to_export(model, None if names is None else read_names(names))
    mapped = None if feature_map is None else _feature_map(feature_map)
    if check is not None:
        note_missing(known, model, columns.missing)
    if trained := trained_missing(known):
        own = f"; by itself it puts {ABSENT[target]}" if target in ABSENT else ""
        say(f"note: {model} was trained with --missing {trained:g}: give {target} {trained:g} for missing values{own}")
    data = None if check is None else _data(check, known, columns)
    with doing(f"exporting {model}"):
        options: dict[str, Any] = {"name": name, "feature_set": feature_set, "scaling": scaling, "precision": precision}
        done = exported(known, target, output, **options, feature_map=mapped, check=data)
    if done.check is not None and done.check.is_same:  # else there is a warning
        say(f"{check}: {done.check}")
    if output != "-":
        say(f"{target} model written to {output}")
    if done.next_step is not None:
        say(f"next: {done.next_step}")


def _feature_map(path: str) -> dict[str, str]:
    from rankwise.foundation.strict_json import is_text, read_json

    try:
        value = read_json(path, MOST_BYTES)
    except ValueError as error:
        raise ValueError(f"{path} is not a JSON object of feature names and rank expressions: {error}") from None
    if not isinstance(value, dict) or not all(is_text(one) for one in (*value, *value.values())):
        raise ValueError(f"{path} must hold a JSON object of feature names and rank expressions, both texts")
    return value


def _data(path: str, model: "models.Model", columns: Naming) -> "RankingData":
    from rankwise.cli.inputs import read_data

    return read_data(path, model.columns, columns, needs_labels=False)
