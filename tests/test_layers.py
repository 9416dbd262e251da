"""Imports point one way: a room imports only from rooms above it in this list, and within a room there is no cycle."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from inspect import currentframe
from pathlib import Path
from traceback import walk_stack

import pytest

import rankwise
from rankwise import RankSVM, make_ranking
from rankwise.objective import fused

ROOT = Path(rankwise.__file__).parent

ROOMS = [  # docs/tour.md tells what each is for
    "",  # the package itself: the version and the public names
    "foundation",
    "pairs",
    "data",
    "joining",
    "clicks",
    "objective",
    "solvers",
    "least_squares",
    "kernel_maps",
    "metrics",
    "checking",
    "preprocessing",
    "rankers",
    "model_selection",
    "report",
    "explaining",
    "estimators",
    "papers",
    "model_io",
    "exporting",
    "reporting",
    "serving",
    "distributed",
    "cli",
    "__main__",
]

MODULES = [ROOT / "__init__.py", *sorted(set(ROOT.rglob("*.py")) - {ROOT / "__init__.py"})]  # the package: types only


def name_of(path: Path) -> str:
    return ".".join(("rankwise", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def room(module: str) -> int:
    return ROOMS.index(module.split(".")[1] if "." in module else "")


@cache
def imports(path: Path) -> set[str]:
    """The modules of rankwise that a module imports, at its top or within a function, but not for its types alone."""
    found = set()
    nodes = list(ast.walk(ast.parse(path.read_text())))
    for_types = [
        one
        for node in nodes
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for one in node.body
    ]
    for node in nodes:
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = ROOT.parent / node.module.replace(".", "/") / f"{alias.name}"
                is_module = submodule.with_suffix(".py").exists() or submodule.is_dir()
                found.add(f"{node.module}.{alias.name}" if is_module else node.module)
    return {name for name in found if name.split(".")[0] == "rankwise"}


@pytest.mark.parametrize("path", MODULES[1:], ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upwards(path):
    for name in imports(path):
        assert room(name) <= room(name_of(path)), f"{name_of(path)} must not import {name}"


def test_no_cycle_within_a_room():
    graph = {name_of(path): imports(path) - {name_of(path), "rankwise"} for path in MODULES[1:]}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_every_room_is_listed():
    found = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES} - {"__init__"}
    assert found == set(ROOMS) - {""}


TOUR = Path(__file__).parents[1] / "docs" / "tour.md"


def test_the_tour_tells_of_every_room_in_order():
    told = re.findall(r"^\| `(\w+)/` \|", TOUR.read_text(), re.M)
    assert told == [one for one in ROOMS if one not in ("", "__main__")]


def test_the_calls_of_the_tour_are_those_of_a_fit(monkeypatch):
    data, expand, seen = make_ranking(n_queries=2, n_features=2, random_state=0), fused._expand, []

    def spy(*given):
        stack = [frame.f_code for frame, _ in walk_stack(currentframe().f_back)]
        seen.append([code for code in stack if Path(code.co_filename).is_relative_to(ROOT)][::-1])
        return expand(*given)

    monkeypatch.setattr(fused, "_expand", spy)
    RankSVM(n_jobs=1).fit(data.X, data.y, data.qid)
    calls = [(code.co_qualname.split(".<locals>.")[-1], code.co_filename) for code in seen[0]]
    told = re.findall(r"^    ([\w.]+) +(\w+/\w+\.py) ", TOUR.read_text().partition("by these calls")[2], re.M)
    assert told == [(name, Path(file).relative_to(ROOT).as_posix()) for name, file in calls]


def test_the_files_of_the_tour_exist():
    named = set(
        re.findall(
            r"`?\b((?:data|pairs|objective|solvers|rankers|estimators|foundation|distributed)/\w+\.py)",
            TOUR.read_text(),
        )
    )
    assert len(named) >= 15
    assert [name for name in named if not (ROOT / name).exists()] == []
