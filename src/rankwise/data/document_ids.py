"""Ids of documents: a column of their own or, in LETOR text, which has no other place for them, comments.

docid = GX000-00-0000000 inc = 1    LETOR's own data sets, and what `write_letor` writes
7555 rambo                          Elasticsearch's examples: the id, then the query's words
"""

import re
from collections.abc import Sequence

import numpy as np

from rankwise.data.columns import plain_ids
from rankwise.data.records import RankingData
from rankwise.foundation.arrays import Array
from rankwise.pairs.queries import id_array

DOCID = re.compile(r"docid\s*=\s*(\S+)")
_UNFIT = re.compile(r"\s")


def ids_in_comments(comments: Sequence[str] | Array, qid: Array) -> Array | None:
    """The ids by `docid = ID`, or the first words if no two rows of a query have the same; None if a row has none."""
    texts = [str(one) for one in comments]
    matches = [DOCID.search(one) for one in texts]
    if any(matches):
        found = [match.group(1) for match in matches if match]
        return plain_ids(id_array(found)) if len(found) == len(texts) else None
    words = [one.split(maxsplit=1)[0] for one in texts if one.strip()]
    is_each_once = len(words) == len(texts) == len(set(zip(qid.tolist(), words, strict=False)))
    return plain_ids(id_array(words)) if is_each_once and words else None


def known_ids(data: RankingData) -> Array | None:
    """The ids of the documents, also from comments such as `docid = GX000-00-0000000`; None unless all have one."""
    if data.docid is not None or data.comments is None:
        return data.docid
    return ids_in_comments(data.comments, data.qid)


def document_ids(data: RankingData) -> Array:
    """The ids of the documents, which comments such as `docid = GX000-00` may hold; without any, row numbers from 1."""
    docid = data.docid
    if docid is None and data.comments is not None:
        docid = documents_named(data.comments, data.qid)
    if docid is None:
        return np.arange(1, len(data) + 1)
    check_once(docid, data.qid)
    return docid


def documents_named(comments: Sequence[str] | Array, qid: Array) -> Array | None:
    """The ids of documents in their comments; None if no comment has one."""
    docid = ids_in_comments(comments, qid)
    if docid is None and any(names := [DOCID.search(str(one)) for one in comments]):
        row = names.index(None)
        raise ValueError(f"row {row + 1} has no `docid = NAME` in its comment, as others have: name all or none")
    return docid


def comments_with_ids(docid: Array, comments: Sequence[str] | Array | None, qid: Array) -> list[str]:
    """The comments, preceded by `docid = ID` unless the ids can be read from them already."""
    ids = [str(one) for one in docid.tolist()]
    if comments is not None:
        known = ids_in_comments(comments, qid)
        if known is not None and [str(one) for one in known.tolist()] == ids:
            return [str(one) for one in comments]
    for row, one in enumerate(ids):
        if not one or _UNFIT.search(one):
            raise ValueError(
                f"docid[{row}] is {one!r}, which cannot be written: in this text an id is not empty and has no space; "
                "CSV, Parquet and NPZ take such ids"
            )
    remarks = [""] * len(ids) if comments is None else [str(one) for one in comments]
    return [f"docid = {one} {remark}".rstrip(" ") for one, remark in zip(ids, remarks, strict=True)]


def check_once(docid: Array, qid: Array) -> None:
    """Raise an error if a document occurs twice in a query."""
    seen: dict[tuple[object, object], int] = {}
    for row, key in enumerate(zip(qid.tolist(), docid.tolist(), strict=True)):
        if seen.setdefault(key, row) != row:
            twice = f"rows {seen[key] + 1} and {row + 1}"
            raise ValueError(
                f"{twice} are both document {key[1]} of query {key[0]}: a document may occur once per query"
            )
