"""docs/metrics.md: its examples run, and its tables say what the code does."""

import doctest
import re
from pathlib import Path

import pytest

from rankwise.metrics import DIALECTS, FAMILIES, parse

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"


@pytest.fixture(scope="module")
def text():
    return DOCUMENT.read_text()


def test_the_examples_run(text):
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "metrics.md", str(DOCUMENT), 0)
    assert len(examples.examples) >= 10
    report = []
    outcome = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(examples, out=report.append)
    assert outcome.failed == 0, "".join(report)


def test_every_measure_and_every_option_value_is_explained(text):
    for name in FAMILIES:
        family = FAMILIES[name]
        assert f"`{name}" in text
        for option, allowed in family.options.items():
            (row, *_) = [
                line for line in text.splitlines() if line.startswith(f"| `{option}` |") and allowed.values[0] in line
            ]
            assert all(f"`{value}`" in row for value in allowed.values)


def test_the_table_of_dialects_is_the_one_in_the_code(text):
    header, *rows = re.findall(r"^\| (dialect|\(default\)|`\w+`) \| (\w[\w-]*(?: \| [\w-]+){4}) \|", text, re.MULTILINE)
    options = header[1].split(" | ")
    found = {name.strip("`"): dict(zip(options, values.split(" | "), strict=True)) for name, values in rows}
    assert found.pop("(default)") == parse("ndcg").settings
    assert found == {name: parse(f"ndcg:{name}").settings for name in DIALECTS}
