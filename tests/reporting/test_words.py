"""The verdict: it claims a difference only if the test and the interval agree, and says why it does not."""

from types import SimpleNamespace

import numpy as np
import pytest

from rankwise.metrics import Procedure
from rankwise.metrics.contrasts import contrasted
from rankwise.metrics.evaluation import Evaluation
from rankwise.reporting.words import plain, verdict

REASONS = ("the interval is not.", "more queries are needed.", "no difference could be clear.")
QUICK = Procedure(sign_flips=2000, resamples=100)


def said(differences, procedure=QUICK, weights=None):
    """The verdicts on rankers with these columns of differences from a baseline, and their contrasts."""
    n = len(differences)
    weights = {} if weights is None else {"ndcg@10": weights}
    values = {"old": np.full(n, 0.5)} | {f"new{i}": 0.5 + one for i, one in enumerate(np.asarray(differences).T)}
    evaluations = {
        name: Evaluation({"ndcg@10": float(one.mean())}, {"ndcg@10": one}, np.arange(n), 10 * n, weights)
        for name, one in values.items()
    }
    found = contrasted(evaluations, "old", procedure)
    study = SimpleNamespace(procedure=procedure, comparison=found, subjects=[SimpleNamespace(name="old")])
    return [("".join(verdict(study, one)), one) for one in found.contrasts[1:]]


def test_a_difference_is_claimed_only_if_test_and_interval_agree():
    rng = np.random.default_rng(0)
    told = set()
    for rankers in (1, 3):
        for _ in range(40):
            n = int(rng.choice([3, 9, 15, 25, 60]))
            d = rng.exponential(0.05, (n, rankers)) * rng.choice([1, 5], (n, rankers), p=[0.9, 0.1]) - 0.04
            for words, one in said(d):
                low, high = one.difference_interval
                is_claimed = " is better than " in words or " is worse than " in words
                assert is_claimed == (one.p_adjusted < 0.05 and (low > 0 or high < 0)) == bool(one.mark)
                if is_claimed or low <= 0 <= high:
                    told.add("claimed" if is_claimed else "not clear")
                else:
                    told.add(next(why for why in REASONS if words.endswith(why)))
    assert told == {"claimed", "not clear", *REASONS}


def test_rankers_that_only_the_correction_makes_unclear():
    d = np.array([0.02, 0.03, 0.01, 0.04, 0.02, 0.05, -0.005])[:, None] * np.ones(3)
    for words, one in said(d):
        assert (one.p_value, one.p_adjusted) == (2 / 64, pytest.approx(6 / 64))
        assert plain(words).endswith(
            "p = 0.094; 6 queries better, 1 worse. On its own it would be different (p = 0.031), but one of 3 rankers "
            "may look so by chance: p is corrected for that, the interval is not."
        )


def test_an_interval_by_chance_on_the_other_side(monkeypatch):
    """Where more than 16 queries count and at most 40 differ, p is exact and the interval drawn."""
    monkeypatch.setattr(Procedure, "p_value", lambda *_: 0.0499)
    ((words, one),) = said(np.random.default_rng(1).normal(0, 0.1, (30, 1)))
    assert not one.mark
    assert words.endswith("The test and the interval disagree, because p is so close to 0.05: more queries are needed.")


@pytest.mark.parametrize("n", [1, 2, 30])
def test_why_there_is_no_interval(n):
    """Fieller's interval has no ends if one query has nearly all of the weight."""
    d, weights = np.random.default_rng(0).normal(0, 0.1, (n, 1)), np.r_[1e6, np.ones(n - 1)]
    ((words, one),) = said(d, Procedure(test="t", resamples=100), weights)
    assert np.isnan(one.difference_interval).all()
    few = "With 1 query no difference could be clear."
    assert words.endswith(
        few if n == 1 else "There is no interval, because a few queries have nearly all of the weight."
    )
    ((words, one),) = said(d, QUICK, weights)
    assert words.endswith(f"With {n} quer{'y' if n == 1 else 'ies'} no difference could be clear.") == (n < 6)
