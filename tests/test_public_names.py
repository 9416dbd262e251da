"""The public names: imported on first use, and known to type checkers."""

import ast
from pathlib import Path

import rankwise


def declared():
    """Name -> module of the imports that only type checkers follow."""
    (block,) = [node for node in ast.parse(Path(rankwise.__file__).read_text()).body if isinstance(node, ast.If)]
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_type_checkers_see_what_is_imported():
    homes = {name: ".".join(filter(None, ("rankwise", home))) for name, home in rankwise._HOME.items()}
    assert declared() == homes
    assert sorted([*homes, "__version__"]) == sorted(dir(rankwise)) == sorted([*rankwise.__all__, "distributed"])


def test_every_public_name_is_there():
    for name in rankwise.__all__:
        assert getattr(rankwise, name) is not None


def test_rooms_list_their_public_names():
    for room in (rankwise.preprocessing, rankwise.report, rankwise.model_selection, rankwise.clicks):
        assert dir(room) == sorted(room.__all__)


def test_modules_are_attributes():
    assert rankwise.metrics.evaluate is rankwise.evaluate
    assert str(rankwise.losses.squared_hinge()) == "squared_hinge"
