"""Measures as values: spelling, equality, and what is said of a spelling that is not one."""

import re
import subprocess
import sys

import pytest

from rankwise.foundation.registry import loaded
from rankwise.metrics import DIALECTS, FAMILIES, parse

SPELT_AS_PRINTED = [
    "ndcg@10",
    "ndcg",
    "mean-ndcg",
    "dcg@3",
    "map",
    "precision@5",
    "recall@5",
    "mrr",
    "mrr@10",
    "err@10",
    "pairwise-accuracy",
    "kendall-tau-b",
    "auc",
    "ndcg@10:letor",
    "mean-ndcg:letor4",
    "ndcg@10:gain=linear,ties=worst,no-relevant=skip",
    "ndcg@10:xgboost,no-relevant=0",
    "map:relevant=2",
    "precision@5:relevant=0.5",
    "err@10:max=4",
    "pairwise-accuracy:mean=query,ties=half",
]


@pytest.mark.parametrize("text", SPELT_AS_PRINTED)
def test_parse_and_print_round_trip(text):
    measure = parse(text)
    assert str(measure) == repr(measure) == text
    assert parse(str(measure)) == measure
    assert hash(parse(text)) == hash(measure)
    assert parse(measure) is measure


@pytest.mark.parametrize("name", FAMILIES)
def test_every_option_value_and_dialect_of_every_measure_round_trips(name):
    family = FAMILIES[name]
    head = f"{name}@7" if family.cutoff == "needed" else name
    parts = [f"{option}={value}" for option, o in family.options.items() for value in o.values]
    for part in [*parts, *(DIALECTS if family.dialects else ())]:
        measure = parse(f"{head}:{part}")
        assert parse(str(measure)) == measure
        if "=" in part:
            option, value = part.split("=")
            assert measure.settings[option] == value


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_computed(name):
    assert callable(loaded(FAMILIES[name].column))


def test_dialects_speak_only_of_options_there_are():
    for choice in DIALECTS.values():
        for option, value in choice.items():
            assert value in FAMILIES["ndcg"].options[option].values


@pytest.mark.parametrize(
    ("spelling", "printed"),
    [
        (" NDCG@10 ", "ndcg@10"),
        ("ndcg@10:ties=average", "ndcg@10"),
        ("ndcg@10:ties=worst,gain=linear", "ndcg@10:gain=linear,ties=worst"),
        ("ndcg@10:ties=average,letor", "ndcg@10:letor,ties=average"),
        ("ndcg@10:letor,ties=stable", "ndcg@10:letor"),
        ("map:relevant=2.0", "map:relevant=2"),
        ("map: relevant = 2", "map:relevant=2"),
        ("map:relevant=positive", "map"),
    ],
)
def test_one_measure_has_one_printed_form(spelling, printed):
    assert str(parse(spelling)) == printed


def test_an_option_beside_a_dialect_overrides_it():
    settings = parse("ndcg@10:letor4,ties=average").settings
    assert settings == {
        "gain": "exp2",
        "discount": "letor",
        "ties": "average",
        "no-relevant": "0",
        "short": "zero",
    }


@pytest.mark.parametrize(
    ("short", "name"),
    [("p@5", "precision@5"), ("P@5", "precision@5"), ("R@10", "recall@10"), ("AP", "map"), ("RR", "mrr")],
)
def test_short_names_of_other_tools(short, name):
    assert parse(short) == parse(name)
    assert str(parse(short)) == name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ndgc@10", "measure must be one of 'ndcg', 'mean-ndcg', 'dcg'"),
        ("ndgc@10", "; got 'ndgc'. Did you mean 'ndcg'?"),
        ("", "; got ''."),
        ("ndcg10", "unknown measure 'ndcg10': did you mean ndcg@10?"),
        ("ndcg@", "an integer of at least 1"),
        ("ndcg@0", "an integer of at least 1"),
        ("ndcg@-3", "an integer of at least 1"),
        ("ndcg@ten", "an integer of at least 1"),
        ("ndcg@²", "an integer of at least 1"),
        ("precision", "precision needs a cutoff, as in precision@5"),
        ("map@5", "map takes no cutoff"),
        ("ndcg:tie=worst", "ndcg has no option 'tie': did you mean ties?"),
        ("ndcg:ties=mean", "ndcg cannot have ties=mean: expected ties=average|worst|best|stable"),
        ("ndcg:leto", "ndcg does not know 'leto': did you mean letor? Available: letor, letor4"),
        ("ndcg:", "ndcg does not know ''"),
        ("ndcg:letor,trec", "two dialects, letor and trec"),
        ("map:letor", "map does not know 'letor'"),
        ("map:relevant=high", "map cannot have relevant=high: expected relevant=positive|NUMBER"),
        ("map:relevant=nan", "map cannot have relevant=nan"),
        ("auc:ties=half", "auc has no option 'ties': it has no options"),
    ],
)
def test_what_is_not_a_measure_gets_one_sentence(text, words):
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_a_measure_that_is_no_text():
    with pytest.raises(
        TypeError, match="a measure is a string such as 'ndcg@10' or a function of labels and scores; got 10"
    ):
        parse(10)


def test_parsing_needs_no_compiler():
    code = "import sys; from rankwise.metrics import parse, evaluate; parse('ndcg@10'); print('numba' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
