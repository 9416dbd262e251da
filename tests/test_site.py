"""The documentation site, as far as it can be tested without building it (`make docs`): the reference has every public
name, with an example that runs; every page is in a table of contents; links between pages resolve.
"""

import doctest
import fnmatch
import importlib
import inspect
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import commands
import pytest
import yaml

import rankwise
import rankwise.data
import rankwise.exporting
from rankwise.cli import demo

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_extensions"))

MODULES = [name for name in rankwise.__all__ if inspect.ismodule(getattr(rankwise, name))]
ROOMS = [rankwise, rankwise.data, rankwise.exporting, *(getattr(rankwise, name) for name in MODULES)]
TOCTREE = re.compile(r"^```\{toctree\}\n((?::[^\n]*\n)*)\n?(.*?)^```", re.DOTALL | re.MULTILINE)
OUTSIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
PAGES = sorted([*DOCS.glob("*.md"), *(ROOT / name for name in OUTSIDE), *(ROOT / "experiments/results").glob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
ENDLESS = "rankwise serve "
MAKES_FILES = "rankwise clicks "  # which examples before them read


def public():
    """id -> "room.name" of every public object; one that several rooms have counts once."""
    found = {}
    for room in ROOMS:
        for name in getattr(room, "__all__", ()):  # losses has none: its functions are found by their names
            value = getattr(room, name)
            if not inspect.ismodule(value) and name != "__version__":
                found.setdefault(id(value), f"{room.__name__}.{name}")
    return found


def reference():
    """(module, name, whether it is described by hand) of each entry of the reference."""
    module, in_list, entries = None, False, []
    for line in (DOCS / "api.rst").read_text().splitlines():
        if line and not line.startswith("   "):
            in_list = line == ".. autosummary::"
        if line.startswith(".. currentmodule:: "):
            module = line.split(":: ")[1]
        elif line.startswith(".. data:: "):
            entries.append((module, line.split(":: ")[1], True))
        elif in_list and line.strip() and ":" not in line:
            entries.append((module, line.strip(), False))
    return entries


def test_the_reference_has_every_public_name_once():
    listed = [id(getattr(importlib.import_module(module), name)) for module, name, _ in reference()]
    missing = [found for key, found in public().items() if key not in listed]
    assert not missing
    assert len(set(listed)) == len(listed)


OBJECTS = [(module, name) for module, name, by_hand in reference() if not by_hand]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.usefixtures("registries_as_before")
@pytest.mark.parametrize("module", sorted({module for module, _ in OBJECTS}))
def test_every_object_has_an_example_that_runs(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    without = []
    for name in (name for room, name in OBJECTS if room == module):
        (found,) = finder.find(getattr(importlib.import_module(module), name), name, globs={})
        without += [name] * (not found.examples)
        runner.run(found)
    assert not without
    assert runner.summarize().failed == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_examples_written_by_hand():
    assert doctest.testfile(str(DOCS / "api.rst"), module_relative=False).failed == 0


def contents(page):
    """The pages that the tables of contents of a page name."""
    for options, entries in TOCTREE.findall(page.read_text()):
        for entry in filter(None, entries.splitlines()):
            target = re.sub(r".*<(.*)>$", r"\1", entry)
            if ":glob:" in options and set(target) & set("*?["):
                folder = (page.parent / target).resolve().parent
                yield from (one for one in folder.iterdir() if fnmatch.fnmatch(one.stem, Path(target).name))
            else:
                base = (page.parent / target).resolve()
                yield next((one for one in (base.with_suffix(".md"), base.with_suffix(".rst")) if one.exists()), base)


def test_every_page_is_in_a_table_of_contents():
    seen, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page not in seen:
            seen.add(page)
            todo += contents(page) if page.suffix == ".md" else []
    seen -= {DOCS / "gallery" / "index"}  # made when the site is built
    assert [page for page in seen if page.suffix in (".md", ".rst") and not page.exists()] == []
    assert [page.name for page in DOCS.iterdir() if page.suffix in (".md", ".rst") and page not in seen] == []


def slugs(page):
    """The anchors of a page's headings, as code hosts and Sphinx make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_resolve(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    broken = []
    for link in LINK.findall(text):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in slugs(target)):
            broken.append(link)
    assert not broken


def test_the_configuration_names_folders_that_exist():
    configuration = runpy.run_path(str(DOCS / "conf.py"))
    assert configuration["version"] == rankwise.__version__
    for folder in (*configuration["html_static_path"], *configuration["html_extra_path"]):
        assert (DOCS / folder).is_dir()
    assert len(list((ROOT / configuration["sphinx_gallery_conf"]["examples_dirs"][0]).glob("plot_*.py"))) >= 12


def test_citation():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == rankwise.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["license"] == project["license"]
    assert citation["authors"] == project["authors"]
    assert citation["keywords"] == project["keywords"]
    assert all(one["title"] and one["authors"] and one["year"] for one in citation["references"])
    told = " ".join((DOCS / "citing.md").read_text().split())
    assert all(one["title"] in told for one in [citation, *citation["references"]])
    assert f"version = {{{rankwise.__version__}}}" in told


def test_contributors_find_every_target_of_the_makefile():
    targets = re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    shown = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert targets == [line.split()[0] for line in shown.splitlines()]
    told = (ROOT / "CONTRIBUTING.md").read_text()
    assert [name for name in targets if f"`make {name}`" not in told] == []


def test_the_makefile_names_tests_that_exist():
    named = re.findall(r"\btests(?:/[\w.]+)+", (ROOT / "Makefile").read_text())
    assert "tests/release/oldest.py" in named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_docstrings_as_sphinx_reads_them():
    from plain_docstrings import escaped, listed

    given = [
        "A |w| of coef_, docs/theory.md.",
        "",
        "first   the one",
        "        that counts",
        "other_  `a|b`",
        "",
        ">>> a_ | b",
    ]
    expected = ["A \\|w\\| of coef\\_, :doc:`/docs/theory`.", "", "``first``", "    the one", "    that counts"]
    assert escaped(listed(given)) == [*expected, "``other_``", "    `a|b`", "", ">>> a_ | b"]


def test_the_reference_of_commands_is_complete():
    from command_texts import every_command

    text = every_command()
    for command in ("train", "tune", "compare", "plot path", "demo"):
        assert re.search(rf"^##+ rankwise {command}$", text, re.MULTILINE)
    assert "| `--qid COLUMN` |" in text
    assert "squared\\_hinge, " in text  # names that help lists only when it is shown


def write_files_of_help():
    """Every file that an example of help reads and no example before it writes."""
    demo.save(".", force=False)
    for split in ("train", "test"):
        sample = rankwise.load_sample(split)
        names = ["bm25" if name == "text_match" else name for name in sample.names]
        rankwise.write_data(f"{split}.csv", rankwise.RankingData(sample.X, sample.y, sample.qid, names=names))
    rankwise.write_data("new.csv", rankwise.read_data("test.txt"))
    rankwise.write_data("docs.csv", rankwise.load_sample("train"))
    Path("quepid.csv").write_text("query,docid,rating\ntea,1,3\ntea,2,0\n")
    Path("log.jsonl").write_text('{"query": "tea", "docid": 1, "bm25": 7}\n{"query": "tea", "docid": 2, "bm25": 3}\n')
    for model in ("new.json", "old.json"):
        commands.run("train", "train.txt", "-o", model)
    commands.run("train", "train.csv", "-o", "named.json")
    commands.run("clicks", "simulate", "train.txt", "--by", "f1", "--by", "f6", "-o", "log.csv")
    commands.run("clicks", "bias", "log.csv", "--first-position", "1", "-o", "bias.csv")


def test_examples_of_help_run(tmp_path, monkeypatch):
    from command_texts import every_command

    monkeypatch.chdir(tmp_path)
    write_files_of_help()
    for line in "".join(re.findall(r"```sh\n(.*?)```", every_command(), re.DOTALL)).splitlines():
        if line.startswith(ENDLESS):
            continue
        if "test.csv" in line:  # its columns have names
            line = line.replace("model.json", "named.json")
        if line.startswith(MAKES_FILES):
            line += " --force"
        command, _, target = line.partition(" > ")
        done = commands.run(*shlex.split(command)[1:])
        if target:
            Path(target).write_text(done.stdout)


def test_drawings_are_those_that_the_code_draws():
    drawings = runpy.run_path(str(DOCS / "drawings.py"))["DRAWINGS"]
    for name, draw in drawings.items():
        assert (DOCS / name).read_text() == draw()
