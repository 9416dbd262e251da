"""Three hundred nasty problems, with `make test-slow` five hundred; `make torture` has a hundred thousand."""

import pytest

from .campaign import Tally, run
from .problems import make
from .regression import faults

CASES, GROUPS = 50, 10  # of each group
ALWAYS = 6  # groups; the others are slow
REGRESSIONS = 100
SMALL = 1000  # rows


@pytest.mark.parametrize(
    "group", [pytest.param(one, marks=[pytest.mark.slow] if one >= ALWAYS else []) for one in range(GROUPS)]
)
def test_the_law_holds(group):
    tally = Tally(others=1)
    for seed in range(group * CASES, (group + 1) * CASES):
        tally.add(seed)
    assert not tally.wrong, "\n".join(tally.wrong)


def test_least_squares_solvers_agree():
    problems = [make(seed) for seed in range(REGRESSIONS)]
    wrong = [(str(one), faults(one, ("auto", "dual"))) for one in problems if one.X.shape[0] < SMALL]
    assert not any(found for _, found in wrong), [one for one in wrong if one[1]]


@pytest.mark.parametrize("seed", [700290])
def test_least_squares_on_columns_of_extreme_scales(seed):
    assert not faults(make(seed))


@pytest.mark.parametrize("seed", [3000097, 3002182, 3002885, 6000364, 8000939, 8002757, 8003540, 8004383])
def test_cases_that_once_broke_the_law(seed):
    """A diagonal that rounding made negative; bounds that overflow to NaN; a slack that rounding made small; an
    optimum that depends on the last digits of X; losses of the hinge that rounding hides.
    """
    tally = Tally()
    tally.add(seed)
    assert not tally.wrong


@pytest.mark.parametrize("seed", [8000336, 8000354])
def test_cases_with_a_penalty_that_once_broke_the_law(seed):
    """Values of 1e-115 beside a subgradient of mostly rounding errors."""
    _, fits, wrong, _ = run(seed, penalty=True)
    assert not wrong
    assert not any("RuntimeWarning" in fit.warned for fit in fits)
