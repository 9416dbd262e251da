"""Tables in Markdown, LaTeX, CSV and JSON show names as they are, whatever characters those hold."""

import csv
import io
import json
import re

import numpy as np
import pytest

from rankwise import compare, evaluate
from rankwise.foundation.tabular import Tabular
from rankwise.foundation.texts import decimals, visible
from rankwise.metrics import Procedure

NAMES = ["a|b", "a & b", "50 %_x_", "[1ex] *", "*", "-x", "+y", "a\\|b", "`c`", "<b>&lt;", "two\nlines", "$x^2$ #~{}"]
NAMES += ["_", "", "nul\0", "\udcff", "# h", "1. x", "> q", "a\\"]


@pytest.fixture(scope="module")
def found():
    """Rankers and queries whose names are hostile."""
    y, qid = [1, 0] * len(NAMES), np.array(NAMES, dtype=object).repeat(2)
    rankers = {name: np.arange(len(y)) * (-1.0) ** i for i, name in enumerate(NAMES)}
    return compare(rankers, y, qid, ["mrr", "ndcg@3"], baseline=NAMES[2], procedure=Procedure(test="t", resamples=100))


def tables(found):
    return (found.per_query(), found.worst(), found, found.evaluations["*"].query_table())


def first_column(table):
    return [visible(str(one)) for one in next(iter(table.table_columns().values()))]


def test_markdown(found):
    """Read by a parser of GitHub's tables."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    assert {one.type for one in markdown.parse(found.to_markdown()) if one.level == 0} == {
        *(f"{block}_{end}" for block in ("table", "paragraph") for end in ("open", "close"))
    }
    for table in tables(found):
        cells = [one.children for one in markdown.parse(Tabular.to_markdown(table)) if one.type == "inline"]
        texts = ["".join(part.content for part in cell) for cell in cells]
        header = list(table.table_columns())
        assert texts[: len(header)] == [visible(name).strip() for name in header]
        assert texts[len(header) :: len(header)] == first_column(table)
        assert {part.type for cell in cells for part in cell} <= {"text", "text_special"}


WORDS = {"textbackslash{}": "\\", "textasciitilde{}": "~", "textasciicircum{}": "^"}
WORDS |= {"textless{}": "<", "textgreater{}": ">", "textbar{}": "|"}


def test_latex(found):
    """Read back by the rules of TeX; a row that began with [ or * would be an argument of the \\\\ before it."""
    for table in tables(found):
        rows = Tabular.to_latex(table).splitlines()[4:-2]
        assert not any(row.startswith(("[", "*")) for row in rows)
        cells = [re.split(r"(?<!\\)& ", row)[0].removesuffix(" ") for row in rows]
        cells = [
            re.sub(r"\\(text\w+\{\}|[&%$#_{}])|\{([][*])\}", lambda m: WORDS.get(m[1], m[1] or m[2]), c) for c in cells
        ]
        assert cells == first_column(table)
    for line in found.to_latex().splitlines():
        bare = re.sub(r"\\[&%$#_{}]", "", line)
        assert line.startswith("% ") or not re.search(r"[%#~]", bare)
        assert bare.count("{") == bare.count("}") or line.startswith("% ")


def test_csv_and_json_are_exact(found):
    header, *rows = csv.reader(io.StringIO(found.per_query().to_csv(), newline=""))
    assert header[1] == "a|b mrr"
    assert [row[0] for row in rows] == found.per_query()["query"].tolist()
    assert [float(row[1]) for row in rows] == found.per_query()["a|b mrr"].tolist()
    told = json.loads(found.to_json())
    assert {one["ranker"] for one in told["contrasts"]} == set(NAMES)
    assert json.loads(found.per_query().to_json())["query"] == found.per_query()["query"].tolist()


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_queries_may_be_dates(unit):
    days = np.array(["2020-01-01"] * 2 + ["2020-01-02"] * 2, f"datetime64[{unit}]")
    found = compare({"a": [2, 1, 2, 1], "b": [1, 2, 2, 1]}, [1, 0, 1, 0], days)
    assert found.worst()["query"].tolist() == days[:1].tolist()
    assert json.loads(found.worst().to_json())["query"] == [str(days[0])]
    assert f'"{days[0]}"' in found.to_json()


def test_a_file_of_csv_has_every_byte(found, tmp_path):
    text = found.per_query().to_csv(tmp_path / "q.csv")
    assert (tmp_path / "q.csv").read_bytes() == text.encode(errors="surrogateescape")


def test_the_prompt_shows_the_first_rows():
    table = evaluate(np.arange(50) % 2, np.arange(50), np.arange(50) // 2, "map").query_table()
    assert repr(table).splitlines() == [*table.to_text().splitlines()[:21], "5 more rows"]
    assert "<p>5 more rows</p>" in table._repr_html_()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.12345, "0.1235"), (-0.5, "-0.5000"), (np.nan, "-"), (1e150, "1.000e+150"), (1e-150, "0.0000")],
)
def test_numbers(value, shown):
    assert decimals(value) == shown
    assert decimals(abs(value), "+") == ("-" if shown == "-" else f"+{shown.lstrip('-')}")


def test_forms_of_an_evaluation():
    found = evaluate([1, 0], [1, 2], measures=["mrr", "precision@1"])
    assert found.to_csv() == "measure,mean,queries\nmrr,0.5,1\nprecision@1,0.0,1\n"
    assert found.to_form("table") == repr(found)
    assert found.to_markdown().splitlines()[2] == "| mrr | 0.5000 | 1 |"
    assert r"mrr & $0.5000$ & 1 \\" in found.to_latex()
    assert json.loads(found.to_json())["measures"]["mrr"] == {"mean": 0.5, "queries": 1}
