"""A thousand nasty problems; `make torture` has a hundred thousand."""

import pytest

from .campaign import Tally, run
from .problems import make
from .regression import faults

CASES, GROUPS = 1000, 10
REGRESSIONS = 100
SMALL = 1000  # rows
SPLINE = "far from its knots the pieces of a logistic spline do not cancel, and the objective falls without bound"
FLOAT32 = "sums in float32 are off by more than the bound on rounding, which is for float64"
SPARSE = "columns of a sparse array of torch are not centred, so large ids per query never end"
KNOWN = {  # faults that are not mended yet
    109: "newton-cg goes uphill on columns of unlike scales: decrease() by gradients with a large C",
    191: SPLINE,
    275: SPARSE,
    364: SPARSE,
    636: "the better of two bounds after listing the pairs leaves out the rounding of the value",
    841: FLOAT32,
    970: SPLINE,
    997: FLOAT32,
}


@pytest.mark.parametrize("group", range(GROUPS))
def test_the_law_holds(group):
    tally = Tally(others=1)
    for seed in range(group, CASES, GROUPS):
        if seed not in KNOWN:
            tally.add(seed)
    assert not tally.wrong, "\n".join(tally.wrong)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [pytest.param(n, marks=pytest.mark.xfail(reason=why)) for n, why in KNOWN.items()])
def test_the_law_holds_where_it_is_known_not_to(seed):
    assert not run(seed)[2]


def test_least_squares_solvers_agree():
    problems = [make(seed) for seed in range(REGRESSIONS)]
    wrong = [(str(one), faults(one, ("auto", "dual"))) for one in problems if one.X.shape[0] < SMALL]
    assert not any(found for _, found in wrong), [one for one in wrong if one[1]]
