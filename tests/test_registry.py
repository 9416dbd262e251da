"""Names and what they stand for: one class for losses, solvers, measures and schemes."""

import re
import subprocess
import sys

import numpy as np
import pytest
from commands import run, write_sample

from rankwise import Preferences, RankSVM, ScaledRanker, load_model, load_sample, save_model
from rankwise.foundation.names import one_of
from rankwise.foundation.registry import Registry, loaded
from rankwise.kernel_maps import Kernel
from rankwise.metrics import FAMILIES
from rankwise.model_selection.choice import choose
from rankwise.objective.losses import LOSSES
from rankwise.pairs.schemes import SCHEMES
from rankwise.solvers import SOLVERS

OF_0_1 = {  # the names of version 0.1
    "loss": "hinge squared_hinge huber logistic squared",
    "scheme": "auto compiled portable explicit by-level red-black-tree score-red-black-tree selection-tree avl-tree "
    "aa-tree",
    "solver": "auto newton newton-cg newton-minres trust-region trust-region-diagonal trust-region-sampled sgd "
    "sgd-queries dual smoothing bundle bmrm",
    "measure": "ndcg mean-ndcg dcg map precision recall mrr err pairwise-accuracy kendall-tau-b auc",
}


def colours():
    return Registry("colour", {"red": 1, "dark_blue": "math:pi"})


def test_an_entry_is_an_object_or_the_place_where_it_is():
    registry = colours()
    registry.register("sea-green", 3)
    assert [registry[name] for name in registry] == [1, loaded("math:pi"), 3]
    assert registry.name_of(registry["dark_blue"]) == "dark_blue"
    assert registry.name_of(object()) is None


def test_spelling_makes_no_difference():
    registry = colours()
    assert registry["Dark-Blue"] == registry["dark_blue"]
    assert registry.spelling(" DARK-blue ") == "dark_blue"
    assert "dark-blue" in registry
    assert 5 not in registry


def test_an_unknown_name_is_one_sentence():
    with pytest.raises(
        ValueError, match=r"^colour must be one of 'red', 'dark_blue'; got 'dark-bleu'\. Did you mean 'dark_blue'\?$"
    ):
        colours()["dark-bleu"]
    with pytest.raises(ValueError, match=r"^colour must be one of 'red', 'dark_blue'; got 'x'\.$"):
        colours().spelling("x")


@pytest.mark.parametrize(
    ("value", "known", "also", "sentence"),
    [
        ("rde", ("red", "blue"), "", "must be one of 'red', 'blue'; got 'rde'. Did you mean 'red'?"),
        ("x", ("red", None), "a number", "must be one of 'red', None, or a number; got 'x'."),
        (None, ("red",), "", "must be 'red'; got None."),
    ],
)
def test_an_option_that_is_none_of_its_names(value, known, also, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape('colour ' + sentence)}$"):
        one_of("colour", value, known, also)
    for one in known:
        one_of("colour", one, known, also)


def test_a_name_is_not_replaced_by_accident():
    registry = colours()
    with pytest.raises(
        ValueError, match="colour 'dark_blue' is registered already: choose another name, or pass replace=True"
    ):
        registry.register("dark-blue", 2)
    registry.register("dark-blue", 2, replace=True)
    assert list(registry) == ["red", "dark-blue"]
    assert registry["dark_blue"] == 2


@pytest.mark.parametrize("name", ["", "Red", "a b", "huber:1", "ndcg@5", "-x", 5, None])
def test_what_is_no_name(name):
    with pytest.raises(ValueError, match="the name of a colour must be lower-case words joined by"):
        colours().register(name, 1)


def test_a_text_must_be_a_place():
    with pytest.raises(ValueError, match=r"colour 'green' must be an object or 'package.module:name'; got 'emerald'"):
        colours().register("green", "emerald")


def test_further_names_come_with_a_module_that_is_imported_when_needed(tmp_path, monkeypatch):
    (tmp_path / "more_colours.py").write_text("import test_registry\ntest_registry.REGISTRY.register('pink', 7)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(globals(), "REGISTRY", Registry("colour", {"red": 1}, extension="more_colours"))
    assert REGISTRY["red"] == 1  # noqa: F821
    assert "more_colours" not in sys.modules
    with pytest.raises(ValueError, match="'pink' is registered already"):
        REGISTRY.register("pink", 8)  # noqa: F821
    assert list(REGISTRY) == ["red", "pink"]  # noqa: F821


@pytest.mark.parametrize("registry", [LOSSES, SCHEMES, SOLVERS, FAMILIES], ids=lambda registry: registry.kind)
def test_every_name_of_version_0_1_is_there(registry):
    for name in OF_0_1[registry.kind].split():
        assert name in list(registry)
        assert registry[name] is not None


def test_the_papers_are_not_imported_before_a_name_of_theirs_is_used():
    code = """
import sys
import rankwise
data = rankwise.load_sample()
rankwise.RankSVM(C=0.01).fit(data.X, data.y, data.qid)
assert not [name for name in sys.modules if name.startswith("rankwise.papers")]
rankwise.RankSVM(C=0.01, scheme="avl-tree").options.pairing()
assert "rankwise.papers.trees" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_names_of_options_have_any_spelling(tmp_path):
    """As those of losses and solvers have: in estimators, preferences and model files."""
    data = load_sample("test")
    usual = {"scope": "adjacent", "costs": "ndcg", "rescaling": "slack", "normalize_pairs": "svm-rank"}
    unusual = {"scope": "Adjacent", "costs": "NDCG", "rescaling": "SLACK", "normalize_pairs": "svm_rank"}
    rankers = [RankSVM(0.01, **options).fit(data.X, data.y, data.qid) for options in (usual, unusual)]
    np.testing.assert_array_equal(rankers[0].coef_, rankers[1].coef_)
    save_model(rankers[1], tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").scope == "Adjacent"
    by_query = {"C": "auto", "normalize_pairs": "Query"}
    assert RankSVM(**by_query).options.strength() == RankSVM(normalize_pairs="query").options.strength()
    assert Preferences(data.y, data.qid, scope="ADJACENT").scope == "adjacent"
    scaled = ScaledRanker(RankSVM(), "Query_MinMax").fit(data)
    assert scaled.scaler_.scaling.name == "query-minmax"
    save_model(scaled, tmp_path / "s.json")
    np.testing.assert_allclose(load_model(tmp_path / "s.json").predict(data), scaled.predict(data))
    assert Kernel("RBF").function == "rbf"
    assert Kernel("Precomputed").precomputed
    assert choose(np.array([1.0, 2.0]), np.array([2.0, 2.0]), np.array([0.0, 1.0]), "One_SE") == 0


def test_the_names_of_options_have_any_spelling_in_the_shell(tmp_path):
    write_sample(tmp_path)
    train = ["train", tmp_path / "train.txt", "-o", tmp_path / "m.json", "--force"]
    run(*train, "--model", "RankRLS", "--normalize", "ZScore")
    assert "after zscore" in run("inspect", tmp_path / "m.json").stdout
    run(*train, "--kernel", "RBF", "--components", 5)
    run(
        "tune",
        tmp_path / "train.txt",
        "-o",
        tmp_path / "t.json",
        "--model",
        "RankRLS",
        "--alpha",
        1,
        "--rule",
        "One_SE",
    )
    assert load_model(tmp_path / "t.json").alpha == 1
