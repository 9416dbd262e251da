"""RankLib text, `4 qid:1 1:9.8 2:0.5 # docid keywords`, as judgements and as features.

The text of a query is that of a header line such as `# qid:1: rambo*1` (the number is a weight, which is not read), or
else what follows the document's id in the comments, or else the query id. In LETOR's comments, `docid = NAME`, only
the document is named.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rankwise.data.document_ids import DOCID
from rankwise.joining.formats import Options, RecordFormat
from rankwise.joining.inputs import Input
from rankwise.joining.records import Judgment, Logged, feature, identifier, rating

_HEADER = re.compile(r"#\s*qid:(\S+):\s+(.+?)(?:\*\d+)?\s*")
_ROW = re.compile(r"\s*(\S+)\s+qid:(\S+)([^#]*)#\s*(.*)")
_EXPECTED = "expected `rating qid:ID index:value ... # docid`"


class _Line(NamedTuple):
    grade: str
    query: str
    entries: list[str]
    docid: str
    place: str


def _lines(input: Input) -> Iterator[_Line]:
    headers: dict[str, str] = {}
    texts: dict[str, str] = {}
    for number, text in input.lines():
        place = f"{input.name}, line {number}"
        if header := _HEADER.fullmatch(text.strip()):
            headers[header[1]] = header[2]
            continue
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        row = _ROW.fullmatch(text.rstrip())
        if row is None:
            raise ValueError(f"{place}: found {text[:40]!r}, {_EXPECTED}")
        grade, qid, entries, comment = row.groups()
        docid, query = _comment(comment, qid)
        if headers:
            if qid not in headers:
                raise ValueError(f"{place}: no header line `# qid:{qid}: text` names the query, as others have")
            query = headers[qid]
        elif texts.setdefault(qid, query) != query:
            raise ValueError(
                f"{place}: the comments call query {qid} both {texts[qid]!r} and {query!r}: "
                f"name it by a line `# qid:{qid}: text` at the top"
            )
        yield _Line(grade, identifier(query, "the query", place), entries.split(), docid, place)


def _comment(comment: str, qid: str) -> tuple[str, str]:
    """The document and the query."""
    if named := DOCID.search(comment):
        return named[1], qid
    docid, _, query = comment.strip().partition("\t") if "\t" in comment else comment.strip().partition(" ")
    return docid, query.strip() or qid


def _judgments(input: Input, options: Options) -> Iterator[Judgment]:
    for line in _lines(input):
        docid = identifier(line.docid, "the document in the comment", line.place)
        yield Judgment(line.query, docid, rating(line.grade, line.place), None, line.place)


def _features(input: Input, options: Options) -> Iterator[Logged]:
    ignored = options.get("ignore", ())
    for line in _lines(input):
        values: dict[str, float | None] = {}
        for entry in line.entries:
            index, _, value = entry.partition(":")
            name = f"f{index}"
            if not re.fullmatch(r"0|[1-9][0-9]{0,8}", index) or name in values:
                raise ValueError(f"{line.place}: found {entry[:40]!r}, {_EXPECTED}, with every index once")
            values[name] = feature(name, value, line.place)
        docid = identifier(line.docid, "the document in the comment", line.place)
        yield Logged(line.query, docid, {n: v for n, v in values.items() if n not in ignored}, line.place)


def _fits(input: Input) -> bool:
    return bool(_HEADER.fullmatch(input.first_line) or re.match(r"\S+\s+qid:", input.first_line))


JUDGMENTS = RecordFormat(False, _fits, _judgments)
FEATURES = RecordFormat(False, _fits, _features, ("ignore",))
