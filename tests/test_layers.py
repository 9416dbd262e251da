"""A module imports only from modules above it in this list (docs/tour.md tells what each is for)."""

import ast
from pathlib import Path

import pytest

import rankwise

ROOT = Path(rankwise.__file__).parent

ROOMS = [
    "",  # the package itself: the version
    "tables",
    "names",
    "memory",
    "device",
    "device_kernels",
    "arrays",
    "jit_cache",
    "jit",
    "threads",
    "queries",
    "pairs",
    "costs",
    "preferences",
    "losses",
    "risk",
    "row_kernels",
    "centring",
    "device_features",
    "device_sparse",
    "features",
    "stored",
    "parts",
    "fused",
    "linear_risk",
    "objective",
    "problems",
    "solvers",
    "least_squares",
    "kernels",
    "metrics",
    "preprocessing",
    "estimators",
    "analysis",
    "data",
    "model_selection",
    "io_fields",
    "io",
    "distributed",
    "report",
    "cli",
    "__main__",
]

MODULES = sorted(ROOT.rglob("*.py"))


def room(module: str) -> int:
    return ROOMS.index(module.split(".")[1] if "." in module else "")


def imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = ROOT.parent / node.module.replace(".", "/") / f"{alias.name}"
                is_module = submodule.with_suffix(".py").exists() or submodule.is_dir()
                yield f"{node.module}.{alias.name}" if is_module else node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upwards(path):
    here = "rankwise." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").rstrip(".")
    for name in imports(path):
        if name.split(".")[0] == "rankwise":
            assert room(name) <= room(here.rstrip(".")), f"{here} must not import {name}"


def test_every_room_is_listed():
    found = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES} - {"__init__"}
    assert found == set(ROOMS) - {""}
