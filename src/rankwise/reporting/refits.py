"""What takes fits to parts of the training data: intervals of weights, and the learning curve."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankwise.data.columns import for_model
from rankwise.foundation.arrays import Array, Floats
from rankwise.pairs.queries import Queries
from rankwise.rankers.models import LinearModel, Model
from rankwise.reporting.studies import LEAST_REFITS, Study
from rankwise.reporting.subjects import Subject

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from rankwise.model_selection.curves import LearningCurve

LEAST_QUERIES = 10  # for a learning curve
FOLDS = 3


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of a linear model, and what refits to samples of the training queries gave.

    low, high  the interval of each weight, NaN without training data: the weight plus and minus a multiple of the
               standard deviation of the refits, which needs fewer of them than their quantiles would
    same_sign  the share of refits in which a weight has the same sign
    refits     how many there were
    """

    names: Array
    values: Floats
    low: Floats
    high: Floats
    same_sign: Floats
    refits: int


def weights_of(study: Study, subject: Subject) -> Weights | None:
    """None for kernels and for scores, which have no weights of features."""
    model = subject.model
    if not isinstance(model, LinearModel) or subject.formula is None:
        return None
    names, values = subject.formula.names(np.arange(model.coef.size)), model.coef
    refits = np.zeros((0, values.size)) if study.train is None else _refits(study, subject)
    if len(refits) < LEAST_REFITS:
        unknown = np.full(values.size, np.nan)
        return Weights(names, values, unknown, unknown, unknown, 0)
    from scipy.special import ndtri

    reach = float(ndtri((1 + study.procedure.confidence) / 2)) * refits.std(axis=0, ddof=1)
    same = (np.sign(refits) == np.sign(values)).mean(axis=0)
    return Weights(names, values, values - reach, values + reach, same, len(refits))


def _refits(study: Study, subject: Subject) -> Floats:
    """The weights after training on as many queries, drawn with replacement, one row per sample."""
    from sklearn.base import clone

    from rankwise.model_io.conversion import model_of

    assert study.train is not None
    assert subject.model is not None
    train, estimator = for_model(study.train, subject.model.columns, "the training data"), _estimator(subject.model)
    queries = Queries(train.qid, len(train))
    rows = np.split(np.argsort(queries.codes, kind="stable"), np.cumsum(queries.sizes)[:-1])
    random, fitted = np.random.default_rng(study.procedure.random_state), []
    for i in range(study.resamples):
        study.tell(f"fit {i + 1} of {study.resamples} for the intervals of weights of {subject.name}")
        drawn = random.integers(0, len(queries), len(queries))
        chosen = np.concatenate([rows[q] for q in drawn])
        qid = np.repeat(np.arange(len(drawn)), queries.sizes[drawn])  # a query drawn twice is two queries
        weight = None if train.weight is None else train.weight[chosen]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                refit = clone(estimator).fit(train.X[chosen], train.y[chosen], qid, weight)
        except ValueError:  # no query of the sample has two labels
            continue
        model = model_of(refit)
        assert isinstance(model, LinearModel)
        fitted.append(model.coef)
    return np.array(fitted).reshape(len(fitted), subject.model.columns.n_features)


def learning_curve_of(study: Study, subject: Subject) -> "LearningCurve | None":
    """The first measure by the number of training queries; None without refits or training data, or with too few."""
    if study.train is None or subject.model is None or study.train.n_queries < LEAST_QUERIES or not study.resamples:
        return None
    from rankwise.model_selection import learning_curve

    train = for_model(study.train, subject.model.columns, "the training data")
    estimator, seed = _estimator(subject.model), study.procedure.random_state
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return learning_curve(
                estimator,
                train.X,
                train.y,
                train.qid,
                sample_weight=train.weight,
                groups=train.groups,
                cv=FOLDS,
                measure=study.chosen[0],
                random_state=seed,
                progress=lambda i, n: study.tell(f"fit {i} of {n} for the learning curve of {subject.name}"),
            )
    except ValueError:  # so few judged queries that a part of them has no pair
        return None


def _estimator(model: Model) -> "BaseEstimator":
    """The estimator of a model, to be fitted to plain arrays with the columns of the model."""
    from rankwise.model_io.conversion import estimator_of
    from rankwise.model_selection.signs import with_signs_by_place

    return with_signs_by_place(estimator_of(model), model.columns)
