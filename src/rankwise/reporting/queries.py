"""Queries one by one: the table of all of them, and the rankings of each side by side.

The page holds the rows of up to `ROWS` queries as they are. Further rows, and the rankings, are compressed: the script
of the page unpacks them when they are asked for. The rankings of `BLOCK` queries are packed together, so that opening
one does not unpack all; no more are packed than `ROOM` bytes hold, those of the largest differences first.
"""

import base64
import gzip
import json
from dataclasses import dataclass

import numpy as np

from rankwise.explaining.choosing import Candidates
from rankwise.explaining.contributions import explain
from rankwise.foundation.arrays import Array, Floats, Ints
from rankwise.foundation.texts import counted
from rankwise.metrics.significance import ROUNDING
from rankwise.reporting.markup import form_of, number, text
from rankwise.reporting.studies import Study
from rankwise.reporting.subjects import Subject

ROWS = 1000
ROOM = 1_100_000  # bytes of packed rankings
BLOCK = 20
DEPTH = 10  # documents of a ranking
RANKINGS = 3  # side by side
REASONS = 3  # features named for a document


@dataclass(frozen=True, eq=False)
class QueryTable:
    """The rows of the table.

    shown    rows of the page, as HTML
    packed   further rows, packed; "" if there are none
    details  blocks of packed rankings
    """

    shown: str
    packed: str
    details: list[str]
    n_shown: int
    n_details: int


