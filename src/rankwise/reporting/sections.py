"""Sections of tables: each function returns the body of one as HTML, or "" if it has nothing to show."""

from collections.abc import Callable

import numpy as np

from rankwise.foundation.texts import counted
from rankwise.metrics import Contrast
from rankwise.reporting.features import effects_of
from rankwise.reporting.markup import Column, folded, form_of, number, paragraph, share, table, text
from rankwise.reporting.refits import weights_of
from rankwise.reporting.studies import Study
from rankwise.reporting.subjects import Subject
from rankwise.reporting.svg import cell_scale, interval
from rankwise.reporting.words import chance, measure_name

PICTURE = Column('<span class="unseen">picture</span>', True)  # its numbers are in the columns beside it
WEIGHTS = 25  # shown at once
MESSAGE = 2000  # characters of a finding


def measures(study: Study) -> str:
    """Means with intervals beside the baseline."""
    comparison, baseline = study.comparison, study.subjects[0].name
    caption = f"Means over {counted(comparison.query_ids.size, 'queries')}. {_procedure(study)}"
    if not comparison.others:
        titles = [Column("measure", True), Column("mean"), Column("interval"), Column("queries that count")]
        rows = [
            [measure_name(one.measure), f"<b>{number(one.mean)}</b>", interval_text(one.interval), f"{one.queries:,}"]
            for one in comparison.contrasts
        ]
        return table(titles, rows, caption)
    several = len(comparison.others) > 1
    names = [Column(text(baseline)), Column("mean" if several else text(study.main.name))]
    titles = [Column("measure", True), *[Column("ranker", True)] * several, *names, Column("difference"), PICTURE]
    rows = [_contrast(study, one, several) for one in comparison.contrasts if one.win_tie_loss is not None]
    return table([*titles, Column("p"), Column("better / equal / worse")], rows, caption)


def _contrast(study: Study, one: Contrast, named: bool) -> list[str]:
    """A row: the ranker, by its name if there are several, beside the baseline."""
    ends = [(other.difference, *other.difference_interval) for other in study.comparison.contrasts]
    own = [end for end, other in zip(ends, study.comparison.contrasts, strict=True) if other.measure == one.measure]
    before, difference = study.contrast(study.subjects[0].name, one.measure), number(one.difference, "+.3f")
    return [
        measure_name(one.measure),
        *[text(one.ranker)] * named,
        _with_interval(number(before.mean), before.interval),
        _with_interval(number(one.mean), one.interval),
        _with_interval(f"<b>{difference}</b>" if one.mark else difference, one.difference_interval, "+.3f"),
        interval(one.difference, *one.difference_interval, cell_scale(np.array(own))),
        chance(one.p_adjusted).removeprefix("p&nbsp;").removeprefix("=&nbsp;"),
        f"{one.wins:,} / {one.ties:,} / {one.losses:,}",
    ]


def _with_interval(value: str, ends: tuple[float, float], form: str = ".3f") -> str:
    return f"{value} <small>{interval_text(ends, form)}</small>"


def _procedure(study: Study) -> str:
    percent = f"{100 * study.procedure.confidence:g} %"
    resampled = f"by the bootstrap over queries, {study.procedure.resamples:,} resamples"
    if not study.comparison.others:
        return f"{percent} intervals {resampled}."
    test = "randomisation" if study.procedure.test == "randomization" else "t"
    others = len(study.comparison.others)
    holm = f", corrected by Holm for {others} comparisons" if others > 1 else ""
    return (
        f"{percent} intervals of means {resampled}; of differences by the paired {test} test: what it does not reject. "
        f"p by the same test{holm}, bold where p &lt; {study.procedure.alpha:g} and 0 is outside the interval."
    )


def interval_text(ends: tuple[float, float], form: str = ".3f") -> str:
    return "–" if ends[0] != ends[0] else f"{number(ends[0], form)} to {number(ends[1], form)}"


