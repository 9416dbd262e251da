"""The formats of judgements and of features: two registries, and the choice of a format by the content of a file.

This module is imported for help texts: it must not import NumPy.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from rankwise.foundation.registry import Registry

if TYPE_CHECKING:
    from rankwise.joining.inputs import Input, Values
    from rankwise.joining.records import Judgment, Logged

Record = TypeVar("Record")
Options: TypeAlias = Mapping[str, Any]  # of `join`, for one of the two files


@dataclass(frozen=True)
class RecordFormat(Generic[Record]):
    """A format of judgements or of features.

    is_json  whether its files are JSON, of one value or several
    fits     (input) -> whether the beginning of a file looks like this format
    read     (input, options) -> the records; for "jsonl" the input may also be rows that are given in Python
    options  the names of the options that `read` understands; it receives those that are given
    """

    is_json: bool
    fits: "Callable[[Input], bool]"
    read: "Callable[[Any, Options], Iterator[Record]]"
    options: tuple[str, ...] = ()


# a file is read by the first format that fits: special ones come before general ones
JUDGMENTS: "Registry[RecordFormat[Judgment]]" = Registry(
    "judgments_format",
    {
        "ranklib": "rankwise.joining.ranklib:JUDGMENTS",
        "trec": "rankwise.joining.judgments:TREC",
        "quepid": "rankwise.joining.judgments:QUEPID",
        "quepid-book": "rankwise.joining.judgments:QUEPID_BOOK",
        "csv": "rankwise.joining.judgments:CSV",
        "rre": "rankwise.joining.judgments:RRE",
        "quepid-json": "rankwise.joining.judgments:QUEPID_JSON",
        "quepid-book-json": "rankwise.joining.judgments:QUEPID_BOOK_JSON",
        "opensearch": "rankwise.joining.judgments:OPENSEARCH",
        "jsonl": "rankwise.joining.judgments:JSONL",
    },
)
FEATURES: "Registry[RecordFormat[Logged]]" = Registry(
    "features_format",
    {
        "ranklib": "rankwise.joining.ranklib:FEATURES",
        "vespa": "rankwise.joining.feature_tables:VESPA",
        "csv": "rankwise.joining.feature_tables:CSV",
        "elasticsearch": "rankwise.joining.feature_logs:ELASTICSEARCH",
        "opensearch": "rankwise.joining.feature_logs:ELASTICSEARCH",
        "solr": "rankwise.joining.feature_logs:SOLR",
        "jsonl": "rankwise.joining.feature_tables:JSONL",
    },
)


def read_records(
    input: "Values", formats: Registry[RecordFormat[Record]], name: str | None, options: Options
) -> tuple[str, Iterator[Record]]:
    """The name of the format, and the records of a file; options that are None are not given."""
    name = formats.spelling(name) if name is not None else _fitting(cast("Input", input), formats)
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in formats[name].options:
            users = ", ".join(repr(one) for one in formats if option in formats[one].options)
            raise ValueError(
                f"{input.name} is read as {name!r}, to which {option} does not apply (it does to {users}): "
                f"leave it out, or say {_given_by(formats)}"
            )
    return name, formats[name].read(input, given)


def _fitting(input: "Input", formats: Registry[RecordFormat[Record]]) -> str:
    for name in formats:
        if formats[name].is_json == input.is_json and formats[name].fits(input):
            return name
    raise ValueError(
        f"{input.name} begins with {input.first_line[:40]!r}, which is none of the formats known: "
        f"give {_given_by(formats)} ({', '.join(formats)})"
    )


def _given_by(formats: Registry[RecordFormat[Record]]) -> str:
    return f"{formats.kind}=NAME, or --{formats.kind.replace('_', '-')} NAME"
