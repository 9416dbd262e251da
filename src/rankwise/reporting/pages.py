"""The page: sections in their order, the style and the script, all in one file that fetches nothing."""

import base64
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

import numpy as np

from rankwise.foundation.outputs import written_beside
from rankwise.foundation.texts import counted
from rankwise.metrics import Comparison
from rankwise.metrics.significance import ROUNDING
from rankwise.reporting import figures, sections
from rankwise.reporting.markup import folded, number, paragraph, text
from rankwise.reporting.queries import BLOCK, columns, detail, query_table
from rankwise.reporting.studies import Study
from rankwise.reporting.svg import difference_chart
from rankwise.reporting.words import gains, measure_name, plain, verdict

GENERATOR = '<meta name="generator" content="rankwise report">'
WORST = 5  # queries that the page shows without its script
NOTEBOOK_HEIGHT = "80vh"


@dataclass(frozen=True, eq=False, repr=False)
class Page:
    """A report: `save(path)` writes it, and a notebook shows it.

    verdict     its first sentence
    cautions    what to know before the numbers: whether the rankers were trained on these queries
    html        the page
    comparison  the numbers behind it
    """

    verdict: str
    cautions: list[str]
    html: str
    comparison: Comparison

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, or to standard output, "-"."""
        with written_beside(path) as file:
            file.write(self.html.encode())

    def __repr__(self) -> str:
        return f"<Page: {self.verdict}>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style does not touch the notebook's."""
        style = f"width:100%;height:{NOTEBOOK_HEIGHT};border:0"
        page = f'srcdoc="{escape(self.html)}"'
        return f'<iframe title="rankwise report" sandbox="allow-scripts" style="{style}" {page}></iframe>'