def weights(study: Study) -> str:
    return _each(study, _weights)


def _weights(study: Study, subject: Subject) -> str:
    found, model = weights_of(study, subject), subject.model
    if found is None or model is None:
        words = f"{text(subject.name)} compares documents by a kernel: it has no weight per feature."
        return paragraph(f"{words} The next section shows what its features add.")
    order = np.argsort(-np.abs(found.values), kind="stable")
    along, form = cell_scale(found.values, found.low, found.high), form_of(found.values, "+")
    titles = [Column("feature", True), Column("weight"), PICTURE]
    if found.refits:
        titles += [Column(f"{100 * study.procedure.confidence:g} % interval"), Column("same sign")]

    def row(i: int) -> list[str]:
        value, low, high = (float(one[i]) for one in (found.values, found.low, found.high))
        cells = [text(found.names[i]), number(value, form), interval(value, low, high, along)]
        return cells + ([interval_text((low, high), form), share(float(found.same_sign[i]))] if found.refits else [])

    scaled = "" if model.scaling is None else f" of features after {text(model.scaling.name)}"
    how = f" Intervals and signs from {found.refits} refits to training queries drawn with replacement."
    caption = f"Weights of {text(subject.name)}{scaled}.{how if found.refits else ''}"
    body = table(titles, [row(i) for i in order[:WEIGHTS].tolist()], caption)
    if order.size > WEIGHTS:
        rest = order[WEIGHTS : 10 * WEIGHTS]
        left = f" The {order.size - 10 * WEIGHTS:,} smallest are not shown." if order.size > 10 * WEIGHTS else ""
        smaller = table(titles, [row(i) for i in rest.tolist()], f"Smaller weights of {text(subject.name)}.{left}")
        body += folded(f"{counted(rest.size, 'smaller weights')}", smaller)
    return body


def features(study: Study) -> str:
    return _each(study, _features)


def _features(study: Study, subject: Subject) -> str:
    found = effects_of(study, subject)
    if found is None:
        return ""
    along, form = cell_scale(found.falls, found.low, found.high), form_of(found.moves)
    measure = measure_name(study.measure)
    titles = [Column("feature", True), Column(f"adds to {measure}"), PICTURE]
    titles += [Column(f"{100 * study.procedure.confidence:g} % interval"), Column("moves a score by")]
    rows = []
    for i, name in enumerate(found.names):
        fall, low, high, move = (float(column[i]) for column in (found.falls, found.low, found.high, found.moves))
        cells = [number(fall, "+.4f"), interval(fall, low, high, along), interval_text((low, high), "+.4f")]
        rows.append([text(name), *cells, number(move, form)])
    more = f" {counted(found.others, 'features')} that move scores less are not shown." if found.others else ""
    caption = (
        f"What each feature adds to {measure} of {text(subject.name)}. It is the fall when the feature’s values are "
        f"shuffled within each query ({found.queries:,} queries, mean of three shuffles). Features that carry the same "
        f"information can stand in for each other, so each may add little.{more}"
    )
    return table(titles, rows, caption)


def data_check(study: Study) -> str:
    report = study.check
    size = f"{text(report.size)}."
    if report.against is not None:
        size = f"Training data: {size} Data of this report: {text(report.against)}."
    if not report.findings:
        return paragraph(f"Nothing was found. {size}")
    items = "".join(
        f'<li><span class="severity {one.severity}">{one.severity}</span> <b>{text(one.code)}</b>: '
        f'{text(one.message, MESSAGE)} <span class="muted">{text(one.advice, MESSAGE)}</span></li>'
        for one in report.findings
    )
    return f'{paragraph(f"{text(report.summary().capitalize())}. {size}")}<ul class="findings">{items}</ul>'


def _each(study: Study, section: Callable[[Study, Subject], str]) -> str:
    return "".join(section(study, one) for one in study.models)
