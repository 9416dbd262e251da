"""Sections of pictures, each with its numbers in a table: the body of a section as HTML, or "" if there is nothing."""

from collections.abc import Iterable, Sequence

import numpy as np

from rankwise.reporting.markup import Column, folded, number, paragraph, table, text
from rankwise.reporting.refits import learning_curve_of
from rankwise.reporting.sections import interval_text
from rankwise.reporting.studies import Study, by_length, calibration
from rankwise.reporting.subjects import Subject
from rankwise.reporting.svg import Line, line_chart
from rankwise.reporting.words import measure_name
from rankwise.solvers import Result

STEPS = 200  # of a solver's history


def cutoffs(study: Study) -> str:
    """The first measure against the cutoff and against the number of documents of a query."""
    return _figures([_by_cutoff(study), _by_length(study)])


def _by_cutoff(study: Study) -> str:
    if study.cutoffs is None:
        return ""
    k = np.array(study.cutoffs.cutoffs, dtype=np.float64)
    name = f"{measure_name(study.cutoffs.measure)} of the first k documents"
    lines = [Line(ranker, k, curve, style=study.style(ranker)) for ranker, curve in study.cutoffs.curves.items()]
    rows = [[f"{k[i]:g}", *(number(float(line.y[i])) for line in lines)] for i in range(k.size)]
    numbers = table([Column("k"), *(Column(text(line.name)) for line in lines)], rows, name)
    return _figure("By cut-off", lines, numbers, name, "k", name)


def _by_length(study: Study) -> str:
    groups, measure, rankers = by_length(study), measure_name(study.measure), study.comparison.rankers
    spans = [f"{one.least:,}" if one.least == one.most else f"{one.least:,} to {one.most:,}" for one in groups]
    titles = [Column("documents"), Column("queries"), *(Column(text(name)) for name in rankers)]
    rows = [
        [span, f"{one.queries:,}", *(_mean(*one.means[name]) for name in rankers)]
        for span, one in zip(spans, groups, strict=True)
    ]
    title = f"{measure} by the number of documents of a query"
    places = np.array([(one.least + one.most) / 2 for one in groups])
    means = {name: np.array([one.means[name] for one in groups]).T for name in rankers}
    lines = [Line(name, places, y, low, high, study.style(name)) for name, (y, low, high) in means.items()]
    numbers = table(titles, rows, f"{title}, with intervals")
    return _figure("By query length", lines, numbers, title, "documents per query", measure)


def _mean(mean: float, low: float, high: float) -> str:
    return f"{number(mean)} <small>{interval_text((low, high))}</small>"


def scores(study: Study) -> str:
    """Calibration: mean labels against scores."""
    before = "A useful score rises with the label: the line should climb from left to right without falling back."
    return paragraph(before) + _figures(_calibration(study, one) for one in study.subjects)


def _calibration(study: Study, subject: Subject) -> str:
    bins, name = calibration(study, subject), text(subject.name)
    rows = [[number(one.score, "+.3g"), number(one.label, ".3g"), f"{one.documents:,}"] for one in bins]
    relative = "score, relative to the query’s mean"
    titles = [Column(relative), Column("mean label"), Column("documents")]
    x, y = (np.array([getattr(one, column) for one in bins]) for column in ("score", "label"))
    title = f"Mean label by score of {name}, in bins of about equally many documents"
    line = Line(subject.name, x, y, style=study.style(subject.name))
    return _figure(name, [line], table(titles, rows, title), title, relative, "mean label")


def learning(study: Study) -> str:
    return _figures(_learning(study, one) for one in study.models)


def _learning(study: Study, subject: Subject) -> str:
    curve = learning_curve_of(study, subject)
    if curve is None:
        return ""
    n, measure = curve.n_queries.astype(np.float64), measure_name(curve.measure)
    known = {"queries not seen": curve.valid, "training queries": curve.train}
    lines = [
        Line(name, n, values.mean(axis=1), values.min(axis=1), values.max(axis=1), style)
        for style, (name, values) in enumerate(known.items())
    ]
    rows = [[f"{n[i]:,.0f}", *(number(float(line.y[i])) for line in lines)] for i in range(n.size)]
    size = "number of training queries"
    titles = [Column(size), *(Column(name) for name in known)]
    title = f"{measure} of {text(subject.name)} by the {size}"
    folds = f"mean and range of {curve.valid.shape[1]} folds of the training data"
    return _figure(text(subject.name), lines, table(titles, rows, title), title, size, f"{measure}, {folds}")


def convergence(study: Study) -> str:
    """How the training ended, and how far the objective can be from its optimum."""
    results = {one.name: one.model.result for one in study.models if one.model is not None}
    rows = [[text(name), *_ending(one)] for name, one in results.items() if one is not None]
    if not rows:
        return ""
    titles = [Column("model", True), Column("converged", True), Column("how it ended", True), Column("steps")]
    titles += [Column("objective"), Column("certified gap")]
    caption = "How training ended. The certified gap is a proven bound on the objective minus its minimum."
    return table(titles, rows, caption) + _figures(
        _history(name, one) for name, one in results.items() if one is not None
    )


def _ending(result: Result) -> list[str]:
    converged = "yes" if result.converged else "<b>no</b>"
    return [converged, text(result.message), f"{result.iterations:,}", number(result.value, ".6g"), _gap(result)]


def _gap(result: Result) -> str:
    if result.gap is None or not np.isfinite(result.gap):
        return "none"
    return number(result.gap, ".2g")


def _history(name: str, result: Result) -> str:
    """The gradient by step; models from files have no history."""
    steps = [one for one in result.history if one.gradient_norm > 0][:STEPS]
    if not steps:
        return ""
    x, y = np.array([float(one.iteration) for one in steps]), np.array([one.gradient_norm for one in steps])
    title = f"Norm of the gradient of {text(name)} by step"
    rows = [[f"{one.iteration:,}", number(one.value, ".6g"), number(one.gradient_norm, ".2e")] for one in steps]
    numbers = table([Column("step"), Column("objective"), Column("gradient")], rows, title)
    return _figure(text(name), [Line(name, x, y)], numbers, title, "step", "norm of the gradient", log_y=True)


def _figure(
    name: str, lines: Sequence[Line], numbers: str, title: str, xlabel: str, ylabel: str, log_y: bool = False
) -> str:
    """A picture and, folded, its numbers; of a single point, the numbers only."""
    if lines[0].x.size > 1:
        numbers = line_chart(lines, title, xlabel, ylabel, log_y) + folded("Numbers", numbers)
    return f"<figure><figcaption>{name}</figcaption>{numbers}</figure>"


def _figures(figures: Iterable[str]) -> str:
    drawn = "".join(figures)
    return f'<div class="figures">{drawn}</div>' if drawn else ""