def query_table(study: Study) -> QueryTable:
    """Worst first. With many queries, the page shows the worst and the best, and packs those between."""
    key = study.per_query
    order = np.argsort(key, kind="stable")  # NaN last
    n_counted = int(np.count_nonzero(~np.isnan(key)))
    by_size = np.argsort(-np.abs(np.nan_to_num(key)), kind="stable") if study.comparison.others else order
    details, places = _details(study, by_size)
    shown, between = order, order[:0]
    if order.size > ROWS:
        best = min(ROWS // 2, n_counted)
        worst = min(ROWS - best, n_counted - best)
        shown = np.concatenate((order[:worst], order[n_counted - best : n_counted]))
        between = np.concatenate((order[worst : n_counted - best], order[n_counted:]))
    rows = [_row(study, query, places.get(query)) for query in shown.tolist()]
    rest = "".join(_row(study, query, places.get(query)) for query in between.tolist())
    return QueryTable("\n".join(rows), packed(rest) if rest else "", details, shown.size, len(places))


def columns(study: Study) -> list[str]:
    """The titles of the columns."""
    names = [text(one.name) for one in study.subjects]
    differences = ["difference"] if len(names) == 2 else [f"{name} − {names[0]}" for name in names[1:]]
    return ["query", "documents", *names, *differences]


def _row(study: Study, query: int, detail: int | None) -> str:
    comparison, measure = study.comparison, study.measure
    values = [float(comparison.evaluations[one.name].per_query[measure][query]) for one in study.subjects]
    cells = "".join(f"<td>{number(value)}</td>" for value in values)
    for value in values[1:]:
        cells += _difference_cell(value - values[0])
    opens = "" if detail is None else f" data-detail={detail}"
    name = text(study.queries.ids[query])
    return f"<tr><th scope=row{opens}>{name}</th><td>{study.sizes[query]}</td>{cells}</tr>"


def _difference_cell(difference: float) -> str:
    kind = "" if difference != difference or not round(difference, 3) else "up" if difference > 0 else "down"
    return f"<td{f' class={kind}' if kind else ''}>{number(difference, '+.3f')}</td>"


def _details(study: Study, order: Ints) -> tuple[list[str], dict[int, int]]:
    """Blocks of packed rankings, and the place of each query in them."""
    blocks: list[str] = []
    places: dict[int, int] = {}
    room = ROOM
    for start in range(0, order.size, BLOCK):
        queries = order[start : start + BLOCK].tolist()
        block = packed(json.dumps([detail(study, query) for query in queries], ensure_ascii=False))
        room -= len(block)
        if room < 0:
            break
        places |= {query: start + i for i, query in enumerate(queries)}
        blocks.append(block)
    return blocks, places


def packed(content: str) -> str:
    """Compressed text as base64, for the DecompressionStream of browsers."""
    return base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()


def detail(study: Study, query: int) -> str:
    """The rankings of a query side by side, as HTML."""
    rows = study.rows_of_query[query]
    rankings = study.subjects[:RANKINGS]
    orders = [rows[np.argsort(-one.scores[rows], kind="stable")] for one in rankings]
    before = {int(row): place + 1 for place, row in enumerate(orders[0].tolist())}
    parts = []
    for subject, order in zip(rankings, orders, strict=True):
        value = float(study.comparison.evaluations[subject.name].per_query[study.measure][query])
        moved = before if subject is not rankings[0] else None
        scores = subject.scores[rows]
        form = form_of(scores, span=float(scores.max()) - float(scores.min()))
        lines = "".join(
            _document(study, subject, order, place, reasons, moved, form) for place, reasons in _top(subject, order)
        )
        more = f"<p class=more>{counted(rows.size - DEPTH, 'more documents')}</p>" if rows.size > DEPTH else ""
        caption = f"{text(subject.name)} <b>{number(value)}</b>"
        head = "<th scope=col class=n>#</th><th scope=col>document</th><th scope=col class=n>label</th>"
        head += "<th scope=col class=n>score</th>"
        parts.append(
            f"<div class=ranking><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{lines}</tbody></table>{more}</div>"
        )
    return f"<div class=rankings>{''.join(parts)}</div>"


def _top(subject: Subject, order: Ints) -> list[tuple[int, str]]:
    """The first places, and the features that contribute most to each document's score."""
    n = min(DEPTH, order.size)
    if subject.formula is None or subject.rows is None:
        return [(place, "") for place in range(n)]
    found = explain(subject.formula, Candidates(subject.rows.X[order], np.zeros(order.size, np.int64)), 0)
    at = np.argsort(found.rows)[:n]  # ties may have been ranked in another order
    parts = found.contributions
    parts = np.where(np.abs(parts) > ROUNDING * np.abs(parts).max(initial=0.0), parts, 0.0)
    return [(place, _reasons(found.names, parts[i])) for place, i in enumerate(at.tolist())]


def _reasons(names: Array, parts: Floats) -> str:
    largest = np.argsort(-np.abs(parts), kind="stable")[:REASONS]
    clauses = [
        f"{text(names[i])}\N{NO-BREAK SPACE}{number(float(parts[i]), '+.2g')}" for i in largest.tolist() if parts[i]
    ]
    return f"<div class=why>{' · '.join(clauses)}</div>" if clauses else ""


def _document(
    study: Study, subject: Subject, order: Ints, place: int, reasons: str, before: dict[int, int] | None, form: str
) -> str:
    row, scores = int(order[place]), subject.scores
    is_tied = any(scores[order[other]] == scores[row] for other in (place - 1, place + 1) if 0 <= other < order.size)
    rank = f"{place + 1}{'<abbr title=tied>=</abbr>' if is_tied else ''}"
    came = ""
    if before is not None and before[row] != place + 1:
        step = before[row] - (place + 1)
        came = f" <span class={'up' if step > 0 else 'down'}>{'↑' if step > 0 else '↓'}{abs(step)}</span>"
    label = float(study.data.y[row])
    grade = "–" if label != label else f"<span class=grade style=--g:{_height(study, label):.2f}>{label:g}</span>"
    name = f"{text(study.documents[row])}{came}{reasons}"
    cells = f"<td class=n>{grade}</td><td class=n>{number(float(scores[row]), form)}</td>"
    return f"<tr><td class=n>{rank}</td><th scope=row>{name}</th>{cells}</tr>"


def _height(study: Study, label: float) -> float:
    """Where a label is between the lowest and the highest, from 0 to 1."""
    low, high = study.label_range
    return (label - low) / (high - low) if high > low else 1.0
