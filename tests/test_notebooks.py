"""The notebooks of examples/: valid, without outputs, and run as the site runs them."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
KEYS = {
    "markdown": {"cell_type", "id", "metadata", "source"},
    "code": {"cell_type", "execution_count", "id", "metadata", "outputs", "source"},
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_valid_and_have_no_outputs(path):
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[\w-]{1,64}", id) for id in ids)
    for cell in notebook["cells"]:
        assert set(cell) == KEYS[cell["cell_type"]]
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
        assert all(line.endswith("\n") for line in cell["source"][:-1])
    texts = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    assert texts[0].startswith("# ")
    links = [link for text in texts for link in re.findall(r"\]\(([^)#]+)\)", text)]
    assert [link for link in links if not (path.parent / link).exists()] == []


def ran(name):
    """The texts of a notebook, what its cells print, and the HTML that they show."""
    from notebooks import run

    cells = list(run((ROOT / "examples" / f"{name}.ipynb").read_text()))
    outputs = [one for _, _, found in cells for one in found]
    texts = [source for kind, source, _ in cells if kind == "markdown"]
    return ("\n".join(content for kind, content in outputs if kind == wanted) for wanted in ("text", "html")), texts


def test_from_a_frame_to_a_report(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    (printed, html), _ = ran("frame_to_report")
    assert re.search(r"RankSVM +0\.\d+\+", printed)
    assert "all: 22." in printed  # as the text says
    assert html.count("<img ") >= 3
    assert 'srcdoc="&lt;!DOCTYPE html' in html
    assert "RankSVM is better than text_match" in html


def test_learning_from_clicks(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    (printed, html), texts = ran("learning_from_clicks")
    assert re.search(r"weighted clicks +0\.\d+\+", printed)  # clearly better than clicks as they are
    without, signed = re.search(r"without signs: (0\.\d+), with signs: (0\.\d+)", printed).groups()
    assert f"{signed} instead of {without}" in texts[-1]
    assert "clicks per impression" in html


def test_a_page_has_the_outputs_of_its_cells():
    from notebooks import as_markdown

    sources = [("markdown", "# Title"), ("code", "a = 2\nprint(a)\na + 1"), ("code", "b = a"), ("code", "b + 2")]
    notebook = json.dumps({"cells": [{"cell_type": kind, "source": source} for kind, source in sources]})
    page = as_markdown(notebook, "x.ipynb")
    assert page.startswith("# Title\n\n{download}")
    assert page.endswith(
        "```\n\n```text\n2\n```\n\n```text\n3\n```\n\n```python\nb = a\n```\n\n```python\nb + 2\n```\n\n```text\n4\n```"
    )
    failing = notebook.replace("b = a", "b = 1 / 0")
    with pytest.raises(ZeroDivisionError):
        as_markdown(failing, "x.ipynb")
