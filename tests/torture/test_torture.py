"""A thousand nasty problems; `make torture` has a hundred thousand."""

import pytest

from .campaign import Tally

CASES, GROUPS = 1000, 10


@pytest.mark.parametrize("group", range(GROUPS))
def test_the_law_holds(group):
    tally = Tally()
    for seed in range(group, CASES, GROUPS):
        tally.add(seed)
    assert not tally.wrong, "\n".join(tally.wrong)
