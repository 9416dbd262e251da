"""Names from data in pictures: no mathematics, no control characters, none left out of the legend."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from rankwise import evaluate, load_sample
from rankwise.report import (
    CutoffDisplay,
    QueryDifferenceDisplay,
    RegularizationDisplay,
    WeightsDisplay,
)

NAMES = ["price $", "$a$", r"a$\frac{1$b", r"a\$b", "_hidden", "line\nend", "esc\x1b[31m", "bidi\u202e"]
DATA = load_sample("test")


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_weights(tmp_path, ending):
    display = WeightsDisplay(NAMES, np.arange(1.0, 9.0)).save(tmp_path / f"w.{ending}")
    drawn = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert len(drawn) == len(NAMES)
    assert all(text.isprintable() for text in drawn)
    if ending == "svg":
        from xml.etree import ElementTree

        ElementTree.parse(tmp_path / "w.svg")


@pytest.mark.parametrize("name", NAMES)
def test_rankers(tmp_path, name):
    scores = {name: DATA.X[:, 0], "other": DATA.X[:, 1]}
    display = CutoffDisplay.from_predictions(DATA.y, scores, DATA.qid, cutoffs=(1, 2, 3)).save(tmp_path / "c.svg")
    assert len(display.ax_.get_legend().get_texts()) == 2
    found = [evaluate(DATA.y, one, DATA.qid, ["ndcg@10"]) for one in scores.values()]
    QueryDifferenceDisplay.from_evaluations(*found, "ndcg@10", (name, "other")).save(tmp_path / "d.svg")
    RegularizationDisplay(name, np.array([1.0, 2.0]), np.ones((2, 2)), 1.0, name).save(tmp_path / "r.svg")


def test_a_name_is_drawn_as_it_is():
    import matplotlib.text

    from rankwise.report.display import drawn

    for name in ("price $", "$a$", r"a\$b"):
        text = matplotlib.text.Text(0, 0, drawn(name))
        shown, is_math = text._preprocess_math(text.get_text())
        assert (shown, bool(is_math)) == (name, False)
