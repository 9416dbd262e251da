"""The sentences of a report."""

import math
from html import unescape

from rankwise.foundation.texts import counted
from rankwise.metrics import Contrast
from rankwise.metrics.significance import ROUNDING
from rankwise.reporting.markup import number, text
from rankwise.reporting.studies import Study

LEAST_SHOWN = 0.001  # p values below it are shown as p < 0.001
CAPITALS = ("ndcg", "dcg", "map", "mrr", "err", "auc")


def measure_name(measure: str) -> str:
    """NDCG@10 for ndcg@10."""
    name = measure.partition("@")[0].partition(":")[0]
    return text(measure.replace(name, name.upper(), 1) if name in CAPITALS else measure)


def chance(p: float) -> str:
    """p = 0.02, as HTML."""
    if p != p:
        return "p&nbsp;unknown"
    return f"p&nbsp;&lt;&nbsp;{LEAST_SHOWN:g}" if p < LEAST_SHOWN else f"p&nbsp;=&nbsp;{p:.2g}"


def plain(words: str) -> str:
    """HTML without tags as text."""
    return unescape(words).replace("\N{NO-BREAK SPACE}", " ")


def verdict(study: Study, one: Contrast) -> tuple[str, str]:
    """A ranker against the baseline, or alone: the claim and its evidence, two parts of one sentence, as HTML."""
    name, measure = text(one.ranker), measure_name(one.measure)
    if one.win_tie_loss is None:
        claim = f"{name} reaches {number(one.mean)} {measure}"
        return claim, f" on {counted(one.queries, 'queries')}{_interval(study, one.interval)}."
    baseline, d, ends = text(study.subjects[0].name), one.difference, one.difference_interval
    if d != d:
        return f"{name} and {baseline} cannot be compared", f": no query counts for {measure}."
    counts = f"{counted(one.wins, 'queries')} better, {one.losses:,} worse" + (
        f", {one.ties:,} equal" if one.ties else ""
    )
    tested = f", {chance(one.p_adjusted)}; {counts}."
    if not one.mark:
        claim = f"{name} is not clearly different from {baseline}"
        return claim, f": {number(d, '+.3f')} {measure}{_interval(study, ends)}{tested}{_doubt(study, one)}"
    claim = f"{name} is {'better' if d > 0 else 'worse'} than {baseline} by {number(abs(d))} {measure}"
    return claim, _interval(study, ends if d > 0 else (-ends[1], -ends[0])) + tested


def _doubt(study: Study, one: Contrast) -> str:
    """Why a difference is not clear, where its interval does not show that: a sentence after a space, or nothing."""
    alpha, others = study.procedure.alpha, len(study.comparison.others)
    if math.isnan(one.difference_interval[0]):
        if study.procedure.least_p(one.queries) < alpha:
            return " There is no interval, because a few queries have nearly all of the weight."
        return f" With {counted(one.queries, 'queries')} no difference could be clear."
    if one.p_value < alpha and one.excludes_zero:
        return (
            f" On its own it would be different ({chance(one.p_value)}), but one of {others} rankers may look so by "
            "chance: p is corrected for that, the interval is not."
        )
    if one.p_value < alpha or one.excludes_zero:
        return f" The test and the interval disagree, because p is so close to {alpha:g}: more queries are needed."
    return ""


def gains(study: Study) -> str:
    """By how much queries are better and worse, on average."""
    d = study.per_query
    sides = (("better", d[d > ROUNDING]), ("worse", d[d < -ROUNDING]))
    said = [f"{side} in {counted(one.size, 'queries')} by {number(abs(one.mean()))}" for side, one in sides if one.size]
    return f"{' and '.join(said).capitalize()} on average." if said else "No query differs."


def _interval(study: Study, ends: tuple[float, float]) -> str:
    if ends[0] != ends[0]:
        return ""
    return f", {100 * study.procedure.confidence:g}&nbsp;% interval {number(ends[0])} to {number(ends[1])}"
