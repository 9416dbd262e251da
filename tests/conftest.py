"""Fixtures, among them the real data, if they are stored beside the checkout; at the end, what was skipped and why."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("rankwise", deadline=None, max_examples=60, derandomize=bool(os.environ.get("CI")))
settings.load_profile("rankwise")

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

NOT_IMPORTED = re.compile(r"could not import '(\w+).*", re.DOTALL)


def pytest_terminal_summary(terminalreporter):
    """One line per reason for which tests were skipped, the most frequent first."""
    reasons = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        reasons[NOT_IMPORTED.sub(r"\1 is not installed", reason)] += 1
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}")


@pytest.fixture
def registries_as_before():
    """What a test registers is gone after it."""
    from rankwise.exporting.targets import TARGETS
    from rankwise.metrics import FAMILIES
    from rankwise.objective.losses import LOSSES
    from rankwise.pairs.schemes import SCHEMES
    from rankwise.solvers import SOLVERS

    registries = (LOSSES, SOLVERS, FAMILIES, SCHEMES, TARGETS)
    assert all(list(one) for one in registries)  # what the papers register stays
    kept = [(one, dict(one._entries), dict(one._spellings)) for one in registries]
    yield
    for one, entries, spellings in kept:
        one._entries, one._spellings = entries, spellings


@pytest.fixture(scope="session")
def letor_data() -> Path:
    """The folder of real data sets; the test is skipped where it is missing."""
    if not DATA.is_dir():
        pytest.skip("the LETOR data sets are not at ../shared/data")
    return DATA


@pytest.fixture(scope="session")
def read_parts(letor_data):
    """read_parts("mq2008", 1, 2, 3): those parts of a LETOR set as one RankingData, read once per session."""
    from rankwise import read_letor

    seen = {}

    def read(name, *parts):
        if (name, parts) not in seen:
            seen[name, parts] = read_letor([letor_data / name / f"S{part}.txt.xz" for part in parts], dense=True)
        return seen[name, parts]

    return read