def is_page(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a report does."""
    try:
        with open(path, "rb") as file:
            return GENERATOR.encode() in file.read(256)
    except OSError:
        return False


def page_of(study: Study) -> Page:
    """The page of a study."""
    claim, evidence = verdict(study, study.contrast(study.main.name, study.measure))
    bodies = [(name, title, body) for name, title, make in SECTIONS if (body := make(study))]
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in bodies)
    parts = "\n".join(
        f'<section id="{name}" class="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{title}</h2>\n{body}</section>'
        for name, title, body in bodies
    )
    content = (
        '<a class="skip" href="#measures">Skip to the numbers</a>'
        f'<div class="page"><header>{_heading(study, claim, evidence)}'
        f'<nav aria-label="Contents"><ol>{links}</ol></nav></header><main>\n{parts}\n</main>'
        "<footer>Made by rankwise. This file needs no network and no other file.</footer></div>"
        '<dialog id="detail" aria-labelledby="detail-title"><header><h2 id="detail-title">Query</h2>'
        '<button type="button" class="close">Close</button></header>'
        f'{paragraph(_legend(study), "note")}<div class="content"></div></dialog>'
    )
    said = plain(claim + evidence)
    return Page(said, study.cautions, _document(said, content), study.comparison)


def _heading(study: Study, claim: str, evidence: str) -> str:
    others = [study.contrast(name, study.measure) for name in study.comparison.others[1:]]
    more = "".join(paragraph("".join(verdict(study, one))) for one in others)
    remarks = "".join(paragraph(text(one, sections.MESSAGE), "remark") for one in study.cautions)
    size = f"{counted(len(study.queries), 'queries')}, {counted(len(study.data), 'documents')}"
    source = f" in {text(study.source)}" if study.source else ""
    title = f'<h1>{claim}<span class="muted">{evidence}</span></h1>'
    return f'<p class="eyebrow">rankwise report · {size}{source}</p>{title}{more}{remarks}'


def _legend(study: Study) -> str:
    """What the rankings of a query show."""
    said = f"{measure_name(study.measure)} beside each name"
    if study.comparison.others:
        said += f", arrows: places gained or lost against {text(study.subjects[0].name)}"
    if study.models:
        said += "; below a document: what features add to its score, relative to the query’s mean"
    return f"{said}."


def _queries(study: Study) -> str:
    """All queries: a picture, and a table that the script sorts and searches."""
    found, measure = query_table(study), measure_name(study.measure)
    n = len(study.queries)
    parts = []
    if study.comparison.others:
        names = f"{text(study.main.name)} − {text(study.subjects[0].name)}"
        title = f"Differences in {measure} of all queries, sorted: {names}"
        chart = difference_chart(study.per_query, title, f"{measure}: {names}")
        parts.append(f"<figure>{chart}{paragraph(gains(study), 'note')}</figure>")
    head = "".join(f'<th scope="col">{title}</th>' for title in columns(study))
    which = f"{measure} of {counted(n, 'queries')}, the worst first"
    if found.packed:
        which = f"{measure} of the {found.n_shown:,} queries that lose or gain most, of {n:,}"
    script_note = f"Click a query to see its {'rankings side by side' if study.comparison.others else 'ranking'}."
    if found.n_details < n:
        script_note += f" Rankings are kept for the {found.n_details:,} queries that differ most."
    script_note = f"<span hidden data-script>{script_note}</span>"
    parts.append(
        '<div><div class="tools" hidden data-script>'
        '<label>Search queries <input type="search" id="search" autocomplete="off"></label>'
        '<span id="status" class="muted" role="status"></span></div>'
        '<div class="scroll" tabindex="0" role="region" aria-label="Queries">'
        f'<table data-total="{n}" data-block="{BLOCK}"><caption><div>{which}. {script_note}</div></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{found.shown}\n</tbody></table></div>"
        "<noscript>Sorting, searching and opening a query need JavaScript.</noscript>"
        f"</div>{_held('rest', found.packed)}{_held('details', found.details)}"
    )
    return f'<div class="split">{"".join(parts)}</div>'


def _held(name: str, content: object) -> str:
    """Data for the script; base64 has no sign that could end the element."""
    return f'<script type="application/json" id="{name}">{json.dumps(content)}</script>'


def _worst(study: Study) -> str:
    """The queries that lose most, with their rankings; readable without the script."""
    key, form = study.per_query, ".3f"
    order = np.argsort(key, kind="stable")[:WORST]
    order = order[~np.isnan(key[order])]
    if study.comparison.others:
        order, form = order[key[order] < -ROUNDING], "+.3f"
        if not order.size:
            return paragraph(f"No query is worse than with {text(study.subjects[0].name)}.")
    return paragraph(_legend(study), "note") + "".join(
        folded(
            f"Query {text(study.queries.ids[query])} <span class=n>{number(float(key[query]), form)}</span>",
            detail(study, query),
            is_open=place == 0,
        )
        for place, query in enumerate(order.tolist())
    )


def _repeat(study: Study) -> str:
    """What is needed to make the page again, and what it leaves out."""
    facts = "".join(f"<dt>{text(name)}</dt><dd>{_lines(value)}</dd>" for name, value in study.origin.items())
    why = (
        "No training data were given (--train)" if study.train is None else "No model was fitted again (--resamples 0)"
    )
    note = f"{why}: there is no learning curve, and weights have no intervals."
    left_out = paragraph(note, "note") if study.train is None or not study.resamples else ""
    return f"{left_out}<dl>{facts}</dl>"


def _lines(value: str) -> str:
    return "<br>".join(f"<code>{text(line, 2000)}</code>" for line in value.split("\n"))


Section = tuple[str, str, Callable[[Study], str]]
SECTIONS: tuple[Section, ...] = (
    ("measures", "Measures", sections.measures),
    ("queries", "Query by query", _queries),
    ("worst", "The worst queries", _worst),
    ("weights", "Weights", sections.weights),
    ("features", "What a feature adds", sections.features),
    ("cutoffs", "Cut-off and query length", figures.cutoffs),
    ("scores", "Scores against labels", figures.scores),
    ("learning", "Learning curve", figures.learning),
    ("convergence", "Convergence", figures.convergence),
    ("check", "Data check", sections.data_check),
    ("repeat", "To repeat this", _repeat),
)


@cache
def _part(name: str) -> str:
    return (files("rankwise.reporting") / name).read_text("utf-8")


def _document(title: str, content: str) -> str:
    """The whole file. Its policy allows this script, inline styles, and nothing from anywhere else."""
    script = _part("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'{GENERATOR}\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_part('style.css')}</style>\n</head>\n<body>\n{content}\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )
