"""docs/upgrading.md: what it says of every old name is what happens, and what it says to write instead works."""

import builtins
import re
import tomllib
import warnings
from pathlib import Path

import pytest

import rankwise
from rankwise.metrics import Procedure, parse

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "upgrading.md").read_text()
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
NAME = re.compile(r"^\| `([^`]+)` \| (works|fails): `(\w+): ([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)
NAMES = NAME.findall(SECTIONS["Names"])
DATA = rankwise.load_sample("test").select(slice(0, 60))


def carry_out(code):
    """An import, or an expression; a ranker is fitted too."""
    known = {name: getattr(rankwise, name) for name in rankwise.__all__}
    known |= {"rankwise": rankwise, "X": DATA.X, "y": DATA.y, "qid": DATA.qid, "Procedure": Procedure, "parse": parse}
    if code.startswith("from "):
        exec(code, known)
        return
    value = eval(code, known)
    if hasattr(value, "fit"):
        value.fit(DATA.X, DATA.y, DATA.qid)


def test_every_row_of_the_table_is_tested():
    assert len(NAMES) == SECTIONS["Names"].count("\n| `") > 0
    assert {fate for _, fate, *_ in NAMES} == {"works", "fails"}


@pytest.mark.parametrize(("old", "fate", "kind", "sentence", "new"), NAMES, ids=[row[0] for row in NAMES])
def test_an_old_name_does_what_the_page_says(old, fate, kind, sentence, new):
    expected = pytest.warns if fate == "works" else pytest.raises
    with expected(getattr(builtins, kind), match="^" + re.escape(sentence)):
        carry_out(old)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        carry_out(new)


def test_the_versions_are_those_that_are_required():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = {one.split(";")[0] for one in [*project["dependencies"], *project["optional-dependencies"]["plot"]]}
    section = SECTIONS["Python and libraries"]
    raised = re.findall(r"^\| (\w+)[^|]* \| [\d.]+ \| ([\d.]+) \|$", section, re.MULTILINE)
    new = re.findall(r"([\w-]+) \((\d[\d.]+)\)", section)
    assert raised
    assert new
    assert {f"{name.lower().replace('_', '-')}>={version}" for name, version in raised + new} <= required
    assert project["requires-python"] == ">=" + re.search(r"Python is ([\d.]+) or later", section).group(1)
