"""Every measure as a function of the rankings: one value per query (NaN if the query does not count), and the mean."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from rankwise.foundation.arrays import Array, Floats
from rankwise.foundation.registry import loaded
from rankwise.metrics import kernels
from rankwise.metrics.measures import Column, Measure
from rankwise.metrics.rankings import Rankings

LARGEST_EXPONENT = 1000.0  # for labels up to this, sums of 2^y do not overflow


def column(measure: Measure, rankings: Rankings) -> Column:
    """The values of a measure per query, and their mean."""
    return loaded(measure.family.column)(measure, rankings)


def by_query(measure: Measure, rankings: Rankings) -> Column:
    """The column of a measure that is a function of the labels and scores of one query."""
    family = measure.family
    assert family.of_query is not None
    cutoff = () if family.cutoff == "none" else (measure.cutoff,)
    documents = [slice(*ends) for ends in pairwise(rankings.queries.starts.tolist())]
    labels, scores = rankings.labels, rankings.scores
    values = [  # copies, because the function may write into its arguments
        float(family.of_query(labels[one].copy(), scores[one].copy(), *cutoff)) for one in documents
    ]
    return _averaged(np.array(values))


def _averaged(values: Floats) -> Column:
    counted = values[~np.isnan(values)]
    # fsum is exact, so the mean does not depend on the order of the queries
    return Column(values, math.fsum(counted) / counted.size if counted.size else math.nan)


def ndcg(measure: Measure, rankings: Rankings) -> Column:
    settings = measure.settings
    discounts = _discounts(measure, rankings)
    dcg = rankings.each_query(kernels.discounted_sums, _expected_gains(measure, rankings), discounts)
    best = rankings.each_query(kernels.discounted_sums, _gains(rankings.ideal, measure), discounts)
    values = np.minimum(_ratio(dcg, best), 1.0)  # a rounded sum may exceed its ideal by one bit
    if measure.cutoff is not None and settings["short"] == "zero":
        values[rankings.queries.sizes < measure.cutoff] = 0.0
    return _averaged(_without_relevant(values, rankings.labels > 0, measure, rankings))


def mean_ndcg(measure: Measure, rankings: Rankings) -> Column:
    arrays = (
        _expected_gains(measure, rankings),
        _gains(rankings.ideal, measure),
        _discounts(measure, rankings),
    )
    values = rankings.each_query(kernels.mean_ndcg, *arrays)
    return _averaged(_without_relevant(values, rankings.labels > 0, measure, rankings))


def dcg(measure: Measure, rankings: Rankings) -> Column:
    gains, discounts = _expected_gains(measure, rankings), _discounts(measure, rankings)
    return _averaged(rankings.each_query(kernels.discounted_sums, gains, discounts))


def average_precision(measure: Measure, rankings: Rankings) -> Column:
    relevant = _relevant(measure, rankings)
    places = rankings.places(relevant, measure.settings["ties"])
    values = rankings.each_query(kernels.average_precision, *places)
    return _averaged(_without_relevant(values, relevant, measure, rankings))


def precision(measure: Measure, rankings: Rankings) -> Column:
    relevant = _relevant(measure, rankings)
    assert measure.cutoff is not None
    values = _at_the_top(relevant, measure, rankings) / measure.cutoff
    return _averaged(_without_relevant(values, relevant, measure, rankings))


def recall(measure: Measure, rankings: Rankings) -> Column:
    relevant = _relevant(measure, rankings)
    values = _ratio(_at_the_top(relevant, measure, rankings), rankings.total(relevant))
    return _averaged(_without_relevant(values, relevant, measure, rankings))


def judged(measure: Measure, rankings: Rankings) -> Column:
    assert measure.cutoff is not None
    n_shown = np.minimum(measure.cutoff, rankings.queries.sizes)
    return _averaged(_at_the_top(rankings.judged, measure, rankings) / n_shown)


def mrr(measure: Measure, rankings: Rankings) -> Column:
    return _cascade(_relevant(measure, rankings), measure, rankings)


def err(measure: Measure, rankings: Rankings) -> Column:
    labels, highest = rankings.labels, measure.settings["max"]
    top = float(labels.max()) if highest == "data" else float(highest)
    if labels.max() > top:
        raise ValueError(f"{measure} says that no label exceeds {highest}, but the labels go up to {labels.max():g}")
    return _cascade(_exp2_gain(labels, measure) / np.exp2(top), measure, rankings)


def _cascade(stops: Floats, measure: Measure, rankings: Rankings) -> Column:
    places = rankings.places(stops, measure.settings["ties"])
    values = rankings.each_query(kernels.cascade, *places, _depth(measure, rankings))
    return _averaged(_without_relevant(values, stops > 0, measure, rankings))


def pairwise_accuracy(measure: Measure, rankings: Rankings) -> Column:
    settings = measure.settings
    pairs, correct = rankings.preference_pairs, rankings.correct_pairs
    if settings["ties"] == "half":
        correct = correct + rankings.tied_preferences / 2
    by_query = _averaged(_ratio(correct, pairs))
    if settings["mean"] == "query" or not pairs.any():
        return by_query
    return Column(by_query.values, math.fsum(correct) / math.fsum(pairs), pairs)


def auc(measure: Measure, rankings: Rankings) -> Column:
    low, high = rankings.labels.min(), rankings.labels.max()
    between = (rankings.labels > low) & (rankings.labels < high)
    if between.any():
        third = rankings.labels[between][0]
        raise ValueError(
            f"auc needs two labels, but y holds {low:g}, {third:g} and {high:g}: "
            "use pairwise-accuracy:ties=half for graded labels"
        )
    return _averaged(_ratio(rankings.correct_pairs + rankings.tied_preferences / 2, rankings.preference_pairs))


def kendall_tau_b(measure: Measure, rankings: Rankings) -> Column:
    sizes = rankings.queries.sizes.astype(np.float64)
    preferred = rankings.preference_pairs
    wrong = preferred - rankings.correct_pairs - rankings.tied_preferences
    untied = sizes * (sizes - 1) / 2 - rankings.tied_pairs
    return _averaged(_ratio(rankings.correct_pairs - wrong, np.sqrt(preferred) * np.sqrt(untied)))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """part / whole, NaN where whole is 0."""
    out = np.full(part.size, np.nan)
    np.divide(part, whole, out=out, where=whole != 0)
    return out


def _at_the_top(chosen: Floats, measure: Measure, rankings: Rankings) -> Floats:
    """The expected number of chosen documents within the cutoff."""
    expected = rankings.expected(chosen, measure.settings["ties"])
    return rankings.each_query(kernels.discounted_sums, expected, np.ones(_depth(measure, rankings)))


def _relevant(measure: Measure, rankings: Rankings) -> Floats:
    level = measure.settings["relevant"]
    chosen: Array = rankings.labels > 0 if level == "positive" else rankings.labels >= float(level)
    return chosen.astype(np.float64)


def _without_relevant(values: Floats, relevant: Array, measure: Measure, rankings: Rankings) -> Floats:
    """`values`, with that of the option no-relevant for queries without a relevant document."""
    rule = measure.settings["no-relevant"]
    values[rankings.total(relevant) == 0] = math.nan if rule == "skip" else float(rule)
    return values


def _depth(measure: Measure, rankings: Rankings) -> int:
    longest = int(rankings.queries.sizes.max())
    return longest if measure.cutoff is None else min(measure.cutoff, longest)


def _discounts(measure: Measure, rankings: Rankings) -> Floats:
    place = np.arange(1.0, _depth(measure, rankings) + 1)
    letor = measure.settings["discount"] == "letor"
    discounts: Floats = 1.0 / np.log2(np.maximum(2.0, place) if letor else place + 1.0)
    return discounts


def _expected_gains(measure: Measure, rankings: Rankings) -> Floats:
    return rankings.expected(_gains(rankings.labels, measure), measure.settings["ties"])


def _gains(labels: Floats, measure: Measure) -> Floats:
    if measure.settings["gain"] == "exp2":
        return _exp2_gain(labels, measure)
    return _from_zero(labels, measure)


def _exp2_gain(labels: Floats, measure: Measure) -> Floats:
    highest = labels.max()
    if highest > LARGEST_EXPONENT:
        linear = replace(measure, dialect=None, options=(("gain", "linear"),))
        cure = f"use the linear gain, {linear}" if "gain" in measure.settings else "scale the labels down"
        raise ValueError(f"{measure} has the gain 2^y - 1, but y holds {highest:g}, too large for 2^y: {cure}")
    gains: Floats = np.exp2(_from_zero(labels, measure)) - 1.0
    return gains


def _from_zero(labels: Floats, measure: Measure) -> Floats:
    if labels.min() < 0:
        raise ValueError(f"{measure} needs labels from 0, but y holds {labels.min():g}: shift the labels")
    return labels
